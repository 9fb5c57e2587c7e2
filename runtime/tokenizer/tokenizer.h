// Tokenizer: text to token ids and back, as the model's own tokenizer does it.
//   kinds    sentencepiece vocabularies (GGUF model "llama") and byte-level BPE ("gpt2")
//   special  control tokens (<|im_start|>, </s> …) come only out of text that is declared to be
//            parsed for them: text from people never becomes one. User-defined pieces (a newline of
//            its own, runs of spaces …) are text and always matched.
//   bytes    text that is no UTF-8 is read with U+FFFD in place of each broken part; decoding any
//            token ids gives valid UTF-8
//   errors   opening: corrupt or unsupported MODEL_TOKENIZER, MODEL_METADATA;
//            encoding: invalid TEXT_TOO_LONG (kTextBytesMax), internal TOKENIZER
//   threads  const calls from any thread
//   cost     opening a vocabulary of 50,000 pieces: below 0.1 s; encoding is linear up to a
//            logarithm, for text without any space too
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
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

class GgufFile;
class PieceTable;
class TextEncoder;

enum class SpecialText {
  as_text,  // "<|im_end|>" is ten characters
  parse,    // "<|im_end|>" is the control token of that name
};

// A stretch of a text that is put together of several.
struct TextPart {
  std::string_view text;
  SpecialText special = SpecialText::as_text;
};

class Tokenizer {
 public:
  static constexpr std::size_t kTextBytesMax = 16u << 20;  // one message, reliability.md section 7

  static Result<std::unique_ptr<Tokenizer>> open(const GgufFile& file);
  static Result<std::unique_ptr<Tokenizer>> make(Vocabulary vocabulary);
  ~Tokenizer();

  // Never adds bos or eos. An empty text gives no tokens.
  Result<std::vector<TokenId>> encode(std::string_view text, SpecialText special) const;
  // The parts as one text: pieces may reach from one part into the next, control tokens are looked
  // for inside parts that say `parse`, and never across a border.
  Result<std::vector<TokenId>> encode(std::span<const TextPart> parts) const;

  // The bytes a token stands for, which may be a part of a character. Control and unknown tokens
  // and ids outside the vocabulary add nothing.
  void append_piece(TokenId token, std::string& bytes) const;
  // What the tokens say: valid UTF-8, without control tokens and without the space that
  // adds_space_prefix put in front.
  std::string text(std::span<const TokenId> tokens) const;
  // The piece as the vocabulary spells it, for tables and messages; "" outside of it.
  std::string_view spelling(TokenId token) const;
  // The control token spelled like this.
  std::optional<TokenId> control(std::string_view spelling) const;

  // Of the vocabulary as the file has it: says whether token ids mean the same. Never 0.
  std::uint64_t hash() const { return hash_; }
  std::size_t size() const;
  VocabularyKind kind() const;
  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  bool adds_bos() const;  // the model was trained with bos before every text
  bool adds_space_prefix() const;
  // eos, eot, and the control tokens that end a turn by their name: <|im_end|>, <|eot_id|> …
  bool ends_turn(TokenId token) const;

 private:
  Tokenizer(std::unique_ptr<PieceTable> table, std::unique_ptr<TextEncoder> encoder,
            std::uint64_t hash);
  std::unique_ptr<PieceTable> table_;
  std::unique_ptr<TextEncoder> encoder_;
  std::uint64_t hash_;
};

// Text as it streams: gives out whole characters only and keeps back what may still be completed.
// All it gave out, put together, equals Tokenizer::text of the same tokens.
//   needs   the tokenizer outlives it
//   threads one
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer);
  std::string push(TokenId token);  // often "": inside a character
  std::string finish();             // the rest; ready for the next text

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;  // at most three bytes: the beginning of a character
  bool at_start_ = true;
};

}  // namespace satchel::runtime
