#include "runtime/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/base/index_range.h"
#include "kernels/base/size_text.h"
#include "runtime/gguf/reader.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/text_encoder.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

// Names under which models end an answer, beside eos and eot of the file.
constexpr std::array<std::string_view, 15> kTurnEnds = {
    "<|im_end|>",       "<|eot_id|>", "<|eom_id|>",      "<end_of_turn>",         "<turn|>",
    "<|tool_response>", "<|EOT|>",    "<|endoftext|>",   "<|end_of_text|>",       "<|end_of_turn|>",
    "<|return|>",       "<|call|>",   "<|observation|>", "<｜end▁of▁sentence｜>", "<|end|>"};
constexpr std::string_view kMessageEnd = "<|end|>", kChannel = "<|channel|>";

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

// The parts put together, and where special tokens may be looked for.
struct JoinedText {
  std::string text;                // valid UTF-8
  std::vector<IndexRange> parsed;  // in order
};

Result<JoinedText> joined(std::span<const TextPart> parts) {
  JoinedText out;
  for (const TextPart& part : parts) {
    if (part.text.size() > Tokenizer::kTextBytesMax)
      return Error{ErrorKind::invalid, "TEXT_TOO_LONG",
                   "The text has " + size_text(part.text.size()) + "; a message may have at most " +
                       size_text(Tokenizer::kTextBytesMax) +
                       ". Nothing was changed. Split the text."};
    const std::size_t begin = out.text.size();
    append_utf8(part.text, out.text);
    if (part.special == SpecialText::parse) out.parsed.push_back({begin, out.text.size()});
  }
  return out;
}

PieceMatcher user_defined_of(const Vocabulary& vocabulary) {
  if (vocabulary.kind != VocabularyKind::byte_bpe) return PieceMatcher();
  return PieceMatcher(vocabulary, PieceType::user_defined);
}

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary, std::uint64_t hash)
    : vocabulary_(std::move(vocabulary)),
      hash_(hash),
      control_(vocabulary_, PieceType::control),
      user_defined_(user_defined_of(vocabulary_)) {
  for (const auto& end : {vocabulary_.eos, vocabulary_.eot})
    if (end) turn_ends_.push_back(*end);
  for (const std::string_view name : kTurnEnds)
    if (const auto token = control_.find(name)) turn_ends_.push_back(*token);
  // gpt-oss: a message ends, among several of an answer. Some files call it the end of a turn.
  if (control_.find(kChannel)) std::erase(turn_ends_, control_.find(kMessageEnd));
  std::sort(turn_ends_.begin(), turn_ends_.end());
}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::open(const GgufFile& file) {
  SATCHEL_TRY_ASSIGN(Vocabulary vocabulary, Vocabulary::from(file));
  return make(std::move(vocabulary));
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::make(Vocabulary vocabulary) {
  const std::uint64_t hash = vocabulary.hash();  // before what is mended, which may change
  SATCHEL_TRY(vocabulary.check_and_mend());
  const PieceList merges = std::exchange(vocabulary.merges, {});  // nobody asks for them later
  std::unique_ptr<Tokenizer> made(new Tokenizer(std::move(vocabulary), hash));
  if (made->kind() == VocabularyKind::sentencepiece) {
    made->encoder_ = make_sentencepiece_encoder(made->vocabulary_);
  } else if (made->kind() == VocabularyKind::byte_bpe) {
    SATCHEL_TRY_ASSIGN(made->encoder_, make_byte_bpe_encoder(made->vocabulary_, merges));
  } else {
    SATCHEL_TRY_ASSIGN(made->encoder_, make_marked_bpe_encoder(made->vocabulary_, merges));
  }
  return made;
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, SpecialText special) const {
  const TextPart part{text, special};
  return encode(std::span(&part, 1));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::span<const TextPart> parts) const {
  SATCHEL_TRY_ASSIGN(const JoinedText whole, joined(parts));
  const std::string_view text = whole.text;
  std::vector<TokenId> out;
  auto parsed = whole.parsed.begin();
  std::size_t run = 0;  // text from here on is not encoded yet
  const auto encode_run = [&](std::size_t end) -> Result<void> {
    if (end == run) return {};
    return encoder_->encode(text.substr(run, end - run), out);
  };

  for (std::size_t at = 0; at < text.size();) {
    while (parsed != whole.parsed.end() && parsed->end <= at) ++parsed;
    const bool in_parsed = parsed != whole.parsed.end() && parsed->begin <= at;
    if (!in_parsed && user_defined_.empty()) {  // nothing to find before the next part
      at = parsed == whole.parsed.end() ? text.size() : parsed->begin;
      continue;
    }
    auto found = user_defined_.longest(text.substr(at));
    if (in_parsed) {
      const auto control = control_.longest(text.substr(at, parsed->end - at));
      if (control && (!found || control->bytes >= found->bytes)) found = control;
    }
    if (!found) {
      ++at;
      continue;
    }
    SATCHEL_TRY(encode_run(at));
    out.push_back(found->token);
    at += found->bytes;
    run = at;
  }
  SATCHEL_TRY(encode_run(text.size()));
  return out;
}

void Tokenizer::append_piece(TokenId token, std::string& bytes) const {
  if (!holds(token)) return;
  const auto i = static_cast<std::size_t>(token);
  if (!is_text(vocabulary_.types[i])) return;
  (kind() == VocabularyKind::byte_bpe ? append_byte_bpe : append_sentencepiece)(
      vocabulary_.pieces[i], vocabulary_.types[i], bytes);
}

std::string Tokenizer::text(std::span<const TokenId> tokens) const {
  StreamDecoder decoder(*this);
  std::string out;
  for (const TokenId token : tokens) out += decoder.push(token);
  return out += decoder.finish();
}

std::string_view Tokenizer::spelling(TokenId token) const {
  if (!holds(token)) return {};
  return vocabulary_.pieces[static_cast<std::size_t>(token)];
}

std::optional<TokenId> Tokenizer::control(std::string_view spelling) const {
  return control_.find(spelling);
}

bool Tokenizer::ends_turn(TokenId token) const {
  return std::binary_search(turn_ends_.begin(), turn_ends_.end(), token);
}

Result<std::vector<TokenId>> raw_ids(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> out;
  if (tokenizer.adds_bos() && tokenizer.bos()) out.push_back(*tokenizer.bos());
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> ids, tokenizer.encode(text, SpecialText::as_text));
  out.insert(out.end(), ids.begin(), ids.end());
  return out;
}

}  // namespace satchel::runtime
