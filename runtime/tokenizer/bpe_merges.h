// BpeMerges: joins the symbols of a word by rank until no rule applies.
//   cost  O(n log n) in the symbols of a word, so that a megabyte without a space is no trap
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/tokenizer/piece_index.h"
#include "runtime/tokenizer/piece_list.h"
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

class BpeMerges {
 public:
  // Reads "left right" rules; the first is merged first.
  //   errors  corrupt MODEL_TOKENIZER for a rule that is not two pieces, or whose parts or result
  //           are not in `index`
  static Result<BpeMerges> read(const PieceList& merges, const PieceList& pieces,
                                const PieceIndex& index);

  // Merges `symbols` in place: lowest rank first, of equal ranks the leftmost.
  void apply(std::vector<TokenId>& symbols) const;

 private:
  struct Rule {
    TokenId left = 0, right = 0, result = 0;
  };
  // The place in `places_` of the rule of two pieces, or of the empty one where it would be put.
  std::size_t place_of(TokenId left, TokenId right) const;

  std::vector<Rule> rules_;            // index = rank
  std::vector<std::uint32_t> places_;  // a hash table of ranks: a power of two of them, some empty
};

}  // namespace satchel::runtime
