// PieceMatcher: finds the longest of a set of pieces that a text begins with.
//   cost  per place one table look-up where no piece begins with its byte
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
  // The pieces of one type; empty ones are left out. The vocabulary outlives it.
  PieceMatcher(const Vocabulary& vocabulary, PieceType type);

  bool empty() const { return pieces_.empty(); }
  // The longest piece at the beginning of `text`.
  std::optional<Match> longest(std::string_view text) const;
  // The piece spelled exactly like this.
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
