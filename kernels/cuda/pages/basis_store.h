// BasisStore: copies of bases (kernels::Basis) in the card's memory. A basis with an id is sent
// once and cached. One without is sent in every call, because its numbers may have changed.
//   memory  if the cache exceeds kBasesBytesMost, the next call starts with an empty one; what a
//           lane table holds stays
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/pages/pages.h"

namespace satchel::kernels::cuda {

// Chosen: twice those of a model of 1,024 lanes of 128 channels.
inline constexpr std::size_t kBasesBytesMost = std::size_t{256} << 20;

// A copy, and what keeps it there.
struct SentBasis {
  std::shared_ptr<const Buffer> memory;
  PageBasis basis;
};

class BasisStore {
 public:
  explicit BasisStore(Device& device) : device_(&device) {}
  std::size_t bytes() const { return bytes_; }

  // At the start of a call: frees what only the previous call used.
  Result<void> begin();
  // Valid until the next begin(), and for work queued before it; longer for who keeps its memory.
  Result<SentBasis> of(const Basis& basis, std::size_t head_dim);

 private:
  Result<SentBasis> send(const Basis& basis, std::size_t head_dim);

  Device* device_;
  std::map<std::uint64_t, SentBasis> named_;        // by id
  std::map<const float*, SentBasis> of_this_call_;  // by Basis::to
  std::size_t bytes_ = 0;
};

}  // namespace satchel::kernels::cuda
