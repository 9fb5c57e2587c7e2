// LongBench: the table of datasets, what of an answer counts, and prompts on the bundled model.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "app/eval/longbench/ask.h"
#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::eval::longbench {
namespace {
using namespace runtime;  // what tests share

std::size_t n_times(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(LongBenchTasks, are_the_21_datasets_with_their_metrics) {
  std::set<std::string_view> names;
  std::size_t n_plain = 0;
  for (const Dataset& dataset : datasets()) {
    EXPECT_TRUE(names.insert(dataset.name).second) << dataset.name;
    EXPECT_EQ(n_times(dataset.prompt, "{context}"), 1u) << dataset.name;
    EXPECT_LE(n_times(dataset.prompt, "{input}"), 1u) << dataset.name;
    EXPECT_EQ(n_times(dataset.prompt, "{"), n_times(dataset.prompt, "}")) << dataset.name;
    EXPECT_GE(dataset.n_answer_tokens, 32u);
    n_plain += dataset.as_chat ? 0 : 1;
  }
  EXPECT_EQ(names.size(), 21u);
  EXPECT_EQ(n_plain, 6u);  // trec, triviaqa, samsum, lsht, lcc, repobench-p
  ASSERT_NE(find_dataset("hotpotqa_e"), nullptr);
  EXPECT_EQ(find_dataset("hotpotqa_e"), find_dataset("hotpotqa"));
  EXPECT_EQ(find_dataset("hotpot"), nullptr);
  EXPECT_EQ(find_dataset("gov_report")->n_answer_tokens, 512u);
  EXPECT_EQ(find_dataset("lsht")->metric, nullptr);  // classification
  EXPECT_EQ(find_dataset("vcsum")->metric, &rouge_l_chinese);
}

TEST(LongBenchTasks, a_prompt_takes_context_and_input_as_they_are) {
  const Prompt prompt = prompt_of(*find_dataset("trec"), "A {input} in it", "What? {context}");
  EXPECT_EQ(prompt.context,
            "Please determine the type of the question below. Here are some examples of "
            "questions.\n\nA {input} in it");
  EXPECT_EQ(prompt.question, "\nWhat? {context}");
  EXPECT_EQ(prompt_of(*find_dataset("lcc"), "x = 1\n", "").question, "Next line of code:\n");
}

TEST(LongBenchTasks, the_best_of_the_right_answers_counts_and_of_some_only_a_line) {
  const std::string truths[] = {"an old ferry", "the ferry Heron"};
  EXPECT_EQ(score(*find_dataset("hotpotqa"), "Ferry Heron", truths, {}), 1);
  EXPECT_LT(score(*find_dataset("hotpotqa"), "Ferry Heron\nQuestion:", truths, {}), 1);
  EXPECT_EQ(score(*find_dataset("triviaqa"), "\n\nFerry Heron\nQuestion:", truths, {}), 1);
  const std::string classes[] = {"Place", "Person"}, right[] = {"Person"};
  EXPECT_EQ(score(*find_dataset("trec"), " Person\nType: Place", right, classes), 1);
  EXPECT_EQ(score(*find_dataset("trec"), " Place\nType: Person", right, classes), 0);
}

TEST(LongBenchTasks, an_answer_is_enough_when_its_line_is_over) {
  EXPECT_FALSE(said_enough(*find_dataset("hotpotqa"), "Heron\n\nQuestion:"));
  EXPECT_FALSE(said_enough(*find_dataset("trec"), "\n\nPerson"));
  EXPECT_TRUE(said_enough(*find_dataset("trec"), "\n\nPerson\n"));
  EXPECT_FALSE(said_enough(*find_dataset("lcc"), "# a comment\n    return"));
  EXPECT_TRUE(said_enough(*find_dataset("lcc"), "# a comment\n    return\n"));
}

Example example(const char* dataset, std::string context) {
  return {.dataset = find_dataset(dataset),
          .input = "Who is it?",
          .context = std::move(context),
          .answers = {"nobody"},
          .classes = {}};
}

TEST(LongBenchAsk, a_long_prompt_loses_its_middle_and_keeps_both_ends) {
  Engine& engine = shared_engine();
  for (const char* dataset : {"hotpotqa", "samsum"}) {
    const Example long_one = example(dataset, "Beginning. " + held_out_notes() + " Ending.");
    const PromptIds whole = value_of(prompt_ids(engine, long_one, {}));
    const PromptIds cut = value_of(prompt_ids(engine, long_one, {.n_tokens_max = 200}));
    EXPECT_FALSE(whole.cut);
    EXPECT_TRUE(cut.cut);
    EXPECT_LT(cut.ids.size(), 260u);
    EXPECT_GT(cut.ids.size(), 190u);
    const std::string text = engine.tokenizer().text(cut.ids);
    EXPECT_NE(text.find("Beginning."), text.npos) << text;
    EXPECT_NE(text.find("Ending."), text.npos) << text;
    EXPECT_NE(text.find("Who is it?"), text.npos) << text;
    for (const PromptIds* prompt : {&whole, &cut}) {
      ASSERT_LT(prompt->n_context, prompt->ids.size());
      const std::string context =
          engine.tokenizer().text(std::span(prompt->ids).first(prompt->n_context));
      EXPECT_NE(context.find("Ending."), context.npos);
      EXPECT_EQ(context.find("Who is it?"), context.npos);
    }
  }
}

TEST(LongBenchAsk, a_context_far_longer_than_the_models_fits_after_the_cut) {
  std::string far;
  for (std::size_t i = 0; i < shared_engine().config().context; ++i) far += "word ";
  const PromptIds cut = value_of(prompt_ids(shared_engine(), example("hotpotqa", far), {}));
  EXPECT_TRUE(cut.cut);
  EXPECT_LE(cut.ids.size() + find_dataset("hotpotqa")->n_answer_tokens,
            shared_engine().config().context);
}

TEST(LongBenchAsk, an_exact_cache_answers_alike_whether_the_question_is_known_or_not) {
  Engine& engine = shared_engine();
  const Example one = example("hotpotqa", held_out_notes().substr(0, 1200));
  const auto full = value_of(resolve_recipe("full")), extreme = value_of(resolve_recipe("extreme"));
  const Answer known = value_of(ask(engine, full, one, {}, {}));
  const Answer unknown = value_of(ask(engine, full, one, {.question_known = false}, {}));
  EXPECT_FALSE(known.said.empty());
  EXPECT_EQ(known.said, unknown.said);
  EXPECT_GT(known.stats.n_tokens, unknown.stats.n_tokens);
  EXPECT_GT(value_of(ask(engine, extreme, one, {}, {})).stats.n_evicted, 0u);
}

}  // namespace
}  // namespace satchel::eval::longbench
