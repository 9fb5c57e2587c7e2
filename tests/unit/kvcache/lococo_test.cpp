// LoCoCo (arXiv:2406.05317) against plain loops with made-up weights. Lc1 and Lc2: the golden cases
// of the project's method notes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/rng.h"
#include "support/selector.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/merged_lane.h"

namespace satchel::kvcache {
namespace {

using test::SelectorMethod;

constexpr std::size_t kTokens = 60, kDim = 8, kChannels = 3, kKernel = 5;

SelectorSet weights_of(float blend, std::size_t kernel = kKernel) {
  SelectorWeights weights = test::selector_of(
      SelectorMethod::lococo, {.layers = {{.n_heads = 1, .n_kv_heads = 1, .head_dim = kDim}}},
      {.n_channels = kChannels, .kernel = kernel});
  std::get<SelectorWeights::LoCoCo>(weights.layers[0]).normalizer.values = {blend};
  return test::set_of(std::move(weights));
}

// Made-up keys and values; every third token stays, the first two are protected.
MergedLane made_up_lane(SelectorSet selectors) {
  MergedLane lane;
  lane.head_dim = kDim;
  lane.selectors = std::move(selectors);
  Rng rng(4);
  const auto row = [&rng] {
    std::vector<float> x(kDim);
    for (float& each : x) each = static_cast<float>(rng.uniform() * 4 - 2);
    return x;
  };
  for (std::size_t t = 0; t < kTokens; ++t)
    lane.add({.k = row(),
              .v = row(),
              .score = static_cast<float>(1 + rng.next() % 1000),
              .kept = t < 2 || t % 3 == 0,
              .is_protected = t < 2});
  return lane;
}

// The retained tokens that are slots: all but the `heavy` share that scores most and the protected.
std::vector<std::size_t> slots_of(const MergedLane& lane, double heavy) {
  std::vector<std::size_t> kept;
  for (std::size_t t = 0; t < kTokens; ++t)
    if (lane.tiers[t] != kGone) kept.push_back(t);
  const auto n = static_cast<std::ptrdiff_t>(std::ceil(heavy * double(kept.size())));
  std::ranges::stable_sort(
      kept, [&](std::size_t a, std::size_t b) { return lane.scores[a] > lane.scores[b]; });
  kept.erase(kept.begin(), kept.begin() + n);
  std::erase_if(kept, [&](std::size_t t) { return lane.scores[t] == kNeverEvict; });
  std::ranges::sort(kept);
  return kept;
}

// The paper's formula over one stretch, token by token: x [n][2 · kDim], slots among them.
std::vector<std::vector<double>> mixed(const SelectorWeights::LoCoCo& taught,
                                       const std::vector<std::vector<double>>& x,
                                       const std::vector<std::size_t>& slots) {
  const double blend = double{taught.normalizer.values[0]};
  const std::size_t n_in = 2 * kDim, kernel = taught.conv.shape[2];
  std::vector<std::vector<double>> out;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::size_t channel = i * taught.conv.shape[0] / slots.size();
    std::vector<double> weights(x.size());
    double sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      double logit = double{taught.bias.values[channel]};
      for (std::size_t at = 0; at < kernel; ++at) {
        const std::size_t token = j + at;  // less kernel / 2
        if (token < kernel / 2 || token - kernel / 2 >= x.size()) continue;
        for (std::size_t c = 0; c < n_in; ++c)
          logit += double{taught.conv.values[(channel * n_in + c) * kernel + at]} *
                   x[token - kernel / 2][c];
      }
      sum += weights[j] = std::exp(std::max(logit, 0.0));
    }
    double total = 0;
    std::vector<double>& slot = out.emplace_back(n_in);
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double weight = (j == slots[i] ? 1 - blend : 0) + blend * weights[j] / sum;
      total += weight;
      for (std::size_t c = 0; c < n_in; ++c) slot[c] += weight * x[j][c];
    }
    EXPECT_NEAR(total, 1, 1e-9);  // Lc2
  }
  return out;
}

