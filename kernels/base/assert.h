// SATCHEL_ASSERT: detects our own bugs; never use it to check bytes from outside. Enabled in every
// build; prints one line and aborts.
#pragma once

namespace satchel {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}  // namespace satchel

#define SATCHEL_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::satchel::assertion_failed(#condition, __FILE__, __LINE__))
