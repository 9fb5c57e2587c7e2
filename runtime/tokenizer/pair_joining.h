// PairJoining: the loop of byte-pair encoding, over a row of symbols: of all neighbours that can be
// joined the best pair first, of equal ones the leftmost, until none can be.
//   cost  O(n log n) in the symbols, so that a megabyte without a space is no trap
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace satchel::runtime {

// Key: what find() says of a pair; a < b: the pair of a is joined before that of b.
template <class Key>
class PairJoining {
 public:
  // Of n symbols; a text is 16 MiB at most.
  explicit PairJoining(std::size_t n) : symbols_(n) {
    for (std::size_t i = 0; i < n; ++i) {
      symbols_[i].left = static_cast<std::int32_t>(i) - 1;
      symbols_[i].right = i + 1 < n ? static_cast<std::int32_t>(i) + 1 : kNone;
    }
  }

  // find(left, right): the key of two neighbours, or nothing if they cannot be joined.
  // join(left, right, key): they are now one, in the place of the left one.
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

  // Whether symbol i is still there, and not part of one to its left.
  bool is_there(std::size_t i) const { return symbols_[i].size != 0; }

 private:
  static constexpr std::int32_t kNone = -1;
  struct Symbol {
    std::uint32_t size = 1;                    // of those it was joined from; 0: it is gone
    std::int32_t left = kNone, right = kNone;  // neighbours still there
  };
  // A pair that could be joined when it was seen; out of date once either has changed its size.
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
