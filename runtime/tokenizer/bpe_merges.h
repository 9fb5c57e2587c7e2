// BpeMerges: joins the symbols of a word by rank until no rule applies.
//   cost  O(n log n) in the symbols of a word, so that a megabyte without a space is no trap
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

class BpeMerges {
 public:
  using PieceIds = std::unordered_map<std::string_view, TokenId>;

  // Reads "left right" rules; the first is merged first.
  //   errors  corrupt MODEL_TOKENIZER for a rule that is not two pieces, or whose parts or result
  //           are not in `pieces`
  static Result<BpeMerges> read(const std::vector<std::string>& merges, const PieceIds& pieces);

  // Merges `symbols` in place: lowest rank first, of equal ranks the leftmost.
  void apply(std::vector<TokenId>& symbols) const;

 private:
  struct Rule {
    std::int32_t rank = 0;
    TokenId result = 0;
  };
  const Rule* find(TokenId left, TokenId right) const;

  std::unordered_map<std::uint64_t, Rule> rules_;  // by left << 32 | right
};

}  // namespace satchel::runtime
