// Gemma 3, and what it shares with Gemma 2: what is read from their metadata. (Their logits:
// model_architectures_test.cpp.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/source_dir.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

GgufFile tiny_file() {
  return std::move(GgufFile::open(test::source_dir() + "/tests/golden/model/arch_gemma3.gguf"))
      .value();
}

TEST(Gemma3Config, five_layers_see_a_window_and_the_sixth_sees_everything) {
  const GgufFile file = tiny_file();
  const auto config = ModelConfig::from(file);
  ASSERT_TRUE(config.ok()) << config.error().message;
  ASSERT_EQ(config->n_layers(), 6u);
  EXPECT_EQ(config->context, 128u);
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

TEST(GemmaConfig, only_the_27b_models_scale_attention_by_the_width_of_a_head) {
  const auto scale = [](const std::string& arch, std::uint32_t n_layers) {
    tests::GgufWriter out;
    out.add_string("general.architecture", arch)
        .add_u32(arch + ".block_count", n_layers)
        .add_u32(arch + ".embedding_length", 64)
        .add_u32(arch + ".feed_forward_length", 64)
        .add_u32(arch + ".context_length", 512)
        .add_u32(arch + ".attention.head_count", 4)
        .add_u32(arch + ".attention.key_length", 32)
        .add_u32(arch + ".attention.value_length", 32)
        .add_u32(arch + ".attention.sliding_window", 16)
        .add_f32(arch + ".attention.layer_norm_rms_epsilon", 1e-6f);
    out.add_tensor("token_embd.weight", {64, 8}, std::vector<float>(8 * 64));
    const auto bytes = out.bytes();
    const auto file = GgufFile::view(bytes);
    const auto config = ModelConfig::from(*file);
    return config.ok() ? config->layers.back().attention.attention_scale : 0.0f;
  };
  EXPECT_FLOAT_EQ(scale("gemma2", 46), 1 / std::sqrt(64.0f / 4));
  EXPECT_FLOAT_EQ(scale("gemma3", 62), 1 / std::sqrt(64.0f / 4));
  EXPECT_FLOAT_EQ(scale("gemma2", 62), 1 / std::sqrt(32.0f));
  EXPECT_FLOAT_EQ(scale("gemma3", 46), 1 / std::sqrt(32.0f));
}

}  // namespace
}  // namespace satchel::runtime
