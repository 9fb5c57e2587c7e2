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

void append_sentencepiece(std::string_view piece, PieceType type, std::string& out) {
  if (type == PieceType::byte) {  // <0xAB>
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
    out += static_cast<char>(digit(piece[3]) * 16 + digit(piece[4]));
    return;
  }
  while (!piece.empty()) {
    const std::size_t mark = piece.find(kSpaceMark);
    out += piece.substr(0, mark);
    if (mark == std::string_view::npos) return;
    out += ' ';
    piece.remove_prefix(mark + kSpaceMark.size());
  }
}

// Spelled in the byte alphabet; a piece with letters outside of it stands for itself.
void append_byte_bpe(std::string_view piece, PieceType type, std::string& out) {
  const std::size_t before = out.size();
  if (type != PieceType::user_defined) {
    std::string_view rest = piece;
    while (!rest.empty()) {
      const Utf8Step step = utf8_step(rest);
      const auto byte = byte_of(step.code);
      if (!byte) break;
      out += static_cast<char>(*byte);
      rest.remove_prefix(step.bytes);
    }
    if (rest.empty()) return;
  }
  out.resize(before);
  out += piece;
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
  for (const auto& end : {vocabulary_.eos, vocabulary_.eot})
    if (end) turn_ends_.push_back(*end);
  for (const std::string_view name : kTurnEnds)
    if (const auto token = control_.find(name)) turn_ends_.push_back(*token);
  std::sort(turn_ends_.begin(), turn_ends_.end());
}

void PieceTable::append_bytes(TokenId token, std::string& out) const {
  if (!holds(token)) return;
  const auto i = static_cast<std::size_t>(token);
  if (!is_text(vocabulary_.types[i])) return;
  (vocabulary_.kind == VocabularyKind::byte_bpe ? append_byte_bpe : append_sentencepiece)(
      vocabulary_.pieces[i], vocabulary_.types[i], out);
}

bool PieceTable::ends_turn(TokenId token) const {
  return std::binary_search(turn_ends_.begin(), turn_ends_.end(), token);
}

}  // namespace satchel::runtime
