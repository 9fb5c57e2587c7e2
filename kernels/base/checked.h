// Checked: overflow-checked arithmetic on sizes from outside. A value stays bad after an overflow,
// so a chain of steps needs one check, at its end.
//   source  CVE-2026-33298 and CVE-2025-53630: this fixes their class of bugs, not one line
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace satchel {

class Checked {
 public:
  constexpr Checked(std::uint64_t value) : value_(value) {}

  friend constexpr Checked operator*(Checked a, Checked b) {
    std::uint64_t out = 0;
    const bool fits = !__builtin_mul_overflow(a.value_, b.value_, &out);  // before `out` is read
    return {out, a.ok_ && b.ok_ && fits};
  }
  friend constexpr Checked operator+(Checked a, Checked b) {
    std::uint64_t out = 0;
    const bool fits = !__builtin_add_overflow(a.value_, b.value_, &out);  // before `out` is read
    return {out, a.ok_ && b.ok_ && fits};
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    return {a.value_ - b.value_, a.ok_ && b.ok_ && a.value_ >= b.value_};
  }
  // The next multiple of `step` (> 0).
  constexpr Checked rounded_up(std::uint64_t step) const {
    const Checked sum = *this + Checked(step - 1);
    return {sum.value_ / step * step, sum.ok_};
  }

  constexpr bool ok() const { return ok_; }
  // The value as T, or nothing if a step overflowed or T cannot hold it.
  template <class T = std::size_t>
  constexpr std::optional<T> to() const {
    static_assert(std::is_integral_v<T>);
    if (!ok_ || value_ > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
      return std::nullopt;
    return static_cast<T>(value_);
  }

 private:
  constexpr Checked(std::uint64_t value, bool ok) : value_(value), ok_(ok) {}
  std::uint64_t value_ = 0;
  bool ok_ = true;
};

}  // namespace satchel
