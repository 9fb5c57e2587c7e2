#include "runtime/tokenizer/piece_matcher.h"

#include <algorithm>

namespace satchel::runtime {
namespace {

unsigned byte_of_key(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

PieceMatcher::PieceMatcher(const Vocabulary& vocabulary, PieceType type)
    : spellings_(&vocabulary.pieces), first_{} {
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i)
    if (vocabulary.types[i] == type && !vocabulary.pieces[i].empty())
      pieces_.push_back(static_cast<TokenId>(i));
  pieces_.shrink_to_fit();
  std::sort(pieces_.begin(), pieces_.end(), [this](TokenId a, TokenId b) {
    const int order = spelling(a).compare(spelling(b));
    return order != 0 ? order < 0 : a < b;
  });
  for (const TokenId piece : pieces_) ++first_[byte_of_key(spelling(piece), 0) + 1];
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

std::optional<PieceMatcher::Match> PieceMatcher::longest(std::string_view text) const {
  if (text.empty()) return std::nullopt;
  auto low = pieces_.begin() + first_[byte_of_key(text, 0)];
  auto high = pieces_.begin() + first_[byte_of_key(text, 0) + 1];
  std::optional<Match> best;
  // Invariant: the pieces in [low, high) begin with the first `depth` bytes of the text.
  for (std::size_t depth = 1; low != high; ++depth) {
    if (spelling(*low).size() == depth) {
      best = Match{*low, depth};
      while (low != high && spelling(*low).size() == depth) ++low;  // the same, listed twice
    }
    if (depth == text.size()) break;
    const unsigned byte = byte_of_key(text, depth);
    low = std::partition_point(
        low, high, [&](TokenId piece) { return byte_of_key(spelling(piece), depth) < byte; });
    high = std::partition_point(
        low, high, [&](TokenId piece) { return byte_of_key(spelling(piece), depth) == byte; });
  }
  return best;
}

std::optional<TokenId> PieceMatcher::find(std::string_view wanted) const {
  const auto found = std::lower_bound(
      pieces_.begin(), pieces_.end(), wanted,
      [this](TokenId piece, std::string_view key) { return spelling(piece) < key; });
  if (found == pieces_.end() || spelling(*found) != wanted) return std::nullopt;
  return *found;
}

}  // namespace satchel::runtime
