// WorkspaceLayout: places arrays one after the other, each aligned to 256 bytes. Without memory it
// only computes the total size.
#pragma once

#include <cstddef>

#include "kernels/cuda/primitives/ceil_div.h"

namespace satchel::kernels::cuda {

class WorkspaceLayout {
 public:
  explicit WorkspaceLayout(std::byte* at) : at_(at) {}
  template <class T>
  T* take(std::size_t n) {
    std::byte* here = at_ == nullptr ? nullptr : at_ + n_bytes_;
    n_bytes_ += padded256(n * sizeof(T));
    return reinterpret_cast<T*>(here);
  }
  std::size_t n_bytes() const { return n_bytes_; }

 private:
  std::byte* at_;
  std::size_t n_bytes_ = 0;
};

}  // namespace satchel::kernels::cuda
