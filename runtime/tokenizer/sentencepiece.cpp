// SentencePiece vocabularies of byte-pair kind: characters are joined, the pair that makes the
// piece of the highest score first, of equal scores the leftmost.
//   spaces   become U+2581; one stands before the text where the vocabulary says so
//   pieces   user-defined ones are found first, whole and longest, and never joined. What joining
//            makes of unused ones is taken apart again the way it was put together; an unused
//            character stays (sentencepiece 0.1.97; 0.2.3 calls it unknown)
//   unknown  a character without a piece is its bytes where the vocabulary has these, else the
//            unknown token, one for a run of such characters
//   source   sentencepiece's bpe_model.cc and sentencepiece_processor.cc, without normalisation
//   memory   where no piece goes on over a space, words are joined one by one
//   differs  a control piece of one character is never found in a text: that character is unknown.
//            A run of kSymbolsMost characters that nothing cuts is cut there
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/tokenizer/pair_joining.h"
#include "runtime/tokenizer/piece_index.h"
#include "runtime/tokenizer/piece_matcher.h"
#include "runtime/tokenizer/text_encoder.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

// A stretch of the text that is one piece, or a character without one.
struct Symbol {
  std::uint32_t begin = 0, bytes = 0;
  bool is_fixed = false;  // user-defined
};

// What a text becomes by joining, a part after the other; nothing is joined across their seams.
class Joining {
 public:
  Joining(std::string_view text, const Vocabulary& vocabulary, const PieceIndex& index)
      : text_(text), vocabulary_(vocabulary), index_(index) {}

  // piece: called for the pieces in order; with nothing for a character without one.
  template <class PieceVisitor>
  void run(const PieceMatcher& user_defined, bool cuts_before_spaces, const PieceVisitor& piece) {
    bool is_after_space = false;
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::string_view rest = text_.substr(begin);
      const bool is_space = rest.starts_with(kSpaceMark);
      if (symbols_.size() == kSymbolsMost || (cuts_before_spaces && is_space && !is_after_space))
        flush(piece);
      const auto fixed = user_defined.longest(rest);
      const std::size_t bytes = fixed ? fixed->bytes : utf8_step(rest).bytes;
      symbols_.push_back({.begin = static_cast<std::uint32_t>(begin),
                          .bytes = static_cast<std::uint32_t>(bytes),
                          .is_fixed = fixed.has_value()});
      is_after_space = is_space && !fixed;
      begin += bytes;
    }
    flush(piece);
  }

 private:
  PieceType type_of(TokenId piece) const {
    return vocabulary_.types[static_cast<std::size_t>(piece)];
  }

  template <class PieceVisitor>
  void flush(const PieceVisitor& piece) {
    PairJoining<float> joining(symbols_.size());
    joining.run([&](std::size_t left, std::size_t right) { return key_of(left, right); },
                [&](std::size_t left, std::size_t right, float) {
                  symbols_[left].bytes += symbols_[right].bytes;
                });
    for (std::size_t i = 0; i < symbols_.size(); ++i)
      if (joining.is_there(i))
        take_apart(text_.substr(symbols_[i].begin, symbols_[i].bytes), piece);
    symbols_.clear();
  }

  // The negated score of the piece that two symbols make: the highest goes first.
  std::optional<float> key_of(std::size_t left, std::size_t right) {
    const Symbol &a = symbols_[left], &b = symbols_[right];
    if (a.is_fixed || b.is_fixed) return std::nullopt;
    const auto piece = index_.find(vocabulary_.pieces, text_.substr(a.begin, a.bytes + b.bytes));
    if (!piece) return std::nullopt;
    if (type_of(*piece) == PieceType::unused) cuts_[*piece] = a.bytes;
    return -vocabulary_.scores[static_cast<std::size_t>(*piece)];
  }

  template <class PieceVisitor>
  void take_apart(std::string_view spelling, const PieceVisitor& piece) const {
    const auto found = index_.find(vocabulary_.pieces, spelling);
    if (found && type_of(*found) == PieceType::unused)
      if (const auto cut = cuts_.find(*found); cut != cuts_.end()) {
        take_apart(spelling.substr(0, cut->second), piece);
        take_apart(spelling.substr(cut->second), piece);
        return;
      }
    piece(spelling, found);
  }

  std::string_view text_;
  const Vocabulary& vocabulary_;
  const PieceIndex& index_;
  std::vector<Symbol> symbols_;                      // of the part
  std::unordered_map<TokenId, std::uint32_t> cuts_;  // of unused pieces: bytes of the left part
};

class SentencePieceEncoder final : public TextEncoder {
 public:
  explicit SentencePieceEncoder(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary),
        index_(vocabulary.pieces.size()),
        user_defined_(vocabulary, PieceType::user_defined) {
    for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) {
      const PieceType type = vocabulary.types[i];
      const auto id = static_cast<TokenId>(i);
      if (type == PieceType::byte) bytes_.push_back(id);
      if (type == PieceType::normal || type == PieceType::user_defined || type == PieceType::unused)
        (void)index_.add(vocabulary.pieces, id);
      // An unused piece is taken apart as it was put together last, wherever in the text that was.
      if (type == PieceType::unused || goes_on_over_a_space(vocabulary.pieces[i]))
        cuts_before_spaces_ = false;
    }
    // Spelled <0x00> … <0xFF>, so that the order of their spellings is that of the bytes.
    std::sort(bytes_.begin(), bytes_.end(), [&](TokenId a, TokenId b) {
      return vocabulary.pieces[static_cast<std::size_t>(a)] <
             vocabulary.pieces[static_cast<std::size_t>(b)];
    });
  }

  Result<void> encode(std::string_view text, std::vector<TokenId>& out) const override {
    std::string spelled;
    if (vocabulary_.adds_space_prefix) spelled += kSpaceMark;
    spelled += with_space_marks(text);
    bool is_after_unknown = false;
    const auto put = [&](std::string_view spelling, std::optional<TokenId> piece) {
      if (piece) {
        out.push_back(*piece);
      } else if (!bytes_.empty()) {
        for (const char c : spelling) out.push_back(bytes_[static_cast<unsigned char>(c)]);
      } else if (!is_after_unknown) {
        out.push_back(*vocabulary_.unknown);
      }
      is_after_unknown = !piece;
    };
    Joining(spelled, vocabulary_, index_).run(user_defined_, cuts_before_spaces_, put);
    return {};
  }

 private:
  const Vocabulary& vocabulary_;
  PieceIndex index_;  // of what text can become by joining
  PieceMatcher user_defined_;
  std::vector<TokenId> bytes_;  // [256], or none
  bool cuts_before_spaces_ = true;
};

}  // namespace

std::unique_ptr<TextEncoder> make_sentencepiece_encoder(const Vocabulary& vocabulary) {
  return std::make_unique<SentencePieceEncoder>(vocabulary);
}

}  // namespace satchel::runtime
