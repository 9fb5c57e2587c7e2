#include "runtime/tokenizer/words.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>

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

// The words in lower case, each with a line end behind it.
std::string lowered_words(const std::string& text) {
  // One separator a word, and some letters grow from two bytes to three.
  std::string out(2 * text.size() + 1, '\0');
  PCRE2_SIZE size = out.size();
  static const WordPattern word = compile_word();  // takes longer than most texts
  const int n_words =
      pcre2_substitute(word.get(), units(text), text.size(), 0,
                       PCRE2_NO_UTF_CHECK | PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_EXTENDED |
                           PCRE2_SUBSTITUTE_REPLACEMENT_ONLY,
                       nullptr, nullptr, units(kLowered), kLowered.size(),
                       reinterpret_cast<PCRE2_UCHAR*>(out.data()), &size);
  if (n_words == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
  SATCHEL_ASSERT(n_words >= 0);
  out.resize(size);
  return out;
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

// What the pattern finds there, many times as fast.
void for_each_ascii_word(std::string_view text, const std::function<void(std::string_view)>& word) {
  std::string run;
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find_if_not(at, text.end(), is_ascii_word);
    run.resize(static_cast<std::size_t>(end - at));
    std::transform(at, end, run.begin(), lowered);
    if (!run.empty()) word(run);
    at = std::find_if(end, text.end(), is_ascii_word);
  }
}

}  // namespace

void for_each_word(std::string_view text, const std::function<void(std::string_view)>& word) {
  if (std::ranges::all_of(text, is_ascii)) return for_each_ascii_word(text, word);
  std::string valid;
  append_utf8(text, valid);
  const std::string words = lowered_words(valid);
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = words.find('\n', begin);
    word(std::string_view(words).substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace satchel::runtime
