// BpeMerges: merges the symbols of a word by rank until no rule applies.
//   cost  O(n log n) in the symbols of a word, so a megabyte without a space is no problem
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

  // Merges `symbols` in place: lowest rank first, the leftmost of equal ranks.
  void apply(std::vector<TokenId>& symbols) const;

 private:
  struct Rule {
    TokenId left = 0, right = 0, result = 0;
  };
  // The slot in `places_` of the rule for two pieces, or the empty slot where it belongs.
  std::size_t place_of(TokenId left, TokenId right) const;

  std::vector<Rule> rules_;            // index = rank
  std::vector<std::uint32_t> places_;  // a hash table of ranks; its size is a power of two
};

}  // namespace satchel::runtime
