// FreeList: a best-fit allocator of offsets. It takes the smallest free range that fits, and
// merges a freed range with its free neighbours. It manages offsets only, no memory.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace satchel::kernels::cuda {

class FreeList {
 public:
  // The memory has so many bytes more, behind its end.
  void grow(std::size_t bytes);
  // Nothing: no free stretch is so long. bytes > 0.
  std::optional<std::size_t> take(std::size_t bytes);
  void give(std::size_t at);  // where a taken block begins

  std::size_t bytes() const { return bytes_; }
  std::size_t taken_bytes() const { return taken_bytes_; }
  std::size_t free_at_end() const;

 private:
  void add_free(std::size_t at, std::size_t bytes);

  std::map<std::size_t, std::size_t> free_, taken_;  // offset, bytes; no two free ones touch
  std::size_t bytes_ = 0, taken_bytes_ = 0;
};

}  // namespace satchel::kernels::cuda
