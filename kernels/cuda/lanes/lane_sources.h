// LaneSources: converts the runs and pages of KV lanes to the kernels' form (lane_keys.h), for one
// call. Arguments sends the arrays; host memory is reused between calls.
//   pages   of codecs without a kernel are first decoded to fp32, all pages of a call
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/op_context.h"
#include "kernels/cuda/lanes/lane_keys.h"

namespace satchel::kernels::cuda {

// The shifts of a call's pages that use one rotary embedding.
struct ShiftsOfRope {
  RopeTable rope = {};
  std::size_t first = 0, n = 0;  // among all shifts
  std::size_t first_pair = 0;    // of its rotations among all
  std::size_t first_frequency = 0;
};

class LaneSources {
 public:
  void clear();
  // Adds the sources of one lane, which follow one another.
  void add(std::span<const ExactRun> runs, std::span<const PageView> pages, const RopeTable& rope);
  // Queues the decoding of pages without a kernel. Call it before the sources are sent.
  Result<void> decode(const OpContext& at, bool needs_values);
  std::size_t bytes() const { return decoded_.size(); }

  std::span<const TokenSource> sources() const { return sources_; }
  std::span<const PagePlan> plans() const { return plans_; }
  // The distinct shifts; those of a RopeTable follow one another.
  std::span<const std::int32_t> shifts() const { return shifts_; }
  std::span<const ShiftsOfRope> ropes() const { return ropes_; }
  std::span<const double> frequencies() const { return frequencies_; }  // of all RopeTables
  // Cosine and sine of all shifts, two floats a pair: [n_pairs()][2].
  std::size_t n_pairs() const { return n_pairs_; }

 private:
  void add_run(const ExactRun& run);
  void add_page(const PageView& page, const RopeTable& rope);
  unsigned plan_of(const PageLayout& layout);
  unsigned rotation_of(const RopeTable& rope, std::int32_t shift);

  std::vector<TokenSource> sources_;
  std::vector<PagePlan> plans_;
  std::vector<const PageLayout*> layouts_;  // of plans_
  std::vector<DecodeArgs> decodes_;
  std::vector<std::size_t> decoded_sources_;  // of decodes_
  Buffer decoded_;
  std::vector<std::int32_t> shifts_;
  std::vector<ShiftsOfRope> ropes_;
  std::vector<double> frequencies_;
  std::size_t n_pairs_ = 0;
};

// Takes workspace for the arrays that place() lays out, whose size it returns, and after them for
// the rotations of the pages' shifts. Returns the address of the rotations: [n_pairs()][2].
template <class Place>
Result<float*> take_workspace(const OpContext& at, const LaneSources& lanes, const Place& place) {
  const std::size_t n_bytes = place(nullptr);
  SATCHEL_TRY_ASSIGN(std::byte * workspace, at.take(n_bytes + lanes.n_pairs() * 2 * sizeof(float)));
  place(workspace);
  return reinterpret_cast<float*>(workspace + n_bytes);
}
// Queues the rotations of the pages' shifts. shifts, frequencies: those of `lanes` in device
// memory; rotations [n_pairs()][2].
Result<void> make_rotations(const OpContext& at, const LaneSources& lanes,
                            const std::int32_t* shifts, const double* frequencies,
                            float* rotations);

}  // namespace satchel::kernels::cuda