void expect_mixed(double heavy, std::size_t kernel) {
  const SelectorSet selectors = weights_of(0.25f, kernel);
  const auto& taught = *LayerSelectors(selectors, 0).get<SelectorWeights::LoCoCo>();
  const MergedLane before = made_up_lane(selectors);
  MergedLane after = before;
  after.merge("lococo", "{ \"heavy\": " + std::to_string(heavy) + " }");
  const std::vector<std::size_t> all_slots = slots_of(before, heavy);
  std::vector<std::size_t> tokens, places;  // no heavy hitters; slots among them
  for (std::size_t t = 0; t < kTokens; ++t) {
    const bool is_slot = std::ranges::count(all_slots, t) > 0;
    if (is_slot) places.push_back(tokens.size());
    if (is_slot || before.tiers[t] == kGone) tokens.push_back(t);
  }
  // In stretches of at most kChannels slots, as equal as they can be.
  const std::size_t n_stretches = (places.size() + kChannels - 1) / kChannels;
  EXPECT_GT(n_stretches, 1u);
  std::vector<bool> is_mixed(kTokens);
  for (std::size_t i = 0; i < n_stretches; ++i) {
    const std::size_t first = i * places.size() / n_stretches,
                      end = (i + 1) * places.size() / n_stretches;
    const std::size_t begin = i == 0 ? 0 : places[first],
                      stop = i + 1 == n_stretches ? tokens.size() : places[end];
    std::vector<std::vector<double>> x;
    std::vector<std::size_t> slots;
    for (std::size_t j = begin; j < stop; ++j) {
      std::vector<double>& row = x.emplace_back();
      for (std::size_t c = 0; c < kDim; ++c) row.push_back(double{before.key(tokens[j], c)});
      for (std::size_t c = 0; c < kDim; ++c) row.push_back(double{before.value(tokens[j], c)});
    }
    for (std::size_t j = first; j < end; ++j) slots.push_back(places[j] - begin);
    const auto expected = mixed(taught, x, slots);
    for (std::size_t j = 0; j < slots.size(); ++j) {
      const std::size_t t = tokens[begin + slots[j]];
      is_mixed[t] = true;
      for (std::size_t c = 0; c < kDim; ++c) {  // a step of fp16 apart
        EXPECT_NEAR(double{after.key(t, c)}, expected[j][c], 2e-3) << t;
        EXPECT_NEAR(double{after.value(t, c)}, expected[j][kDim + c], 2e-3) << t;
      }
    }
  }
  for (std::size_t t = 0; t < kTokens; ++t)
    for (std::size_t c = 0; c < kDim && !is_mixed[t]; ++c) {
      EXPECT_EQ(after.key(t, c), before.key(t, c)) << t;
      EXPECT_EQ(after.value(t, c), before.value(t, c)) << t;
    }
  EXPECT_EQ(std::ranges::count(is_mixed, true), static_cast<std::ptrdiff_t>(all_slots.size()));
}

TEST(LoCoCo, mixes_slots_as_the_paper_s_formula_says) {
  for (const double heavy : {0.0, 0.5})
    for (const std::size_t kernel : {1u, 3u, 5u, 21u}) {
      SCOPED_TRACE(testing::Message() << heavy << " " << kernel);
      expect_mixed(heavy, kernel);
    }
}

// Lc1: without a part of the convolution's, slots are the tokens whose places they have.
TEST(LoCoCo, of_no_blend_is_the_choice_of_heavy_hitters_alone) {
  const MergedLane before = made_up_lane(weights_of(0));
  MergedLane after = before;
  after.merge("lococo");
  EXPECT_EQ(after.k, before.k);
  EXPECT_EQ(after.v, before.v);
}

TEST(LoCoCo, leaves_all_as_it_is_where_every_retained_token_is_heavy) {
  const MergedLane before = made_up_lane(weights_of(1));
  MergedLane after = before;
  after.merge("lococo", R"({ "heavy": 1 })");
  EXPECT_EQ(after.k, before.k);
  EXPECT_EQ(after.v, before.v);
}

// A document's lanes: what H2O keeps, a half of it as it was, the other half changed.
TEST(LoCoCo, keeps_the_tokens_that_h2o_keeps_and_changes_half_of_them) {
  constexpr std::size_t kText = 400, kKept = kText / 5;
  const CacheDriver::Setup setup{.recipe = "lococo", .n_layers = 1, .n_heads = 4, .head_dim = 32};
  CacheDriver driver(setup);
  driver.check_attention = false;  // a slot is no token that was read
  ASSERT_TRUE(driver.read(kText).ok());
  SelectorWeights weights = *driver.shape().selectors.of(SelectorMethod::lococo);
  for (SelectorWeights::Layer& layer : weights.layers)
    std::get<SelectorWeights::LoCoCo>(layer).normalizer.values = {0};
  CacheDriver::Setup unmixed = setup;
  unmixed.selectors = test::set_of(std::move(weights));
  CacheDriver plain(unmixed);
  ASSERT_TRUE(plain.read(kText).ok());
  ASSERT_EQ(driver.all_kept(), plain.all_kept());
  for (std::size_t head = 0; head < 2; ++head) {
    const DecodedLane got = driver.decode(0, head), as_read = plain.decode(0, head);
    ASSERT_EQ(got.size(), kKept);
    std::size_t n_changed = 0;
    for (const auto& [position, token] : got)
      n_changed += token.v == as_read.at(position).v ? 0u : 1u;
    EXPECT_GE(n_changed, kKept / 2 - 2) << head;
    EXPECT_LE(n_changed, kKept / 2) << head;
  }
}

}  // namespace
}  // namespace satchel::kvcache
