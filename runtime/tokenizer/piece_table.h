// PieceTable: the properties of a tokenizer's pieces: their bytes, which are special, and which end
// a turn.
#pragma once

#include <string>
#include <vector>

#include "runtime/tokenizer/piece_matcher.h"
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

class PieceTable {
 public:
  // needs a vocabulary that check_and_mend accepted
  explicit PieceTable(Vocabulary vocabulary);
  PieceTable(const PieceTable&) = delete;  // the matchers point into the vocabulary
  PieceTable& operator=(const PieceTable&) = delete;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  bool holds(TokenId token) const {
    return token >= 0 && static_cast<std::size_t>(token) < vocabulary_.pieces.size();
  }
  // Appends a piece's decoded bytes; none for control, unknown and unused pieces.
  void append_bytes(TokenId token, std::string& out) const;
  bool ends_turn(TokenId token) const;

  const PieceMatcher& control() const { return control_; }
  // Pieces to match before encoding; none for sentencepiece, whose encoder matches them itself.
  const PieceMatcher& user_defined() const { return user_defined_; }

 private:
  Vocabulary vocabulary_;
  std::vector<TokenId> turn_ends_;  // sorted
  PieceMatcher control_, user_defined_;
};

}  // namespace satchel::runtime
