// Real models against transformers (float32 on the dequantised weights) and llama-cpp-python.
// Skipped by name where the file is not on this machine.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "unit/runtime/model_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using Ids = std::span<const std::int32_t>;

struct RealModel {
  const char* fixture;
  const char* file;
  const char* got_by;  // packaging/get-model.sh with it
  // From float32 with float32 K and V; logits reach 30.
  double tolerance;
  // llama.cpp multiplies with 8-bit activations: only a margin of twice what its logits are from
  // ours, which are those of transformers, says anything.
  double llama_cpp_tolerance;
};
// Measured on 2026-11-23: smollm2 0.0243 and 0.62, gemma3_270m 0.0094 and 0.75.
constexpr RealModel kModels[] = {
    {"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "smollm", 0.04, 0.65},
    {"gemma3_270m", "gemma-3-270m-q4_k_m.gguf", "gemma", 0.03, 0.85},
};

std::filesystem::path model_folder() {
  if (const char* named = std::getenv("SATCHEL_TEST_MODELS")) return named;
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home == nullptr ? "/" : home) / ".local/share/satchel/models";
}

class ARealModel : public testing::TestWithParam<RealModel> {
 protected:
  void SetUp() override {
    auto file = GgufFile::open(model_folder() / GetParam().file);
    if (!file.ok())
      GTEST_SKIP() << "no " << GetParam().file << " (packaging/get-model.sh " << GetParam().got_by
                   << " gets it): " << file.error().message;
    model_ = open_model(std::move(file).value(), "cpu");
    fixtures_ = read_model_fixtures(std::string(GetParam().fixture) + ".txt");
    ASSERT_EQ(fixtures_.size(), 3u);
  }
  TestModel model_;
  std::vector<ModelFixture> fixtures_;
};

TEST_P(ARealModel, takes_the_200_greedy_tokens_of_transformers) {
  for (const ModelFixture& fixture : fixtures_) {
    ASSERT_EQ(fixture.greedy.size(), 200u);
    const auto cache = model_.cache("full", fixture.tokens.size() + fixture.greedy.size());
    std::vector<float> logits = model_.read(*cache, fixture.tokens);
    std::size_t n_same = 0;
    while (n_same < fixture.greedy.size() &&
           top_of(logits) == static_cast<std::size_t>(fixture.greedy[n_same]))
      logits = model_.decode(*cache, fixture.greedy[n_same++]);
    EXPECT_EQ(n_same, 200u);
  }
}

TEST_P(ARealModel, has_the_logits_of_transformers) {
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
  EXPECT_LE(largest, GetParam().tolerance);
}

TEST_P(ARealModel, takes_the_argmax_of_llama_cpp_wherever_its_margin_says_something) {
  const auto others = read_model_fixtures(std::string(GetParam().fixture) + "_llama_cpp.txt");
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
    if (margin <= 2 * GetParam().llama_cpp_tolerance) continue;
    ++n_judged;
    EXPECT_EQ(top_of(logits), static_cast<std::size_t>(first)) << row.position;
  }
  std::printf("largest difference from llama.cpp: %.4f; %zu of %zu positions judged\n", largest,
              n_judged, text.size());
  EXPECT_LE(largest, GetParam().llama_cpp_tolerance);
  EXPECT_GE(n_judged, text.size() / 2);
}

INSTANTIATE_TEST_SUITE_P(Models, ARealModel, testing::ValuesIn(kModels),
                         [](const auto& of) { return std::string(of.param.fixture); });

}  // namespace
}  // namespace satchel::runtime
