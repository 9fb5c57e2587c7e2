#include "runtime/grammar/json_rules.h"

#include <algorithm>
#include <utility>

#include "runtime/tokenizer/tool_marks.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

CodePoints digits_from(char low, char high) {
  return CodePoints().with(static_cast<char32_t>(low), static_cast<char32_t>(high));
}

CodePoints hex_digits() {
  return digits_from('0', '9').with('a', 'f').with('A', 'F');
}

std::u32string characters_of(std::string_view text) {
  std::u32string codes;
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    codes += step.code;
    text.remove_prefix(step.bytes);
  }
  return codes;
}

// Keys that are none of the names.
struct OtherKeys {
  GrammarBuilder& builder;
  CodePoints plain;
  GrammarBuilder::Node anything = 0;
  std::vector<std::u32string> names = {};  // sorted

  // What may follow a beginning of `n` characters that the names [from, to) share.
  GrammarBuilder::Node behind(std::size_t from, std::size_t to, std::size_t n) {
    std::vector<GrammarBuilder::Node> ways;
    const bool is_name = names[from].size() == n;
    if (!is_name) ways.push_back(builder.text(""));
    CodePoints taken;
    for (std::size_t i = from + (is_name ? 1 : 0); i < to;) {
      const char32_t code = names[i][n];
      std::size_t end = i + 1;
      while (end < to && names[end][n] == code) ++end;
      taken.add(code, code);
      if (plain.has(code))
        ways.push_back(
            builder.sequence({builder.one_of(CodePoints::one(code)), behind(i, end, n + 1)}));
      i = end;
    }
    ways.push_back(builder.sequence({builder.one_of(plain.without(taken)), anything}));
    return builder.any_of(std::move(ways));
  }
};

