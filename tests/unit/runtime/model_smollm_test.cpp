// SmolLM2-135M-Instruct against transformers (float32 on the dequantised weights) and
// llama-cpp-python. Skipped by name where the file is not on this machine.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "unit/runtime/model_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using Ids = std::span<const std::int32_t>;

// From float32 with float32 K and V; logits reach 30. Measured on 2026-11-21: 0.0163.
constexpr double kTolerance = 0.04;
// llama.cpp multiplies with 8-bit activations: its logits are up to 0.61 from ours, which are those
// of transformers; so only a margin of twice that says anything.
constexpr double kLlamaCppTolerance = 0.65;

std::filesystem::path smollm_file() {
  if (const char* named = std::getenv("SATCHEL_TEST_MODEL")) return named;
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home == nullptr ? "/" : home) /
         ".local/share/satchel/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

class SmolLM : public testing::Test {
 protected:
  void SetUp() override {
    auto file = GgufFile::open(smollm_file());
    if (!file.ok())
      GTEST_SKIP() << "no SmolLM2-135M-Instruct (packaging/get-model.sh gets it): "
                   << file.error().message;
    model_ = open_model(std::move(file).value(), "cpu");
    fixtures_ = read_model_fixtures("smollm2.txt");
    ASSERT_EQ(fixtures_.size(), 3u);
  }
  TestModel model_;
  std::vector<ModelFixture> fixtures_;
};

TEST_F(SmolLM, greedy_tokens_equal_transformers_for_200_tokens) {
  for (const ModelFixture& fixture : fixtures_) {
    const auto cache = model_.cache("full", fixture.tokens.size() + fixture.greedy.size());
    std::vector<float> logits = model_.read(*cache, fixture.tokens);
    std::size_t n_same = 0;
    while (n_same < fixture.greedy.size() &&
           top_of(logits) == static_cast<std::size_t>(fixture.greedy[n_same]))
      logits = model_.decode(*cache, fixture.greedy[n_same++]);
    EXPECT_EQ(n_same, 200u);
  }
}

TEST_F(SmolLM, logits_equal_transformers) {
  double largest = 0;
  for (const ModelFixture& fixture : fixtures_) {
    std::vector<std::int32_t> text = fixture.tokens;
    text.insert(text.end(), fixture.greedy.begin(), fixture.greedy.end());
    const auto cache = model_.cache("full", text.size());
    for (const LogitRow& row : fixture.rows) {
      const auto logits = model_.read(
          *cache, Ids(text).subspan(cache->n_tokens(), row.position + 1 - cache->n_tokens()));
      for (const auto& [id, logit] : row.top)
        largest = std::max(largest,
                           std::abs(double{logits[static_cast<std::size_t>(id)]} - double{logit}));
    }
  }
  std::printf("largest difference from transformers: %.4f\n", largest);
  EXPECT_LE(largest, kTolerance);
}

TEST_F(SmolLM, the_argmax_equals_llama_cpp_wherever_its_margin_says_something) {
  const auto others = read_model_fixtures("smollm2_llama_cpp.txt");
  ASSERT_EQ(others.size(), 1u);
  std::vector<std::int32_t> text = fixtures_[0].tokens;
  text.insert(text.end(), fixtures_[0].greedy.begin(), fixtures_[0].greedy.end());
  ASSERT_EQ(others[0].rows.size(), text.size());
  const auto cache = model_.cache("full", text.size());
  std::size_t n_judged = 0;
  double largest = 0;
  for (const LogitRow& row : others[0].rows) {
    const auto logits = model_.decode(*cache, text[row.position]);
    const auto [first, logit] = row.top[0];
    const double margin = double{logit} - double{row.top[1].second};
    largest = std::max(largest,
                       std::abs(double{logits[static_cast<std::size_t>(first)]} - double{logit}));
    if (margin <= 2 * kLlamaCppTolerance) continue;
    ++n_judged;
    EXPECT_EQ(top_of(logits), static_cast<std::size_t>(first)) << row.position;
  }
  std::printf("largest difference from llama.cpp: %.4f; %zu of %zu positions judged\n", largest,
              n_judged, text.size());
  EXPECT_LE(largest, kLlamaCppTolerance);
  EXPECT_GE(n_judged, text.size() / 2);
}

}  // namespace
}  // namespace satchel::runtime
