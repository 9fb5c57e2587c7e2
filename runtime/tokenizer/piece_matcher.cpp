#include "runtime/tokenizer/piece_matcher.h"

#include <algorithm>
#include <tuple>

namespace satchel::runtime {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

PieceMatcher::PieceMatcher(const Vocabulary& vocabulary, PieceType type) : first_{} {
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i)
    if (vocabulary.types[i] == type && !vocabulary.pieces[i].empty())
      pieces_.push_back({vocabulary.pieces[i], static_cast<TokenId>(i)});
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    return std::tie(a.spelling, a.token) < std::tie(b.spelling, b.token);
  });
  for (const Piece& piece : pieces_) ++first_[byte_at(piece.spelling, 0) + 1];
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

std::optional<PieceMatcher::Match> PieceMatcher::longest(std::string_view text) const {
  if (text.empty()) return std::nullopt;
  auto low = pieces_.begin() + first_[byte_at(text, 0)];
  auto high = pieces_.begin() + first_[byte_at(text, 0) + 1];
  std::optional<Match> best;
  // Invariant: the pieces in [low, high) begin with the first `depth` bytes of the text.
  for (std::size_t depth = 1; low != high; ++depth) {
    if (low->spelling.size() == depth) {
      best = Match{low->token, depth};
      while (low != high && low->spelling.size() == depth) ++low;  // the same, listed twice
    }
    if (depth == text.size()) break;
    const unsigned byte = byte_at(text, depth);
    low = std::partition_point(
        low, high, [&](const Piece& piece) { return byte_at(piece.spelling, depth) < byte; });
    high = std::partition_point(
        low, high, [&](const Piece& piece) { return byte_at(piece.spelling, depth) == byte; });
  }
  return best;
}

std::optional<TokenId> PieceMatcher::find(std::string_view spelling) const {
  const auto found = std::lower_bound(
      pieces_.begin(), pieces_.end(), spelling,
      [](const Piece& piece, std::string_view key) { return piece.spelling < key; });
  if (found == pieces_.end() || found->spelling != spelling) return std::nullopt;
  return found->token;
}

}  // namespace satchel::runtime