std::string dumped(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

std::string JsonRules::rule_name(std::string_view of) const {
  return std::string(spelling_.name) + "-" + std::string(of);
}

JsonRules::Node JsonRules::named(std::string_view name) {
  const std::string rule = rule_name(name);
  if (!builder_.is_defined(rule)) define(name);
  return builder_.rule(rule);
}

void JsonRules::define(std::string_view name) {
  // First, so that rules may call one another.
  const std::string text = rule_name(name) + "-text";
  builder_.define(rule_name(name), builder_.rule(text));
  builder_.define(text, made(name));
}

JsonRules::Node JsonRules::made(std::string_view name) {
  GrammarBuilder& b = builder_;
  if (name == "space") {
    const Node indent = b.repeat(b.text(" "), 0, kIndentMax);
    return b.maybe(b.any_of({b.text(" "), b.sequence({b.text("\n"), indent})}));
  }
  if (name == "character") return escaped_character();
  if (name == "string") {
    const bool is_marked = !spelling_.escapes && !spelling_.quote.empty();
    if (is_marked) return b.sequence({quote(), b.until(spelling_.quote)});
    return quoted(b.repeat(any_character(), 0));
  }
  if (name == "integer") return integer_between(std::nullopt, std::nullopt);
  if (name == "object") return object({}, any_value());
  if (name == "array") return array({}, any_value(), 0, GrammarBuilder::kNoEnd);
  if (name == "value")
    return b.any_of({any_object(), any_array(), any_string(), number(), boolean(), null()});
  const Node digit = b.one_of(digits_from('0', '9'));
  const Node fraction = b.sequence({b.text("."), b.repeat(digit, 1, kDigitsMax)});
  const Node sign = b.maybe(b.any_of({b.text("+"), b.text("-")}));
  const Node exponent =
      b.sequence({b.any_of({b.text("e"), b.text("E")}), sign, b.repeat(digit, 1, 2)});
  return b.sequence({b.maybe(b.text("-")), magnitude_between(0, std::nullopt), b.maybe(fraction),
                     b.maybe(exponent)});
}

// --- strings

CodePoints JsonRules::plain_characters() const {
  CodePoints others;
  if (!spelling_.end.empty()) others = CodePoints::one(static_cast<char32_t>(spelling_.end[0]));
  if (spelling_.escapes) others = others.with(0, 0x1f).with('"', '"').with('\\', '\\');
  return CodePoints::all().without(others);
}

CodePoints JsonRules::key_characters() const {
  if (spelling_.quotes_keys) return plain_characters();
  return digits_from('0', '9').with('a', 'z').with('A', 'Z').with('_', '_').with('-', '-');
}

JsonRules::Node JsonRules::escaped_character() {
  GrammarBuilder& b = builder_;
  if (!spelling_.escapes) return b.one_of(plain_characters());
  const Node hex = b.one_of(hex_digits());
  // No half of a pair: the character itself is written in its place.
  const Node number =
      b.any_of({b.sequence({b.one_of(hex_digits().without(digits_from('d', 'd').with('D', 'D'))),
                            b.repeat(hex, 3, 3)}),
                b.sequence({b.one_of(digits_from('d', 'd').with('D', 'D')),
                            b.one_of(digits_from('0', '7')), b.repeat(hex, 2, 2)})});
  CodePoints named_escapes;
  for (const char c : std::string_view("\"\\/bfnrt"))
    named_escapes.add(static_cast<char32_t>(c), static_cast<char32_t>(c));
  const Node escape = b.any_of({b.one_of(named_escapes), b.sequence({b.text("u"), number})});
  return b.any_of({b.one_of(plain_characters()), b.sequence({b.text("\\"), escape})});
}

JsonRules::Node JsonRules::quoted(Node inside) {
  return builder_.sequence({quote(), inside, quote()});
}

// One that does not escape may be a token of its own.
JsonRules::Node JsonRules::quote() {
  const Node text = builder_.text(spelling_.quote);
  if (spelling_.escapes || spelling_.quote.empty()) return text;
  return builder_.any_of({text, builder_.text(kMarkByte + std::string(spelling_.quote))});
}

JsonRules::Node JsonRules::string(std::size_t least, std::size_t most) {
  return quoted(builder_.repeat(any_character(), least, most));
}

JsonRules::Node JsonRules::character(const CodePoints& characters) {
  std::vector<Node> ways;
  const CodePoints plain = characters.without(plain_characters().inverse());
  if (!plain.empty()) ways.push_back(builder_.one_of(plain));
  constexpr std::string_view kEscaped = "\"\\\n\r\t\f\b";
  for (const char c : spelling_.escapes ? kEscaped : "")
    if (characters.has(static_cast<char32_t>(c)))
      ways.push_back(builder_.text([&] {
        const std::string text = dumped(std::string(1, c));
        return text.substr(1, text.size() - 2);
      }()));
  return builder_.any_of(std::move(ways));
}

JsonRules::Node JsonRules::boolean() {
  return builder_.any_of({builder_.text(spelling_.yes), builder_.text(spelling_.no)});
}

std::string JsonRules::spelled(const OrderedJson& value) const {
  if (value.is_boolean()) return std::string(value.get<bool>() ? spelling_.yes : spelling_.no);
  if (value.is_null()) return std::string(spelling_.none);
  if (value.is_string() && !spelling_.escapes)
    return std::string(spelling_.quote) + value.get<std::string>() + std::string(spelling_.quote);
  if (!value.is_structured()) return dumped(value);
  std::string out = value.is_object() ? "{" : "[";
  for (const auto& [name, one] : value.items()) {
    if (out.size() > 1) out += ",";
    if (value.is_object()) out += (spelling_.quotes_keys ? dumped(name) : name) + ":";
    out += spelled(one);
  }
  return out + (value.is_object() ? "}" : "]");
}

JsonRules::Node JsonRules::literal(const OrderedJson& value) {
  const bool has_end =
      !spelling_.end.empty() &&
      (value.is_string() && !spelling_.escapes ? value.get<std::string>() : dumped(value))
              .find(spelling_.end) != std::string::npos;
  if (has_end) return builder_.any_of({});
  if (!value.is_string() || spelling_.escapes) return builder_.text(spelled(value));
  return quoted(builder_.text(value.get<std::string>()));
}

// --- numbers

JsonRules::Node JsonRules::digits(std::size_t n) {
  return builder_.repeat(builder_.one_of(digits_from('0', '9')), n, n);
}

// Numbers of as many digits as both have.
JsonRules::Node JsonRules::digits_between(const std::string& least, const std::string& most) {
  GrammarBuilder& b = builder_;
  const std::size_t n_same =
      static_cast<std::size_t>(std::ranges::mismatch(least, most).in1 - least.begin());
  if (n_same == least.size()) return b.text(least);
  const auto is_all = [](const std::string& text, char c) {
    return text.find_first_not_of(c) == std::string::npos;
  };
  if (is_all(least, '0') && is_all(most, '9')) return digits(least.size());
  const std::size_t n_rest = least.size() - n_same - 1;
  const char low = least[n_same], high = most[n_same];
  const std::string low_rest = least.substr(n_same + 1), high_rest = most.substr(n_same + 1);
  std::vector<Node> ways = {b.sequence(
      {b.text(std::string(1, low)), digits_between(low_rest, std::string(n_rest, '9'))})};
  if (high - low > 1)
    ways.push_back(
        b.sequence({b.one_of(digits_from(static_cast<char>(low + 1), static_cast<char>(high - 1))),
                    digits(n_rest)}));
  ways.push_back(b.sequence(
      {b.text(std::string(1, high)), digits_between(std::string(n_rest, '0'), high_rest)}));
  return b.sequence({b.text(least.substr(0, n_same)), b.any_of(std::move(ways))});
}

JsonRules::Node JsonRules::magnitude_between(std::uint64_t least,
                                             std::optional<std::uint64_t> most) {
  const std::size_t n_most = most ? std::to_string(*most).size() : kDigitsMax;
  std::vector<Node> ways;
  for (std::size_t n = std::to_string(least).size(); n <= n_most; ++n) {
    const std::string all_nines(n, '9');
    const std::string first = n == 1 ? "0" : "1" + std::string(n - 1, '0');
    const std::string low = n == std::to_string(least).size() ? std::to_string(least) : first;
    const std::string high = most && n == n_most ? std::to_string(*most) : all_nines;
    ways.push_back(digits_between(low, high));
  }
  return builder_.any_of(std::move(ways));
}

JsonRules::Node JsonRules::integer_between(std::optional<std::int64_t> least,
                                           std::optional<std::int64_t> most) {
  std::vector<Node> ways;
  if (!least || *least < 0) {  // from -1 down
    const auto near = static_cast<std::uint64_t>(-std::min<std::int64_t>(most.value_or(-1), -1));
    const auto far = least ? std::optional(static_cast<std::uint64_t>(-*least)) : std::nullopt;
    ways.push_back(builder_.sequence({builder_.text("-"), magnitude_between(near, far)}));
  }
  if (!most || *most >= 0) {
    const auto near = static_cast<std::uint64_t>(std::max<std::int64_t>(least.value_or(0), 0));
    const auto far = most ? std::optional(static_cast<std::uint64_t>(*most)) : std::nullopt;
    ways.push_back(magnitude_between(near, far));
  }
  return builder_.any_of(std::move(ways));
}

// Those that are not negative. least >= 0.
JsonRules::Node JsonRules::number_from_zero(const std::optional<Bound>& least,
                                            const std::optional<Bound>& most) {
  GrammarBuilder& b = builder_;
  const Node digit = b.one_of(digits_from('0', '9'));
  const Node fraction = b.sequence({b.text("."), b.repeat(digit, 1, kDigitsMax)});
  const Node zeros = b.sequence({b.text("."), b.repeat(b.text("0"), 1, kDigitsMax)});
  const Node above_zero =
      b.sequence({b.text("."), b.repeat(b.text("0"), 0, kDigitsMax - 1),
                  b.one_of(digits_from('1', '9')), b.repeat(digit, 0, kDigitsMax)});
  const auto whole = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const Bound from = least.value_or(Bound{});
  std::vector<Node> ways;
  const bool is_point = most && most->value == from.value;
  if (from.is_open && !is_point)
    ways.push_back(b.sequence({b.text(std::to_string(from.value)), above_zero}));
  const std::int64_t first = from.value + (from.is_open ? 1 : 0);
  if (!most)
    ways.push_back(b.sequence({magnitude_between(whole(first), std::nullopt), b.maybe(fraction)}));
  else if (first < most->value)
    ways.push_back(
        b.sequence({magnitude_between(whole(first), whole(most->value - 1)), b.maybe(fraction)}));
  if (most && !most->is_open && !(is_point && from.is_open))
    ways.push_back(b.sequence({b.text(std::to_string(most->value)), b.maybe(zeros)}));
  return b.any_of(std::move(ways));
}

JsonRules::Node JsonRules::number_between(const std::optional<Bound>& least,
                                          const std::optional<Bound>& most) {
  const auto mirrored = [](const std::optional<Bound>& bound) {
    return bound ? std::optional(Bound{-bound->value, bound->is_open}) : std::nullopt;
  };
  const bool has_negative = !least || least->value < 0;
  const bool has_positive = !most || most->value > 0 || (most->value == 0 && !most->is_open);
  std::vector<Node> ways;
  if (has_negative) {
    const bool is_to_zero = !most || most->value >= 0;
    const Bound near = is_to_zero ? Bound{0, true} : *mirrored(most);
    ways.push_back(
        builder_.sequence({builder_.text("-"), number_from_zero(near, mirrored(least))}));
  }
  if (has_positive) {
    const bool is_from_zero = !least || least->value < 0;
    ways.push_back(number_from_zero(is_from_zero ? Bound{} : *least, most));
  }
  return builder_.any_of(std::move(ways));
}

// --- objects and arrays

// Written once, however often it is used: what nests would double with each level.
JsonRules::Node JsonRules::as_rule(Node node) {
  const std::string name = rule_name("part-" + std::to_string(++n_parts_));
  builder_.define(name, node);
  return builder_.rule(name);
}

JsonRules::Node JsonRules::comma() {
  return builder_.sequence({builder_.text(","), space()});
}

JsonRules::Node JsonRules::list(Node item) {
  const Node more = builder_.repeat(builder_.sequence({comma(), item}), 0);
  return builder_.maybe(builder_.sequence({item, more}));
}

JsonRules::Node JsonRules::property(Node name, Node value) {
  return builder_.sequence({name, builder_.text(":"), space(), value});
}

// Without escapes: what is written otherwise can mean none of the names.
JsonRules::Node JsonRules::key_other_than(const std::vector<std::string>& names) {
  OtherKeys others{.builder = builder_, .plain = key_characters()};
  others.anything = builder_.repeat(builder_.one_of(others.plain), 0);
  for (const std::string& name : names) others.names.push_back(characters_of(name));
  std::ranges::sort(others.names);
  const Node inside = others.behind(0, names.size(), 0);
  return spelling_.quotes_keys ? quoted(inside) : inside;
}

JsonRules::Node JsonRules::key(const std::string& name) {
  return spelling_.quotes_keys ? literal(name) : builder_.text(name);
}

bool JsonRules::has_key(const std::string& name) const {
  const CodePoints taken = key_characters();
  return spelling_.quotes_keys || (!name.empty() && std::ranges::all_of(name, [&](char c) {
           return taken.has(static_cast<unsigned char>(c));
         }));
}

JsonRules::Node JsonRules::any_key() {
  return spelling_.quotes_keys ? any_string()
                               : builder_.repeat(builder_.one_of(key_characters()), 1);
}

// Rules for what may follow each place, with something before it or nothing: properties that are
// left out would otherwise double the grammar each time.
JsonRules::Node JsonRules::object(const std::vector<JsonProperty>& properties,
                                  std::optional<Node> others) {
  GrammarBuilder& b = builder_;
  std::vector<std::string> names;
  for (const JsonProperty& one : properties) names.push_back(one.name);
  Node after = b.text(""), first = after;
  if (others) {
    const Node other = names.empty() ? any_key() : key_other_than(names);
    const Node one = as_rule(property(other, *others));
    first = list(one);
    after = b.repeat(b.sequence({comma(), one}), 0);
  }
  const std::string prefix = rule_name("object-" + std::to_string(++n_parts_) + "-");
  for (std::size_t i = properties.size(); i-- > 0;) {
    const Node one = as_rule(property(key(properties[i].name), properties[i].value));
    std::vector<Node> with_some = {b.sequence({comma(), one, after})};
    std::vector<Node> with_none = {b.sequence({one, after})};
    if (!properties[i].is_required) {
      with_some.push_back(after);
      with_none.push_back(first);
    }
    const std::string place = prefix + std::to_string(i);
    b.define(place, b.any_of(std::move(with_some)));
    b.define(place + "-first", b.any_of(std::move(with_none)));
    after = b.rule(place);
    first = b.rule(place + "-first");
  }
  return b.sequence({b.text("{"), space(), first, space(), b.text("}")});
}

JsonRules::Node JsonRules::array(const std::vector<Node>& first, std::optional<Node> items,
                                 std::size_t least, std::size_t most) {
  GrammarBuilder& b = builder_;
  const std::size_t n_first = std::min(first.size(), most);
  Node after = b.text("");  // behind the first places
  if (items && most > n_first) {
    items = as_rule(*items);
    const std::size_t n_least = least - std::min(least, n_first);
    const std::size_t n_most = most == GrammarBuilder::kNoEnd ? most : most - n_first;
    const Node more = b.sequence({comma(), *items});
    if (n_first > 0) {
      after = b.repeat(more, n_least, n_most);
    } else {
      const std::size_t n_more = n_most == GrammarBuilder::kNoEnd ? n_most : n_most - 1;
      after =
          b.sequence({*items, b.repeat(more, n_least - std::min<std::size_t>(n_least, 1), n_more)});
      if (least == 0) after = b.maybe(after);
    }
  }
  for (std::size_t i = n_first; i-- > 0;) {
    const Node one = i == 0 ? first[i] : b.sequence({comma(), first[i]});
    after = b.sequence({one, after});
    if (i >= least) after = b.maybe(after);
  }
  return b.sequence({b.text("["), space(), after, space(), b.text("]")});
}

}  // namespace satchel::runtime
