// JSON schemas as grammars: what is accepted and refused, and that no walk through a grammar leads
// to a text that a parser refuses or the schema does not accept.
#include "runtime/grammar/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/base/rng.h"
#include "runtime/grammar/json_excess.h"
#include "runtime/grammar/token_constraint.h"
#include "support/value_of.h"
#include "unit/runtime/grammar_texts.h"
#include "unit/runtime/grammar_walks.h"
#include "unit/runtime/schema_oracle.h"

namespace satchel::runtime {
namespace {

using Json = nlohmann::json;
using test::Fit;
using test::fit;
using test::random_text;
using test::walk_tokens;
using testing::HasSubstr;

struct Case {
  std::string schema;
  std::vector<std::string> whole, refused;
};

const std::vector<Case> kCases = {
    {R"({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
          "required": ["name", "age"], "additionalProperties": false})",
     {R"({"name":"Anna","age":3})", R"({ "name": "", "age": -12 })",
      "{\n  \"name\": \"\\u00e9\\n\",\n  \"age\": 0\n}"},
     {R"({"age":3,"name":"Anna"})", R"({"name":"Anna"})", R"({"name":"Anna","age":03})",
      R"({"name":"Anna","age":3,"x":1})", R"({"name":"Anna","age":3.5})", "{\"name\":\"a\nb\"",
      R"({"name":"\ud800","age":1})", R"({"name":"Anna","age":-0})"}},
    {R"({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "null"},
          "c": {"enum": [1, "x", null]}}, "required": ["b"]})",
     {R"({"b":null})", R"({"a":true,"b":null})", R"({"b":null,"c":"x"})",
      R"({"a":false,"b":null,"c":1})"},
     {R"({})", R"({"a":true})", R"({"a":true,})", R"({"b":null,"d":1})", R"({,"b":null})"}},
    {R"({"type": "object", "properties": {"id": {"type": "integer"}, "ideal": {"type": "integer"}},
          "additionalProperties": {"type": "string"}})",
     {R"({})", R"({"id":1,"i":"x"})", R"({"idea":"x","ideals":"y"})", R"({"":"x"})",
      R"({"ideal":2,"é":"x"})"},
     {R"({"id":"x"})", R"({"ideal":"x"})", R"({"i":1})", R"({"i\u0064":"x"})",
      R"({"id":1,"id":"x"})"}},
    {R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})",
     {"[1]", "[1,2,3]", "[ 1, 2 ]"},
     {"[]", "[1,2,3,4]", "[1,]", "[1 2]"}},
    {R"({"type": "array", "prefixItems": [{"const": "x"}, {"type": "number"}],
          "items": {"type": "boolean"}, "minItems": 1})",
     {R"(["x"])", R"(["x",1.5])", R"(["x",1e3,true,false])"},
     {"[]", R"(["y"])", R"(["x",true])"}},
    {R"({"type": "array", "items": {"type": "array", "items": {"type": "null"}, "maxItems": 0}})",
     {"[]", "[[],[]]"},
     {"[[null]]"}},
    {R"({"type": "string", "minLength": 2, "maxLength": 3})",
     {R"("ab")", R"("aé\n")", "\"\xf0\x9f\x98\x80z\""},
     {R"("a")", R"("abcd")", R"("")"}},
    {R"({"type": "string", "pattern": "^[A-Z]{2}-\\d+$"})",
     {R"("AB-1")"},
     {R"("ab-1")", R"("AB-")"}},
    {R"({"type": "string", "pattern": "a.c|^x"})", {R"("1abc2")", R"("xyz")"}, {R"("bac")"}},
    {R"({"type": "string", "pattern": "^(?:\"|\\\\|\\n|[^a])$"})",
     {R"("\"")", R"("\\")", R"("\n")", R"("b")"},
     {R"("a")", R"("")"}},
    {R"({"type": "string", "format": "date"})",
     {R"("2026-11-26")"},
     {R"("2026-02-30")", R"("2026-13-01")"}},
    {R"({"type": "string", "format": "date-time"})",
     {R"("2026-11-26T23:59:00.5Z")"},
     {R"("2026-11-26T24:00:00Z")"}},
    {R"({"type": "string", "format": "ipv4"})", {R"("192.168.0.1")"}, {R"("256.0.0.1")"}},
    {R"({"type": "integer", "minimum": -12, "maximum": 105})",
     {"-12", "-1", "0", "9", "10", "99", "105"},
     {"-13", "106", "-0", "1.0", "1000"}},
    {R"({"type": "integer", "exclusiveMinimum": 17})",
     {"18", "20", "99", "100", "123456"},
     {"0", "-18", "1.5"}},
    {R"({"type": "number", "minimum": 0, "maximum": 1})",
     {"0", "0.25", "1", "1.0"},
     {"1.1", "-0.1", "2", "1e5", "00"}},
    {R"({"type": "number", "exclusiveMinimum": -1, "exclusiveMaximum": 2})",
     {"-0.5", "0", "1.999"},
     {"-1", "2", "-1.5", "2.0"}},
    {R"({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null})",
     {R"("x")", "null"},
     {"1"}},
    {R"({"type": ["integer", "null"]})", {"1", "null"}, {R"("x")", "1.5"}},
    {R"({"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}, "n": {"type": "integer"}},
          "required": ["k", "n"]}, {"type": "object", "properties": {"k": {"const": "b"}},
          "required": ["k"]}]})",
     {R"({"k":"a","n":1})", R"({"k":"b"})"},
     {R"({"k":"a"})", R"({"k":"c"})"}},
    {R"({"$defs": {"node": {"type": "object", "properties": {"value": {"type": "integer"},
          "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
          "required": ["value", "next"]}}, "$ref": "#/$defs/node"})",
     {R"({"value":1,"next":{"value":2,"next":null}})"},
     {R"({"value":1})"}},
    {R"({"enum": ["a\"b", {"x": [1, true]}, 2.5]})",
     {R"("a\"b")", R"({"x":[1,true]})", "2.5"},
     {R"("a")", R"({"x":[1]})"}},
    {R"({"type": "object", "properties": {"a": {}, "b": true}, "required": ["b"]})",
     {R"({"a":[1,{"x":null}],"b":"y"})"},
     {R"({"a":1})"}},
    {R"({"allOf": [{"type": "boolean"}], "title": "One"})", {"true"}, {"1"}},
    {R"({"type": "integer", "enum": [1, "one", 2]})", {"1", "2"}, {R"("one")"}},
};

