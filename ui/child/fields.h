// The fields of a plain struct, as a tuple of references: what is done to each field needs no list
// of them that somebody has to keep.
//   needs   an aggregate without base classes and C arrays, of at most kFieldsMost fields. Of more,
//           or where they cannot be counted, it does not compile
//   how     counted: the most values that braces take. Named: structured bindings, which have to
//           name all of them, so that a wrong count does not compile either
//   differs Boost.PFR does the same, but Debian 12 has it only in a Boost that takes the place of
//           the one that the tests are built with
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace satchel::ui {

inline constexpr std::size_t kFieldsMost = 24;

// Stands for a value of any type, where nothing is evaluated. Not for the struct itself.
template <class Whole>
struct AnyField {
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Whole>) operator T&() const&&;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Whole>) operator T&&() const&&;
};

template <class T, class... Fields>
concept BracesTake = requires {
  T{std::declval<Fields>()...};
};

template <class T, std::size_t n>
inline constexpr bool kTakes = []<std::size_t... i>(std::index_sequence<i...>) {
  return BracesTake<T, std::conditional_t<(i >= 0), AnyField<T>, void>...>;
}
(std::make_index_sequence<n>());

// How many fields T has.
template <class T, std::size_t most = kFieldsMost + 1>
constexpr std::size_t fieldCount() {
  if constexpr (most == 0 || kTakes<T, most>) {
    return most;
  } else {
    return fieldCount<T, most - 1>();
  }
}

// In two functions, since one would be long.
template <std::size_t count, class T>
constexpr auto fewFieldsOf(T& whole) {
  if constexpr (count == 1) {
    auto& [a] = whole;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = whole;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = whole;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = whole;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = whole;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = whole;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = whole;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = whole;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (count == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}
template <std::size_t count, class T>
constexpr auto manyFieldsOf(T& whole) {
  if constexpr (count == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (count == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (count == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else if constexpr (count == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  } else if constexpr (count == 17) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
  } else if constexpr (count == 18) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
  } else if constexpr (count == 19) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
  } else if constexpr (count == 20) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
  } else if constexpr (count == 21) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u);
  } else if constexpr (count == 22) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v);
  } else if constexpr (count == 23) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w);
  } else if constexpr (count == 24) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x);
  }
}

// A tuple of references to the fields of `whole`, in their order.
template <class T>
constexpr auto fieldsOf(T& whole) {
  static_assert(std::is_aggregate_v<T>, "it has to say itself how it is sent (wire.h)");
  constexpr std::size_t count = fieldCount<std::remove_const_t<T>>();
  static_assert(count <= kFieldsMost, "more fields than this can name");
  if constexpr (count == 0) {
    return std::tie();
  } else if constexpr (count <= 12) {
    return fewFieldsOf<count>(whole);
  } else {
    return manyFieldsOf<count>(whole);
  }
}

}  // namespace satchel::ui
