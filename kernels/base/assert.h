// SATCHEL_ASSERT: a bug of ours, never bytes from outside. On in every build type that tests run;
// prints one line and stops the program. Hot loops use SATCHEL_DEBUG_ASSERT, which is off under
// NDEBUG.
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
