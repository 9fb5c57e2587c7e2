// PieceIndex: finds the pieces of a list by their spelling: a hash table of their ids, which keeps
// no text of its own. Each call names the list that the ids are places of.
//   cost  4 bytes in 1.5 to 3 places a piece; looking up reads one piece, seldom two
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

  // Nothing, and the piece can be found from now on; or the one of the same spelling that is there.
  std::optional<TokenId> add(const PieceList& pieces, TokenId piece);
  std::optional<TokenId> find(const PieceList& pieces, std::string_view spelling) const;

 private:
  // Where the spelling is, or would be put.
  std::size_t place_of(const PieceList& pieces, std::string_view spelling,
                       std::uint64_t hash) const;

  std::vector<std::uint32_t> slots_;  // a power of two of them, some kEmpty: an id, and above it
                                      // bits of the spelling's hash
};

}  // namespace satchel::runtime
