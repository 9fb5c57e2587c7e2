#include "runtime/tokenizer/bpe_merges.h"

#include <algorithm>
#include <string>
#include <utility>

namespace satchel::runtime {
namespace {

std::uint64_t pair_key(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

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
  std::int32_t rank = 0;
  std::int32_t left = 0, right = 0;  // symbols
  TokenId left_token = 0, right_token = 0, result = 0;
};

bool comes_later(const Candidate& a, const Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

}  // namespace

Result<BpeMerges> BpeMerges::read(const std::vector<std::string>& merges, const PieceIds& pieces) {
  BpeMerges read;
  read.rules_.reserve(merges.size());
  std::string joined;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::string_view rule = merges[i];
    const std::size_t space = rule.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == rule.size() ||
        rule.find(' ', space + 1) != std::string_view::npos)
      return bad_rule(i, "is not two pieces with a space between");
    const std::string_view left_text = rule.substr(0, space), right_text = rule.substr(space + 1);
    joined.assign(left_text).append(right_text);
    const auto left = pieces.find(left_text), right = pieces.find(right_text);
    const auto result = pieces.find(joined);
    if (left == pieces.end() || right == pieces.end() || result == pieces.end())
      return bad_rule(i, "names a piece that is not in tokenizer.ggml.tokens");
    read.rules_.try_emplace(pair_key(left->second, right->second),
                            Rule{static_cast<std::int32_t>(i), result->second});
  }
  return read;
}

const BpeMerges::Rule* BpeMerges::find(TokenId left, TokenId right) const {
  const auto found = rules_.find(pair_key(left, right));
  return found == rules_.end() ? nullptr : &found->second;
}

void BpeMerges::apply(std::vector<TokenId>& tokens) const {
  const auto n = static_cast<std::int32_t>(tokens.size());  // a text is 16 MiB at most
  std::vector<Symbol> symbols(tokens.size());
  std::vector<Candidate> heap;
  const auto at = [&](std::int32_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  const auto consider = [&](std::int32_t left, std::int32_t right) {
    if (left == kNone || right == kNone) return;
    const Rule* rule = find(at(left).token, at(right).token);
    if (rule == nullptr) return;
    heap.push_back({rule->rank, left, right, at(left).token, at(right).token, rule->result});
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
