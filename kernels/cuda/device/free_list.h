// FreeList: a best-fit allocator of offsets. It takes the smallest free range that fits, and
// merges a freed range with its free neighbours. It manages offsets only, no memory.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace satchel::kernels::cuda {

class FreeList {
 public:
  // Adds `bytes` at the end of the memory.
  void grow(std::size_t bytes);
  // Nothing if no free range is long enough. bytes > 0.
  std::optional<std::size_t> take(std::size_t bytes);
  void give(std::size_t at);  // the offset of a taken block

  std::size_t bytes() const { return bytes_; }
  std::size_t taken_bytes() const { return taken_bytes_; }
  std::size_t free_at_end() const;

 private:
  void add_free(std::size_t at, std::size_t bytes);

  std::map<std::size_t, std::size_t> free_, taken_;  // offset, bytes; no two free ones touch
  std::size_t bytes_ = 0, taken_bytes_ = 0;
};

}  // namespace satchel::kernels::cuda
