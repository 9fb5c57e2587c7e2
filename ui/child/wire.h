// Values as bytes and back, between two processes of one program on one machine: numbers as they
// lie in memory, no version, no names.
//   put     numbers, enumerators, texts, paths, vectors, optionals, pairs, variants, and plain
//           structs of these, field by field (fields.h). What is none of these says how it is sent
//           by a struct Sent of its own, below
//   take    the same value, or nothing: bytes may be cut, changed or forged, and the reader is then
//           broken. Makes no more elements than there are bytes left. An enumerator may be one that
//           the enumeration does not name
//   frames  a message is its size in bytes, 8 bytes, then its bytes
#pragma once

#include <QString>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/base/result.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/chat/answer_settings.h"
#include "ui/child/fields.h"

namespace satchel::ui {

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : m_left(bytes) {}
  bool isBroken() const { return m_isBroken; }
  // Nothing was wrong, and nothing is left.
  bool isDone() const { return !m_isBroken && m_left.empty(); }
  std::size_t nLeft() const { return m_left.size(); }
  void fail() { m_isBroken = true; }
  // n bytes; fewer are there: none, and it is broken.
  std::string_view bytes(std::size_t n) {
    if (m_isBroken || n > m_left.size()) {
      fail();
      return {};
    }
    const std::string_view taken = m_left.substr(0, n);
    m_left.remove_prefix(n);
    return taken;
  }

 private:
  std::string_view m_left;
  bool m_isBroken = false;
};

// How a T is sent: put(), and take() into one that was blank.
template <class T>
struct Sent;

// A value to be taken into. Not all types have a default.
template <class T>
T blank();

template <class T>
void put(std::string& to, const T& value) {
  Sent<T>::put(to, value);
}
template <class T>
void takeInto(WireReader& from, T& value) {
  if (!from.isBroken()) Sent<T>::take(from, value);
}
template <class T>
std::optional<T> take(WireReader& from) {
  std::optional<T> taken(blank<T>());
  takeInto(from, *taken);
  if (from.isBroken()) taken.reset();
  return taken;
}

template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// A plain struct.
template <class T>
struct Sent {
  static void put(std::string& to, const T& value) {
    std::apply([&to](const auto&... field) { (ui::put(to, field), ...); }, fieldsOf(value));
  }
  static void take(WireReader& from, T& value) {
    std::apply([&from](auto&... field) { (takeInto(from, field), ...); }, fieldsOf(value));
  }
};

template <class T, class... Fields>
T blankOf(std::tuple<Fields&...>*) {
  return T{blank<Fields>()...};
}
template <class T>
T blank() {
  if constexpr (std::is_default_constructible_v<T>) {
    return T();
  } else {
    return blankOf<T>(static_cast<decltype(fieldsOf(std::declval<T&>()))*>(nullptr));
  }
}
template <>
inline kvcache::Recipe blank<kvcache::Recipe>() {
  return kvcache::Recipe::builtin(kvcache::builtin_recipes().front().name).value();
}

