// CudaLaneTable: the views of KV lanes in device memory. set_runs() and set_pages() change main
// memory only; send() copies the changed ranges to the card before work that reads them is queued.
//   cost     a steady step sends only the runs that grew and allocates nothing; capacity doubles
//   threads  as the Backend
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "kernels/contract/lane_view.h"
#include "kernels/cuda/attention/decode_operand.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/host_mirrored_array.h"
#include "kernels/cuda/pages/basis_store.h"
#include "kernels/cuda/pages/pages.h"

namespace satchel::kernels::cuda {

// ExactRun and PageView as the card sees them.
struct DeviceRun {
  const Half* k = nullptr;
  const Half* v = nullptr;
  const std::int32_t* positions = nullptr;
  unsigned n_tokens = 0;
  friend bool operator==(const DeviceRun&, const DeviceRun&) = default;
};
struct DevicePage {
  const std::byte* bytes = nullptr;
  std::uint64_t live[kPageTokens / 64] = {};
  unsigned n_tokens = 0;
  unsigned plan = 0;  // among the table's plans
  std::int32_t shift = 0, first_position = 0, last_position = 0;
  friend bool operator==(const DevicePage&, const DevicePage&) = default;
};

// The pages of a split that warps take are of one kind: whether keys and values are transformed by
// Hadamard.
constexpr unsigned packed_kind(bool are_keys_transformed, bool are_values_transformed) {
  return 1u + (are_keys_transformed ? 1 : 0) + (are_values_transformed ? 2 : 0);
}
constexpr bool are_keys_transformed(unsigned packed_kind) {
  return (packed_kind - 1) % 2 != 0;
}
constexpr bool are_values_transformed(unsigned packed_kind) {
  return (packed_kind - 1) / 2 != 0;
}

// How a layout's pages are read: by a kernel, or decoded first (has_kernel: false; then only sizes
// and the places of positions and counts are set). shared_bytes_max: of a block; a layout that does
// not fit is decoded.
struct LanePlan {
  PagePlan page;
  bool has_kernel = false;
  DecodeOperand k = {}, v = {};
  unsigned slice_tokens = 0;  // that a block holds at a time
  // Mixed-bit keys: of each quad its bits and, times 16, the word of the part in shared memory at
  // which its codes begin (operand_places.h).
  alignas(16) std::uint32_t quads[kCudaQuadsMax] = {};
  // Whether a warp can take a page of it alone (packed_pages.h): 0, or a packed_kind().
  unsigned packed_kind = 0;
  // Mixed-bit keys: quads by falling bits, so that threads of a warp take the same way: bits,
  // quad · 2^4 and, times 2^12, the first word in the page's codes.
  std::uint32_t sorted_quads[kCudaQuadsMax] = {};
  friend bool operator==(const LanePlan&, const LanePlan&) = default;
};
LanePlan lane_plan(const PageLayout& layout, const PageBasis& basis, std::size_t shared_bytes_max);

// The argument of a kernel: the runs of lane l begin at l · runs_of_lane, its pages likewise.
struct DeviceLane {
  unsigned n_runs = 0, n_pages = 0;
  friend bool operator==(const DeviceLane&, const DeviceLane&) = default;
};
struct DeviceLanes {
  const DeviceLane* lanes = nullptr;
  const DeviceRun* runs = nullptr;
  const DevicePage* pages = nullptr;
  const LanePlan* plans = nullptr;
  unsigned runs_of_lane = 0, pages_of_lane = 0;
};

class CudaLaneTable final : public LaneTable {
 public:
  // All outlive the table. A steady step's changes go through `arguments`; null: sent at once.
  CudaLaneTable(Device& device, std::size_t n_lanes, BasisStore& bases,
                Arguments* arguments = nullptr);
  // Downcast for the cuda backend, all of whose tables have this type.
  static CudaLaneTable& of(const LaneTable& table) {
    return const_cast<CudaLaneTable&>(static_cast<const CudaLaneTable&>(table));
  }

  std::size_t n_lanes() const override { return lanes_.size(); }
  Result<void> set_runs(std::size_t lane, std::span<const ExactRun> runs) override;
  Result<void> set_pages(std::size_t lane, std::span<const PageView> pages) override;

  // What was set last: the device's view in main memory, and the pages as given.
  std::span<const DeviceRun> runs(std::size_t lane) const;
  std::span<const DevicePage> pages(std::size_t lane) const;
  std::span<const PageView> views(std::size_t lane) const { return views_[lane]; }
  // Of every layout that was ever set.
  std::span<const LanePlan> plans() const { return plans_.span(0, plans_.size()); }
  bool has_decoded() const { return has_decoded_; }  // pages without a kernel, likewise
  bool has_bases() const { return has_bases_; }    // keys in a basis that a kernel reads, likewise
  bool has_shifts() const { return has_shifts_; }  // or once had

  // Queues the changes since the last call. The result is valid until the next change.
  Result<DeviceLanes> send();

 private:
  // The same contents are the same plan, wherever a layout lies.
  Result<unsigned> plan_of(const PageLayout& layout);

  Device* device_;
  BasisStore* bases_;
  Arguments* arguments_;
  HostMirroredArray<DeviceLane> lanes_;
  HostMirroredArray<DeviceRun> runs_;
  HostMirroredArray<DevicePage> pages_;
  HostMirroredArray<LanePlan> plans_;  // of the layouts met so far, each once
  std::vector<std::shared_ptr<const Buffer>> bases_of_plans_;
  std::map<const PageLayout*, unsigned> last_plans_;  // a layout may have changed since
  std::size_t runs_of_lane_ = 0, pages_of_lane_ = 0;
  std::vector<std::span<const PageView>> views_;
  bool has_shifts_ = false, has_decoded_ = false, has_bases_ = false;
};

}  // namespace satchel::kernels::cuda
