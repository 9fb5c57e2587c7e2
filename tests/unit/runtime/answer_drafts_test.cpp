// Drafts of an answer, from its text and by the model itself: token for token and bit for bit the
// answer without them, greedy and drawn.
#include "runtime/session/answer_drafts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kvcache/recipes/pipeline.h"
#include "support/usable_recipes.h"
#include "support/value_of.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

// So that drafts cost nothing and are tried as long as any is right.
class StoppedClock final : public Clock {
 public:
  std::int64_t wall_ms() const override { return 0; }
  double steady_ms() const override { return 0; }
};

struct Answer {
  std::vector<std::int32_t> ids;
  std::size_t n_steps = 0;
  DraftCounts drafts;
};

struct Asked {
  const char* recipe;
  std::size_t n_prompt, n_answer;
  Sampling sampling;
};

// A loop of its own, as Turn has one.
Answer answer(TestModel& model, const Asked& asked, const DraftSources& sources) {
  const std::vector<std::int32_t> prompt =
      random_ids(asked.n_prompt, model.config().n_vocabulary, 4);
  const auto cache = model.cache(asked.recipe, asked.n_prompt + asked.n_answer + 200);
  std::vector<float> logits = model.read(*cache, prompt);
  const StoppedClock clock;
  AnswerDrafts drafts(sources, clock);
  Sampler sampler(asked.sampling);
  std::vector<std::int32_t> text = prompt;
  text.push_back(sampler.choose(logits, text));
  Answer out;
  for (; text.size() < prompt.size() + asked.n_answer; ++out.n_steps) {
    const std::size_t n_left = prompt.size() + asked.n_answer - text.size();
    const auto ids =
        drafts.next({.model = *model.model,
                     .cache = *cache,
                     .sampler = sampler,
                     .text = text,
                     .logits = logits,
                     .n_most = std::min({DraftPace::kMost, cache->step_room() - 1, n_left - 1})});
    DraftedStep step = value_of(model.model->decode_drafted(*cache, ids));
    std::size_t n_kept = 0;
    do {
      EXPECT_TRUE(step.fetch_logits(n_kept++, logits).ok());
      text.push_back(sampler.choose(logits, text));
    } while (n_kept < ids.size() && text.back() == ids[n_kept]);
    EXPECT_TRUE(step.end(n_kept).ok());
    drafts.took(1, n_kept - 1);
  }
  out.drafts = drafts.counts();
  out.ids.assign(text.begin() + static_cast<std::ptrdiff_t>(prompt.size()), text.end());
  return out;
}

TestModel model_of_layers(std::size_t n_layers) {
  return tiny_model({.type = kernels::WeightType::q4_0, .n_layers = n_layers}, "cpu");
}

constexpr DraftSources kNone{.lookup = false}, kLookup{}, kSelf{.lookup = false, .self_pages = 1},
    kBoth{.self_pages = 1};

TEST(AnswerDrafts, leave_2000_greedy_tokens_as_they_are) {
  TestModel model = model_of_layers(2);
  const Asked asked{.recipe = "balanced",
                    .n_prompt = 700,
                    .n_answer = 2000,
                    .sampling = Sampling::plain_greedy(0)};
  const Answer plain = answer(model, asked, kNone);
  EXPECT_EQ(plain.drafts.n_drafted, 0u);
  for (const DraftSources& sources : {kLookup, kSelf, kBoth}) {
    const Answer drafted = answer(model, asked, sources);
    EXPECT_EQ(drafted.ids, plain.ids);
    EXPECT_GT(drafted.drafts.n_accepted, 0u) << sources.lookup << sources.self_pages;
    EXPECT_LT(drafted.n_steps, plain.n_steps);
  }
}

// The same seed gives the same tokens: so the distribution is that of an answer without drafts.
TEST(AnswerDrafts, leave_drawn_tokens_as_they_are_whatever_the_seed) {
  TestModel model = model_of_layers(1);
  DraftCounts all;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Asked asked{.recipe = "full",
                      .n_prompt = 600,
                      .n_answer = 60,
                      .sampling = {.temperature = 1, .seed = seed, .n_tokens_max = 0}};
    const Answer plain = answer(model, asked, kNone);
    for (const DraftSources& sources : {kLookup, kSelf, kBoth}) {
      const Answer drafted = answer(model, asked, sources);
      EXPECT_EQ(drafted.ids, plain.ids) << "seed " << seed;
      all.n_drafted += drafted.drafts.n_drafted;
      all.n_accepted += drafted.drafts.n_accepted;
    }
  }
  EXPECT_GT(all.n_accepted, 100u);
  EXPECT_GT(all.n_drafted, all.n_accepted) << "some must be refused, or nothing was shown";
}

TEST(AnswerDrafts, of_the_model_need_a_text_twice_as_long_as_what_they_read) {
  TestModel model = model_of_layers(1);
  const Asked asked{
      .recipe = "full", .n_prompt = 200, .n_answer = 40, .sampling = Sampling::plain_greedy(0)};
  EXPECT_EQ(answer(model, asked, kSelf).drafts.n_drafted, 0u);
}

class DraftsOfRecipe : public testing::TestWithParam<std::string> {};

TEST_P(DraftsOfRecipe, leave_greedy_and_drawn_tokens_as_they_are) {
  if (!value_of(kvcache::Recipe::builtin(GetParam())).pipeline().check({}).ok())
    GTEST_SKIP() << "needs weights; session_drafts_test.cpp has them";
  TestModel model = model_of_layers(2);
  for (const double temperature : {0.0, 1.0}) {
    const Asked asked{.recipe = GetParam().c_str(),
                      .n_prompt = 500,
                      .n_answer = 80,
                      .sampling = {.temperature = temperature, .seed = 5, .n_tokens_max = 0}};
    const Answer plain = answer(model, asked, kNone), drafted = answer(model, asked, kBoth);
    EXPECT_EQ(drafted.ids, plain.ids);
    RecordProperty("accepted", static_cast<int>(drafted.drafts.n_accepted));
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, DraftsOfRecipe, testing::ValuesIn(test::usable_recipes()),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace satchel::runtime
