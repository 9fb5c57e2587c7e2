// The recall probe: which passages it chooses, and what it says of full and of poor caches.
#include "runtime/fidelity/recall_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

constexpr std::int32_t kComma = 0, kStop = 99, kFirstNumber = 900;

TokenLook look_of(std::int32_t token) {
  if (token == kComma) return TokenLook::other;
  if (token == kStop) return TokenLook::end;
  return token >= kFirstNumber ? TokenLook::number : TokenLook::word;
}

// Words 1 … 20 again and again: none is rare.
std::vector<std::int32_t> common_text(std::size_t n) {
  std::vector<std::int32_t> tokens(n);
  for (std::size_t i = 0; i < n; ++i) tokens[i] = static_cast<std::int32_t>(1 + i % 20);
  return tokens;
}

TEST(Passages, are_where_names_and_numbers_stand_together_in_each_part_of_the_text) {
  std::vector<std::int32_t> tokens = common_text(2000);
  std::vector<std::size_t> facts;
  for (std::size_t part = 0; part < kPassages; ++part) {
    const std::size_t at = 100 + part * 245;
    tokens[at] = static_cast<std::int32_t>(100 + part);  // a name, once: says what is asked
    tokens[at + 3] = kFirstNumber + 7;                   // the same number everywhere
    tokens[at + 5] = kStop;
    tokens[at + 6] = static_cast<std::int32_t>(200 + part);  // nothing points to it
    facts.push_back(at + 3);
  }
  const IndexRange part{.begin = 0, .end = tokens.size()};
  const auto passages = choose_passages(tokens, {&part, 1}, look_of);
  ASSERT_EQ(passages.size(), kPassages);
  std::vector<std::size_t> asked;
  for (const Passage& passage : passages) {
    EXPECT_GE(passage.first, kRecallHookTokens);
    EXPECT_EQ(passage.n_tokens, kPassageTokens);
    asked.insert(asked.end(), passage.facts.begin(), passage.facts.end());
  }
  EXPECT_EQ(asked, facts);
}

TEST(Passages, lie_inside_the_parts_and_do_not_overlap) {
  std::vector<std::int32_t> tokens(3000);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(1000 + i);
  const std::vector<IndexRange> parts = {{.begin = 5, .end = 20},
                                         {.begin = 40, .end = 400},
                                         {.begin = 400, .end = 470},
                                         {.begin = 2000, .end = 2900}};
  const auto passages = choose_passages(tokens, parts, look_of);
  ASSERT_GT(passages.size(), 4u);
  std::size_t end = 0;
  for (const Passage& passage : passages) {
    EXPECT_GE(passage.first, end);
    end = passage.first + passage.n_tokens;
    EXPECT_TRUE(std::any_of(parts.begin(), parts.end(), [&](const IndexRange& part) {
      return passage.first >= part.begin + kRecallHookTokens && end <= part.end;
    }));
  }
}

TEST(Passages, there_are_none_where_nothing_is_a_fact_or_the_text_is_short) {
  const auto common = common_text(1000);
  const IndexRange all{.begin = 0, .end = common.size()}, shorter{.begin = 10, .end = 40};
  EXPECT_TRUE(choose_passages(common, {&all, 1}, look_of).empty());
  EXPECT_TRUE(choose_passages(common, {&shorter, 1}, look_of).empty());
  EXPECT_TRUE(choose_passages(common, {}, look_of).empty());
  const std::vector<std::int32_t> commas(1000, kComma);
  EXPECT_TRUE(choose_passages(commas, {&all, 1}, look_of).empty());
}

class Recall : public ChatTest {
 protected:
  // The notes read as a document under that recipe, what waits done.
  std::unique_ptr<Session> after_reading(const kvcache::Recipe& recipe) {
    journal_ = {};
    SessionOptions options(recipe);
    options.budget_bytes = shared_budget();
    options.chat = chat_;
    options.journal = &journal_;
    options.records = &records_;
    auto session = value_of(shared_engine().new_session(options));
    value_of(session->add_document("", held_out_notes()));
    value_of(session->read({}, {}));
    idle(*session);
    return session;
  }
  std::unique_ptr<Session> after_reading(std::string_view name, double keep = 0) {
    kvcache::Recipe recipe = value_of(resolve_recipe(name));
    if (keep > 0) recipe = value_of(recipe.with_keep(keep));
    return after_reading(recipe);
  }
  static double share(const RecallProbe& recall) {
    return static_cast<double>(recall.n_said) / static_cast<double>(recall.n_asked);
  }
};

