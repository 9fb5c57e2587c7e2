// Little-endian writing and checked reading of fixed-width numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace satchel {

class ByteWriter {
 public:
  template <class T>
  ByteWriter& number(T value) {
    static_assert(std::is_integral_v<T>);
    using Bits = std::make_unsigned_t<T>;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::byte>((static_cast<Bits>(value) >> (8 * i)) & 0xffu));
    return *this;
  }
  ByteWriter& bytes(std::span<const std::byte> from) {
    bytes_.insert(bytes_.end(), from.begin(), from.end());
    return *this;
  }
  ByteWriter& text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    return bytes(std::as_bytes(std::span(text)));
  }
  // n bytes that the caller fills; valid until the next call.
  std::span<std::byte> extend(std::size_t n) {
    bytes_.resize(bytes_.size() + n);
    return std::span(bytes_).last(n);
  }
  std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte>& buffer() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Reads beyond the end give zeros and leave ok() false; judge once, before use.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    static_assert(std::is_integral_v<T>);
    using Bits = std::make_unsigned_t<T>;
    const std::span<const std::byte> from = bytes(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < from.size(); ++i)
      value |= std::uint64_t{std::to_integer<std::uint8_t>(from[i])} << (8 * i);
    return static_cast<T>(static_cast<Bits>(value));
  }
  // Empty if fewer are left.
  std::span<const std::byte> bytes(std::size_t n) {
    if (n > left()) {
      ok_ = false;
      at_ = bytes_.size();
      return {};
    }
    at_ += n;
    return bytes_.subspan(at_ - n, n);
  }
  template <std::size_t n>
  std::array<std::byte, n> array() {
    std::array<std::byte, n> out{};
    const std::span<const std::byte> from = bytes(n);
    if (!from.empty()) std::memcpy(out.data(), from.data(), n);
    return out;
  }
  std::string_view text(std::size_t size_max) {
    const auto size = number<std::uint32_t>();
    if (size > size_max) ok_ = false;
    const std::span<const std::byte> from = bytes(ok_ ? size : 0);
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  bool ok() const { return ok_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace satchel
