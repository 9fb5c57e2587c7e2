// The border to hosts: what leaves a C function is a class of errors and an error object.
#pragma once

#include <satchel/satchel.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kernels/base/result.h"
#include "runtime/chat/chat_errors.h"

struct satchel_error {
  satchel::Error error;
  std::string detail;
};
struct satchel_buffer {
  std::string bytes;
};

namespace satchel::c_api {

int32_t class_of(const Error& error);
int32_t fail(Error error, satchel_error** err);
Error missing(const char* what);  // a handle or pointer that must not be NULL
Error session_busy();

// The body of every exported function that can fail. Where there is no memory for an error object
// there is none.
template <class Work>
int32_t guard(satchel_error** err, const Work& work) noexcept {
  if (err != nullptr) *err = nullptr;
  try {
    Result<void> done = runtime::caught<void>([&]() -> Result<void> { return work(); });
    return done.ok() ? SATCHEL_OK : fail(std::move(done).error(), err);
  } catch (const std::bad_alloc&) {
    return SATCHEL_OUT_OF_MEMORY;
  } catch (...) {  // of a host's callback
    return SATCHEL_INTERNAL;
  }
}

// --- structs that cross the border begin with their size

Error no_size();
Error unknown_option();

// What a host of another age gave: fields it does not know are 0; a field that this library does
// not know must be.
template <class T>
Result<T> taken(const T* given) {
  static_assert(std::is_trivially_copyable_v<T>);
  T out = {};
  out.struct_size = sizeof(T);
  if (given == nullptr) return out;
  const std::size_t size = given->struct_size;
  if (size < sizeof(std::uint32_t)) return no_size();
  std::memcpy(&out, given, std::min(size, sizeof(T)));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0) return unknown_option();
  if constexpr (requires { out.reserved; }) {
    if (out.reserved != 0) return unknown_option();
  }
  return out;
}

// All 0, but for its size; comes first, so that a call that fails leaves nothing half filled.
template <class T>
Result<void> clear(T* out) {
  if (out == nullptr) return {};
  const std::uint32_t size = out->struct_size;
  if (size < sizeof(size)) return no_size();
  std::memset(out, 0, size);
  out->struct_size = size;
  return {};
}
// As much as the host knows.
template <class T>
void give(T* out, T value) {
  if (out == nullptr) return;
  value.struct_size = out->struct_size;
  std::memcpy(out, &value, std::min<std::size_t>(out->struct_size, sizeof(T)));
}

// --- text

Result<std::string_view> text_of(const char* text, std::size_t size, const char* what);
void give_text(satchel_buffer** out, std::string text);

}  // namespace satchel::c_api
