// What `satchel eval` measures with, on the bundled model: the exact recipe must agree with itself
// wholly, and a copied cache with the one it was made from.
#include "runtime/measure/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/governor/presets.h"
#include "runtime/measure/needles.h"
#include "runtime/measure/passes.h"
#include "runtime/model/model.h"
#include "session_fixture.h"
#include "tiny_model.h"

namespace satchel::runtime {
namespace {

using Ids = std::vector<std::int32_t>;

kvcache::Recipe recipe(std::string_view name) {
  return value_of(resolve_recipe(name));
}

Ids text_ids(std::size_t n) {
  Ids ids = value_of(shared_engine().tokenizer().encode(held_out_notes(), SpecialText::as_text));
  EXPECT_GE(ids.size(), n);
  ids.resize(n);
  return ids;
}

TEST(Measure, the_exact_recipe_agrees_with_itself_wholly_and_a_packed_one_does_not) {
  const Ids ids = text_ids(500);
  const auto of = [&](std::string_view name) {
    return value_of(measure_on_text(shared_engine(), recipe(name), ids, 450, {}));
  };
  const TextFidelity exact = of("full"), packed = of("extreme");
  EXPECT_EQ(exact.fidelity.n_tokens, 50u);
  EXPECT_EQ(exact.fidelity.agreement, 1);
  EXPECT_EQ(exact.fidelity.kl, 0);
  EXPECT_EQ(exact.exact_nll, exact.packed_nll);
  EXPECT_GT(packed.fidelity.kl, 0);
  EXPECT_EQ(packed.exact_nll, exact.exact_nll);
}

TEST(Measure, a_prompt_must_be_a_part_of_the_text_and_fit_the_context) {
  const Ids ids = text_ids(20);
  for (const std::size_t n_prompt : {std::size_t{0}, ids.size(), ids.size() + 1})
    EXPECT_EQ(measure_on_text(shared_engine(), recipe("full"), ids, n_prompt, {}).error().code,
              "PARAM");
  const Ids long_ids(shared_engine().config().context + 1, 5);
  EXPECT_EQ(measure_on_text(shared_engine(), recipe("full"), long_ids, 5, {}).error().code,
            "CONTEXT_FULL");
}

// A packed cache that evicted, so that pages, positions and tails all are shared.
TEST(Measure, a_copy_of_a_packed_cache_gives_the_same_logits_and_leaves_it_as_it_was) {
  Engine& engine = shared_engine();
  for (const char* name : {"full", "extreme"}) {
    const Ids ids = text_ids(600);
    const auto cache = value_of(open_cache(engine, recipe(name), 1200));
    std::vector<float> logits(engine.config().n_vocabulary), again(logits.size());
    ASSERT_TRUE(read_document(engine, *cache, ids, {}, logits).ok());
    ASSERT_TRUE(pack_document(engine, *cache, ids, {}).ok());
    const kvcache::CacheStats read = cache->stats();
    EXPECT_EQ(read.n_pending, 0u);
    for (int round = 0; round < 2; ++round) {
      const auto copy = value_of(cache->fork());
      EXPECT_EQ(copy->stats().n_kept, read.n_kept);
      ASSERT_TRUE(engine.model().decode_step(*copy, 7, again).ok());
      if (round == 0) logits = again;
      EXPECT_EQ(again, logits) << name;
      // Far enough that every tail has been flushed.
      for (std::int32_t id = 0; id < 300; ++id)
        ASSERT_TRUE(engine.model().decode_step(*copy, id, again).ok());
      EXPECT_EQ(cache->n_tokens(), ids.size());
      EXPECT_EQ(cache->stats().n_kept, read.n_kept);
      EXPECT_EQ(cache->stats().bytes, read.bytes);
    }
    ASSERT_TRUE(engine.model().decode_step(*cache, 7, again).ok());
    EXPECT_EQ(again, logits) << name;
  }
}

TEST(Needles, an_answer_is_right_when_its_first_word_is_the_value) {
  EXPECT_TRUE(says_first(" Corwin.", "Corwin"));
  EXPECT_TRUE(says_first("Corwin", "Corwin"));
  EXPECT_TRUE(says_first("\n Corwin, and", "Corwin"));
  EXPECT_FALSE(says_first(" Corwinson", "Corwin"));
  EXPECT_FALSE(says_first(" Corwin\xc3\xa9", "Corwin"));
  EXPECT_FALSE(says_first(" Cor", "Corwin"));
  EXPECT_FALSE(says_first(" Mr Corwin", "Corwin"));
  EXPECT_FALSE(says_first("", "Corwin"));
}

// The first words of sentences in the notes: what the bundled model goes on from without a format.
std::vector<Needle> beginnings(const std::string& notes, std::size_t n) {
  std::vector<Needle> out;
  for (std::size_t at = notes.find(". "); out.size() < n; at = notes.find(". ", at + 1)) {
    std::size_t end = at + 1;
    for (int word = 0; word < 3; ++word) end = notes.find(' ', end + 1);
    out.push_back({notes.substr(at + 1, end - at - 1), "a value never said"});
  }
  return out;
}

class NeedleTest : public testing::Test {
 protected:
  std::vector<NeedleAnswer> answers(std::span<const NeedleContext> contexts,
                                    std::string_view name) {
    std::vector<NeedleAnswer> all;
    const auto keep = [&](const NeedleAnswer& answer) { all.push_back(answer); };
    score_ = value_of(
        measure_needles(shared_engine(), recipe(name), {.contexts = contexts, .judged = keep}, {}));
    return all;
  }
  NeedleScore score_;  // of the last answers()
};

TEST_F(NeedleTest, each_question_is_answered_as_if_it_were_the_only_one) {
  const std::string notes = held_out_notes();
  const std::vector<Needle> needles = beginnings(notes, 5);
  const std::vector<NeedleContext> together = {{notes, needles}};
  for (const char* name : {"full", "extreme"}) {
    const auto all = answers(together, name);
    ASSERT_EQ(all.size(), needles.size());
    for (std::size_t i = 0; i < needles.size(); ++i) {
      const std::vector<NeedleContext> alone = {{notes, {needles[i]}}};
      EXPECT_FALSE(all[i].said.empty()) << needles[i].ask;
      EXPECT_EQ(all[i].said, answers(alone, name).at(0).said) << name << " question " << i;
      EXPECT_EQ(all[i].needle, i);
    }
  }
}

TEST_F(NeedleTest, what_is_counted_is_what_was_judged_and_what_the_cache_held) {
  const std::string notes = held_out_notes();
  const Needle never = beginnings(notes, 1)[0];
  const std::vector<NeedleContext> once = {{notes, {never}}};
  const std::string said = answers(once, "full").at(0).said;
  const std::size_t word = said.find_first_not_of(' ');
  ASSERT_NE(word, std::string::npos);
  // What it says becomes what it should say.
  const Needle right{never.ask, said.substr(word, said.find_first_of(" .,\n", word) - word)};
  const std::vector<NeedleContext> contexts = {{notes, {right, never}}, {notes, {never}}};
  const auto all = answers(contexts, "full");
  const NeedleScore exact = score_;
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0].right) << all[0].said;
  EXPECT_FALSE(all[1].right || all[2].right);
  EXPECT_EQ(all[2].context, 1u);
  EXPECT_EQ(exact.n_questions, 3u);
  EXPECT_EQ(exact.n_right, 1u);
  EXPECT_EQ(exact.n_evicted, 0u);
  EXPECT_EQ(exact.n_tokens, 2 * exact.n_tokens_min);
  answers(contexts, "extreme");
  EXPECT_EQ(score_.n_tokens, exact.n_tokens);
  EXPECT_EQ(score_.n_kept + score_.n_evicted, exact.n_kept);
  EXPECT_GT(score_.n_evicted, 0u);
  EXPECT_LT(score_.bytes, exact.bytes);
  EXPECT_EQ(score_.fp16_bytes, exact.fp16_bytes);
}

TEST_F(NeedleTest, without_contexts_nothing_is_read) {
  const std::vector<NeedleContext> contexts = {
      {held_out_notes(), {{held_out_questions().at(0), "x"}}}};
  const NeedleScore score = value_of(measure_needles(
      shared_engine(), recipe("full"), {.contexts = contexts, .without_contexts = true}, {}));
  EXPECT_EQ(score.n_questions, 1u);
  EXPECT_LE(score.n_tokens, 1u);  // a bos, at most
}

TEST_F(NeedleTest, a_context_longer_than_the_models_and_a_stop_are_errors) {
  std::string too_long;
  for (std::size_t i = 0; i < shared_engine().config().context; ++i) too_long += "word ";
  const std::vector<NeedleContext> long_one = {{too_long, {{"a", "b"}}}};
  EXPECT_EQ(
      measure_needles(shared_engine(), recipe("full"), {.contexts = long_one}, {}).error().code,
      "CONTEXT_FULL");
  const std::vector<NeedleContext> contexts = {{"Some words.", {{" a", "b"}}}};
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(
      measure_needles(shared_engine(), recipe("full"), {.contexts = contexts}, stop.get_token())
          .error()
          .code,
      "STOPPED");
}

}  // namespace
}  // namespace satchel::runtime
