// Steps of several tokens, some of them drafted wrong, against steps of one: the same logits, bit
// for bit, and the same cache, for every recipe and kind of layer.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/base/rng.h"
#include "support/value_of.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kSteps = 420, kMost = 8;

// What came of them in a cache that took several tokens at a time.
struct Drafting {
  std::vector<std::vector<float>> logits;  // after each token
  std::size_t n_steps = 0;
};

Drafting decode_drafting(TestModel& model, kvcache::Cache& cache,
                         std::span<const std::int32_t> ids) {
  Drafting out;
  Rng rng(11);
  const auto from_one_to = [&rng](std::size_t n) {
    return 1 + static_cast<std::size_t>(rng.uniform() * static_cast<double>(n));
  };
  const auto n_vocabulary = static_cast<std::int32_t>(model.config().n_vocabulary);
  for (std::size_t at = 0; at < ids.size(); ++out.n_steps) {
    const std::size_t n_most = std::min({kMost, cache.step_room(), ids.size() - at});
    const std::size_t n = from_one_to(n_most), n_kept = from_one_to(n);
    std::vector<std::int32_t> step(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                   ids.begin() + static_cast<std::ptrdiff_t>(at + n));
    for (std::size_t i = n_kept; i < n; ++i) step[i] = (step[i] + 1) % n_vocabulary;
    DraftedStep drafted = value_of(model.model->decode_drafted(cache, step));
    for (std::size_t i = 0; i < n_kept; ++i) {
      out.logits.emplace_back(model.config().n_vocabulary);
      EXPECT_TRUE(drafted.fetch_logits(i, out.logits.back()).ok());
    }
    EXPECT_TRUE(drafted.end(n_kept).ok());
    at += n_kept;
  }
  return out;
}

class DraftedSteps : public testing::TestWithParam<const char*> {};

TEST_P(DraftedSteps, are_steps_of_one_token_bit_for_bit) {
  TestModel model = tiny_model({.type = kernels::WeightType::q4_0, .n_layers = 3}, "cpu");
  const std::vector<std::int32_t> ids = random_ids(kSteps, 288, 3);
  const std::vector<std::int32_t> prompt = random_ids(300, 288, 4);
  auto one = model.cache(GetParam(), 1000), several = model.cache(GetParam(), 1000);
  model.read(*one, prompt);
  model.read(*several, prompt);
  const Drafting drafting = decode_drafting(model, *several, ids);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ASSERT_EQ(drafting.logits[i], model.decode(*one, ids[i])) << "token " << i;
  EXPECT_EQ(one->stats().bytes, several->stats().bytes);
  EXPECT_EQ(one->stats().n_kept, several->stats().n_kept);
  RecordProperty("steps", static_cast<int>(drafting.n_steps));
  std::printf("%s: %zu steps for %zu tokens\n", GetParam(), drafting.n_steps, ids.size());
}

TEST_P(DraftedSteps, that_are_dropped_leave_no_trace) {
  TestModel model = tiny_model({.n_layers = 2}, "cpu");
  const std::vector<std::int32_t> ids = random_ids(8, 288, 3), prompt = random_ids(200, 288, 4);
  auto one = model.cache(GetParam(), 400), several = model.cache(GetParam(), 400);
  model.read(*one, prompt);
  model.read(*several, prompt);
  const std::size_t n = std::min<std::size_t>(several->step_room(), 4);
  ASSERT_TRUE(model.model->decode_drafted(*several, std::span(ids).last(n)).ok());
  EXPECT_EQ(several->n_tokens(), prompt.size());
  for (const std::int32_t id : ids) ASSERT_EQ(model.decode(*several, id), model.decode(*one, id));
}

INSTANTIATE_TEST_SUITE_P(Recipes, DraftedSteps,
                         testing::Values("full", "balanced", "compact", "extreme", "ladder-2",
                                         "minikv", "streamingllm", "h2o", "snapkv", "quest",
                                         "satchel-refit"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace satchel::runtime
