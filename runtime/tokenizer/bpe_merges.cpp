#include "runtime/tokenizer/bpe_merges.h"

#include <bit>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/tokenizer/pair_joining.h"

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
              ". Nothing was loaded. Get the model file again."};
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
      return bad_rule(i, "is not two pieces separated by a space");
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
  PairJoining<std::uint32_t> joining(tokens.size());
  joining.run(
      [&](std::size_t left, std::size_t right) -> std::optional<std::uint32_t> {
        const std::uint32_t rank = places_[place_of(tokens[left], tokens[right])];
        if (rank == kNoRule) return std::nullopt;
        return rank;
      },
      [&](std::size_t left, std::size_t, std::uint32_t rank) {
        tokens[left] = rules_[rank].result;
      });
  std::size_t n = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (joining.is_there(i)) tokens[n++] = tokens[i];
  tokens.resize(n);
}

}  // namespace satchel::runtime
