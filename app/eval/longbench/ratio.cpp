#include "app/eval/longbench/text.h"

#include <cstddef>
#include <map>
#include <vector>

namespace satchel::eval::longbench {
namespace {

struct Range {
  std::size_t a_begin = 0, a_end = 0, b_begin = 0, b_end = 0;
};
struct Block {
  std::size_t a = 0, b = 0, n = 0;
};

class Matcher {
 public:
  Matcher(std::u32string_view a, std::u32string_view b) : a_(a), b_(b) {
    for (std::size_t j = 0; j < b.size(); ++j) places_[b[j]].push_back(j);
    if (b.size() < kAutojunkFrom) return;
    const std::size_t n_many = b.size() / 100 + 1;
    std::erase_if(places_, [&](const auto& each) { return each.second.size() > n_many; });
  }

  std::size_t n_matching(const Range& range) const {
    const Block found = longest(range);
    if (found.n == 0) return 0;
    return found.n + n_matching({range.a_begin, found.a, range.b_begin, found.b}) +
           n_matching({found.a + found.n, range.a_end, found.b + found.n, range.b_end});
  }

 private:
  static constexpr std::size_t kAutojunkFrom = 200;

  // The first in a, of these the first in b.
  Block longest(const Range& range) const;
  void grow(const Range& range, Block& block) const;

  std::u32string_view a_, b_;
  std::map<char32_t, std::vector<std::size_t>> places_;  // in b, of what may begin a block
};

Block Matcher::longest(const Range& range) const {
  Block best{range.a_begin, range.b_begin, 0};
  // Length of the block that ends at a character of b and at the last one of a. [b + 1]
  std::vector<std::size_t> lengths(b_.size() + 1), next(b_.size() + 1);
  for (std::size_t i = range.a_begin; i < range.a_end; ++i) {
    next.assign(next.size(), 0);
    const auto places = places_.find(a_[i]);
    if (places != places_.end()) {
      for (const std::size_t j : places->second) {
        if (j < range.b_begin) continue;
        if (j >= range.b_end) break;
        const std::size_t n = next[j + 1] = lengths[j] + 1;
        if (n > best.n) best = {i + 1 - n, j + 1 - n, n};
      }
    }
    lengths.swap(next);
  }
  grow(range, best);
  return best;
}

void Matcher::grow(const Range& range, Block& block) const {
  while (block.a > range.a_begin && block.b > range.b_begin && a_[block.a - 1] == b_[block.b - 1])
    --block.a, --block.b, ++block.n;
  while (block.a + block.n < range.a_end && block.b + block.n < range.b_end &&
         a_[block.a + block.n] == b_[block.b + block.n])
    ++block.n;
}

}  // namespace

double matching_ratio(std::u32string_view a, std::u32string_view b) {
  if (a.empty() && b.empty()) return 1;
  const std::size_t n = Matcher(a, b).n_matching({0, a.size(), 0, b.size()});
  return 2 * static_cast<double>(n) / static_cast<double>(a.size() + b.size());
}

}  // namespace satchel::eval::longbench
