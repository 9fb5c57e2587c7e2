// Answers within a grammar: of the bundled model, which knows notes and no JSON, and of one that
// thinks first.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/grammar/gbnf.h"
#include "runtime/grammar/json_schema.h"
#include "runtime/limits/presets.h"
#include "unit/runtime/chain_model.h"
#include "unit/runtime/schema_oracle.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::shared_ptr<const Grammar> shared(Result<Grammar> grammar) {
  return std::make_shared<const Grammar>(value_of(std::move(grammar)));
}

class SessionGrammar : public ChatTest {
 protected:
  // What the answer came to, and whether what was streamed, kept and reported is one text.
  GenerateReport answer(Session& session, const Sampling& sampling) {
    std::string said;
    const GenerateReport report = value_of(session.generate(sampling,
                                                            [&](std::string_view delta) {
                                                              said += delta;
                                                              return true;
                                                            },
                                                            {}, {}));
    EXPECT_EQ(said, report.text);
    EXPECT_EQ(stored().back().text, report.text);
    return report;
  }
  std::unique_ptr<Session> asked(std::string_view recipe = "full") {
    auto session = open(recipe);
    value_of(session->add_user("Anna keeps three parrots. Bruno collects stamps."));
    return session;
  }
  static Sampling greedy(std::shared_ptr<const Grammar> grammar, std::size_t n_tokens_max = 400) {
    Sampling sampling = Sampling::plain_greedy(n_tokens_max);
    sampling.grammar = std::move(grammar);
    return sampling;
  }
};

TEST_F(SessionGrammar, an_answer_is_one_of_the_grammars_texts_and_ends_with_it) {
  const auto session = asked();
  const GenerateReport report =
      answer(*session, greedy(shared(parse_gbnf(R"(root ::= "It is " ("so" | "not so") ".")"))));
  EXPECT_THAT(report.text, testing::AnyOf("It is so.", "It is not so."));
  EXPECT_EQ(report.finish, Finish::end_of_turn);
  EXPECT_EQ(stored().back().state, MessageState::complete);
  // The chat goes on as any other, and the next answer is free again.
  value_of(session->add_user("What does Bruno collect?"));
  EXPECT_FALSE(answer(*session, Sampling::plain_greedy(20)).text.empty());
}

const Json kSchema = Json::parse(R"({"type": "object", "properties": {
    "name": {"type": "string", "minLength": 1, "maxLength": 12},
    "pets": {"type": "array", "items": {"enum": ["parrot", "cat", "dog"]}, "maxItems": 3},
    "age": {"type": "integer", "minimum": 1, "maximum": 120},
    "note": {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 20}]}},
    "required": ["name", "pets", "age"], "additionalProperties": false})");

TEST_F(SessionGrammar, an_answer_satisfies_its_schema_greedy_and_drawn) {
  const auto schema = shared(grammar_of_schema(kSchema.dump()));
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto session = asked(seed % 2 == 0 ? "full" : "compact");
    Sampling sampling = greedy(schema);
    sampling.temperature = seed == 0 ? 0 : 0.4 * static_cast<double>(seed % 4);
    sampling.seed = seed;
    const GenerateReport report = answer(*session, sampling);
    EXPECT_EQ(report.finish, Finish::end_of_turn) << report.text;
    const Json value = Json::parse(report.text, nullptr, false);
    ASSERT_FALSE(value.is_discarded()) << report.text;
    EXPECT_EQ(test::why_not(value, kSchema), "") << report.text;
  }
}

TEST_F(SessionGrammar, what_a_model_would_say_anyway_is_said_the_same) {
  const std::string free = answer(*asked(), Sampling::plain_greedy(30)).text;
  EXPECT_EQ(answer(*asked(), greedy(shared(parse_gbnf("root ::= .*")), 30)).text, free);
}

TEST_F(SessionGrammar, an_answer_that_is_cut_says_so) {
  const auto session = asked();
  const GenerateReport report =
      answer(*session, greedy(shared(grammar_of_schema(kSchema.dump())), 3));
  EXPECT_EQ(report.finish, Finish::n_tokens_max);
  EXPECT_EQ(report.n_tokens, 3u);
}

TEST_F(SessionGrammar, where_nothing_can_follow_the_answer_fails_and_the_chat_goes_on) {
  const auto session = asked();
  std::string nested = "root ::= \"(\" r0 \")\"\n";
  for (int i = 0; i < 600; ++i)
    nested += "r" + std::to_string(i) + " ::= \"(\" r" + std::to_string(i + 1) + " \")\"\n";
  const auto result =
      session->generate(greedy(shared(parse_gbnf(nested + "r600 ::= \"!\"")), 0), {}, {}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, "GRAMMAR_STUCK");
  EXPECT_THAT(result.error().message, HasSubstr("512 rules inside one another"));
  EXPECT_EQ(stored().back().state, MessageState::interrupted);
  value_of(session->add_user("What does Bruno collect?"));
  EXPECT_FALSE(answer(*session, Sampling::plain_greedy(20)).text.empty());
}

// --- behind thoughts

TEST(ThoughtfulGrammar, thoughts_are_free_and_the_answer_is_not) {
  for (const bool thinks : {true, false}) {
    test::ChainModel chain = test::thoughtful_chain();
    const auto engine = open_chain({.next = chain.next, .jinja = chain.jinja});
    test::MemoryJournal journal;
    SessionOptions options(value_of(resolve_recipe("full")));
    options.journal = &journal;
    options.thinking = thinks ? Thinking::automatic : Thinking::off;
    const auto session = value_of(engine->new_session(options));
    value_of(session->add_user("Well?"));
    Sampling sampling = Sampling::plain_greedy(0);
    sampling.grammar = shared(parse_gbnf("root ::= \"No\" \"!\"{2}"));
    const GenerateReport report = value_of(session->generate(sampling, {}, {}, {}));
    EXPECT_EQ(report.thoughts.text, thinks ? "Hm" : "");
    EXPECT_EQ(report.text, "No!!");
    EXPECT_EQ(report.finish, Finish::end_of_turn);
  }
}

}  // namespace
}  // namespace satchel::runtime
