#include "runtime/grammar/gbnf.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/size_text.h"
#include "runtime/grammar/grammar_builder.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

using Node = GrammarBuilder::Node;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

std::optional<char32_t> hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<char32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<char32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<char32_t>(c - 'A' + 10);
  return std::nullopt;
}

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : text_(text) {}

  Result<Grammar> parse() {
    skip_space(true);
    while (!at_end()) {
      SATCHEL_TRY(rule());
      skip_space(true);
    }
    if (!builder_.is_defined("root"))
      return bad_grammar({},
                         "There is no rule \"root\", which stands for the whole text. Write "
                         "one: root ::= …");
    return builder_.compile("root");
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char here() const { return at_end() ? '\0' : text_[at_]; }
  bool begins(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  TextPlace place(std::size_t at) const {
    TextPlace out{.line = 1, .column = 1};
    for (std::size_t i = 0; i < std::min(at, text_.size()); ++i) {
      const bool is_inside = (static_cast<unsigned char>(text_[i]) & 0xc0u) == 0x80u;
      out.column += is_inside ? 0 : 1;
      if (text_[i] == '\n') out = {.line = out.line + 1, .column = 1};
    }
    return out;
  }
  Error wrong(const std::string& what) const { return bad_grammar(place(at_), what); }
  // The character here; at the end nothing.
  std::string shown() const {
    if (at_end()) return "";
    std::string one;
    append_utf8(text_.substr(at_, utf8_step(text_.substr(at_)).bytes), one);
    return one;
  }
  std::string found() const {
    if (at_end()) return "the text ends here";
    return here() == '\n' ? "the line ends here" : "found \"" + shown() + "\"";
  }

  void skip_space(bool also_lines) {
    while (!at_end()) {
      const char c = here();
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      const bool is_space = c == ' ' || c == '\t' || (also_lines && (c == '\n' || c == '\r'));
      if (!is_space) return;
      ++at_;
    }
  }

  Result<std::string> name() {
    const std::size_t from = at_;
    while (!at_end() && is_name(here())) ++at_;
    if (at_ == from)
      return wrong("Expected a rule's name (letters, digits, \"-\"), but " + found() + ".");
    return std::string(text_.substr(from, at_ - from));
  }

  Result<void> rule() {
    const TextPlace began = place(at_);
    SATCHEL_TRY_ASSIGN(const std::string called, name());
    skip_space(false);
    if (!begins("::="))
      return wrong("Expected \"::=\" after \"" + called + "\", but " + found() + ".");
    at_ += 3;
    skip_space(true);
    SATCHEL_TRY_ASSIGN(const Node node, choices(0));
    if (!builder_.define(called, node, began))
      return bad_grammar(began, "The rule \"" + called +
                                    "\" is defined twice. Join the two with "
                                    "\"|\", or rename one.");
    if (!at_end() && here() != '\n' && here() != '\r')
      return wrong("Expected the end of the rule \"" + called + "\", but " + found() +
                   ". Put text in quotes, and start a new rule on a new line.");
    return {};
  }

  Result<Node> choices(std::size_t depth) {
    std::vector<Node> found_choices;
    for (;;) {
      SATCHEL_TRY_ASSIGN(const Node one, sequence(depth));
      found_choices.push_back(one);
      if (here() != '|') break;
      ++at_;
      skip_space(true);
    }
    return found_choices.size() == 1 ? found_choices[0] : builder_.any_of(std::move(found_choices));
  }

  Result<Node> sequence(std::size_t depth) {
    std::vector<Node> parts;
    for (;;) {
      skip_space(depth > 0);
      const char c = here();
      const bool begins_part = c == '"' || c == '[' || c == '(' || c == '.' || is_name(c);
      if (at_end() || !begins_part) break;
      SATCHEL_TRY_ASSIGN(const Node part, element(depth));
      SATCHEL_TRY_ASSIGN(const Node repeated, with_count(part));
      parts.push_back(repeated);
    }
    if (here() == '<' || here() == '!')
      return wrong("Tokens by name or number (<…>) are not supported. Write their text in quotes.");
    return parts.size() == 1 ? parts[0] : builder_.sequence(std::move(parts));
  }

  Result<Node> element(std::size_t depth) {
    const char c = here();
    if (c == '"') return quoted();
    if (c == '[') return character_class();
    if (c == '.') {
      ++at_;
      return builder_.one_of(CodePoints::all());
    }
    if (c != '(') {
      const TextPlace used = place(at_);
      SATCHEL_TRY_ASSIGN(const std::string called, name());
      return builder_.rule(called, used);
    }
    if (depth >= GrammarBuilder::kGroupsMax)
      return wrong("Groups are nested more than " + std::to_string(GrammarBuilder::kGroupsMax) +
                   " deep. Make the inner ones rules of their own.");
    const TextPlace opened = place(at_);
    ++at_;
    skip_space(true);
    SATCHEL_TRY_ASSIGN(const Node inside, choices(depth + 1));
    skip_space(true);
    if (here() != ')')
      return wrong("Expected \")\" for the \"(\" in line " + std::to_string(opened.line) +
                   ", column " + std::to_string(opened.column) + ", but " + found() + ".");
    ++at_;
    return inside;
  }

  Result<Node> quoted() {
    const std::size_t from = at_++;
    std::string bytes;
    while (!at_end() && here() != '"' && here() != '\n') {
      SATCHEL_TRY_ASSIGN(const char32_t code, character());
      append_code(code, bytes);
    }
    if (here() != '"')
      return bad_grammar(place(from),
                         "This string is not closed on its line. Write \\n for a new line and "
                         "\\\" for a quotation mark in it.");
    ++at_;
    return builder_.text(bytes);
  }

  Result<Node> character_class() {
    const std::size_t from = at_++;
    const bool is_inverse = here() == '^';
    if (is_inverse) ++at_;
    CodePoints set;
    while (!at_end() && here() != ']' && here() != '\n') {
      const std::size_t first_at = at_;
      SATCHEL_TRY_ASSIGN(const char32_t low, character());
      char32_t high = low;
      if (here() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        SATCHEL_TRY_ASSIGN(high, character());
      }
      if (high < low) return bad_grammar(place(first_at), "This range is reversed. Swap its ends.");
      set.add(low, high);
    }
    if (here() != ']')
      return bad_grammar(place(from), "This character class is not closed. Add a \"]\".");
    ++at_;
    if (is_inverse) set = set.inverse();
    if (set.empty()) return bad_grammar(place(from), "This character class is empty.");
    return builder_.one_of(std::move(set));
  }

  Result<char32_t> character() {
    if (here() != '\\') {
      const Utf8Step step = utf8_step(text_.substr(at_));
      if (step.form != Utf8Form::whole) return wrong("This is not valid UTF-8.");
      at_ += step.bytes;
      return step.code;
    }
    ++at_;
    const char c = here();
    const std::size_t n_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (n_digits > 0) return hex_character(n_digits);
    constexpr std::string_view kNames = "nrt\\\"[]-^", kCodes = "\n\r\t\\\"[]-^";
    const std::size_t which = kNames.find(c);
    if (at_end() || which == std::string_view::npos)
      return bad_grammar(place(at_ - 1),
                         "Unknown escape \\" + shown() +
                             ". Use one of \\n, \\r, \\t, \\\\, \\\", \\[, \\], \\-, \\^, \\xHH, "
                             "\\uHHHH and \\UHHHHHHHH.");
    ++at_;
    return static_cast<char32_t>(kCodes[which]);
  }

  Result<char32_t> hex_character(std::size_t n_digits) {
    const std::size_t from = at_ - 1;
    ++at_;
    std::uint64_t code = 0;
    for (std::size_t i = 0; i < n_digits; ++i, ++at_) {
      const std::optional<char32_t> digit = at_end() ? std::nullopt : hex_value(here());
      if (!digit)
        return bad_grammar(
            place(from), "This escape needs " + std::to_string(n_digits) + " hexadecimal digits.");
      code = code * 16 + *digit;
    }
    if (code > CodePoints::kLast || (code >= 0xd800 && code < 0xe000))
      return bad_grammar(place(from), "No character has this number.");
    return static_cast<char32_t>(code);
  }

  // Where a repetition is written behind it; several are applied one after the other.
  Result<Node> with_count(Node node) {
    for (std::size_t n = 0;; ++n) {
      const char c = here();
      if (n > GrammarBuilder::kGroupsMax)
        return wrong("Too many repetitions follow one another. Write one, such as {2,5}.");
      if (c == '*' || c == '+' || c == '?') {
        node = c == '?' ? builder_.maybe(node) : builder_.repeat(node, c == '+' ? 1 : 0);
        ++at_;
      } else if (c == '{') {
        SATCHEL_TRY_ASSIGN(node, counted(node));
      } else {
        return node;
      }
    }
  }

  Result<Node> counted(Node node) {
    const std::size_t from = at_++;
    skip_space(false);
    SATCHEL_TRY_ASSIGN(const std::optional<std::size_t> least, count());
    std::optional<std::size_t> most = least;
    skip_space(false);
    if (here() == ',') {
      ++at_;
      skip_space(false);
      SATCHEL_TRY_ASSIGN(most, count());
      skip_space(false);
    } else if (!least) {
      return wrong("Expected a number, as in {2}, {2,} or {2,5}.");
    }
    if (here() != '}') return wrong("Expected \"}\", but " + found() + ".");
    ++at_;
    if (most && *most < least.value_or(0))
      return bad_grammar(place(from), "This repetition is reversed. Swap its numbers.");
    return builder_.repeat(node, least.value_or(0), most.value_or(GrammarBuilder::kNoEnd));
  }

  Result<std::optional<std::size_t>> count() {
    std::optional<std::size_t> out;
    while (here() >= '0' && here() <= '9') {
      out = out.value_or(0) * 10 + static_cast<std::size_t>(here() - '0');
      if (*out > GrammarBuilder::kCountMax)
        return wrong("A repetition can count to " + count_text(GrammarBuilder::kCountMax) +
                     " at most.");
      ++at_;
    }
    return out;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  GrammarBuilder builder_;
};

}  // namespace

Result<Grammar> parse_gbnf(std::string_view text) {
  if (text.size() > kGbnfBytesMax)
    return bad_grammar({}, "The grammar has " + count_text(text.size()) + " bytes; the limit is " +
                               count_text(kGbnfBytesMax) + ".");
  return GbnfParser(text).parse();
}

}  // namespace satchel::runtime
