#include "unit/runtime/library_sentencepiece.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace satchel::runtime::tokenizer_tests {
namespace {

// Protocol buffer wire format: a field is its number and kind, then a varint, four bytes, or a
// length and that many bytes.
class ProtoWriter {
 public:
  void add_varint(std::uint32_t field, std::uint64_t value) {
    put_varint(field << 3 | 0);
    put_varint(value);
  }
  void add_float(std::uint32_t field, float value) {
    put_varint(field << 3 | 5);
    auto bits = std::bit_cast<std::uint32_t>(value);
    for (int i = 0; i < 4; ++i, bits >>= 8) bytes_ += static_cast<char>(bits & 0xFF);
  }
  void add_bytes(std::uint32_t field, std::string_view value) {
    put_varint(field << 3 | 2);
    put_varint(value.size());
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// ModelProto
constexpr std::uint32_t kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3;
// ModelProto.SentencePiece
constexpr std::uint32_t kPiece = 1, kScore = 2, kType = 3;
// TrainerSpec
constexpr std::uint32_t kModelType = 3, kVocabSize = 4, kByteFallback = 35;
constexpr std::uint64_t kModelTypeBpe = 2;
// NormalizerSpec
constexpr std::uint32_t kName = 1, kAddDummyPrefix = 3, kRemoveExtraWhitespaces = 4,
                        kEscapeWhitespaces = 5;

std::string piece_message(const Vocabulary& vocabulary, std::size_t i) {
  ProtoWriter piece;
  piece.add_bytes(kPiece, vocabulary.pieces[i]);
  piece.add_float(kScore, vocabulary.scores[i]);
  piece.add_varint(kType, static_cast<std::uint64_t>(vocabulary.types[i]));
  return piece.take();
}

// The library's model as bytes: pieces and what the vocabulary says of spaces, no normalising.
std::string sentencepiece_model(const Vocabulary& vocabulary) {
  ProtoWriter trainer;
  trainer.add_varint(kModelType, kModelTypeBpe);
  trainer.add_varint(kVocabSize, vocabulary.pieces.size());
  trainer.add_varint(kByteFallback, std::count(vocabulary.types.begin(), vocabulary.types.end(),
                                               PieceType::byte) == 256);
  // The text goes in as it is; spaces become U+2581.
  ProtoWriter normalizer;
  normalizer.add_bytes(kName, "identity");
  normalizer.add_varint(kAddDummyPrefix, vocabulary.adds_space_prefix);
  normalizer.add_varint(kRemoveExtraWhitespaces, 0);
  normalizer.add_varint(kEscapeWhitespaces, 1);

  ProtoWriter model;
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i)
    model.add_bytes(kPieces, piece_message(vocabulary, i));
  model.add_bytes(kTrainerSpec, trainer.take());
  model.add_bytes(kNormalizerSpec, normalizer.take());
  return model.take();
}

}  // namespace

struct LibrarySentencePiece::Processor : sentencepiece::SentencePieceProcessor {};

LibrarySentencePiece::LibrarySentencePiece(const Vocabulary& vocabulary)
    : processor_(std::make_unique<Processor>()) {
  const auto status = processor_->LoadFromSerializedProto(sentencepiece_model(vocabulary));
  if (status.ok()) return;
  std::cerr << "sentencepiece: " << status.ToString() << "\n";
  std::abort();
}
LibrarySentencePiece::~LibrarySentencePiece() = default;

std::vector<TokenId> LibrarySentencePiece::encode(std::string_view text) const {
  std::vector<int> ids;
  const auto status = processor_->Encode(text, &ids);
  if (!status.ok()) std::abort();
  return {ids.begin(), ids.end()};
}

}  // namespace satchel::runtime::tokenizer_tests
