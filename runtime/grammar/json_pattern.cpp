#include "runtime/grammar/json_pattern.h"

#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/size_text.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

using Node = GrammarBuilder::Node;

CodePoints digit_set() {
  return CodePoints().with('0', '9');
}
CodePoints word_set() {
  return digit_set().with('a', 'z').with('A', 'Z').with('_', '_');
}
CodePoints space_set() {
  return CodePoints().with(' ', ' ').with('\t', '\r').with(0xa0, 0xa0).with(0x2028, 0x2029);
}

class PatternReader {
 public:
  PatternReader(std::string_view text, const std::string& path, GrammarBuilder& builder,
                JsonRules& rules)
      : text_(text), path_(path), builder_(builder), rules_(rules) {}

  Result<Node> read() {
    SATCHEL_TRY_ASSIGN(const Node all, choices(0));
    if (!at_end()) return wrong("has a \")\" without its \"(\"");
    return all;
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char here() const { return at_end() ? '\0' : text_[at_]; }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  Error wrong(const std::string& what, ErrorKind kind = ErrorKind::invalid) const {
    return {kind, "SCHEMA",
            path_ + ": the pattern " + what + " (at byte " + std::to_string(at_) + " of \"" +
                std::string(text_) + "\")."};
  }
  Error unsupported(const std::string& what) const {
    return wrong("uses " + what + ", which is not supported", ErrorKind::unsupported);
  }

  Result<Node> choices(std::size_t depth) {
    if (depth > GrammarBuilder::kGroupsMax) return wrong("nests its groups too deeply");
    std::vector<Node> ways;
    do {
      SATCHEL_TRY_ASSIGN(const Node one, choice(depth));
      ways.push_back(one);
    } while (take("|"));
    return ways.size() == 1 ? ways[0] : builder_.any_of(std::move(ways));
  }

  Result<Node> choice(std::size_t depth) {
    std::vector<Node> parts;
    const Node anything = builder_.repeat(rules_.any_character(), 0);
    if (depth == 0 && !take("^")) parts.push_back(anything);
    bool ends = false;
    while (!at_end() && here() != '|' && here() != ')') {
      if (ends) return unsupported("\"$\" before other characters");
      if (here() == '^') return unsupported("\"^\" behind other characters");
      if (here() == '$') {
        if (depth > 0) return unsupported("\"$\" inside a group");
        ends = take("$");
        continue;
      }
      SATCHEL_TRY_ASSIGN(const Node one, element(depth));
      SATCHEL_TRY_ASSIGN(const Node repeated, with_count(one));
      parts.push_back(repeated);
    }
    if (depth == 0 && !ends) parts.push_back(anything);
    return builder_.sequence(std::move(parts));
  }

  Result<Node> element(std::size_t depth) {
    if (take("(")) {
      if (take("?") && !take(":")) return unsupported("a group that begins with \"(?\"");
      SATCHEL_TRY_ASSIGN(const Node inside, choices(depth + 1));
      if (!take(")")) return wrong("has a \"(\" without its \")\"");
      return inside;
    }
    CodePoints set;
    if (take("[")) {
      SATCHEL_TRY_ASSIGN(set, character_class());
    } else if (take(".")) {
      set = CodePoints::all().without(CodePoints().with('\n', '\n').with('\r', '\r'));
    } else if (here() == '*' || here() == '+' || here() == '?') {
      return wrong("has nothing to repeat");
    } else {
      SATCHEL_TRY_ASSIGN(set, character());
    }
    return rules_.character(set);
  }

  Result<CodePoints> character_class() {
    const bool is_inverse = take("^");
    CodePoints set;
    while (!take("]")) {
      if (at_end()) return wrong("has a \"[\" without its \"]\"");
      SATCHEL_TRY_ASSIGN(const CodePoints first, character());
      const bool is_range = here() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (!is_range) {
        set = set.with(first);
        continue;
      }
      ++at_;
      const std::optional<char32_t> low = last_code_;
      SATCHEL_TRY(character());
      if (!low || !last_code_ || *last_code_ < *low)
        return wrong("has a range that is reversed or incomplete");
      set.add(*low, *last_code_);
    }
    if (is_inverse) set = set.inverse();
    return set;
  }

  // One character, or the set that an escape means; last_code_: the character, if it is one.
  Result<CodePoints> character() {
    last_code_.reset();
    if (!take("\\")) {
      const Utf8Step step = utf8_step(text_.substr(at_));
      if (step.form != Utf8Form::whole) return wrong("is not UTF-8");
      at_ += step.bytes;
      return one(step.code);
    }
    const char c = here();
    if (at_end()) return wrong("ends with \"\\\"");
    ++at_;
    switch (c) {
      case 'd':
        return digit_set();
      case 'D':
        return digit_set().inverse();
      case 'w':
        return word_set();
      case 'W':
        return word_set().inverse();
      case 's':
        return space_set();
      case 'S':
        return space_set().inverse();
      case 'x':
        return hex(2);
      case 'u':
        return hex(4);
      default:
        break;
    }
    constexpr std::string_view kNames = "nrtfv", kCodes = "\n\r\t\f\v";
    if (const std::size_t i = kNames.find(c); i != std::string_view::npos)
      return one(static_cast<char32_t>(kCodes[i]));
    const bool is_word = word_set().has(static_cast<unsigned char>(c));
    if (is_word || (static_cast<unsigned char>(c) & 0x80u) != 0)
      return unsupported("\"\\" + std::string(1, c) + "\"");
    return one(static_cast<char32_t>(c));
  }

  Result<CodePoints> hex(std::size_t n_digits) {
    char32_t code = 0;
    for (std::size_t i = 0; i < n_digits; ++i, ++at_) {
      constexpr std::string_view kDigits = "0123456789abcdef0123456789ABCDEF";
      const std::size_t digit = at_end() ? std::string_view::npos : kDigits.find(here());
      if (digit == std::string_view::npos) return wrong("has an escape with too few digits");
      code = code * 16 + static_cast<char32_t>(digit % 16);
    }
    if (code >= 0xd800 && code < 0xe000) return unsupported("half of a surrogate pair");
    return one(code);
  }

  CodePoints one(char32_t code) {
    last_code_ = code;
    return CodePoints::one(code);
  }

  Result<Node> with_count(Node node) {
    std::size_t least = 0, most = GrammarBuilder::kNoEnd;
    if (take("*")) {
    } else if (take("+")) {
      least = 1;
    } else if (take("?")) {
      most = 1;
    } else if (take("{")) {
      SATCHEL_TRY_ASSIGN(least, number());
      most = least;
      if (take(",")) {
        most = GrammarBuilder::kNoEnd;
        if (here() != '}') {
          SATCHEL_TRY_ASSIGN(most, number());
        }
      }
      if (!take("}") || most < least)
        return wrong("has a repetition that is reversed or incomplete");
    } else {
      return node;
    }
    take("?");  // as few as possible: the same strings
    if (here() == '*' || here() == '+' || here() == '?' || here() == '{')
      return wrong("repeats a repetition");
    return builder_.repeat(node, least, most);
  }

  Result<std::size_t> number() {
    if (here() < '0' || here() > '9') return wrong("needs a number");
    std::size_t out = 0;
    for (; here() >= '0' && here() <= '9'; ++at_) {
      out = out * 10 + static_cast<std::size_t>(here() - '0');
      if (out > GrammarBuilder::kCountMax)
        return wrong("repeats more than " + count_text(GrammarBuilder::kCountMax) + " times");
    }
    return out;
  }

  const std::string_view text_;
  const std::string& path_;
  GrammarBuilder& builder_;
  JsonRules& rules_;
  std::size_t at_ = 0;
  std::optional<char32_t> last_code_;
};

}  // namespace

Result<Node> json_pattern(std::string_view pattern, const std::string& path,
                          GrammarBuilder& builder, JsonRules& rules) {
  return PatternReader(pattern, path, builder, rules).read();
}

}  // namespace satchel::runtime
