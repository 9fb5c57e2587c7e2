// Whether this program is built with AddressSanitizer, where everything takes five to ten times as
// long: then long tests take fewer of their cases.
#pragma once

namespace satchel::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SATCHEL_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(SATCHEL_TEST_SANITIZED)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace satchel::test
