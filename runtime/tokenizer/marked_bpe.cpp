// BPE over characters (Gemma 4): the pieces of a SentencePiece vocabulary, joined by merges.
//   spaces   become U+2581; merges may join across them. Where no piece goes on over one, words
//            are joined one by one, which takes less memory and gives the same
//   pieces   user-defined ones are found first, whole and longest, and never joined
//   unknown  a character without a piece is its bytes where the vocabulary has these, else the
//            unknown token
//   source   the normaliser and the model of Gemma's tokenizer.json, as Hugging Face's tokenizers
//            read it. llama.cpp cuts at runs of newlines, where no merge of such vocabularies joins
#include <algorithm>
#include <string>

#include "runtime/tokenizer/bpe_merges.h"
#include "runtime/tokenizer/pair_joining.h"
#include "runtime/tokenizer/piece_matcher.h"
#include "runtime/tokenizer/text_encoder.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

class MarkedBpeEncoder final : public TextEncoder {
 public:
  MarkedBpeEncoder(BpeMerges merges, const Vocabulary& vocabulary, PieceIndex index)
      : merges_(std::move(merges)),
        vocabulary_(vocabulary),
        index_(std::move(index)),
        user_defined_(vocabulary, PieceType::user_defined) {
    for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) {
      if (vocabulary.types[i] == PieceType::normal && goes_on_over_a_space(vocabulary.pieces[i]))
        cuts_before_spaces_ = false;
      if (vocabulary.types[i] == PieceType::byte) bytes_.push_back(static_cast<TokenId>(i));
    }
    // Spelled <0x00> … <0xFF>, so that the order of their spellings is that of the bytes.
    std::ranges::sort(bytes_, {}, [&](TokenId token) {
      return vocabulary.pieces[static_cast<std::size_t>(token)];
    });
  }

  Result<void> encode(std::string_view text, std::vector<TokenId>& out) const override {
    const std::string spelled = with_space_marks(text);
    std::vector<TokenId> symbols;
    const auto join = [&] {
      merges_.apply(symbols);
      out.insert(out.end(), symbols.begin(), symbols.end());
      symbols.clear();
    };
    bool is_after_space = false;
    for (std::string_view rest = spelled; !rest.empty();) {
      const bool is_space = rest.starts_with(kSpaceMark);
      if (cuts_before_spaces_ && is_space && !is_after_space) join();
      const auto fixed = user_defined_.longest(rest);
      const std::size_t bytes = fixed ? fixed->bytes : utf8_step(rest).bytes;
      if (symbols.size() >= kSymbolsMost) join();
      if (fixed) {
        join();
        out.push_back(fixed->token);
      } else {
        add_character(rest.substr(0, bytes), symbols);
      }
      is_after_space = is_space;
      rest.remove_prefix(bytes);
    }
    join();
    return {};
  }

 private:
  void add_character(std::string_view character, std::vector<TokenId>& symbols) const {
    if (const auto piece = index_.find(vocabulary_.pieces, character)) {
      symbols.push_back(*piece);
    } else if (bytes_.empty()) {
      symbols.push_back(*vocabulary_.unknown);
    } else {
      for (const char c : character) symbols.push_back(bytes_[static_cast<unsigned char>(c)]);
    }
  }

  BpeMerges merges_;
  const Vocabulary& vocabulary_;
  PieceIndex index_;  // of what text can become
  PieceMatcher user_defined_;
  std::vector<TokenId> bytes_;  // [256], or none
  bool cuts_before_spaces_ = true;
};

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_marked_bpe_encoder(const Vocabulary& vocabulary,
                                                             const PieceList& merges) {
  PieceIndex index(vocabulary.pieces.size());
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) {
    const PieceType type = vocabulary.types[i];
    if (type == PieceType::normal || type == PieceType::user_defined)
      (void)index.add(vocabulary.pieces, static_cast<TokenId>(i));
  }
  SATCHEL_TRY_ASSIGN(BpeMerges rules, BpeMerges::read(merges, vocabulary.pieces, index));
  return std::unique_ptr<TextEncoder>(
      std::make_unique<MarkedBpeEncoder>(std::move(rules), vocabulary, std::move(index)));
}

}  // namespace satchel::runtime