TEST_F(Recall, nearly_all_is_said_of_a_fine_cache_and_little_of_a_poor_one) {
  const auto fine = after_reading("balanced");
  const RecallProbe of_fine = fine->recall();
  std::printf("balanced: %zu of %zu\n", of_fine.n_said, of_fine.n_asked);
  ASSERT_GE(of_fine.n_asked, 10u);
  EXPECT_GE(share(of_fine), 0.9);
  EXPECT_EQ(of_fine.measured_at, fine->n_read());
  EXPECT_GT(of_fine.measured_ms, 1'700'000'000'000);
  for (const char* name : {"streamingllm", "random"}) {
    const auto poor = after_reading(name, 0.1);
    const RecallProbe of_poor = poor->recall();
    std::printf("%s at 10 %%: %zu of %zu\n", name, of_poor.n_said, of_poor.n_asked);
    EXPECT_EQ(of_poor.n_asked, of_fine.n_asked) << "the same is asked, whatever the cache";
    EXPECT_LT(share(of_poor), 0.5);
  }
}

TEST_F(Recall, leaves_no_trace_and_is_done_once) {
  const auto session = after_reading("compact");
  ASSERT_GT(session->recall().n_asked, 0u);
  EXPECT_FALSE(session->has_idle_work());
  const RecallProbe recall = session->recall();
  const kvcache::CacheStats before = session->stats();
  idle(*session);
  EXPECT_EQ(session->recall().measured_ms, recall.measured_ms);
  EXPECT_EQ(session->stats().n_kept, before.n_kept);
  EXPECT_EQ(session->stats().bytes, before.bytes);
  EXPECT_EQ(session->stats().arena_used_bytes, before.arena_used_bytes);
  EXPECT_EQ(session->n_read(), session->tokens().size());
}

TEST_F(Recall, an_answer_is_the_same_whether_or_not_it_was_measured_before) {
  std::vector<std::string> answers;
  for (const bool measures : {true, false}) {
    journal_ = {};
    const auto session = open("compact");
    value_of(session->add_document("", held_out_notes()));
    value_of(session->read({}, {}));
    if (measures) {
      idle(*session);
      EXPECT_GT(session->recall().n_asked, 0u);
    } else {
      std::stop_source source;
      value_of(session->idle(source.get_token(), [&](const Progress& now) {
        if (now.phase == Phase::measure_fidelity) source.request_stop();
      }));
      EXPECT_EQ(session->recall().n_asked, 0u);
    }
    answers.push_back(ask(*session, held_out_questions().at(0)).text);
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(Recall, is_not_measured_of_an_exact_cache) {
  const auto session = after_reading("full");
  EXPECT_EQ(session->recall().n_asked, 0u);
  EXPECT_FALSE(session->has_idle_work());
}

TEST_F(Recall, stopped_between_two_passages_goes_on_there) {
  const auto whole = after_reading("compact");
  journal_ = {};
  const auto session = open("compact");
  value_of(session->add_document("", held_out_notes()));
  value_of(session->read({}, {}));
  std::size_t n_calls = 0, n_rounds = 0;
  for (bool finished = false; !finished; ++n_rounds) {
    ASSERT_LT(n_rounds, 40u);
    std::stop_source source;
    const IdleReport report = value_of(session->idle(source.get_token(), [&](const Progress& now) {
      const bool asks = now.phase == Phase::measure_fidelity && now.total <= kPassages;
      if (asks && now.done > 0 && now.done < now.total && ++n_calls % 2 == 1) source.request_stop();
    }));
    finished = report.finished;
    EXPECT_EQ(session->has_idle_work(), !finished);
  }
  EXPECT_GT(n_rounds, 2u);
  EXPECT_EQ(session->recall().n_asked, whole->recall().n_asked);
  EXPECT_EQ(session->recall().n_said, whole->recall().n_said);
}

TEST_F(Recall, without_room_for_a_second_cache_nothing_is_measured_and_nothing_waits) {
  const auto recipe = value_of(resolve_recipe("extreme"));
  const auto engine = open_engine(bundled_model());
  const auto need = value_of(engine->estimate(recipe, {.n_tokens = 260}));
  const auto session = open("extreme", need.arena_bytes, *engine);
  value_of(session->add_document("", held_out_notes() + "\n" + held_out_notes()));
  value_of(session->read({}, {}));
  EXPECT_TRUE(idle(*session).finished);
  EXPECT_FALSE(session->has_idle_work());
  EXPECT_LE(session->stats().arena_peak_bytes, need.arena_bytes);
}

TEST_F(Recall, stays_with_the_chat_and_is_measured_again_when_more_was_packed) {
  const auto first = after_reading("compact");
  value_of(first->save());
  const auto second = open("compact");
  EXPECT_EQ(resume(*second).n_reread, 0u);
  EXPECT_EQ(second->recall().n_said, first->recall().n_said);
  EXPECT_EQ(second->recall().measured_ms, first->recall().measured_ms);
  EXPECT_FALSE(second->has_idle_work());
  value_of(second->add_document("", held_out_notes()));
  value_of(second->read({}, {}));
  EXPECT_TRUE(second->has_idle_work());
  idle(*second);
  EXPECT_GT(second->recall().measured_at, first->recall().measured_at);
}

}  // namespace
}  // namespace satchel::runtime
