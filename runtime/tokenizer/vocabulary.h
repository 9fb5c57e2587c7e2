// Vocabulary: the checked pieces of a model's tokenizer from its GGUF file. It is the interface
// between files and tokenizers; tests build it by hand.
//   errors  corrupt MODEL_TOKENIZER, naming the key or the piece; unsupported MODEL_TOKENIZER for a
//           tokenizer of another kind; MODEL_METADATA from the GGUF getters
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/tokenizer/piece_list.h"

namespace satchel::runtime {

class GgufFile;

using TokenId = std::int32_t;

// tokenizer.ggml.model: llama, gpt2, gemma4. The last has sentencepiece's pieces, joined by merges.
enum class VocabularyKind { sentencepiece, byte_bpe, marked_bpe };

// The numbers are those of tokenizer.ggml.token_type and of sentencepiece's own model.
enum class PieceType : std::uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,       // never produced from user text
  user_defined = 4,  // matched whole anywhere in a text
  unused = 5,
  byte = 6,  // <0x00> … <0xFF>
};

// Sentencepiece's spelling of a space: U+2581.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";
std::string with_space_marks(std::string_view text);
// Whether a mark stands behind something else in the piece.
bool goes_on_over_a_space(std::string_view piece);

struct Vocabulary {
  static constexpr std::size_t kPiecesMax = 1u << 20;      // docs/reliability.md
  static constexpr std::size_t kPieceBytesMax = 1u << 10;  // docs/reliability.md

  VocabularyKind kind = VocabularyKind::sentencepiece;
  std::string pre;               // of byte_bpe: the pre-tokeniser's name
  PieceList pieces;              // [n], index = TokenId; ▁ or Ġ for a space
  std::vector<float> scores;     // [n] for sentencepiece, else may be empty
  std::vector<PieceType> types;  // [n]
  PieceList merges;              // of both bpe: "left right", first = merged first
  std::optional<TokenId> unknown, bos, eos, eot;
  bool adds_bos = false;
  bool adds_space_prefix = true;  // of sentencepiece: encodes a text as if preceded by a space

  // Hash of all fields above, never 0. It is saved with messages, so it must never change.
  std::uint64_t hash() const;
  // Reads the file without checks or repairs, so that the hash does not depend on our repairs.
  static Result<Vocabulary> from(const GgufFile& file);
  // Checks lengths, ids and limits, and repairs common errors of files: piece types (exactly one
  // unknown piece in a sentencepiece vocabulary, byte pieces as byte, turn markers as control) and
  // runs of spaces spelled as spaces.
  Result<void> check_and_mend();
};

}  // namespace satchel::runtime
