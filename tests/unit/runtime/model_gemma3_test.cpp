// Gemma 3: a tiny one of random weights against transformers, prompts longer than its window, and
// what is read from its metadata.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "unit/runtime/model_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using Ids = std::span<const std::int32_t>;

GgufFile tiny_file() {
  return std::move(GgufFile::open(std::string(SATCHEL_SOURCE_DIR) +
                                  "/tests/golden/model/gemma3_tiny.gguf"))
      .value();
}
ModelFixture fixture() {
  return read_model_fixtures("gemma3_tiny.txt").at(0);
}

class Gemma3 : public testing::TestWithParam<const char*> {};

// Logits reach 4.9. transformers works in float32, so that some keys fall to the other side when
// they are rounded to fp16: 0.0003 on 2026-11-21 (reference). A window that is one token too long
// or too short gives 1.2.
constexpr double kTolerance = 0.004;

TEST_P(Gemma3, logits_equal_transformers_within_and_beyond_the_window) {
  const ModelFixture golden = fixture();
  ASSERT_EQ(golden.full.size(), 15u);
  for (const std::size_t chunk : {256u, 16u}) {
    TestModel model = open_model(tiny_file(), GetParam(), chunk);
    for (const auto& [position, expected] : golden.full) {
      const auto cache = model.cache("full", golden.tokens.size());
      const auto logits = model.read(*cache, Ids(golden.tokens).first(position + 1));
      EXPECT_LE(largest_difference(logits, expected), kTolerance)
          << "position " << position << ", chunks of " << chunk;
    }
  }
}

TEST_P(Gemma3, decoding_step_by_step_gives_the_same_logits) {
  const ModelFixture golden = fixture();
  TestModel model = open_model(tiny_file(), GetParam());
  const auto cache = model.cache("full", golden.tokens.size());
  std::size_t n_compared = 0;
  for (std::size_t i = 0; i < golden.tokens.size(); ++i) {
    const auto logits = model.decode(*cache, golden.tokens[i]);
    for (const auto& [position, expected] : golden.full) {
      if (position != i) continue;
      EXPECT_LE(largest_difference(logits, expected), kTolerance) << "position " << position;
      ++n_compared;
    }
  }
  EXPECT_EQ(n_compared, golden.full.size());
}

TEST_P(Gemma3, several_turns_and_steps_give_the_logits_of_one_prompt) {
  const ModelFixture golden = fixture();
  TestModel model = open_model(tiny_file(), GetParam());
  const auto cache = model.cache("full", golden.tokens.size());
  model.read(*cache, Ids(golden.tokens).first(33));
  for (std::size_t i = 33; i < 60; ++i) model.decode(*cache, golden.tokens[i]);
  const auto logits = model.read(*cache, Ids(golden.tokens).subspan(60));
  EXPECT_LE(largest_difference(logits, golden.full.back().second), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Backends, Gemma3, testing::Values("reference", "cpu"),
                         [](const auto& row) { return std::string(row.param); });

TEST(Gemma3Config, five_layers_see_a_window_and_the_sixth_sees_everything) {
  const GgufFile file = tiny_file();
  const auto config = ModelConfig::from(file);
  ASSERT_TRUE(config.ok()) << config.error().message;
  ASSERT_EQ(config->n_layers(), 6u);
  EXPECT_EQ(config->context, 512u);
  for (std::size_t i = 0; i < 6; ++i) {
    const kvcache::LayerShape& shape = config->layers[i].attention;
    EXPECT_EQ(shape.window, i == 5 ? 0u : 16u) << i;
    EXPECT_EQ(shape.rope_pairs, kernels::RopePairs::halves);
    const double base = i == 5 ? 1e6 : 1e4, slower = i == 5 ? 8 : 1;
    EXPECT_NEAR(shape.inverse_frequency[3], std::pow(base, -6.0 / 32) / slower, 1e-9) << i;
    EXPECT_FLOAT_EQ(shape.attention_scale, 1 / std::sqrt(32.0f));
  }
}

TEST(Gemma3Config, caps_and_a_missing_window_are_refused) {
  const auto refusal = [](bool has_window, float cap) {
    tests::GgufWriter out;
    out.add_string("general.architecture", "gemma3")
        .add_u32("gemma3.block_count", 6)
        .add_u32("gemma3.embedding_length", 64)
        .add_u32("gemma3.feed_forward_length", 64)
        .add_u32("gemma3.context_length", 512)
        .add_u32("gemma3.attention.head_count", 4)
        .add_f32("gemma3.attention.layer_norm_rms_epsilon", 1e-6f);
    if (has_window) out.add_u32("gemma3.attention.sliding_window", 16);
    if (cap != 0) out.add_f32("gemma3.final_logit_softcapping", cap);
    out.add_tensor("token_embd.weight", {64, 8}, std::vector<float>(8 * 64));
    const auto bytes = out.bytes();
    const auto file = GgufFile::view(bytes);
    const auto config = ModelConfig::from(*file);
    return config.ok() ? "accepted" : config.error().message + " [" + config.error().code + "]";
  };
  EXPECT_EQ(refusal(true, 0), "accepted");
  EXPECT_THAT(refusal(false, 0), testing::HasSubstr("gemma3.attention.sliding_window"));
  EXPECT_THAT(refusal(true, 30), testing::HasSubstr("final_logit_softcapping\" is set"));
}

}  // namespace
}  // namespace satchel::runtime
