// Byte-level BPE (GPT-2 and what came after): cut into words, spell each in bytes, merge.
//   source   GPT-2's encoder.py; the order of equal ranks as in Hugging Face's tokenizers
//   missing  some vocabularies lack the pieces of bytes their training text never held (SmolLM2:
//            first bytes of private-use planes). As in the models' own tokenizers such a byte
//            becomes no token.
#include <array>

#include "runtime/tokenizer/bpe_merges.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/pair_joining.h"
#include "runtime/tokenizer/pretokenizer.h"
#include "runtime/tokenizer/text_encoder.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

constexpr TokenId kNoPiece = -1;

bool made_by_merging(PieceType type) {
  return type == PieceType::normal || type == PieceType::byte;
}

// The byte alphabet's spelling of each byte.
std::array<std::string, 256> byte_spellings() {
  std::array<std::string, 256> spellings;
  const auto alphabet = byte_alphabet();
  for (std::size_t byte = 0; byte < 256; ++byte) append_code(alphabet[byte], spellings[byte]);
  return spellings;
}

class ByteBpeEncoder final : public TextEncoder {
 public:
  // words: the pieces that a word can be as a whole; none where merges are not ignored.
  ByteBpeEncoder(Pretokenizer pretokenizer, BpeMerges merges, const Vocabulary& vocabulary,
                 const PieceIndex& index, PieceIndex words)
      : pretokenizer_(std::move(pretokenizer)),
        merges_(std::move(merges)),
        pieces_(vocabulary.pieces),
        spellings_(byte_spellings()),
        words_(std::move(words)) {
    for (std::size_t byte = 0; byte < 256; ++byte)
      byte_tokens_[byte] = index.find(pieces_, spellings_[byte]).value_or(kNoPiece);
  }

  Result<void> encode(std::string_view text, std::vector<TokenId>& out) const override {
    std::vector<TokenId> symbols;
    std::string spelled;
    return pretokenizer_.split(text, [&](std::string_view word) {
      if (const auto whole = find_word(word, spelled)) {
        out.push_back(*whole);
        return;
      }
      for (std::string_view rest = word; !rest.empty();) {
        const std::string_view part = rest.substr(0, kSymbolsMost);
        symbols.clear();
        for (const char c : part) symbols.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
        merges_.apply(symbols);
        for (const TokenId token : symbols)
          if (token != kNoPiece) out.push_back(token);
        rest.remove_prefix(part.size());
      }
    });
  }

 private:
  std::optional<TokenId> find_word(std::string_view word, std::string& spelled) const {
    if (!pretokenizer_.ignores_merges() || word.size() > Vocabulary::kPieceBytesMax)
      return std::nullopt;
    spelled.clear();
    for (const char c : word) spelled += spellings_[static_cast<unsigned char>(c)];
    return words_.find(pieces_, spelled);
  }

  Pretokenizer pretokenizer_;
  BpeMerges merges_;
  const PieceList& pieces_;
  std::array<std::string, 256> spellings_;
  std::array<TokenId, 256> byte_tokens_;  // kNoPiece where the vocabulary has none
  PieceIndex words_;
};

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_byte_bpe_encoder(const Vocabulary& vocabulary,
                                                           const PieceList& merges) {
  SATCHEL_TRY_ASSIGN(Pretokenizer pretokenizer, Pretokenizer::named(vocabulary.pre));
  PieceIndex index(vocabulary.pieces.size());
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i)
    if (made_by_merging(vocabulary.types[i]))
      (void)index.add(vocabulary.pieces, static_cast<TokenId>(i));
  SATCHEL_TRY_ASSIGN(BpeMerges rules, BpeMerges::read(merges, vocabulary.pieces, index));
  PieceIndex words = pretokenizer.ignores_merges() ? index : PieceIndex();
  return std::unique_ptr<TextEncoder>(std::make_unique<ByteBpeEncoder>(
      std::move(pretokenizer), std::move(rules), vocabulary, index, std::move(words)));
}

}  // namespace satchel::runtime
