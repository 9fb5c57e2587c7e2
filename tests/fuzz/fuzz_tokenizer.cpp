// Any pieces as a vocabulary; any text as tokens of it, and back.
//   input   1 byte: kind (2 bits), space prefix (1), pretokenizer (5); 2 bytes: size of the
//           vocabulary; it: pieces, each behind a letter for its type, "m" for a merge, "*" for all
//           bytes; the text, in parts of which every second one is parsed
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "kernels/base/assert.h"
#include "mutate.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/pretokenizer.h"
#include "runtime/tokenizer/tokenizer.h"
#include "runtime/tokenizer/utf8.h"
#include "target.h"
#include "two_texts.h"

namespace satchel::fuzz {
namespace {

using runtime::PieceType;
using runtime::SpecialText;
using runtime::TextPart;
using runtime::TokenId;
using runtime::Tokenizer;
using runtime::Vocabulary;
using runtime::VocabularyKind;

constexpr char kPieceEnd = '\x1e', kPartEnd = '\x1f';
constexpr std::string_view kTypes = " n?cux";  // normal, unknown, control, user-defined, unused
constexpr char kMerge = 'm', kAllBytes = '*';

std::string listed(std::initializer_list<std::string_view> pieces) {
  std::string text;
  for (const std::string_view piece : pieces) (text += piece) += kPieceEnd;
  return text;
}

std::vector<Input> seeds() {
  const std::string marked = listed({"?<unk>", "c<s>", "c</s>", "*", "u\n", "u▁▁", "nab", "n▁ab"});
  return {input_of(4, marked + listed({"nä", "nbc", "xabc"}),
                   "ab  abcä\n\x1f<s>"
                   "ab\x1f</s>"),
          input_of(0, listed({"?<unk>", "c<s>", "na", "nb", "nab", "n▁a"}), "ab aé"),
          input_of(1 | 6 << 3, listed({"*", "c<|im_start|>", "nab", "nĠab", "ma b", "mĠ ab"}),
                   "ab ab'll 12\x1f<|im_start|>\x1f<|im_start|>"),
          input_of(1, listed({"na", "nb", "nab", "uab\n", "ma b"}), "ab\n\xff\xf0\x9f"),
          input_of(2, marked + listed({"na", "nb", "n▁", "ma b", "m▁ ab", "c<|turn>", "c<turn|>"}),
                   " ab\x1f<|turn>ab<turn|>\x1f"
                   "ab")};
}

// Made of what vocabularies and texts are made of.
Input generate(Rng& rng) {
  constexpr std::string_view kParts[] = {"a",  "b",    "ab",   "▁",        "Ġ",     " ", "\n",
                                         "é",  "é",    "漢",   "🚢",        "<s>",   "1", "'s",
                                         "\t", "\r\n", "\xff", "\xf0\x9f", "<|a|>", "A", "."};
  const auto some = [&](std::size_t n_most) {
    std::string text;
    for (std::size_t n = below(rng, n_most); n > 0; --n)
      text += kParts[below(rng, std::size(kParts))];
    return text;
  };
  std::string vocabulary = below(rng, 4) != 0 ? listed({"?<unk>", "*", "n▁"}) : std::string();
  for (std::size_t n = below(rng, 40); n > 0; --n) {
    const bool is_merge = below(rng, 3) == 0;
    vocabulary += is_merge ? kMerge : kTypes[below(rng, 4) != 0 ? 1 : below(rng, kTypes.size())];
    vocabulary += is_merge ? some(3) + " " + some(3) : some(5);
    vocabulary += kPieceEnd;
  }
  std::string text;
  for (std::size_t n = 1 + below(rng, 4); n > 0; --n) (text += some(40)) += kPartEnd;
  return input_of(static_cast<std::uint8_t>(rng.next()), vocabulary, text);
}

class Builder {
 public:
  explicit Builder(std::uint8_t how) {
    made_.kind = static_cast<VocabularyKind>(std::min(how & 3, 2));
    made_.adds_space_prefix = is_sentencepiece() && (how & 4) != 0;
    const auto names = runtime::Pretokenizer::names();
    made_.pre = names[std::size_t{how} / 8 % names.size()];
  }

  Vocabulary made(std::string_view list) {
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(kPieceEnd), list.size());
      if (end > 0) add(list[0], list.substr(1, end - 1));
      list.remove_prefix(std::min(end + 1, list.size()));
    }
    return std::move(made_);
  }

 private:
  bool is_sentencepiece() const { return made_.kind == VocabularyKind::sentencepiece; }

