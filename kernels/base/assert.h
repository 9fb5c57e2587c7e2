// SATCHEL_ASSERT: detects our own bugs; never use it to check bytes from outside. Enabled in every
// build type that tests run; prints one line and aborts. Hot loops use SATCHEL_DEBUG_ASSERT, which
// NDEBUG disables.
#pragma once

namespace satchel {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}  // namespace satchel

#define SATCHEL_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::satchel::assertion_failed(#condition, __FILE__, __LINE__))
#ifdef NDEBUG
#define SATCHEL_DEBUG_ASSERT(condition) static_cast<void>(0)
#else
#define SATCHEL_DEBUG_ASSERT(condition) SATCHEL_ASSERT(condition)
#endif
