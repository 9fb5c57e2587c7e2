// Reach: what attention sees of a text that is longer than the model's context: its beginning, the
// parts that were chosen, and the newest text. The newest text stays where it stands and the others
// are moved close to it: RoPE is relative, so no query sees a distance that the model was
// not trained for, and nothing is encoded again.
//   invariants  1 parts are in text order, do not overlap, and end at or before `near_first`
//               2 the first begins the text and holds all sinks
//               3 a part is seen between 0 and near_first, so every later query sees all of it;
//                 parts may be seen side by side, at the same positions
//   source      arXiv:2212.10947 (parallel context windows); moving keys: arXiv:2104.09864 (RoPE)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace satchel::kvcache {

struct Reach {
  // [first, first + n_tokens), seen `moved` positions later than it stands, or earlier.
  struct Part {
    std::size_t first = 0, n_tokens = 0;
    std::int32_t moved = 0;
    std::size_t end() const { return first + n_tokens; }
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::vector<Part> parts = {};
  std::size_t near_first = 0;  // text from here on is seen as it stands; 0: all text is

  bool is_all() const { return near_first == 0; }
  // The number of the part that the token is in; parts.size(): the near text; nothing: it is out of
  // reach. What shares a page is in one place, as a page is moved as a whole.
  std::optional<std::size_t> place(std::size_t position) const;
  // How much later the token is seen than it stands; nothing: it is out of reach.
  std::optional<std::int32_t> moved(std::size_t position) const;
  // Whether any token of [first, end) is in reach.
  bool sees(std::size_t first, std::size_t end) const;
  std::int32_t sinks_moved() const { return is_all() ? 0 : parts.front().moved; }
  // Whether the invariants hold over a text of so many tokens, the first n_sinks of them sinks.
  bool holds(std::size_t n_tokens, std::size_t n_sinks) const;
  // What is left of it where the text ends earlier.
  void truncate(std::size_t n_tokens);
  friend bool operator==(const Reach&, const Reach&) = default;
};

}  // namespace satchel::kvcache
