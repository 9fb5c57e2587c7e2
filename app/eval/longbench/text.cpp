#include "app/eval/longbench/text.h"

#include "runtime/tokenizer/utf8.h"

namespace satchel::eval::longbench {
namespace {

constexpr std::u32string_view kAsciiPunctuation = U"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr std::u32string_view kChinesePunctuation =
    U"！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔"
    U"〕〖〗〘〙〚〛〜〝〞〟〰"
    U"〾〿–—‘’‛“”„‟…‧﹏.";

bool is_ascii_alnum(char32_t c) {
  return (c >= U'0' && c <= U'9') || (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
}

// Punctuation and symbols of Latin-1: all but ª ² ³ µ ¹ º ¼ ½ ¾.
bool is_latin1_symbol(char32_t c) {
  constexpr std::u32string_view kWordParts =
      U"\u00aa\u00b2\u00b3\u00b5\u00b9\u00ba\u00bc\u00bd\u00be";
  return (c < 0xc0 && kWordParts.find(c) == kWordParts.npos) || c == 0xd7 || c == 0xf7;
}

}  // namespace

std::u32string code_points(std::string_view utf8) {
  std::u32string out;
  while (!utf8.empty()) {
    const runtime::Utf8Step step = runtime::utf8_step(utf8);
    const bool whole = step.form == runtime::Utf8Form::whole;
    out.push_back(whole ? step.code : char32_t{static_cast<unsigned char>(utf8[0])});
    utf8.remove_prefix(whole ? step.bytes : 1);
  }
  return out;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

bool is_ascii_punctuation(char32_t c) {
  return kAsciiPunctuation.find(c) != kAsciiPunctuation.npos;
}

bool is_chinese_punctuation(char32_t c) {
  return kChinesePunctuation.find(c) != kChinesePunctuation.npos;
}

bool is_word_part(char32_t c) {
  if (c < 0x80) return is_ascii_alnum(c) || c == U'_';
  if (c <= 0xff) return !is_latin1_symbol(c);
  const bool symbol = (c >= 0x2000 && c <= 0x206f) || (c >= 0x20a0 && c <= 0x20cf) ||
                      (c >= 0x2190 && c <= 0x245f) || (c >= 0x2500 && c <= 0x2775) ||
                      (c >= 0x3000 && c <= 0x3004) || (c >= 0x3008 && c <= 0x3020) ||
                      (c >= 0xff01 && c <= 0xff0f) || (c >= 0xff1a && c <= 0xff20);
  return !symbol && !is_space(c);
}

char32_t to_lower(char32_t c) {
  if (c >= U'A' && c <= U'Z') return c + 0x20;
  if (c < 0xc0) return c;
  if (c <= 0xde) return c == 0xd7 ? c : c + 0x20;
  if (c >= 0x391 && c <= 0x3ab && c != 0x3a2) return c + 0x20;
  if (c >= 0x400 && c <= 0x40f) return c + 0x50;
  if (c >= 0x410 && c <= 0x42f) return c + 0x20;
  return c;
}

std::vector<Word> words_of(std::u32string_view text) {
  std::vector<Word> out;
  bool in_word = false;
  for (const char32_t c : text) {
    if (is_space(c)) {
      in_word = false;
      continue;
    }
    if (!in_word) out.emplace_back();
    out.back().push_back(c);
    in_word = true;
  }
  return out;
}

std::vector<Word> characters_of(std::u32string_view text) {
  std::vector<Word> out;
  bool in_run = false;
  for (const char32_t c : text) {
    const bool goes_on = in_run && is_ascii_alnum(c);
    in_run = is_ascii_alnum(c);
    if (is_space(c)) continue;
    if (!goes_on) out.emplace_back();
    out.back().push_back(c);
  }
  return out;
}

}  // namespace satchel::eval::longbench
