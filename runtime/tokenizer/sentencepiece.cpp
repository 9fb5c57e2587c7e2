// SentencePiece vocabularies of byte-pair kind: characters are joined, the pair that makes the
// piece of the highest score first, of equal scores the leftmost.
//   spaces   become U+2581; one stands before the text where the vocabulary says so
//   pieces   user-defined ones are found first, whole and longest, and never joined. What joining
//            makes of unused ones is taken apart again the way it was put together; an unused
//            character stays (sentencepiece 0.1.97; 0.2.3 calls it unknown)
//   unknown  a character without a piece is its bytes where the vocabulary has these, else the
//            unknown token, one for a run of such characters
//   source   sentencepiece's bpe_model.cc and sentencepiece_processor.cc, without normalisation
//   differs  a control piece of one character is never found in a text: that character is unknown
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

// One text, and what it becomes by joining.
class Joined {
 public:
  Joined(std::string_view text, const Vocabulary& vocabulary, const PieceIndex& index,
         const PieceMatcher& user_defined)
      : text_(text), vocabulary_(vocabulary), index_(index) {
    cut(user_defined);
    PairJoining<float> joining(symbols_.size());
    joining.run([&](std::size_t left, std::size_t right) { return key_of(left, right); },
                [&](std::size_t left, std::size_t right, float) {
                  symbols_[left].bytes += symbols_[right].bytes;
                });
    std::size_t n = 0;
    for (std::size_t i = 0; i < symbols_.size(); ++i)
      if (joining.is_there(i)) symbols_[n++] = symbols_[i];
    symbols_.resize(n);
  }

  // The pieces in order; nothing for a character without one.
  template <class PieceVisitor>
  void for_each(const PieceVisitor& piece) const {
    for (const Symbol& symbol : symbols_)
      take_apart(text_.substr(symbol.begin, symbol.bytes), piece);
  }

 private:
  PieceType type_of(TokenId piece) const {
    return vocabulary_.types[static_cast<std::size_t>(piece)];
  }

  void cut(const PieceMatcher& user_defined) {
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::string_view rest = text_.substr(begin);
      const auto fixed = user_defined.longest(rest);
      const std::size_t bytes = fixed ? fixed->bytes : utf8_step(rest).bytes;
      symbols_.push_back({.begin = static_cast<std::uint32_t>(begin),
                          .bytes = static_cast<std::uint32_t>(bytes),
                          .is_fixed = fixed.has_value()});
      begin += bytes;
    }
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
  std::vector<Symbol> symbols_;
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
    const Joined joined(spelled, vocabulary_, index_, user_defined_);
    bool is_after_unknown = false;
    joined.for_each([&](std::string_view spelling, std::optional<TokenId> piece) {
      if (piece) {
        out.push_back(*piece);
      } else if (!bytes_.empty()) {
        for (const char c : spelling) out.push_back(bytes_[static_cast<unsigned char>(c)]);
      } else if (!is_after_unknown) {
        out.push_back(*vocabulary_.unknown);
      }
      is_after_unknown = !piece;
    });
    return {};
  }

 private:
  const Vocabulary& vocabulary_;
  PieceIndex index_;  // of what text can become by joining
  PieceMatcher user_defined_;
  std::vector<TokenId> bytes_;  // [256], or none
};

}  // namespace

std::unique_ptr<TextEncoder> make_sentencepiece_encoder(const Vocabulary& vocabulary) {
  return std::make_unique<SentencePieceEncoder>(vocabulary);
}

}  // namespace satchel::runtime
