// PairJoining: the loop of byte-pair encoding over a row of symbols. It joins the best pair of
// neighbours first, the leftmost of equal ones, until none can be joined.
//   cost  O(n log n) in the symbols, so a megabyte without a space is no problem; some 60 bytes for
//         each, so longer runs are cut
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace satchel::runtime {

// What is longer is cut by those who use this. Chosen: more than a word of any language has.
inline constexpr std::size_t kSymbolsMost = std::size_t{1} << 20;

// Key: the priority of a pair, from find(); if a < b, the pair of a is joined first.
template <class Key>
class PairJoining {
 public:
  // For n symbols, at most kSymbolsMost.
  explicit PairJoining(std::size_t n) : symbols_(n) {
    for (std::size_t i = 0; i < n; ++i) {
      symbols_[i].left = static_cast<std::int32_t>(i) - 1;
      symbols_[i].right = i + 1 < n ? static_cast<std::int32_t>(i) + 1 : kNone;
    }
  }

  // find(left, right): the key of two neighbours, or nothing if they cannot be joined.
  // join(left, right, key): called when they have become one symbol, at the left one's index.
  template <class FindFn, class JoinFn>
  void run(const FindFn& find, const JoinFn& join) {
    const auto consider = [&](std::int32_t left, std::int32_t right) {
      if (left == kNone || right == kNone) return;
      const std::optional<Key> key = find(index(left), index(right));
      if (!key) return;
      heap_.push_back({*key, left, right, at(left).size + at(right).size});
      std::push_heap(heap_.begin(), heap_.end(), comes_later);
    };
    for (std::size_t i = 1; i < symbols_.size(); ++i)
      consider(static_cast<std::int32_t>(i) - 1, static_cast<std::int32_t>(i));
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), comes_later);
      const Candidate best = heap_.back();
      heap_.pop_back();
      Symbol &left = at(best.left), &right = at(best.right);
      if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;
      left.size = best.size;
      right.size = 0;
      left.right = right.right;
      if (right.right != kNone) at(right.right).left = best.left;
      join(index(best.left), index(best.right), best.key);
      consider(left.left, best.left);
      consider(best.left, left.right);
    }
  }

  // Whether symbol i still exists, rather than being part of one to its left.
  bool is_there(std::size_t i) const { return symbols_[i].size != 0; }

 private:
  static constexpr std::int32_t kNone = -1;
  struct Symbol {
    std::uint32_t size = 1;                    // in original symbols; 0: joined into another
    std::int32_t left = kNone, right = kNone;  // neighbours that still exist
  };
  // A pair that could be joined when it was found; stale once either symbol has changed size.
  struct Candidate {
    Key key;
    std::int32_t left = 0, right = 0;
    std::uint32_t size = 0;  // of both
  };
  static bool comes_later(const Candidate& a, const Candidate& b) {
    if (a.key < b.key || b.key < a.key) return b.key < a.key;
    return a.left > b.left;
  }
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  Symbol& at(std::int32_t i) { return symbols_[index(i)]; }

  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace satchel::runtime
