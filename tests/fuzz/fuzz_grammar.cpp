// Any bytes as a grammar or a JSON schema; what is taken is followed along the rest of the input,
// over bytes and over tokens.
//   input   1 byte: 0 GBNF, else a schema; 2 bytes: its size; the text; then what follows it
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "kernels/base/assert.h"
#include "mutate.h"
#include "runtime/grammar/gbnf.h"
#include "runtime/grammar/json_schema.h"
#include "runtime/grammar/token_constraint.h"
#include "target.h"
#include "two_texts.h"

namespace satchel::fuzz {
namespace {

using runtime::Grammar;
using runtime::TokenConstraint;

std::vector<Input> seeds() {
  return {
      input_of(false,
               "root ::= item (\",\" item){0,3} # list\nitem ::= [a-z0-9]+ | \"(\" root? \")\"",
               "ab,(c),1"),
      input_of(false, "root ::= \"\\u00e9\" [^\\x00-\\x1f\"\\\\]* . | ws\nws ::= | \" \" ws",
               "\xc3\xa9x"),
      input_of(true,
               R"({"type":"object","properties":{"a":{"type":"integer","minimum":-3,"maximum":17},
          "b":{"type":["string","null"],"maxLength":3}},"required":["a"],"additionalProperties":true})",
               R"({"a":12,"b":"x","c":[1]})"),
      input_of(
          true,
          R"({"$defs":{"n":{"anyOf":[{"$ref":"#/$defs/n2"},{"const":null}]},"n2":{"type":"array",
          "items":{"$ref":"#/$defs/n"},"minItems":1,"maxItems":4}},"$ref":"#/$defs/n"})",
          "[[null],null]"),
      input_of(true, R"({"type":"string","pattern":"^(a|[b-d]{2,3})\\d+\\.?$"})", "\"ab12\""),
      input_of(true,
               R"({"oneOf":[{"enum":["x",1]},{"type":"number","exclusiveMinimum":0,"maximum":9},
          {"type":"string","format":"date"}]})",
               "\"2026-01-01\""),
  };
}

// Made of what grammars and schemas are made of.
Input generate(Rng& rng) {
  constexpr const char* kWords[] = {
      "root",      " ::= ", "\"",    "a",    "[a-z]",    "[^",    "]",      "(",       ")",
      "*",         "+",     "?",     "{2,",  "}",        "{0,9}", "|",      "\n",      "#",
      "\\x4",      "b",     " ",     "{\"",  "\":",      "\",\"", "type",   "object",  "properties",
      "required",  "items", "anyOf", "$ref", "#/$defs/", "enum",  "const",  "pattern", "minItems",
      "maxLength", "1",     "[",     ",",    "true",     "null",  "integer"};
  std::string text = below(rng, 2) == 0 ? "root ::= " : "";
  for (std::size_t n = below(rng, 60); n > 0; --n) text += kWords[below(rng, std::size(kWords))];
  return input_of(below(rng, 2) == 0, text, "a[1,\"b\"]");
}

// All bytes, and a few longer ones.
const std::shared_ptr<const runtime::TokenTrie>& tokens() {
  static const auto all = [] {
    std::vector<std::string> texts;
    for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
    for (const char* text : {"{\"", "\":", "\",\"", "null", "[[", "12", "abc", ""})
      texts.emplace_back(text);
    return std::make_shared<const runtime::TokenTrie>(
        texts, std::vector<std::int32_t>{static_cast<std::int32_t>(texts.size() - 1)});
  }();
  return all;
}

// What is allowed one by one is what the mask leaves.
void follow(Grammar grammar, std::string_view bytes) {
  TokenConstraint at(std::move(grammar), tokens());
  std::vector<float> logits(tokens()->n_tokens());
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 64) && !at.is_ended(); ++i) {
    const auto token = static_cast<std::int32_t>(static_cast<std::uint8_t>(bytes[i]));
    if (i < 4) {
      std::fill(logits.begin(), logits.end(), 0.0f);
      (void)at.mask(logits);
      if (!at.is_limited())
        SATCHEL_ASSERT(at.allows(token) == (logits[static_cast<std::size_t>(token)] == 0));
    }
    if (!at.allows(token)) return;
    at.take(token);
  }
}

}  // namespace

const Target target{.name = "grammar", .seeds = seeds, .generate = generate};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace satchel;
  const auto given = fuzz::two_texts_of(bytes, size);
  if (!given) return 0;
  auto grammar = given->how == 0 ? runtime::parse_gbnf(given->first)
                                 : runtime::grammar_of_schema(given->first);
  if (grammar.ok()) fuzz::follow(std::move(grammar).value(), given->second);
  return 0;
}
