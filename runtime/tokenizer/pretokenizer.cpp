#include "runtime/tokenizer/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace satchel::runtime {
namespace {

// White space as Unicode defines it. PCRE2's \s also takes U+180E, which has not been white space
// since Unicode 6.3. For use inside brackets.
#define SPACE R"(\t-\r\x{85}\p{Z})"

// The patterns of the models' own tokenizer.json files. `|[space]+` at the end of the originals is
// left out where what no pattern matches is a word of its own anyway.
constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^)" SPACE
                                   R"(\p{L}\p{N}]+|[)" SPACE R"(]+(?![^)" SPACE R"(]))";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^)" SPACE
    R"(\p{L}\p{N}]+[\r\n]*|[)" SPACE R"(]*[\r\n]+|[)" SPACE R"(]+(?![^)" SPACE R"(])|[)" SPACE "]+";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^)" SPACE
    R"(\p{L}\p{N}]+[\r\n]*|[)" SPACE R"(]*[\r\n]+|[)" SPACE R"(]+(?![^)" SPACE R"(])|[)" SPACE "]+";
constexpr std::string_view kLineEnd = R"([\r\n])";
constexpr std::string_view kSpacedLetters = "[" SPACE R"(]?\p{L}+)";
constexpr std::string_view kSpacedMarks = "[" SPACE R"(]?\p{P}+)";
constexpr std::string_view kEastAsian = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
#undef SPACE

struct Known {
  std::string_view name;
  std::array<std::string_view, 5> patterns;  // "": none
  bool ignores_merges = false;
};
constexpr Known kKnown[] = {
    {"gpt-2", {kGpt2}},
    {"smollm", {kDigit, kGpt2}},
    {"starcoder", {kDigit, kGpt2}},
    {"refact", {kDigit, kGpt2}},
    {"llama-bpe", {kLlama3}, true},
    {"qwen2", {kQwen2}},
    {"deepseek-coder", {kLineEnd, kSpacedLetters, kSpacedMarks, kEastAsian, kDigit}},
};

Error broken(std::string_view name, int code) {
  std::array<PCRE2_UCHAR, 128> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return {ErrorKind::internal, "TOKENIZER",
          "The word pattern of \"" + std::string(name) + "\" failed: " +
              reinterpret_cast<const char*>(text.data()) + ". Nothing was changed."};
}

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

}  // namespace

class Pretokenizer::Pattern {
 public:
  static Result<Pattern> compile(std::string_view text) {
    int error = 0;
    PCRE2_SIZE place = 0;
    std::unique_ptr<pcre2_code, FreeCode> code(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF | PCRE2_UCP,
                      &error, &place, nullptr));
    if (!code) return broken(text, error);
    // Without the compiler PCRE2 interprets: slower, the same result.
    (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    return Pattern(std::move(code));
  }

  // Finds the first match in `text`; not found: begin == end == text.size().
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  Result<Range> first_match(std::string_view text, std::size_t from,
                            pcre2_match_data* match) const {
    const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    int found =
        pcre2_match(code_.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK, match, nullptr);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
      found = pcre2_match(code_.get(), subject, text.size(), from,
                          PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match, nullptr);
    if (found == PCRE2_ERROR_NOMATCH) return Range{text.size(), text.size()};
    if (found < 0) return broken("tokenizer.ggml.pre", found);
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match);
    return Range{ends[0], ends[1]};
  }

  std::unique_ptr<pcre2_match_data, FreeMatch> match_data() const {
    return std::unique_ptr<pcre2_match_data, FreeMatch>(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

 private:
  explicit Pattern(std::unique_ptr<pcre2_code, FreeCode> code) : code_(std::move(code)) {}
  std::unique_ptr<pcre2_code, FreeCode> code_;
};

Pretokenizer::Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;
Pretokenizer& Pretokenizer::operator=(Pretokenizer&&) noexcept = default;
Pretokenizer::~Pretokenizer() = default;

std::vector<std::string_view> Pretokenizer::names() {
  std::vector<std::string_view> names;
  for (const Known& known : kKnown) names.push_back(known.name);
  return names;
}

Result<Pretokenizer> Pretokenizer::named(std::string_view name) {
  const auto* known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                   [&](const Known& k) { return k.name == name; });
  if (known == std::end(kKnown)) {
    std::string list;
    for (const std::string_view each : names())
      list += (list.empty() ? "" : ", ") + std::string(each);
    return Error{ErrorKind::unsupported, "MODEL_TOKENIZER",
                 "The model cuts words by \"" + std::string(name.substr(0, 64)) +
                     "\" (tokenizer.ggml.pre), which is not one of those we know: " + list +
                     ". Nothing was loaded."};
  }
  Pretokenizer made;
  made.ignores_merges_ = known->ignores_merges;
  for (const std::string_view text : known->patterns) {
    if (text.empty()) break;
    SATCHEL_TRY_ASSIGN(Pattern pattern, Pattern::compile(text));
    made.patterns_.push_back(std::move(pattern));
  }
  return made;
}

Result<void> Pretokenizer::split(std::string_view text, const WordFn& word) const {
  return split(text, 0, word);
}

Result<void> Pretokenizer::split(std::string_view text, std::size_t pattern,
                                 const WordFn& word) const {
  if (text.empty()) return {};
  if (pattern == patterns_.size()) {
    word(text);
    return {};
  }
  const auto match = patterns_[pattern].match_data();
  for (std::size_t begin = 0; begin < text.size();) {
    SATCHEL_TRY_ASSIGN(const auto found, patterns_[pattern].first_match(text, begin, match.get()));
    SATCHEL_TRY(split(text.substr(begin, found.begin - begin), pattern + 1, word));
    SATCHEL_TRY(split(text.substr(found.begin, found.end - found.begin), pattern + 1, word));
    SATCHEL_ASSERT(found.end > begin);  // no pattern matches the empty text
    begin = found.end;
  }
  return {};
}

}  // namespace satchel::runtime
