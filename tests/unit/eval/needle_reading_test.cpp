// Needles asked of the bundled model: one reading or one for each question, parts packed one by
// one.
#include "app/eval/measure/needle_reading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/eval/measure/packed_text.h"
#include "app/eval/measure/passes.h"
#include "kvcache/edit/cache_edit.h"
#include "kvcache/state/cache_state.h"
#include "runtime/limits/presets.h"
#include "support/far_stores.h"
#include "support/sanitized.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::eval {
namespace {

using namespace runtime;  // what tests share

// Beginnings of sentences that stand in the notes, which the model goes on with.
NeedleContext context_of_notes() {
  const std::string notes = held_out_notes().substr(0, 1500);
  NeedleContext context{.parts = {notes}, .needles = {}};
  for (std::size_t at = notes.find(". "); context.needles.size() < 3;
       at = notes.find(". ", at + 1)) {
    std::size_t end = at + 1;
    for (int word = 0; word < 3; ++word) end = notes.find(' ', end + 1);
    context.needles.push_back({.ask = notes.substr(at + 1, end - at - 1), .values = {"a value"}});
  }
  return context;
}

NeedleAnswers answers(const NeedleContext& context, const char* recipe,
                      const NeedleAsking& asking = {}) {
  return value_of(
      ask_needles(shared_engine(), value_of(resolve_recipe(recipe)), context, asking, {}));
}

TEST(NeedleReading, an_exact_cache_answers_alike_however_it_was_read) {
  const NeedleContext context = context_of_notes();
  const NeedleAnswers once = answers(context, "full");
  ASSERT_EQ(once.said.size(), context.needles.size());
  for (const std::string& said : once.said) EXPECT_FALSE(said.empty());
  EXPECT_EQ(answers(context, "full", {.question_known = true}).said, once.said);
}

// The values of the newest tokens, lane by lane.
std::vector<float> newest_values(kvcache::Cache& cache) {
  std::vector<float> values;
  for (const kvcache::Lane& lane : cache.state().lanes)
    for (std::size_t i = 0; i < kvcache::kTailTokens * lane.head_dim(); ++i)
      values.push_back(half_to_float(
          lane.tail().v[(lane.n_tail() - kvcache::kTailTokens) * lane.head_dim() + i]));
  return values;
}

// Against a cache that forgets what leaves the window, and moves the window next to the sinks.
TEST(NeedleReading, behind_a_window_only_what_is_in_it_is_seen_and_then_all_of_it) {
  Engine& engine = shared_engine();
  std::string notes;
  for (std::size_t i = 0; i < 3; ++i) notes += held_out_notes(i);
  std::vector<std::int32_t> ids = value_of(raw_ids(engine.tokenizer(), notes));
  // 512 - 380 = 4 + 128 and 1024 - 380 = 4 + 5 * 128 are page borders.
  const std::size_t n = 3 * kWindowSpan, n_window = 256, n_seen = 380;
  ASSERT_GE(ids.size(), n);
  ids.resize(n);
  const kvcache::Recipe full = value_of(resolve_recipe("full"));
  const auto read = [&](std::size_t window) {
    return value_of(
        PackedText::read(engine, full, {.ids = ids, .n_after = 4, .window = window}, {}));
  };
  PackedText behind = read(n_window), whole = read(0), wide = read(n);
  EXPECT_TRUE(behind.cache().reach().is_all());
  EXPECT_EQ(behind.stats().n_kept, whole.stats().n_kept);
  const auto forgets = value_of(open_cache(engine, full, n));
  std::vector<float> logits(engine.config().n_vocabulary);
  std::vector<std::int32_t> left;  // what it has not forgotten, and reads next
  for (std::size_t at = 0; at < n; at += kWindowSpan) {
    if (at > 0) {
      const std::size_t near = left.size() - n_seen;
      ASSERT_TRUE(forgets->edit().forget(4, near - 4).ok());
      ASSERT_TRUE(forgets->edit().move_text(near, 4 - static_cast<std::int32_t>(near)).ok());
      left.erase(left.begin() + 4, left.begin() + static_cast<std::ptrdiff_t>(near));
    }
    left.insert(left.end(), ids.begin() + static_cast<std::ptrdiff_t>(at),
                ids.begin() + static_cast<std::ptrdiff_t>(at + kWindowSpan));
    ASSERT_TRUE(read_document(engine, *forgets, left, {}, logits).ok());
  }
  const auto apart = [](const std::vector<float>& one, const std::vector<float>& other) {
    double worst = 0;
    for (std::size_t i = 0; i < one.size(); ++i)
      worst = std::max(worst, double{std::abs(one[i] - other[i])});
    return worst;
  };
  const std::vector<float> expected = newest_values(*forgets), all = newest_values(whole.cache());
  const double of_window = apart(all, expected);
  // Keys are rotated by other angles, in fp16.
  EXPECT_LT(apart(newest_values(behind.cache()), expected), of_window / 20);
  EXPECT_LT(apart(newest_values(wide.cache()), all), of_window / 20);  // other spans
}

kvcache::OpenFarStore in_memory_of(const std::shared_ptr<test::FarDisk>& disk) {
  return [disk]() -> Result<std::unique_ptr<kvcache::FarStore>> {
    return std::unique_ptr<kvcache::FarStore>(std::make_unique<test::MemoryFarStore>(disk));
  };
}

// A span that is shorter than what fits may leave more in the tails, which takes more memory.
TEST(NeedleReading, on_disk_a_text_that_fits_under_a_limit_fits_under_higher_ones) {
  Engine& engine = shared_engine();
  std::vector<std::int32_t> ids =
      value_of(raw_ids(engine.tokenizer(), held_out_notes(1) + held_out_notes(2)));
  ids.resize(std::min<std::size_t>(ids.size(), 1100));
  const kvcache::Recipe full = value_of(resolve_recipe("full"));
  std::size_t n_read = 0;
  for (double share = 0.3; share < 1.2; share *= test::kSanitized ? 1.3 : 1.03) {
    const auto text = PackedText::read(engine, full,
                                       {.ids = ids,
                                        .n_after = 4,
                                        .open_far = in_memory_of(std::make_shared<test::FarDisk>()),
                                        .limit_share = share},
                                       {});
    n_read += text.ok() ? 1u : 0u;
    EXPECT_EQ(text.ok(), n_read > 0) << share;
  }
  EXPECT_GT(n_read, 2u);
}

TEST(NeedleReading, on_disk_answers_as_in_memory) {
  NeedleContext context = context_of_notes();
  context.parts[0] = held_out_notes(1) + held_out_notes(2) + context.parts[0];
  const auto disk = std::make_shared<test::FarDisk>();
  const NeedleAsking asking{.open_far = in_memory_of(disk), .limit_share = 0.9};
  for (const char* recipe : {"full", "quest"}) {
    disk->n_reads = 0;
    const NeedleAnswers far = answers(context, recipe, asking), near = answers(context, recipe);
    EXPECT_EQ(far.said, near.said) << recipe;
    EXPECT_EQ(far.said_in_memory, near.said) << recipe;
    EXPECT_GT(far.stats.far_bytes, 0u);
    EXPECT_GT(disk->n_reads, 0u) << recipe;
    ASSERT_EQ(far.speed.size(), near.said.size());
    for (const double speed : far.speed) EXPECT_GT(speed, 0);
  }
}

TEST(NeedleReading, a_text_packed_in_parts_is_the_same_text) {
  Engine& engine = shared_engine();
  const auto ids = value_of(raw_ids(engine.tokenizer(), held_out_notes().substr(0, 1500)));
  const std::size_t third = ids.size() / 3, ends[] = {third, 2 * third};
  std::vector<std::string> said;
  std::vector<std::size_t> body_bytes;
  for (const char* recipe : {"full", "extreme"})
    for (const std::size_t n_ends : {std::size_t{2}, std::size_t{0}}) {
      PackedText text = value_of(PackedText::read(engine, value_of(resolve_recipe(recipe)),
                                                  {.ids = std::span(ids).first(ids.size() - 1),
                                                   .n_after = 20,
                                                   .packs_at = std::span(ends).first(n_ends)},
                                                  {}));
      EXPECT_EQ(text.stats().n_tokens, ids.size() - 1);
      body_bytes.push_back(text.stats().body_bytes);
      said.push_back(value_of(text.answer(std::span(ids).last(1), {.n_tokens_max = 10})));
    }
  EXPECT_EQ(said[0], said[1]);
  EXPECT_EQ(body_bytes[0], body_bytes[1]);
  // Each part has pages of its own, the last of them not full.
  EXPECT_GT(body_bytes[2], body_bytes[3]);
}

TEST(NeedleReading, each_part_is_packed_before_the_next_is_read) {
  NeedleContext context = context_of_notes();
  const NeedleAnswers whole = answers(context, "extreme");
  context.parts.push_back(context.parts[0]);
  const NeedleAnswers twice = answers(context, "extreme");
  EXPECT_LE(2 * whole.stats.n_tokens - twice.stats.n_tokens, 1u);  // one bos
  EXPECT_GT(whole.stats.n_evicted, 0u);
  EXPECT_GT(twice.stats.n_evicted, whole.stats.n_evicted);
}

// The answer to the first is an exact cache's, and the others' those of a text packed at once.
TEST(NeedleReading, what_waits_is_packed_between_the_first_question_and_the_others) {
  const NeedleContext context = context_of_notes();
  std::string json = value_of(resolve_recipe("snapkv")).json();
  const auto asked = [&](std::string_view trigger) {
    std::string with = json;
    with.replace(with.find("end_of_prompt"), 13, trigger);
    const kvcache::Recipe recipe = value_of(value_of(kvcache::Recipe::parse(with)).with_keep(0.1));
    return value_of(ask_needles(shared_engine(), recipe, context, {.in_turn = true}, {}));
  };
  const NeedleAnswers at_once = asked("end_of_prompt"), later = asked("end_of_turn");
  const NeedleAnswers full = answers(context, "full");
  EXPECT_NE(full.said, at_once.said);
  EXPECT_EQ(later.said[0], full.said[0]);
  for (std::size_t i = 1; i < context.needles.size(); ++i)
    EXPECT_EQ(later.said[i], at_once.said[i]);
  EXPECT_EQ(later.stats.n_evicted, at_once.stats.n_evicted);
}

// The first question is compressed with the text; what it asked and its answer stand before the
// second, so an exact cache answers that one otherwise than a copy that never heard of it.
TEST(NeedleReading, a_chat_that_goes_on_knows_its_first_question_and_has_the_right_answers) {
  const NeedleContext context = context_of_notes();
  const NeedleAnswers apart = answers(context, "full"),
                      chat = answers(context, "full", {.goes_on = true});
  EXPECT_EQ(chat.said[0], apart.said[0]);
  // Other spans of the text are read at once, so sums round otherwise.
  EXPECT_NEAR(chat.log_probability[0], apart.log_probability[0],
              1e-4 * std::abs(apart.log_probability[0]));
  EXPECT_GT(chat.log_probability[1], apart.log_probability[1]) << "\"a value\" was said before";
  const NeedleAnswers known = answers(context, "extreme", {.question_known = true}),
                      chat_of_few = answers(context, "extreme", {.goes_on = true});
  EXPECT_EQ(chat_of_few.said[0], known.said[0]);
  EXPECT_EQ(chat_of_few.stats.n_evicted, known.stats.n_evicted);
}

TEST(NeedleReading, a_known_question_is_read_with_the_context_and_nothing_without_one) {
  const NeedleContext context = context_of_notes();
  const std::size_t n_context = answers(context, "full").stats.n_tokens;
  EXPECT_GT(answers(context, "full", {.question_known = true}).stats.n_tokens, n_context);
  EXPECT_LE(answers(context, "full", {.without_context = true}).stats.n_tokens, 1u);
}

}  // namespace
}  // namespace satchel::eval
