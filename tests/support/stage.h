// Stage: the arrays of one call of a backend that has memory of its own: copied there, and back.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::test {

class Stage {
 public:
  explicit Stage(kernels::Backend& inner) : inner_(inner) {}

  // Read there.
  template <class T>
  Result<const T*> in(const T* host, std::size_t n) {
    if (host == nullptr) return static_cast<const T*>(nullptr);
    SATCHEL_TRY_ASSIGN(std::byte * at, put(host, n * sizeof(T)));
    return reinterpret_cast<const T*>(at);
  }
  // Read and written there; back() brings it here.
  template <class T>
  Result<T*> both(T* host, std::size_t n) {
    if (host == nullptr) return static_cast<T*>(nullptr);
    SATCHEL_TRY_ASSIGN(std::byte * at, put(host, n * sizeof(T)));
    wanted_.push_back({reinterpret_cast<std::byte*>(host), at, n * sizeof(T)});
    return reinterpret_cast<T*>(at);
  }
  Result<void> back() {
    for (const Wanted& array : wanted_)
      SATCHEL_TRY(inner_.download({array.host, array.bytes}, array.there));
    return {};
  }

 private:
  struct Wanted {
    std::byte *host, *there;
    std::size_t bytes;
  };
  Result<std::byte*> put(const void* host, std::size_t bytes) {
    SATCHEL_TRY_ASSIGN(kernels::Buffer buffer, inner_.allocate(bytes));
    SATCHEL_TRY(inner_.upload(buffer.data(), {static_cast<const std::byte*>(host), bytes}));
    buffers_.push_back(std::move(buffer));
    return buffers_.back().data();
  }
  kernels::Backend& inner_;
  std::vector<kernels::Buffer> buffers_;
  std::vector<Wanted> wanted_;
};

}  // namespace satchel::test
