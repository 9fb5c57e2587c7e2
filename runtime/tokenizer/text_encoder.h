// TextEncoder: encodes text without special tokens; one implementation per kind of vocabulary.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // Appends the ids of `text`, which is valid UTF-8 and not empty.
  virtual Result<void> encode(std::string_view text, std::vector<TokenId>& out) const = 0;
};

// All need a vocabulary that check_and_mend accepted and that outlives them. Merges are read once.
std::unique_ptr<TextEncoder> make_sentencepiece_encoder(const Vocabulary& vocabulary);
Result<std::unique_ptr<TextEncoder>> make_byte_bpe_encoder(const Vocabulary& vocabulary,
                                                           const PieceList& merges);
Result<std::unique_ptr<TextEncoder>> make_marked_bpe_encoder(const Vocabulary& vocabulary,
                                                             const PieceList& merges);

}  // namespace satchel::runtime
