// PieceMatcher: finds the longest of a set of pieces that a text begins with.
//   cost  per place one table look-up where no piece begins with its byte
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

class PieceMatcher {
 public:
  struct Match {
    TokenId token = 0;
    std::size_t bytes = 0;
  };

  PieceMatcher() : first_{} {}  // finds nothing
  // The pieces of one type; empty ones are left out. Keeps copies.
  PieceMatcher(const Vocabulary& vocabulary, PieceType type);

  bool empty() const { return pieces_.empty(); }
  // The longest piece at the beginning of `text`.
  std::optional<Match> longest(std::string_view text) const;
  // The piece spelled exactly like this.
  std::optional<TokenId> find(std::string_view spelling) const;

 private:
  struct Piece {
    std::string spelling;
    TokenId token = 0;
  };
  std::vector<Piece> pieces_;             // sorted by spelling, then by token
  std::array<std::uint32_t, 257> first_;  // where the pieces of each first byte begin
};

}  // namespace satchel::runtime