  void add(char letter, std::string_view text) {
    if (letter == kMerge) return made_.merges.push_back(text);
    if (letter == kAllBytes) return add_bytes();
    const std::size_t type = kTypes.find(letter);
    add_piece(text, type == kTypes.npos ? PieceType::byte : static_cast<PieceType>(type));
  }
  void add_piece(std::string_view text, PieceType type) {
    if (!seen_.insert(std::string(text)).second) return;  // all of them would be refused
    made_.pieces.push_back(text);
    made_.types.push_back(type);
    // Of equal ones, too; not in their order.
    if (is_sentencepiece()) made_.scores.push_back(static_cast<float>(seen_.size() * 7 % 5));
  }
  void add_bytes() {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    const bool is_bpe = made_.kind == VocabularyKind::byte_bpe;
    const auto alphabet = runtime::byte_alphabet();
    for (std::size_t byte = 0; byte < 256; ++byte) {
      std::string piece =
          is_bpe ? "" : std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">";
      if (is_bpe) runtime::append_code(alphabet[byte], piece);
      add_piece(piece, is_bpe ? PieceType::normal : PieceType::byte);
    }
  }

  Vocabulary made_;
  std::set<std::string> seen_;
};

std::vector<TextPart> parts_of(std::string_view text) {
  std::vector<TextPart> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(kPartEnd), text.size());
    const bool is_parsed = parts.size() % 2 == 1;
    parts.push_back({text.substr(0, end), is_parsed ? SpecialText::parse : SpecialText::as_text});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string cleaned(std::string_view text) {
  std::string out;
  runtime::append_utf8(text, out);
  return out;
}

// Whether every text comes back: what is no piece is its bytes, a space has its mark, and no
// character is an unused piece, which says nothing.
bool has_all_bytes(const Vocabulary& vocabulary) {
  const bool is_bpe = vocabulary.kind == VocabularyKind::byte_bpe;
  std::size_t n_bytes = 0;
  bool has_space = is_bpe;
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) {
    const std::string_view piece = vocabulary.pieces[i];
    const PieceType type = vocabulary.types[i];
    const bool is_character = !piece.empty() && runtime::utf8_step(piece).bytes == piece.size();
    if (is_character && type == PieceType::unused) return false;
    has_space = has_space || ((type == PieceType::normal || type == PieceType::user_defined) &&
                              piece == runtime::kSpaceMark);
    const bool is_letter = is_bpe && is_character && type == PieceType::normal &&
                           runtime::byte_of(runtime::utf8_step(piece).code).has_value();
    if (is_letter || type == PieceType::byte) ++n_bytes;
  }
  return n_bytes == 256 && has_space;
}

void check_decoding(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string bytes;
  for (const TokenId id : ids) {
    SATCHEL_ASSERT(id >= 0 && static_cast<std::size_t>(id) < tokenizer.size());
    tokenizer.append_piece(id, bytes);
  }
  if (tokenizer.adds_space_prefix() && bytes.starts_with(' ')) bytes.erase(0, 1);
  SATCHEL_ASSERT(tokenizer.text(ids) == cleaned(bytes));
}

void check_text(const Tokenizer& tokenizer, std::string_view text, bool comes_back) {
  const auto whole = tokenizer.encode(text, SpecialText::as_text);
  SATCHEL_ASSERT(whole.ok());
  for (const TokenId id : *whole)  // what people said is no control token
    SATCHEL_ASSERT(tokenizer.control(tokenizer.spelling(id)) != id);
  std::string clean = cleaned(text);
  std::size_t middle = clean.size() / 2;
  while (middle > 0 && (clean[middle] & 0xc0) == 0x80) --middle;  // not inside a character
  const TextPart halves[] = {{std::string_view(clean).substr(0, middle)},
                             {std::string_view(clean).substr(middle)}};
  SATCHEL_ASSERT(tokenizer.encode(halves).value() == *whole);
  if (!comes_back) return;
  const bool has_marks = tokenizer.kind() != VocabularyKind::byte_bpe;
  for (std::size_t at = 0; has_marks && (at = clean.find(runtime::kSpaceMark, at)) != clean.npos;)
    clean.replace(at, runtime::kSpaceMark.size(), " ");
  SATCHEL_ASSERT(tokenizer.text(*whole) == clean);
}

}  // namespace

const Target target{.name = "tokenizer", .seeds = seeds, .generate = generate};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace satchel;
  using namespace satchel::fuzz;
  const auto given = two_texts_of(bytes, size);
  if (!given) return 0;
  Vocabulary vocabulary = Builder(given->how).made(given->first);
  Vocabulary mended = vocabulary;
  const bool comes_back = mended.check_and_mend().ok() && has_all_bytes(mended);
  const auto tokenizer = Tokenizer::make(std::move(vocabulary));
  if (!tokenizer.ok()) return 0;
  const std::vector<TextPart> parts = parts_of(given->second);
  const auto ids = (*tokenizer)->encode(parts);
  SATCHEL_ASSERT(ids.ok());
  check_decoding(**tokenizer, *ids);
  std::vector<TokenId> any;  // and what no text becomes
  for (const char c : given->second) any.push_back(static_cast<TokenId>(c));
  check_decoding(**tokenizer, {});
  (void)(*tokenizer)->text(any);
  check_text(**tokenizer, given->second, comes_back);
  return 0;
}