TEST(JsonSchema, takes_what_it_accepts_and_nothing_else) {
  for (const Case& one : kCases) {
    const Grammar grammar = value_of(grammar_of_schema(one.schema));
    const Json schema = Json::parse(one.schema);
    for (const std::string& text : one.whole) {
      EXPECT_EQ(fit(grammar, text), Fit::whole) << one.schema << "\n" << text;
      EXPECT_EQ(test::why_not(Json::parse(text), schema), "") << text;
    }
    for (const std::string& text : one.refused)
      EXPECT_EQ(fit(grammar, text), Fit::refused) << one.schema << "\n" << text;
  }
}

// --- walks

TEST(JsonSchema, every_walk_leads_to_a_value_that_the_schema_accepts) {
  const auto vocabulary = walk_tokens();
  std::size_t n_whole = 0, n_cut = 0;
  for (const Case& one : kCases) {
    const Grammar grammar = value_of(grammar_of_schema(one.schema));
    const Json schema = Json::parse(one.schema);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Rng rng(seed);
      const std::string text = random_text(grammar, vocabulary, rng);
      ASSERT_FALSE(text.ends_with("<stuck>")) << one.schema << "\n" << text;
      if (text.ends_with("<cut>")) {
        ++n_cut;
        continue;
      }
      ++n_whole;
      const Json value = Json::parse(text, nullptr, false);
      ASSERT_FALSE(value.is_discarded()) << one.schema << "\n" << text;
      ASSERT_EQ(test::why_not(value, schema), "") << one.schema << "\n" << text;
    }
  }
  EXPECT_GT(n_whole, 19 * n_cut);
}

TEST(JsonSchema, any_object_is_one_that_parsers_read) {
  const auto vocabulary = walk_tokens();
  const Grammar grammar = grammar_of_json_object();
  std::size_t n_whole = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const std::string text = random_text(grammar, vocabulary, rng);
    if (text.ends_with("<cut>")) continue;
    ++n_whole;
    const Json value = Json::parse(text, nullptr, false);
    ASSERT_TRUE(value.is_object()) << text;
  }
  EXPECT_GT(n_whole, 200u);
}

TEST(JsonSchema, bounds_of_whole_numbers_are_exact) {
  for (const auto& [least, most] : std::vector<std::pair<int, int>>{
           {0, 0}, {7, 7}, {3, 42}, {99, 101}, {-5, 5}, {-120, -99}, {-1, 0}, {10, 999}, {0, 1}}) {
    const Grammar grammar = value_of(
        grammar_of_schema(Json{{"type", "integer"}, {"minimum", least}, {"maximum", most}}.dump()));
    for (int i = -1100; i <= 1100; ++i)
      ASSERT_EQ(fit(grammar, std::to_string(i)) == Fit::whole, i >= least && i <= most)
          << least << " " << most << " " << i;
  }
}

