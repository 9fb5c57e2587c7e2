// The rules by which lanes are found, on the bundled model (their arithmetic:
// lane_rule_parts_test.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "app/eval/lane_rules/attention_rule.h"
#include "app/eval/lane_rules/rules.h"
#include "support/bundled_model.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::eval {
namespace {

using namespace runtime;  // what tests share

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<double>;

// The lanes that remember (docs/recipes.md): layer 4 head 0 and layer 5 head 0.
constexpr std::size_t kRemembers[] = {8, 10};

const ProgressFn kSilent;

Result<LaneFindings> find(std::string_view rule, std::span<const ProfileText> texts = {},
                          std::stop_token stop = {}, const ProgressFn& progress = kSilent) {
  const LaneRule* found = find_lane_rule(rule);
  EXPECT_NE(found, nullptr);
  return find_lanes(
      *found,
      {.engine = shared_engine(), .texts = texts, .stop = std::move(stop), .progress = progress});
}

TEST(LaneRules, are_found_by_name_and_the_first_is_kvzip) {
  EXPECT_EQ(lane_rules().front()->name, "kvzip");
  for (const LaneRule* rule : lane_rules()) {
    EXPECT_EQ(find_lane_rule(rule->name), rule);
    EXPECT_THAT(lane_rule_names(), HasSubstr(std::string(rule->name)));
  }
  EXPECT_EQ(find_lane_rule("no such rule"), nullptr);
  EXPECT_EQ(lane_rules_that_read_texts(), "kvzip, duo");
}

TEST(LaneRules, heads_of_layers_with_a_window_belong_to_no_lane) {
  ModelConfig config;
  config.layers.resize(3);
  for (LayerConfig& layer : config.layers) layer.attention.n_heads = 4;
  config.layers[0].attention.n_kv_heads = 2;
  config.layers[1].attention.n_kv_heads = 1;
  config.layers[1].attention.window = 512;
  config.layers[2].attention.n_kv_heads = 1;
  EXPECT_EQ(config.cache_shape().deciding_lanes().size(), 3u);
  EXPECT_EQ(n_heads_of(config), 8u);
  EXPECT_THAT(largest_of_heads(config, Values{1, 2, 4, 3, 5, 8, 6, 7}), ElementsAre(2, 4, 8));
}

TEST(LaneRules, what_a_layer_shows_is_the_attention_of_the_model) {
  const LaneSearch search{.engine = shared_engine(), .texts = {}, .stop = {}, .progress = kSilent};
  const auto ids = random_ids(300, shared_engine().config().n_vocabulary, 3);
  std::size_t n_layers = 0, n_heads = 0;
  ASSERT_TRUE(read_seen(search, ids, 0, 1, [&](const SeenLayer& layer) {
                EXPECT_EQ(layer.first_head, n_heads);
                EXPECT_EQ(layer.n_tokens, 300u);
                n_heads += layer.shape.n_heads;
                ++n_layers;
                for (std::size_t head = 0; head < layer.shape.n_heads; ++head)
                  for (const std::size_t from : {0u, 1u, 130u, 299u}) {
                    double sum = 0;
                    for (std::size_t to = 0; to <= from; ++to)
                      sum += layer.attention(head, from, to);
                    EXPECT_NEAR(sum, 1, 0.005) << "keys are stored in fp16";
                  }
              }).ok());
  EXPECT_EQ(n_layers, shared_engine().config().n_layers());
  EXPECT_EQ(n_heads, n_heads_of(shared_engine().config()));
}

TEST(LaneRules, every_backend_shows_the_same) {
  EngineOptions options;
  options.model = bundled_model();
  options.backend = "reference";
  const auto reference = value_of(Engine::open(options));
  const auto ids = random_ids(40, reference->config().n_vocabulary, 3);
  const auto seen = [&](Engine& engine) {
    Values all;
    const LaneSearch search{.engine = engine, .texts = {}, .stop = {}, .progress = kSilent};
    const auto done = read_seen(search, ids, 0, 1, [&](const SeenLayer& layer) {
      for (std::size_t head = 0; head < layer.shape.n_heads; ++head)
        for (std::size_t to = 0; to < 40; ++to) all.push_back(layer.attention(head, 39, to));
    });
    EXPECT_TRUE(done.ok());
    return all;
  };
  const Values plain = seen(*reference), fast = seen(shared_engine());
  ASSERT_EQ(plain.size(), fast.size());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], fast[i], 0.02) << i;
}

