#include "runtime/tokenizer/piece_table.h"

#include <algorithm>
#include <array>

#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

// Names under which models end an answer, beside eos and eot of the file.
constexpr std::array<std::string_view, 10> kTurnEnds = {
    "<|im_end|>", "<|eot_id|>",    "<|eom_id|>",      "<end_of_turn>",   "<|end|>",
    "<|EOT|>",    "<|endoftext|>", "<|end_of_text|>", "<|end_of_turn|>", "<｜end▁of▁sentence｜>"};

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

std::string sentencepiece_bytes(std::string_view piece, PieceType type) {
  if (type == PieceType::byte) {  // <0xAB>
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
    return {static_cast<char>(digit(piece[3]) * 16 + digit(piece[4]))};
  }
  std::string bytes;
  while (!piece.empty()) {
    if (piece.starts_with(kSpaceMark)) {
      bytes += ' ';
      piece.remove_prefix(kSpaceMark.size());
    } else {
      bytes += piece.front();
      piece.remove_prefix(1);
    }
  }
  return bytes;
}

// Spelled in the byte alphabet; a piece with letters outside of it stands for itself.
std::string byte_bpe_bytes(std::string_view piece, PieceType type) {
  if (type == PieceType::user_defined) return std::string(piece);
  std::string bytes;
  for (std::string_view rest = piece; !rest.empty();) {
    const Utf8Step step = utf8_step(rest);
    const auto byte = byte_of(step.code);
    if (!byte) return std::string(piece);
    bytes += static_cast<char>(*byte);
    rest.remove_prefix(step.bytes);
  }
  return bytes;
}

bool is_text(PieceType type) {
  return type == PieceType::normal || type == PieceType::user_defined || type == PieceType::byte;
}

}  // namespace

PieceTable::PieceTable(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)),
      control_(vocabulary_, PieceType::control),
      user_defined_(vocabulary_.kind == VocabularyKind::byte_bpe
                        ? PieceMatcher(vocabulary_, PieceType::user_defined)
                        : PieceMatcher()) {
  begin_.reserve(vocabulary_.pieces.size() + 1);
  for (std::size_t i = 0; i < vocabulary_.pieces.size(); ++i) {
    begin_.push_back(bytes_.size());
    const PieceType type = vocabulary_.types[i];
    if (!is_text(type)) continue;
    bytes_ += vocabulary_.kind == VocabularyKind::byte_bpe
                  ? byte_bpe_bytes(vocabulary_.pieces[i], type)
                  : sentencepiece_bytes(vocabulary_.pieces[i], type);
  }
  begin_.push_back(bytes_.size());

  for (const auto& end : {vocabulary_.eos, vocabulary_.eot})
    if (end) turn_ends_.push_back(*end);
  for (const std::string_view name : kTurnEnds)
    if (const auto token = control_.find(name)) turn_ends_.push_back(*token);
  std::sort(turn_ends_.begin(), turn_ends_.end());
}

std::string_view PieceTable::bytes(TokenId token) const {
  if (!holds(token)) return {};
  const auto i = static_cast<std::size_t>(token);
  return std::string_view(bytes_).substr(begin_[i], begin_[i + 1] - begin_[i]);
}

bool PieceTable::ends_turn(TokenId token) const {
  return std::binary_search(turn_ends_.begin(), turn_ends_.end(), token);
}

}  // namespace satchel::runtime
