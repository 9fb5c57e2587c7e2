// PieceIndex: finds pieces by their spelling. It is a hash table of ids without text of its own;
// each call passes the list that the ids index.
//   cost  1.5 to 3 slots of 4 bytes per piece; a lookup reads one piece, rarely two
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/piece_list.h"
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

class PieceIndex {
 public:
  PieceIndex() = default;  // finds nothing
  // n_most: how many pieces will be added.
  explicit PieceIndex(std::size_t n_most);

  // Adds a piece and returns nothing; or returns the existing piece of the same spelling.
  std::optional<TokenId> add(const PieceList& pieces, TokenId piece);
  std::optional<TokenId> find(const PieceList& pieces, std::string_view spelling) const;

 private:
  // The slot where the spelling is or belongs.
  std::size_t place_of(const PieceList& pieces, std::string_view spelling,
                       std::uint64_t hash) const;

  std::vector<std::uint32_t> slots_;  // a power of two of them, some kEmpty: an id, and above it
                                      // bits of the spelling's hash
};

}  // namespace satchel::runtime
