#include "runtime/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "kernels/base/index_range.h"
#include "runtime/gguf/reader.h"
#include "runtime/tokenizer/piece_table.h"
#include "runtime/tokenizer/text_encoder.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

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
                   "The text has " + std::to_string(part.text.size()) +
                       " bytes; a message may have at most " +
                       std::to_string(Tokenizer::kTextBytesMax) +
                       ". Nothing was changed. Split the text."};
    const std::size_t begin = out.text.size();
    append_utf8(part.text, out.text);
    if (part.special == SpecialText::parse) out.parsed.push_back({begin, out.text.size()});
  }
  return out;
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<PieceTable> table, std::unique_ptr<TextEncoder> encoder,
                     std::uint64_t hash)
    : table_(std::move(table)), encoder_(std::move(encoder)), hash_(hash) {}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::open(const GgufFile& file) {
  SATCHEL_TRY_ASSIGN(Vocabulary vocabulary, Vocabulary::from(file));
  return make(std::move(vocabulary));
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::make(Vocabulary vocabulary) {
  const std::uint64_t hash = vocabulary.hash();  // before what is mended, which may change
  SATCHEL_TRY(vocabulary.check_and_mend());
  const PieceList merges = std::exchange(vocabulary.merges, {});  // nobody asks for them later
  auto table = std::make_unique<PieceTable>(std::move(vocabulary));
  std::unique_ptr<TextEncoder> encoder;
  if (table->vocabulary().kind == VocabularyKind::sentencepiece) {
    encoder = make_sentencepiece_encoder(table->vocabulary());
  } else {
    SATCHEL_TRY_ASSIGN(encoder, make_byte_bpe_encoder(table->vocabulary(), merges));
  }
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(table), std::move(encoder), hash));
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
    if (!in_parsed && table_->user_defined().empty()) {  // nothing to find before the next part
      at = parsed == whole.parsed.end() ? text.size() : parsed->begin;
      continue;
    }
    auto found = table_->user_defined().longest(text.substr(at));
    if (in_parsed) {
      const auto control = table_->control().longest(text.substr(at, parsed->end - at));
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
  table_->append_bytes(token, bytes);
}

std::string Tokenizer::text(std::span<const TokenId> tokens) const {
  StreamDecoder decoder(*this);
  std::string out;
  for (const TokenId token : tokens) out += decoder.push(token);
  return out += decoder.finish();
}

std::string_view Tokenizer::spelling(TokenId token) const {
  if (!table_->holds(token)) return {};
  return table_->vocabulary().pieces[static_cast<std::size_t>(token)];
}

std::optional<TokenId> Tokenizer::control(std::string_view spelling) const {
  return table_->control().find(spelling);
}

std::size_t Tokenizer::size() const {
  return table_->vocabulary().pieces.size();
}
VocabularyKind Tokenizer::kind() const {
  return table_->vocabulary().kind;
}
std::optional<TokenId> Tokenizer::bos() const {
  return table_->vocabulary().bos;
}
std::optional<TokenId> Tokenizer::eos() const {
  return table_->vocabulary().eos;
}
bool Tokenizer::adds_bos() const {
  return table_->vocabulary().adds_bos;
}
bool Tokenizer::adds_space_prefix() const {
  return table_->vocabulary().adds_space_prefix;
}
bool Tokenizer::ends_turn(TokenId token) const {
  return table_->ends_turn(token);
}

Result<std::vector<TokenId>> raw_ids(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> out;
  if (tokenizer.adds_bos() && tokenizer.bos()) out.push_back(*tokenizer.bos());
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> ids, tokenizer.encode(text, SpecialText::as_text));
  out.insert(out.end(), ids.begin(), ids.end());
  return out;
}

}  // namespace satchel::runtime
