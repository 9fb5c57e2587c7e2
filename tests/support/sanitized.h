// Whether this program is built with AddressSanitizer, where everything takes five to ten times as
// long: then long tests take fewer of their cases.
#pragma once

namespace satchel::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace satchel::test