template <class T>
requires kIsNumber<T>
struct Sent<T> {
  static void put(std::string& to, const T& value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void take(WireReader& from, T& value) {
    const std::string_view bytes = from.bytes(sizeof(T));
    if (bytes.empty()) return;
    if constexpr (std::is_same_v<T, bool>) {
      value = bytes[0] != 0;  // another byte is no bool
    } else {
      std::memcpy(&value, bytes.data(), sizeof value);
    }
  }
};

// The number of elements that follow, of at least so many bytes each.
inline std::size_t takeCount(WireReader& from, std::size_t bytesEach) {
  std::uint64_t count = 0;
  takeInto(from, count);
  if (count > from.nLeft() / bytesEach) from.fail();
  return from.isBroken() ? 0 : std::size_t(count);
}
template <class Text>
void takeText(WireReader& from, Text& text, std::size_t bytesEach) {
  const std::size_t count = takeCount(from, bytesEach);
  text.resize(decltype(text.size())(count));
  const std::string_view bytes = from.bytes(count * bytesEach);
  if (!bytes.empty()) std::memcpy(text.data(), bytes.data(), bytes.size());
}

template <class T>
struct Sent<std::vector<T>> {
  static void put(std::string& to, const std::vector<T>& values) {
    ui::put(to, std::uint64_t{values.size()});
    if constexpr (kIsNumber<T>) {
      to.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    } else {
      for (const T& value : values) ui::put(to, value);
    }
  }
  static void take(WireReader& from, std::vector<T>& values) {
    if constexpr (kIsNumber<T>) {
      takeText(from, values, sizeof(T));
    } else {
      values.clear();
      for (std::size_t left = takeCount(from, 1); left > 0 && !from.isBroken(); --left) {
        values.push_back(blank<T>());
        takeInto(from, values.back());
      }
    }
  }
};

template <>
struct Sent<std::string> {
  static void put(std::string& to, const std::string& text) {
    ui::put(to, std::uint64_t{text.size()});
    to += text;
  }
  static void take(WireReader& from, std::string& text) { takeText(from, text, 1); }
};

template <>
struct Sent<std::filesystem::path> {
  static void put(std::string& to, const std::filesystem::path& path) {
    ui::put(to, path.string());
  }
  static void take(WireReader& from, std::filesystem::path& path) {
    std::string text;
    takeInto(from, text);
    path = std::move(text);
  }
};

// UTF-16, also where it is not well formed.
template <>
struct Sent<QString> {
  static void put(std::string& to, const QString& text) {
    ui::put(to, std::uint64_t(text.size()));
    to.append(reinterpret_cast<const char*>(text.utf16()), std::size_t(text.size()) * 2);
  }
  static void take(WireReader& from, QString& text) { takeText(from, text, 2); }
};

template <class T>
struct Sent<std::optional<T>> {
  static void put(std::string& to, const std::optional<T>& value) {
    ui::put(to, value.has_value());
    if (value) ui::put(to, *value);
  }
  static void take(WireReader& from, std::optional<T>& value) {
    bool has = false;
    takeInto(from, has);
    if (has) takeInto(from, value.emplace(blank<T>()));
  }
};

template <class A, class B>
struct Sent<std::pair<A, B>> {
  static void put(std::string& to, const std::pair<A, B>& pair) {
    ui::put(to, pair.first);
    ui::put(to, pair.second);
  }
  static void take(WireReader& from, std::pair<A, B>& pair) {
    takeInto(from, pair.first);
    takeInto(from, pair.second);
  }
};

template <class... Each>
struct Sent<std::variant<Each...>> {
  using Variant = std::variant<Each...>;
  static void put(std::string& to, const Variant& value) {
    ui::put(to, std::uint64_t{value.index()});
    std::visit([&to](const auto& held) { ui::put(to, held); }, value);
  }
  static void take(WireReader& from, Variant& value) {
    std::uint64_t index = 0;
    takeInto(from, index);
    if (from.isBroken() || index >= sizeof...(Each)) return from.fail();
    using Take = void (*)(WireReader&, Variant&);
    static constexpr Take kTakes[] = {&takeAs<Each>...};
    kTakes[index](from, value);
  }

 private:
  template <class One>
  static void takeAs(WireReader& from, Variant& value) {
    takeInto(from, value.template emplace<One>(blank<One>()));
  }
};

template <>
struct Sent<kvcache::Recipe> {
  static void put(std::string& to, const kvcache::Recipe& recipe) { ui::put(to, recipe.json()); }
  static void take(WireReader& from, kvcache::Recipe& recipe) {
    std::string json;
    takeInto(from, json);
    if (from.isBroken()) return;
    Result<kvcache::Recipe> parsed = kvcache::Recipe::parse(json);
    if (!parsed.ok()) return from.fail();
    recipe = std::move(parsed).value();
  }
};

// What people set of it, as chats keep it.
template <>
struct Sent<runtime::Sampling> {
  static void put(std::string& to, const runtime::Sampling& sampling) {
    ui::put(to, runtime::to_note(sampling));
  }
  static void take(WireReader& from, runtime::Sampling& sampling) {
    std::string note;
    takeInto(from, note);
    if (from.isBroken()) return;
    Result<runtime::Sampling> parsed = runtime::sampling_from_note(note);
    if (!parsed.ok()) return from.fail();
    sampling = std::move(parsed).value();
  }
};

// Without its numbers: their names are literals of who made it, and people read the message.
template <>
struct Sent<Error> {
  static void put(std::string& to, const Error& error) {
    ui::put(to, error.kind);
    ui::put(to, error.code);
    ui::put(to, error.message);
  }
  static void take(WireReader& from, Error& error) {
    takeInto(from, error.kind);
    takeInto(from, error.code);
    takeInto(from, error.message);
  }
};

// Far more than a chat has words; a frame that says more is damaged.
inline constexpr std::size_t kFrameBytesMost = std::size_t{1} << 30;  // chosen, not measured

inline std::string framed(const std::string& message) {
  std::string frame;
  frame.reserve(sizeof(std::uint64_t) + message.size());
  put(frame, std::uint64_t{message.size()});
  return frame += message;
}

// What a pipe gave, cut into messages again.
class Frames {
 public:
  void add(std::string_view bytes) {
    m_bytes.erase(0, std::exchange(m_taken, 0));
    m_bytes += bytes;
  }
  // The next whole message, valid until the next call of add(); none: more has to come.
  std::optional<std::string_view> next() {
    const std::string_view left = std::string_view(m_bytes).substr(m_taken);
    WireReader head(left);
    std::uint64_t size = 0;
    takeInto(head, size);
    if (head.isBroken()) return {};
    if (size > kFrameBytesMost) m_isBroken = true;
    if (m_isBroken || size > head.nLeft()) return {};
    m_taken += sizeof size + size;
    return left.substr(sizeof size, size);
  }
  bool isBroken() const { return m_isBroken; }

 private:
  std::string m_bytes;
  std::size_t m_taken = 0;
  bool m_isBroken = false;
};

}  // namespace satchel::ui