TEST(PrefillWatch, sees_every_token_of_every_layer_once_and_changes_nothing) {
  class Counter final : public PrefillWatch {
   public:
    std::vector<std::size_t> n_seen = std::vector<std::size_t>(2);
    Result<void> see(const LayerStep& step) override {
      EXPECT_EQ(step.batch.position_min, static_cast<std::int32_t>(n_seen[step.layer]));
      EXPECT_NE(step.work.pre_rope_q, nullptr);
      n_seen[step.layer] += step.batch.n_tokens;
      return {};
    }
  };
  TestModel model = tiny_model({}, "cpu", 64);
  const auto ids = random_ids(150, model.config().n_vocabulary, 5);
  const auto alone = model.cache("full", 256);
  const std::vector<float> expected = model.read(*alone, ids);
  const auto watched = model.cache("full", 256);
  Counter counter;
  std::vector<float> logits(model.config().n_vocabulary);
  ASSERT_TRUE(model.model
                  ->read_prompt({.cache = *watched,
                                 .ids = ids,
                                 .stop = {},
                                 .progress = kSilent,
                                 .logits = logits,
                                 .watch = &counter})
                  .ok());
  EXPECT_THAT(counter.n_seen, Each(150u));
  EXPECT_EQ(logits, expected);
}

class EveryLaneRule : public testing::TestWithParam<const LaneRule*> {};

TEST_P(EveryLaneRule, gives_a_whole_table_and_the_same_again) {
  std::size_t last = 0;
  const auto forward = [&](const Progress& now) {
    EXPECT_EQ(now.phase, Phase::profile);
    EXPECT_GE(now.done, last);
    last = now.done;
  };
  const LaneFindings found = value_of(find(GetParam()->name, {}, {}, forward));
  EXPECT_EQ(last, 1000u);
  EXPECT_EQ(found.table.model, shared_engine().fingerprint());
  EXPECT_EQ(found.table.n_lanes(), 12u);
  EXPECT_THAT(found.table.source, testing::StartsWith(std::string(GetParam()->name) + " over"));
  EXPECT_FALSE(found.of_texts.empty());
  ASSERT_EQ(found.table.rows.size(), kLaneKeeps.size());
  for (std::size_t r = 0; r < kLaneKeeps.size(); ++r) {
    const auto& row = found.table.rows[r];
    EXPECT_EQ(row.keep, kLaneKeeps[r]);
    const double mean = std::accumulate(row.shares.begin(), row.shares.end(), 0.0) / 12;
    EXPECT_NEAR(mean, row.keep, 0.001);
    EXPECT_THAT(row.shares, Each(testing::AllOf(testing::Ge(0.015), testing::Le(1 + 1e-12))));
  }
  EXPECT_TRUE(kvcache::HeadBudgets::parse(found.table.json(), "it").ok());
  EXPECT_EQ(value_of(find(GetParam()->name)).table.json(), found.table.json());
}

TEST_P(EveryLaneRule, stops_when_asked) {
  std::stop_source source;
  source.request_stop();
  const auto found = find(GetParam()->name, {}, source.get_token());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::cancelled);
}

INSTANTIATE_TEST_SUITE_P(All, EveryLaneRule,
                         testing::ValuesIn(lane_rules().begin(), lane_rules().end()),
                         [](const auto& of) { return std::string(of.param->name); });

// Of what a lane keeps at a quarter, the two largest.
std::set<std::size_t> fullest_two(std::string_view rule) {
  const Values shares = value_of(find(rule)).table.rows[2].shares;
  const std::vector<std::size_t> order = largest_first(shares);
  return {order[0], order[1]};
}

TEST(LaneRules, kvzip_razor_and_headkv_find_the_two_lanes_that_remember) {
  const std::set<std::size_t> remember(std::begin(kRemembers), std::end(kRemembers));
  for (const std::string_view rule : {"kvzip", "razor", "headkv"})
    EXPECT_EQ(fullest_two(rule), remember) << rule;
}

// Position alone does not tell: its other lane only looks far back.
TEST(LaneRules, duo_finds_one_of_them) {
  EXPECT_TRUE(fullest_two("duo").contains(kRemembers[1]));
  EXPECT_FALSE(fullest_two("duo").contains(kRemembers[0]));
}

TEST(LaneRules, texts_are_for_rules_that_read_them) {
  const std::string notes = held_out_notes();
  const std::vector<ProfileText> texts = {{"mine", notes}};
  const auto razor = find("razor", texts);
  ASSERT_FALSE(razor.ok());
  EXPECT_EQ(razor.error().code, "PARAM");
  EXPECT_EQ(value_of(find("duo", texts)).table.source, "duo over mine");
  const std::vector<ProfileText> few = {{"few", "Two words."}};
  const auto duo = find("duo", few);
  ASSERT_FALSE(duo.ok());
  EXPECT_THAT(duo.error().message, HasSubstr("\"few\""));
}

}  // namespace
}  // namespace satchel::eval
