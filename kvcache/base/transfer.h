// Arrays between main memory and a backend's.
#pragma once

#include <span>
#include <type_traits>

#include "kernels/contract/backend.h"

namespace satchel::kvcache {

template <class T>
Result<void> upload(kernels::Backend& backend, T* to,
                    std::span<const std::type_identity_t<T>> from) {
  return backend.upload(reinterpret_cast<std::byte*>(to), std::as_bytes(from));
}
template <class T>
Result<void> download(kernels::Backend& backend, std::span<std::type_identity_t<T>> to,
                      const T* from) {
  return backend.download(std::as_writable_bytes(to), reinterpret_cast<const std::byte*>(from));
}

}  // namespace satchel::kvcache
