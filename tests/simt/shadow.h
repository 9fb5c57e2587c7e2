// Shadow: what is known of every byte of a memory, kept by words of four as long as their bytes are
// alike, which they mostly are; a word whose bytes differ says so, and theirs lie in a second
// array.
//   State   small, trivially copyable, comparable; State::mixed() is a value that no byte has
//   memory  the arrays are the caller's: [n / 4] words and [n] bytes
#pragma once

#include <algorithm>
#include <cstddef>

namespace simt {

template <class State>
class Shadow {
 public:
  constexpr Shadow(State* words, State* bytes) : words_(words), bytes_(bytes) {}

  void fill(std::size_t at, std::size_t n, const State& state) {
    visit_any(at, n, [&](State& of_byte) {
      of_byte = state;
      return true;
    });
  }

  // touch(state) of all kBytes bytes at `at`, a multiple of them; where they are alike but once. It
  // may change the state. False: go no further. kBytes 0: n bytes anywhere.
  template <std::size_t kBytes, class Touch>
  void visit(std::size_t at, std::size_t n, const Touch& touch) {
    if constexpr (kBytes >= 4)
      visit_words<kBytes / 4>(at / 4, touch);
    else
      visit_any(at, kBytes == 0 ? n : kBytes, touch);
  }

 private:
  template <std::size_t kWords, class Touch>
  void visit_words(std::size_t first, const Touch& touch) {
    State* const words = words_ + first;
    bool is_alike = words[0] != State::mixed();
    for (std::size_t i = 1; i < kWords; ++i) is_alike &= words[i] == words[0];
    if (!is_alike) return visit_any(first * 4, kWords * 4, touch);
    State now = words[0];
    if (!touch(now) || now == words[0]) return;
    for (std::size_t i = 0; i < kWords; ++i) words[i] = now;
  }

  template <class Touch>
  void visit_any(std::size_t at, std::size_t n, const Touch& touch) {
    for (const std::size_t end = at + n; at < end;) {
      const std::size_t next = std::min(at / 4 * 4 + 4, end);
      if (!visit_in_word(at, next - at, touch)) return;
      at = next;
    }
  }

  // n bytes of one word.
  template <class Touch>
  bool visit_in_word(std::size_t at, std::size_t n, const Touch& touch) {
    State& word = words_[at / 4];
    State* const bytes = bytes_ + at / 4 * 4;
    if (word != State::mixed()) {
      State now = word;
      const bool goes_on = touch(now);
      if (n == 4 || now == word) {
        word = now;
        return goes_on;
      }
      std::fill_n(bytes, 4, word);
      std::fill_n(bytes + at % 4, n, now);
      word = State::mixed();
      return goes_on;
    }
    for (State* byte = bytes + at % 4; byte < bytes + at % 4 + n; ++byte)
      if (!touch(*byte)) return false;
    const bool is_alike = bytes[1] == bytes[0] && bytes[2] == bytes[0] && bytes[3] == bytes[0];
    if (is_alike) word = bytes[0];
    return true;
  }

  State *words_, *bytes_;
};

}  // namespace simt
