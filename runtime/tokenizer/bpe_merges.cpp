#include "runtime/tokenizer/bpe_merges.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

namespace satchel::runtime {
namespace {

// Fibonacci hashing of both ids; the upper bits are the mixed ones.
std::size_t hash_of(TokenId left, TokenId right) {
  const std::uint64_t key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
                            static_cast<std::uint32_t>(right);
  const std::uint64_t mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15u;
  return static_cast<std::size_t>(mixed >> 32);
}

constexpr std::uint32_t kNoRule = 0xFFFFFFFF;

Error bad_rule(std::size_t i, std::string_view why) {
  return {ErrorKind::corrupt, "MODEL_TOKENIZER",
          "Entry " + std::to_string(i) + " of tokenizer.ggml.merges " + std::string(why) +
              ". Nothing was loaded; get the model file again."};
}

constexpr std::int32_t kNone = -1;

struct Symbol {
  TokenId token = 0;
  std::int32_t left = kNone, right = kNone;  // neighbours still there
};

// A pair that could be merged when it was seen. It is out of date once one of its symbols is not
// what it was; merging changes the left symbol and empties the right one.
struct Candidate {
  std::uint32_t rank = 0;
  std::int32_t left = 0, right = 0;  // symbols
  TokenId left_token = 0, right_token = 0, result = 0;
};

bool comes_later(const Candidate& a, const Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

}  // namespace

Result<BpeMerges> BpeMerges::read(const PieceList& merges, const PieceList& pieces,
                                  const PieceIndex& index) {
  BpeMerges read;
  read.rules_.reserve(merges.size());
  read.places_.assign(std::bit_ceil(merges.size() + merges.size() / 4 + 1), kNoRule);
  std::string joined;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::string_view rule = merges[i];
    const std::size_t space = rule.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == rule.size() ||
        rule.find(' ', space + 1) != std::string_view::npos)
      return bad_rule(i, "is not two pieces with a space between");
    const std::string_view left_text = rule.substr(0, space), right_text = rule.substr(space + 1);
    joined.assign(left_text).append(right_text);
    const auto left = index.find(pieces, left_text), right = index.find(pieces, right_text);
    const auto result = index.find(pieces, joined);
    if (!left || !right || !result)
      return bad_rule(i, "names a piece that is not in tokenizer.ggml.tokens");
    read.rules_.push_back({*left, *right, *result});
    std::uint32_t& place = read.places_[read.place_of(*left, *right)];
    if (place == kNoRule) place = static_cast<std::uint32_t>(i);  // else an earlier one goes first
  }
  return read;
}

std::size_t BpeMerges::place_of(TokenId left, TokenId right) const {
  const std::size_t last = places_.size() - 1;
  for (std::size_t at = hash_of(left, right) & last;; at = (at + 1) & last) {
    if (places_[at] == kNoRule) return at;
    const Rule& rule = rules_[places_[at]];
    if (rule.left == left && rule.right == right) return at;
  }
}

void BpeMerges::apply(std::vector<TokenId>& tokens) const {
  const auto n = static_cast<std::int32_t>(tokens.size());  // a text is 16 MiB at most
  std::vector<Symbol> symbols(tokens.size());
  std::vector<Candidate> heap;
  const auto at = [&](std::int32_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  const auto consider = [&](std::int32_t left, std::int32_t right) {
    if (left == kNone || right == kNone) return;
    const std::uint32_t rank = places_[place_of(at(left).token, at(right).token)];
    if (rank == kNoRule) return;
    const Rule& rule = rules_[rank];
    heap.push_back({rank, left, right, rule.left, rule.right, rule.result});
    std::push_heap(heap.begin(), heap.end(), comes_later);
  };

  for (std::int32_t i = 0; i < n; ++i)
    at(i) = {tokens[static_cast<std::size_t>(i)], i - 1, i + 1 < n ? i + 1 : kNone};
  for (std::int32_t i = 0; i + 1 < n; ++i) consider(i, i + 1);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), comes_later);
    const Candidate best = heap.back();
    heap.pop_back();
    Symbol& left = at(best.left);
    if (left.token != best.left_token || left.right != best.right ||
        at(best.right).token != best.right_token)
      continue;
    const Symbol gone = std::exchange(at(best.right), Symbol{kNone, kNone, kNone});
    left.token = best.result;
    left.right = gone.right;
    if (gone.right != kNone) at(gone.right).left = best.left;
    consider(left.left, best.left);
    consider(best.left, left.right);
  }

  tokens.clear();
  for (std::int32_t i = 0; i != kNone && i < n; i = at(i).right) tokens.push_back(at(i).token);
}

}  // namespace satchel::runtime
