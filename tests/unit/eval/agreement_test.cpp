// What `satchel eval` measures with, on the bundled model: the exact recipe must agree with itself
// wholly, and a copied cache with the one it was made from.
#include "app/eval/measure/agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/eval/measure/packed_text.h"
#include "app/eval/measure/passes.h"
#include "app/eval/measure/speed.h"
#include "runtime/limits/presets.h"
#include "runtime/model/model.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::eval {
namespace {

using namespace runtime;  // what tests share

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

TEST(Agreement, the_exact_recipe_agrees_with_itself_wholly_and_a_packed_one_does_not) {
  const Ids ids = text_ids(500);
  const ScoredText text{.ids = ids, .n_prompt = 450};
  const ExactLogits logits = value_of(exact_logits(shared_engine(), text, {}));
  const auto of = [&](std::string_view name) {
    return value_of(measure_agreement(shared_engine(), recipe(name), text, logits, {}));
  };
  const Agreement exact = of("full"), packed = of("extreme");
  ASSERT_EQ(exact.tokens.size(), 50u);
  ASSERT_EQ(packed.tokens.size(), 50u);
  double kl = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_TRUE(exact.tokens[i].same);
    EXPECT_EQ(exact.tokens[i].kl, 0);
    EXPECT_EQ(exact.tokens[i].exact_nll, exact.tokens[i].packed_nll);
    EXPECT_EQ(packed.tokens[i].exact_nll, exact.tokens[i].exact_nll);
    kl += packed.tokens[i].kl;
  }
  EXPECT_GT(kl, 0);
  // As packed, before anything was scored.
  EXPECT_EQ(packed.stats.n_tokens, 450u);
  EXPECT_GT(packed.stats.n_evicted, 0u);
}

TEST(Agreement, with_layers_merged_is_of_the_exact_cache_alone_and_says_what_it_would_save) {
  const Ids ids = text_ids(500);
  ScoredText text{.ids = ids, .n_prompt = 450};
  const ExactLogits logits = value_of(exact_logits(shared_engine(), text, {}));
  text.merges_layers = true;
  const Agreement merged =
      value_of(measure_agreement(shared_engine(), recipe("full"), text, logits, {}));
  double kl = 0;
  for (const Compared& token : merged.tokens) kl += token.kl;
  EXPECT_GT(kl, 0);
  // A quarter at most: a row of two, in half of the layers.
  EXPECT_GT(merged.merge_saves, merged.stats.body_bytes / 8);
  EXPECT_LT(merged.merge_saves, merged.stats.body_bytes / 4);
  const auto packed = measure_agreement(shared_engine(), recipe("ladder-4"), text, logits, {});
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, "LAYER_MERGE");
}

// Up to where what left the tail first is seen, 128 + 128 tokens behind the prompt; then a token
// that is scored singly sees it at 8 bits, as answers wait for the end of their turn.
TEST(Agreement, scored_in_chunks_a_token_sees_what_it_sees_singly) {
  const Ids ids = text_ids(4 + 3 * 128 + 256);
  const ScoredText singly{.ids = ids, .n_prompt = 4 + 3 * 128};
  ScoredText pieces = singly;
  pieces.n_at_once = 128;
  const ExactLogits one = value_of(exact_logits(shared_engine(), singly, {})),
                    many = value_of(exact_logits(shared_engine(), pieces, {}));
  ASSERT_EQ(one.nll.size(), 256u);
  ASSERT_EQ(many.nll.size(), 256u);
  for (std::size_t i = 0; i < one.nll.size(); ++i) EXPECT_NEAR(one.nll[i], many.nll[i], 0.05) << i;

  double kl_one = 0, kl_many = 0;
  const auto coarse = recipe("ladder-2");
  const Agreement by_one = value_of(measure_agreement(shared_engine(), coarse, singly, one, {})),
                  by_many = value_of(measure_agreement(shared_engine(), coarse, pieces, many, {}));
  for (std::size_t i = 0; i < 256; ++i) {
    kl_one += by_one.tokens[i].kl;
    kl_many += by_many.tokens[i].kl;
  }
  EXPECT_GT(kl_one, 0);
  EXPECT_NEAR(kl_many / kl_one, 1, 0.05);
}

