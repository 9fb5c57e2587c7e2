// PieceMatcher: finds the longest piece of a set that is a prefix of a text.
//   cost  one table lookup per position whose byte begins no piece
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/piece_list.h"
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

class PieceMatcher {
 public:
  struct Match {
    TokenId token = 0;
    std::size_t bytes = 0;
  };

  PieceMatcher() : first_{} {}  // finds nothing
  // Uses the non-empty pieces of one type. The vocabulary must outlive it.
  PieceMatcher(const Vocabulary& vocabulary, PieceType type);

  bool empty() const { return pieces_.empty(); }
  // The longest piece at the beginning of `text`.
  std::optional<Match> longest(std::string_view text) const;
  // The piece with exactly this spelling.
  std::optional<TokenId> find(std::string_view spelling) const;

 private:
  std::string_view spelling(TokenId token) const {
    return (*spellings_)[static_cast<std::size_t>(token)];
  }

  const PieceList* spellings_ = nullptr;
  std::vector<TokenId> pieces_;           // sorted by spelling, then by token
  std::array<std::uint32_t, 257> first_;  // where the pieces of each first byte begin
};

}  // namespace satchel::runtime
