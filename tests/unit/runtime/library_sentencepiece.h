// The SentencePiece library over a vocabulary of ours: the oracle of
// runtime/tokenizer/sentencepiece.cpp.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime::tokenizer_tests {

class LibrarySentencePiece {
 public:
  // Of a vocabulary that check_and_mend accepted; aborts if the library does not take it.
  explicit LibrarySentencePiece(const Vocabulary& vocabulary);
  ~LibrarySentencePiece();
  std::vector<TokenId> encode(std::string_view text) const;

 private:
  struct Processor;
  std::unique_ptr<Processor> processor_;
};

}  // namespace satchel::runtime::tokenizer_tests