TEST(Agreement, a_prompt_must_be_a_part_of_the_text_and_fit_the_context) {
  const Ids ids = text_ids(20);
  const auto code = [](std::span<const std::int32_t> of, std::size_t n_prompt) {
    return exact_logits(shared_engine(), {.ids = of, .n_prompt = n_prompt}, {}).error().code;
  };
  for (const std::size_t n_prompt : {std::size_t{0}, ids.size(), ids.size() + 1})
    EXPECT_EQ(code(ids, n_prompt), "PARAM");
  const Ids long_ids(shared_engine().config().context + 1, 5);
  EXPECT_EQ(code(long_ids, 5), "CONTEXT_FULL");
  for (const std::size_t n_at_once : {std::size_t{0}, std::size_t{129}})
    EXPECT_EQ(
        exact_logits(shared_engine(), {.ids = ids, .n_prompt = 10, .n_at_once = n_at_once}, {})
            .error()
            .code,
        "PARAM");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(
      exact_logits(shared_engine(), {.ids = ids, .n_prompt = 10}, stop.get_token()).error().kind,
      ErrorKind::cancelled);
}

// A packed cache that evicted, so that pages, positions and tails all are shared.
TEST(Measure, a_copy_of_a_packed_cache_gives_the_same_logits_and_leaves_it_as_it_was) {
  Engine& engine = shared_engine();
  for (const char* name : {"full", "extreme"}) {
    const Ids ids = text_ids(600);
    const auto cache = value_of(open_cache(engine, recipe(name), 1200));
    std::vector<float> logits(engine.config().n_vocabulary), again(logits.size());
    ASSERT_TRUE(read_document(engine, *cache, ids, {}, logits).ok());
    ASSERT_TRUE(pack_document(engine, *cache, ids, TextForm::raw, {}).ok());
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

// The first words of sentences in the notes: what the bundled model goes on from without a format.
std::vector<Ids> beginnings(const std::string& notes, std::size_t n) {
  std::vector<Ids> out;
  for (std::size_t at = notes.find(". "); out.size() < n; at = notes.find(". ", at + 1)) {
    std::size_t end = at + 1;
    for (int word = 0; word < 3; ++word) end = notes.find(' ', end + 1);
    out.push_back(value_of(shared_engine().tokenizer().encode(notes.substr(at + 1, end - at - 1),
                                                              SpecialText::as_text)));
  }
  return out;
}

TEST(PackedText, each_question_is_answered_as_if_it_were_the_only_one) {
  const Ids ids = text_ids(500);
  const std::vector<Ids> questions = beginnings(held_out_notes(), 4);
  const PackedTextRequest request{.ids = ids, .n_after = 60};
  for (const char* name : {"full", "extreme"}) {
    const auto read = [&] {
      return value_of(PackedText::read(shared_engine(), recipe(name), request, {}));
    };
    PackedText together = read();
    const kvcache::CacheStats before = together.stats();
    for (const Ids& question : questions) {
      const std::string said = value_of(together.answer(question, {.n_tokens_max = 12}));
      EXPECT_FALSE(said.empty());
      EXPECT_EQ(said, value_of(read().answer(question, {.n_tokens_max = 12}))) << name;
    }
    EXPECT_EQ(together.stats().n_kept, before.n_kept);
    EXPECT_EQ(together.stats().bytes, before.bytes);
    EXPECT_EQ(before.n_evicted > 0, std::string_view(name) == "extreme");
    EXPECT_GT(together.read_ms(), 0);
  }
}

TEST(Speed, a_second_pass_takes_time_only_where_the_cache_wants_one) {
  const SpeedRequest request{.n_prompt = 200, .n_decode = 1};
  const auto of = [&](std::string_view name) {
    return value_of(measure_speed(shared_engine(), recipe(name), request, {}));
  };
  const Speed full = of("full"), kvzip = of("kvzip");
  EXPECT_EQ(full.pack_ms, 0);
  EXPECT_GT(kvzip.pack_ms, 0);
  for (const Speed& speed : {full, kvzip}) {
    EXPECT_GT(speed.prefill_ms, 0);
    EXPECT_GT(speed.decode_ms, 0);
  }
}

TEST(Speed, a_meter_goes_on_in_the_same_chat_behind_what_it_held) {
  const SpeedRequest request{.n_prompt = 40, .n_decode = 2};
  for (const char* name : {"full", "balanced"}) {
    SpeedMeter meter =
        value_of(SpeedMeter::open(shared_engine(), recipe(name), 300, request, 2, {}));
    EXPECT_EQ(value_of(meter.next({})).stats.n_tokens, 342u);
    const Speed second = value_of(meter.next({}));
    EXPECT_EQ(second.stats.n_tokens, 384u);
    EXPECT_EQ(second.n_prompt, 40u);
  }
}

TEST(Speed, a_chat_that_would_not_fit_the_context_is_refused) {
  const std::size_t context = shared_engine().config().context;
  const auto meter = SpeedMeter::open(shared_engine(), recipe("full"), context,
                                      {.n_prompt = 1, .n_decode = 1}, 1, {});
  ASSERT_FALSE(meter.ok());
  EXPECT_EQ(meter.error().code, "CONTEXT_FULL");
}

TEST(PackedText, an_answer_ends_where_its_limits_say) {
  const Ids ids = text_ids(200), question = beginnings(held_out_notes(), 1)[0];
  PackedText text =
      value_of(PackedText::read(shared_engine(), recipe("full"), {.ids = ids, .n_after = 60}, {}));
  const std::string long_one = value_of(text.answer(question, {.n_tokens_max = 12}));
  const std::string short_one = value_of(text.answer(question, {.n_tokens_max = 2}));
  EXPECT_LT(short_one.size(), long_one.size());
  EXPECT_TRUE(long_one.starts_with(short_one));
  std::size_t n_looked = 0;
  value_of(text.answer(
      question, {.n_tokens_max = 12, .enough = [&](std::string_view) { return ++n_looked == 3; }}));
  EXPECT_EQ(n_looked, 3u);
}

TEST(PackedText, an_expected_answer_has_the_probability_of_its_tokens) {
  const Ids ids = text_ids(200), question = beginnings(held_out_notes(), 1)[0];
  PackedText text =
      value_of(PackedText::read(shared_engine(), recipe("full"), {.ids = ids, .n_after = 60}, {}));
  const std::string said = value_of(text.answer(question, {.n_tokens_max = 1}));
  double all = 0, most = -1000;
  std::int32_t likeliest = 0;
  for (std::int32_t id = 0; id < 64; ++id) {
    const double one = value_of(text.log_probability(question, Ids{id}));
    all += std::exp(one);
    if (one > most) likeliest = id;
    most = std::max(most, one);
  }
  EXPECT_LE(all, 1 + 1e-6);
  const double first = value_of(text.log_probability(question, Ids{likeliest}));
  Ids behind = question;
  behind.push_back(likeliest);
  EXPECT_NEAR(value_of(text.log_probability(question, Ids{likeliest, 5})),
              first + value_of(text.log_probability(behind, Ids{5})), 1e-9);
  EXPECT_EQ(value_of(text.answer(question, {.n_tokens_max = 1})), said);
}

TEST(PackedText, too_long_a_text_no_question_and_a_stop_are_errors) {
  const Ids ids = text_ids(20);
  const std::size_t n_context = shared_engine().config().context;
  EXPECT_EQ(
      PackedText::read(shared_engine(), recipe("full"), {.ids = ids, .n_after = n_context}, {})
          .error()
          .code,
      "CONTEXT_FULL");
  std::stop_source stop;
  PackedText text = value_of(PackedText::read(shared_engine(), recipe("full"),
                                              {.ids = ids, .n_after = 60}, stop.get_token()));
  EXPECT_EQ(text.answer({}, {}).error().code, "PARAM");
  stop.request_stop();
  EXPECT_EQ(text.answer(ids, {}).error().code, "STOPPED");
}

}  // namespace
}  // namespace satchel::eval
