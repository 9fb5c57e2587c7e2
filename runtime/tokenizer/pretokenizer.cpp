#include "runtime/tokenizer/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <memory>

#include "kernels/base/index_range.h"
#include "kernels/base/released_by.h"

namespace satchel::runtime {
namespace {

// Parts of patterns: literals, which end in a 0, and what join() made of others.
template <std::size_t kSize>
struct Text {
  char chars[kSize + 1] = {};
  constexpr operator std::string_view() const { return {chars, kSize}; }
};
template <class... Parts>
consteval auto join(const Parts&... parts) {
  Text<(sizeof(Parts) + ...) - sizeof...(Parts)> out;
  char* to = out.chars;
  const auto put = [&](std::string_view part) { to = std::copy(part.begin(), part.end(), to); };
  (put(parts), ...);
  return out;
}

// White space as Unicode defines it. PCRE2's \s also takes U+180E, which has not been white space
// since Unicode 6.3. For use inside brackets.
constexpr char kSpace[] = R"(\t-\r\x{85}\p{Z})";

// The patterns of the models' own tokenizer.json files. `|[space]+` at the end of the originals is
// left out where what no pattern matches is a word of its own anyway.
constexpr std::string_view kDigit = R"(\p{N})";
constexpr auto kGpt2 = join(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^)", kSpace,
                            R"(\p{L}\p{N}]+|[)", kSpace, R"(]+(?![^)", kSpace, "])");
// What the patterns of GPT-4's kind share: contractions, words, and what stands behind the digits.
constexpr char kContraction[] = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
constexpr char kWord[] = R"([^\r\n\p{L}\p{N}]?\p{L}+)";
constexpr auto kSpaces =
    join("[", kSpace, R"(]*[\r\n]+|[)", kSpace, R"(]+(?![^)", kSpace, "])|[", kSpace, "]+");
constexpr auto kMarks = join("| ?[^", kSpace, R"(\p{L}\p{N}]+)");
constexpr auto kRest = join(kMarks, R"([\r\n]*|)", kSpaces);
constexpr auto kLlama3 = join(kContraction, "|", kWord, R"(|\p{N}{1,3})", kRest);
constexpr auto kQwen2 = join(kContraction, "|", kWord, R"(|\p{N})", kRest);
// Qwen 3.5: combining marks belong to words.
constexpr auto kQwen35 = join(kContraction, R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^)",
                              kSpace, R"(\p{L}\p{M}\p{N}]+[\r\n]*|)", kSpaces);
constexpr auto kSeedCoder =
    join(kContraction, "|", kWord, R"(|\p{N}| ?[^)", kSpace, R"(\p{L}\p{N}\r\n]+|)", kSpaces);
// Words that begin anew with a capital letter.
constexpr char kUpper[] = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
constexpr char kLower[] = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
constexpr char kBeforeWord[] = R"([^\r\n\p{L}\p{N}]?)";
constexpr auto kRestWithSlash = join(kMarks, R"([\r\n/]*|)", kSpaces);
constexpr auto kTekken = join(kBeforeWord, kUpper, "*", kLower, "+|", kBeforeWord, kUpper, "+",
                              kLower, R"(*|\p{N})", kRestWithSlash);
constexpr auto kGpt4o = join(kBeforeWord, kUpper, "*", kLower, "+", kContraction, "?|",  //
                             kBeforeWord, kUpper, "+", kLower, "*", kContraction, "?",   //
                             R"(|\p{N}{1,3})", kRestWithSlash);
constexpr std::string_view kLineEnd = R"([\r\n])";
constexpr auto kSpacedLetters = join("[", kSpace, R"(]?\p{L}+)");
constexpr auto kSpacedMarks = join("[", kSpace, R"(]?\p{P}+)");
constexpr std::string_view kEastAsian = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
// DeepSeek LLM lists its letters one by one.
constexpr auto kLettersOfDeepseek = join(
    "[", kSpace,
    R"(]?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕ)"
    R"(Ἐ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌῐ-\x{1FD3}ῖ-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ)"
    R"(\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-)"
    R"(𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)");
constexpr auto kMarksOfDeepseek = join("[", kSpace, R"(]?[!-/:-~！-／：-～‘-‟　-。]+)");
constexpr auto kSpaceAtEnd = join("[", kSpace, R"(]+\z)");
constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kHanAndKana =
    R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr auto kDeepseek3 =
    join(R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
         R"(| ?[\p{P}\p{S}]+[\r\n]*|)",
         kSpaces);