struct Wrong {
  std::string schema, says;
};

std::string schema_of_names(std::size_t n) {
  std::string names;
  for (std::size_t i = 0; i < n; ++i)
    names += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{}";
  return "{\"properties\": {" + names + "}}";
}

TEST(JsonSchema, what_is_not_taken_is_named_with_its_place) {
  const std::vector<Wrong> all = {
      {"[", "not valid JSON"},
      {"3", "at #: a schema must be an object"},
      {R"({"properties": {"a": {"not": {}}}})", "at #/properties/a: \"not\" is not supported"},
      {R"({"patternProperties": {}})", "\"patternProperties\" is not supported"},
      {R"({"type": "strnig"})", "type must be object, array"},
      {R"({"type": "array", "uniqueItems": true})", "\"uniqueItems\""},
      {R"({"type": "array", "minItems": 3, "maxItems": 2})", "no list can have so many items"},
      {R"({"type": "number", "minimum": 0.5})", "minimum must be a whole number"},
      {R"({"type": "integer", "minimum": 5, "maximum": 4})", "no number is within these bounds"},
      {R"({"type": "number", "multipleOf": 0.1})", "\"multipleOf\""},
      {R"({"type": "string", "format": "email"})", "the format \"email\" is not supported"},
      {R"({"type": "string", "pattern": "a", "maxLength": 3})", "only one of pattern, format"},
      {R"({"type": "string", "pattern": "(?=a)b"})", "#/pattern: the pattern uses a group"},
      {R"({"type": "string", "pattern": "(a)\\1"})", "\"\\1\""},
      {R"({"type": "string", "pattern": "(a"})", "without its \")\""},
      {R"({"type": "string", "pattern": "\\bword"})", "\"\\b\""},
      {R"({"type": "object", "properties": {}, "required": ["a"], "additionalProperties": false})",
       "\"a\" is required, but is none of the properties"},
      {R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})", "no two choices accept"},
      {R"({"allOf": [{"type": "integer"}, {"minimum": 3}]})", "allOf of several"},
      {R"({"anyOf": [{"type": "integer"}], "minimum": 3})", "\"minimum\" beside \"anyOf\""},
      {R"({"$ref": "#/$defs/none"})", "$ref leads to nothing"},
      {R"({"$ref": "http://example.org/x"})", "leads out of the schema"},
      {R"({"$ref": "#"})", "can never end"},
      {R"({"anyOf": [{"$ref": "#"}, {"type": "null"}]})", "begins with itself"},
      {R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"]})", "can never end"},
      {R"({"properties": {"a": false}, "required": ["a"]})", "false accepts nothing"},
      {R"({"enum": []})", "enum must be a list"},
      {R"({"type": "string", "minLength": -1})", "minLength must be a whole number"},
      {R"({"properties": {")" + std::string(300, 'x') + R"(": {}}})", "longer than 256"},
      {std::string(kJsonDepthMax + 1, '[') + std::string(kJsonDepthMax + 1, ']'),
       "it is nested too deeply"},
      {schema_of_names(kJsonNamesMax + 1), "it has an object with too many names"},
      {"\"" + std::string(kSchemaBytesMax, 'x') + "\"", "the limit is 65,536"},
      {R"({"type": "array", "items": {"type": "string", "minLength": 90000}, "minItems": 90000})",
       "more than 131,072 steps"},
  };
  for (const Wrong& one : all) {
    const Result<Grammar> grammar = grammar_of_schema(one.schema);
    ASSERT_FALSE(grammar.ok()) << one.schema;
    EXPECT_EQ(grammar.error().code, "SCHEMA");
    EXPECT_THAT(grammar.error().message, HasSubstr(one.says)) << one.schema;
  }
}

TEST(JsonSchema, nested_schemas_grow_a_grammar_in_step) {
  std::string schema = R"({"type": "integer"})";
  for (int i = 0; i < 20; ++i)
    schema = R"({"type": "object", "properties": {"a": {"type": "array", "items": )" + schema +
             R"(}, "b": {"type": "null"}}})";
  EXPECT_LT(value_of(grammar_of_schema(schema)).steps().size(), 20'000u);
}

}  // namespace
}  // namespace satchel::runtime
