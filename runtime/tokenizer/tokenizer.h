// Tokenizer: text to token ids and back, exactly like the model's own tokenizer.
//   kinds    sentencepiece vocabularies (GGUF model "llama") and byte-level BPE ("gpt2")
//   special  control tokens (<|im_start|>, </s> …) come only from text marked SpecialText::parse;
//            user text never becomes one. User-defined pieces (a newline, runs of spaces …) are
//            ordinary text and always matched.
//   bytes    each invalid part of UTF-8 is replaced by U+FFFD; decoding any token ids gives valid
//            UTF-8
//   errors   opening: corrupt or unsupported MODEL_TOKENIZER, MODEL_METADATA;
//            encoding: invalid TEXT_TOO_LONG (kTextBytesMax), internal TOKENIZER
//   threads  const calls from any thread
//   cost     opening a vocabulary of 50,000 pieces takes less than 0.1 s; encoding is O(n log n),
//            even for text without spaces
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/tokenizer/piece_matcher.h"
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

class GgufFile;
class TextEncoder;

enum class SpecialText {
  as_text,  // "<|im_end|>" is ten characters
  parse,    // "<|im_end|>" is the control token of that name
};

// A part of a text.
struct TextPart {
  std::string_view text;
  SpecialText special = SpecialText::as_text;
};

class Tokenizer {
 public:
  static constexpr std::size_t kTextBytesMax = 16u << 20;  // one message: docs/reliability.md

  static Result<std::unique_ptr<Tokenizer>> open(const GgufFile& file);
  static Result<std::unique_ptr<Tokenizer>> make(Vocabulary vocabulary);
  ~Tokenizer();

  // Never adds bos or eos. An empty text gives no tokens.
  Result<std::vector<TokenId>> encode(std::string_view text, SpecialText special) const;
  // Encodes the parts as one text: pieces may span parts. Control tokens are matched only inside
  // parts with SpecialText::parse, never across a border.
  Result<std::vector<TokenId>> encode(std::span<const TextPart> parts) const;

  // Appends a token's bytes, possibly only part of a character. Control and unknown tokens and ids
  // outside the vocabulary append nothing.
  void append_piece(TokenId token, std::string& bytes) const;
  // Decodes tokens: valid UTF-8, without control tokens and without the space that
  // adds_space_prefix added.
  std::string text(std::span<const TokenId> tokens) const;
  // The vocabulary's spelling of a token, for tables and messages; "" for unknown ids.
  std::string_view spelling(TokenId token) const;
  // The control token with this spelling.
  std::optional<TokenId> control(std::string_view spelling) const;

  // Hash of the file's vocabulary: token ids have the same meaning if it is equal. Never 0.
  std::uint64_t hash() const { return hash_; }
  std::size_t size() const { return vocabulary_.pieces.size(); }
  VocabularyKind kind() const { return vocabulary_.kind; }
  std::optional<TokenId> bos() const { return vocabulary_.bos; }
  std::optional<TokenId> eos() const { return vocabulary_.eos; }
  // Whether the model was trained with bos before every text.
  bool adds_bos() const { return vocabulary_.adds_bos; }
  bool adds_space_prefix() const { return vocabulary_.adds_space_prefix; }
  // Whether it is eos, eot, or a control token whose name ends a turn: <|im_end|>, <|eot_id|> …
  bool ends_turn(TokenId token) const;

 private:
  // vocabulary: as check_and_mend() accepted it
  Tokenizer(Vocabulary vocabulary, std::uint64_t hash);
  bool holds(TokenId token) const {
    return token >= 0 && static_cast<std::size_t>(token) < vocabulary_.pieces.size();
  }

  const Vocabulary vocabulary_;  // the matchers and the encoder point into it
  const std::uint64_t hash_;
  PieceMatcher control_;
  // To be found before encoding; none of sentencepiece, whose encoder finds them itself.
  PieceMatcher user_defined_;
  std::vector<TokenId> turn_ends_;  // sorted
  std::unique_ptr<TextEncoder> encoder_;
};

// Decodes streamed tokens: outputs whole characters only and holds back incomplete ones. The
// concatenated output equals Tokenizer::text() of the same tokens.
//   needs   the tokenizer outlives it
//   threads one
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer);
  std::string push(TokenId token);  // "" inside a character
  std::string finish();             // the rest; ready for the next text

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;  // at most three bytes: the beginning of a character
  bool at_start_ = true;
};

// A text of no chat: behind the model's bos, if it was trained with one.
Result<std::vector<TokenId>> raw_ids(const Tokenizer& tokenizer, std::string_view text);

}  // namespace satchel::runtime
