// Byte-level BPE (GPT-2 and what came after): cut into words, spell each in bytes, merge.
//   source   GPT-2's encoder.py; the order of equal ranks as in Hugging Face's tokenizers
//   missing  some vocabularies lack the pieces of bytes their training text never held (SmolLM2:
//            first bytes of private-use planes). As in the models' own tokenizers such a byte
//            becomes no token.
#include <array>

#include "runtime/tokenizer/bpe_merges.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/pretokenizer.h"
#include "runtime/tokenizer/text_encoder.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

constexpr TokenId kNoPiece = -1;

bool made_by_merging(PieceType type) {
  return type == PieceType::normal || type == PieceType::byte;
}

class ByteBpeEncoder final : public TextEncoder {
 public:
  ByteBpeEncoder(Pretokenizer pretokenizer, BpeMerges merges,
                 const std::array<TokenId, 256>& byte_tokens,
                 std::unordered_map<std::string, TokenId> whole_words)
      : pretokenizer_(std::move(pretokenizer)),
        merges_(std::move(merges)),
        byte_tokens_(byte_tokens),
        whole_words_(std::move(whole_words)) {}

  Result<void> encode(std::string_view text, std::vector<TokenId>& out) const override {
    std::vector<TokenId> symbols;
    return pretokenizer_.split(text, [&](std::string_view word) {
      if (const auto whole = find_word(word); whole != kNoPiece) {
        out.push_back(whole);
        return;
      }
      symbols.clear();
      for (const char c : word) symbols.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
      merges_.apply(symbols);
      for (const TokenId token : symbols)
        if (token != kNoPiece) out.push_back(token);
    });
  }

 private:
  TokenId find_word(std::string_view word) const {
    if (whole_words_.empty() || word.size() > Vocabulary::kPieceBytesMax) return kNoPiece;
    const auto found = whole_words_.find(std::string(word));
    return found == whole_words_.end() ? kNoPiece : found->second;
  }

  Pretokenizer pretokenizer_;
  BpeMerges merges_;
  std::array<TokenId, 256> byte_tokens_;                  // kNoPiece where the vocabulary has none
  std::unordered_map<std::string, TokenId> whole_words_;  // in bytes; only where merges are ignored
};

// The bytes that a piece spells; empty if it uses letters outside the alphabet.
std::string spelled_bytes(std::string_view piece) {
  std::string bytes;
  while (!piece.empty()) {
    const Utf8Step step = utf8_step(piece);
    const auto byte = byte_of(step.code);
    if (!byte) return {};
    bytes += static_cast<char>(*byte);
    piece.remove_prefix(step.bytes);
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_byte_bpe_encoder(const Vocabulary& vocabulary) {
  SATCHEL_TRY_ASSIGN(Pretokenizer pretokenizer, Pretokenizer::named(vocabulary.pre));
  BpeMerges::PieceIds ids;
  std::unordered_map<std::string, TokenId> whole_words;
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) {
    if (!made_by_merging(vocabulary.types[i])) continue;
    ids.try_emplace(vocabulary.pieces[i], static_cast<TokenId>(i));
    if (!pretokenizer.ignores_merges()) continue;
    std::string bytes = spelled_bytes(vocabulary.pieces[i]);
    if (!bytes.empty()) whole_words.try_emplace(std::move(bytes), static_cast<TokenId>(i));
  }
  SATCHEL_TRY_ASSIGN(BpeMerges merges, BpeMerges::read(vocabulary.merges, ids));

  std::array<TokenId, 256> byte_tokens{};
  const auto alphabet = byte_alphabet();
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::string spelling;
    append_code(alphabet[byte], spelling);
    const auto found = ids.find(spelling);
    byte_tokens[byte] = found == ids.end() ? kNoPiece : found->second;
  }
  return std::unique_ptr<TextEncoder>(std::make_unique<ByteBpeEncoder>(
      std::move(pretokenizer), std::move(merges), byte_tokens, std::move(whole_words)));
}

}  // namespace satchel::runtime