struct Known {
  std::string_view name;
  std::array<std::string_view, 6> patterns;  // "": none
  bool ignores_merges = false;
  bool adds_bos = false;
};
// Files name the model rather than the pattern: many names, few patterns.
constexpr Known kKnown[] = {
    {"gpt-2", {kGpt2}},
    {"phi-2", {kGpt2}},
    {"mpt", {kGpt2}},
    {"olmo", {kGpt2}},
    {"smollm", {kDigit, kGpt2}},
    {"starcoder", {kDigit, kGpt2}},
    {"refact", {kDigit, kGpt2}},
    {"command-r", {kDigit, kGpt2}},
    {"llama-bpe", {kLlama3}, true, true},
    {"llama3", {kLlama3}, true, true},
    {"llama-v3", {kLlama3}, true, true},
    {"falcon3", {kLlama3}, true, true},
    {"lfm2", {kLlama3}, true, true},
    {"pixtral", {kLlama3}, true, true},
    {"dbrx", {kLlama3}},
    {"smaug-bpe", {kLlama3}},
    {"chatglm-bpe", {kLlama3}},
    {"glm4", {kLlama3}},
    {"qwen2", {kQwen2}},
    {"qwen35", {kQwen35}},
    {"deepseek-r1-qwen", {kQwen2}},
    {"stablelm2", {kQwen2}},
    {"megrez", {kQwen2}},
    {"seed-coder", {kSeedCoder}},
    {"tekken", {kTekken}, true, true},
    {"gpt-4o", {kGpt4o}},
    {"llama4", {kGpt4o}},
    {"deepseek-coder", {kLineEnd, kSpacedLetters, kSpacedMarks, kEastAsian, kDigit}},
    {"deepseek-llm",
     {kLineEnd, kLettersOfDeepseek, kMarksOfDeepseek, kSpaceAtEnd, kEastAsian, kDigit}},
    {"deepseek-v3", {kThreeDigits, kHanAndKana, kDeepseek3}},
};

const Known* known_named(std::string_view name) {
  const auto* known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                   [&](const Known& k) { return k.name == name; });
  return known == std::end(kKnown) ? nullptr : known;
}

Error broken(std::string_view name, int code) {
  std::array<PCRE2_UCHAR, 128> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return {ErrorKind::internal, "TOKENIZER",
          "The word-splitting pattern of \"" + std::string(name) + "\" failed: " +
              reinterpret_cast<const char*>(text.data()) + ". Nothing was changed."};
}

using Code = std::unique_ptr<pcre2_code, ReleasedBy<&pcre2_code_free>>;
using Match = std::unique_ptr<pcre2_match_data, ReleasedBy<&pcre2_match_data_free>>;

}  // namespace

class Pretokenizer::Pattern {
 public:
  static Result<Pattern> compile(std::string_view text) {
    int error = 0;
    PCRE2_SIZE place = 0;
    Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                            PCRE2_UTF | PCRE2_UCP, &error, &place, nullptr));
    if (!code) return broken(text, error);
    // Without the compiler PCRE2 interprets: slower, the same result.
    (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    return Pattern(std::move(code));
  }

  // Finds the first match in `text`; not found: begin == end == text.size().
  Result<IndexRange> first_match(std::string_view text, std::size_t from,
                                 pcre2_match_data* match) const {
    const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    int found =
        pcre2_match(code_.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK, match, nullptr);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
      found = pcre2_match(code_.get(), subject, text.size(), from,
                          PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match, nullptr);
    if (found == PCRE2_ERROR_NOMATCH) return IndexRange{text.size(), text.size()};
    if (found < 0) return broken("tokenizer.ggml.pre", found);
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match);
    return IndexRange{ends[0], ends[1]};
  }

  Match match_data() const {
    return Match(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

 private:
  explicit Pattern(Code code) : code_(std::move(code)) {}
  Code code_;
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
  const Known* known = known_named(name);
  if (known == nullptr) {
    std::string list;
    for (const std::string_view each : names())
      list += (list.empty() ? "" : ", ") + std::string(each);
    const std::string said =
        name.empty()
            ? "The model file does not name its pretokenizer"
            : "The pretokenizer \"" + std::string(name.substr(0, 64)) + "\" is not supported";
    return Error{ErrorKind::unsupported, "MODEL_TOKENIZER",
                 said + " (tokenizer.ggml.pre). Supported: " + list + ". Nothing was loaded."};
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

bool Pretokenizer::adds_bos_by_default(std::string_view name) {
  const Known* known = known_named(name);
  return known != nullptr && known->adds_bos;
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
