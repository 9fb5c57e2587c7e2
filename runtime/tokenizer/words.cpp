#include "runtime/tokenizer/words.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/base/released_by.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

// Letters of scripts without spaces, by blocks: Thai and Lao, Myanmar, Khmer, Hiragana, Han. Names
// of scripts would not do: what they take in differs between versions of PCRE2. For use inside
// brackets.
constexpr char kUnspaced[] =
    R"(\x{E00}-\x{EFF}\x{1000}-\x{109F}\x{1780}-\x{17FF}\x{3005}-\x{3007}\x{3041}-\x{309F})"
    R"(\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}\x{20000}-\x{3FFFF})";
constexpr std::string_view kLowered = "\\L$0\\E\n";

// One of those with its marks, or a run of what is no separator, control character, punctuation or
// symbol. Both are possessive: nothing is tried twice.
std::string word_pattern() {
  const std::string unspaced = kUnspaced;
  return R"((?=[\p{L}\p{N}])[)" + unspaced + R"(]\p{M}*+|[^\p{Z}\p{C}\p{P}\p{S})" + unspaced +
         "]++";
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

using WordPattern = std::unique_ptr<pcre2_code, ReleasedBy<&pcre2_code_free>>;

WordPattern compile_word() {
  const std::string word = word_pattern();
  int error = 0;
  PCRE2_SIZE place = 0;
  WordPattern code(
      pcre2_compile(units(word), word.size(), PCRE2_UTF | PCRE2_UCP, &error, &place, nullptr));
  if (!code) throw std::bad_alloc();  // the pattern is a constant: nothing else can fail
  return code;
}

struct PlacedWords {
  std::string lowered;            // the words, each with a line end behind it
  std::vector<IndexRange> found;  // where each stood
  bool has_failed = false;        // for want of memory
};

// No exception may pass through PCRE2.
int note_place(pcre2_substitute_callout_block* match, void* words) noexcept {
  auto& noted = *static_cast<PlacedWords*>(words);
  try {
    noted.found.push_back({match->ovector[0], match->ovector[1]});
    return 0;
  } catch (const std::bad_alloc&) {
    noted.has_failed = true;
    return -1;
  }
}

//   needs  valid UTF-8
PlacedWords placed_words(std::string_view text) {
  PlacedWords words;
  // One separator a word, and some letters grow from two bytes to three.
  words.lowered.resize(2 * text.size() + 1);
  PCRE2_SIZE size = words.lowered.size();
  static const WordPattern word = compile_word();  // takes longer than most texts
  const std::unique_ptr<pcre2_match_context, ReleasedBy<&pcre2_match_context_free>> context(
      pcre2_match_context_create(nullptr));
  if (!context) throw std::bad_alloc();
  pcre2_set_substitute_callout(context.get(), note_place, &words);
  const int n_words =
      pcre2_substitute(word.get(), units(text), text.size(), 0,
                       PCRE2_NO_UTF_CHECK | PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_EXTENDED |
                           PCRE2_SUBSTITUTE_REPLACEMENT_ONLY,
                       nullptr, context.get(), units(kLowered), kLowered.size(),
                       reinterpret_cast<PCRE2_UCHAR*>(words.lowered.data()), &size);
  if (n_words == PCRE2_ERROR_NOMEMORY || words.has_failed) throw std::bad_alloc();
  SATCHEL_ASSERT(n_words >= 0 && static_cast<std::size_t>(n_words) == words.found.size());
  words.lowered.resize(size);
  return words;
}

bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

bool is_ascii_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

char lowered(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// A part of a text. Those that look through one say whether more is wanted.
struct Piece {
  std::string_view text;
  std::size_t begin = 0;  // in the text
};

// What the pattern finds there, many times as fast.
bool ascii_words(const Piece& piece, const PlacedWordFn& word) {
  const std::string_view text = piece.text;
  std::string run;
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find_if_not(at, text.end(), is_ascii_word);
    run.resize(static_cast<std::size_t>(end - at));
    std::transform(at, end, run.begin(), lowered);
    const std::size_t begin = piece.begin + static_cast<std::size_t>(at - text.begin());
    if (!run.empty() && !word(run, {begin, begin + run.size()})) return false;
    at = std::find_if(end, text.end(), is_ascii_word);
  }
  return true;
}

bool unicode_words(const Piece& piece, const PlacedWordFn& word) {
  const PlacedWords words = placed_words(piece.text);
  std::size_t begin = 0;
  for (const IndexRange place : words.found) {
    const std::size_t end = words.lowered.find('\n', begin);
    if (!word(std::string_view(words.lowered).substr(begin, end - begin),
              {piece.begin + place.begin, piece.begin + place.end}))
      return false;
    begin = end + 1;
  }
  return true;
}

// Invalid bytes are left out.
bool valid_words(const Piece& piece, const PlacedWordFn& word) {
  for (std::size_t begin = 0, end = 0; begin < piece.text.size(); begin = end) {
    Utf8Step step;
    for (; end < piece.text.size(); end += step.bytes) {
      step = utf8_step(piece.text.substr(end));
      if (step.form != Utf8Form::whole) break;
    }
    const std::string_view valid = piece.text.substr(begin, end - begin);
    if (!valid.empty() && !unicode_words({valid, piece.begin + begin}, word)) return false;
    if (end < piece.text.size()) end += step.bytes;
  }
  return true;
}

// A space or a line end separates words: the text is looked at in pieces up to one, so that most of
// a text with a few letters beyond ASCII goes the fast way.
constexpr std::size_t kPieceBytes = 512;  // at least; chosen

}  // namespace

void for_each_placed_word(std::string_view text, const PlacedWordFn& word) {
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = text.size() - begin > kPieceBytes ? text.find_first_of(" \n", begin + kPieceBytes)
                                            : text.size();
    end = std::min(end, text.size());
    const Piece piece{text.substr(begin, end - begin), begin};
    const bool wants_more = std::ranges::all_of(piece.text, is_ascii) ? ascii_words(piece, word)
                                                                      : valid_words(piece, word);
    if (!wants_more) return;
  }
}

void for_each_word(std::string_view text, const std::function<void(std::string_view)>& word) {
  for_each_placed_word(text, [&](std::string_view found, IndexRange) {
    word(found);
    return true;
  });
}

}  // namespace satchel::runtime
