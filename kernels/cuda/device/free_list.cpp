#include "kernels/cuda/device/free_list.h"

#include <iterator>

#include "kernels/base/assert.h"

namespace satchel::kernels::cuda {

void FreeList::grow(std::size_t bytes) {
  if (bytes == 0) return;
  add_free(bytes_, bytes);
  bytes_ += bytes;
}

std::optional<std::size_t> FreeList::take(std::size_t bytes) {
  auto best = free_.end();
  for (auto block = free_.begin(); block != free_.end(); ++block)
    if (block->second >= bytes && (best == free_.end() || block->second < best->second))
      best = block;
  if (best == free_.end()) return std::nullopt;
  const auto [at, free_bytes] = *best;
  free_.erase(best);
  if (free_bytes > bytes) free_.emplace(at + bytes, free_bytes - bytes);
  taken_.emplace(at, bytes);
  taken_bytes_ += bytes;
  return at;
}

void FreeList::give(std::size_t at) {
  const auto block = taken_.find(at);
  SATCHEL_ASSERT(block != taken_.end());
  taken_bytes_ -= block->second;
  add_free(at, block->second);
  taken_.erase(block);
}

std::size_t FreeList::free_at_end() const {
  if (free_.empty()) return 0;
  const auto [at, bytes] = *std::prev(free_.end());
  return at + bytes == bytes_ ? bytes : 0;
}

void FreeList::add_free(std::size_t at, std::size_t bytes) {
  auto next = free_.lower_bound(at);
  if (next != free_.end() && at + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == at) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(at, bytes);
}

}  // namespace satchel::kernels::cuda
