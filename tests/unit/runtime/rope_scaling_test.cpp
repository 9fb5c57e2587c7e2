// Scaled RoPE: frequencies and amplitude against transformers
// (tests/golden/model/rope_scaling.txt), from the metadata and tensors that GGUF files have for
// them; what cannot be is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>

#include "runtime/gguf/reader.h"
#include "runtime/model/config.h"
#include "support/gguf_writer.h"
#include "support/source_dir.h"

namespace satchel::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::GgufWriter;

struct Golden {
  double amplitude = 0;
  std::vector<double> frequencies;
};

std::map<std::string, Golden> read_golden() {
  std::ifstream file(test::source_dir() + "/tests/golden/model/rope_scaling.txt");
  std::map<std::string, Golden> out;
  std::string name;
  std::size_t n = 0;
  for (Golden golden; file >> name >> golden.amplitude >> n;) {
    golden.frequencies.resize(n);
    for (double& frequency : golden.frequencies) file >> frequency;
    out[name] = golden;
  }
  return out;
}

// A model of two heads, no weights but a table of 8 tokens.
GgufWriter metadata(std::uint32_t head_dim, std::uint32_t context, float base,
                    const std::string& architecture = "llama") {
  GgufWriter out;
  const std::string of = architecture + ".";
  out.add_string("general.architecture", architecture)
      .add_u32(of + "block_count", 1)
      .add_u32(of + "embedding_length", 2 * head_dim)
      .add_u32(of + "feed_forward_length", 64)
      .add_u32(of + "context_length", context)
      .add_u32(of + "attention.head_count", 2)
      .add_f32(of + "attention.layer_norm_rms_epsilon", 1e-6f)
      .add_f32(of + "rope.freq_base", base);
  out.add_tensor("token_embd.weight", {2 * head_dim, 8},
                 std::vector<float>(std::size_t{16} * head_dim));
  return out;
}

Result<ModelConfig> config_of(const GgufWriter& writer) {
  const auto bytes = writer.bytes();
  const auto file = GgufFile::view(bytes);
  if (!file.ok()) return file.error();
  return ModelConfig::from(*file);
}

GgufWriter yarn(GgufWriter out, float factor, std::uint32_t original,
                const std::string& architecture = "llama") {
  const std::string of = architecture + ".rope.scaling.";
  out.add_string(of + "type", "yarn")
      .add_f32(of + "factor", factor)
      .add_u32(of + "original_context_length", original);
  return out;
}

// A layer without experts, which the architecture does not ask for.
GgufWriter gpt_oss(std::vector<float> sink_logits) {
  GgufWriter out = metadata(64, 131072, 150'000, "gpt-oss");
  out.add_u32("gpt-oss.attention.sliding_window", 128);
  out.add_tensor("blk.0.attn_sinks.weight", {sink_logits.size()}, sink_logits);
  return yarn(out, 32, 4096, "gpt-oss");
}

GgufWriter longrope(std::uint32_t context) {
  GgufWriter out = metadata(96, context, 10'000);
  out.add_u32("llama.rope.scaling.original_context_length", 4096);
  std::vector<float> slow(48), fast(48);
  for (std::size_t i = 0; i < 48; ++i) {
    slow[i] = 1 + 0.25f * static_cast<float>(i);
    fast[i] = 1 + 0.125f * static_cast<float>(i);
  }
  out.add_tensor("rope_factors_long.weight", {48}, slow);
  out.add_tensor("rope_factors_short.weight", {48}, fast);
  return out;
}

GgufWriter file_of(const std::string& name) {
  if (name == "linear")
    return metadata(64, 16384, 10'000)
        .add_string("llama.rope.scaling.type", "linear")
        .add_f32("llama.rope.scaling.factor", 4);
  if (name == "yarn") return yarn(metadata(128, 131072, 1'000'000), 4, 32768);
  if (name == "yarn_options")
    return yarn(metadata(128, 131072, 500'000), 8, 8192)
        .add_f32("llama.rope.scaling.yarn_beta_fast", 16)
        .add_f32("llama.rope.scaling.yarn_beta_slow", 2)
        .add_f32("llama.rope.scaling.yarn_attn_factor", 1.5f);
  if (name == "yarn_between_pairs") return gpt_oss({0, 0});
  if (name == "yarn_mscale")
    return yarn(metadata(64, 65536, 10'000), 16, 4096)
        .add_f32("llama.rope.scaling.yarn_log_multiplier", 0.5f);
  return longrope(name == "longrope_long" ? 131072 : 4096);
}

TEST(RopeScaling, frequencies_and_amplitudes_are_those_of_transformers) {
  const auto all = read_golden();
  ASSERT_EQ(all.size(), 7u);
  for (const auto& [name, golden] : all) {
    const auto config = config_of(file_of(name));
    ASSERT_TRUE(config.ok()) << name << ": " << config.error().message;
    const kvcache::LayerShape& shape = config->layers[0].attention;
    ASSERT_EQ(shape.inverse_frequency.size(), golden.frequencies.size()) << name;
    for (std::size_t i = 0; i < golden.frequencies.size(); ++i)
      EXPECT_NEAR(shape.inverse_frequency[i] / golden.frequencies[i], 1, 2e-6) << name << ", " << i;
    const double squared =
        static_cast<double>(shape.attention_scale) * std::sqrt(static_cast<double>(shape.head_dim));
    EXPECT_NEAR(std::sqrt(squared), golden.amplitude, 1e-6) << name;
    EXPECT_EQ(config->layers[0].rotated_scale, 1) << name;
  }
}

TEST(GptOss, sink_logits_are_one_finite_number_for_each_head) {
  const auto config = config_of(gpt_oss({-1.5f, 2}));
  ASSERT_TRUE(config.ok()) << config.error().message;
  const kvcache::LayerShape& shape = config->layers[0].attention;
  EXPECT_THAT(shape.sink_logits, testing::ElementsAre(-1.5f, 2));
  EXPECT_EQ(shape.window, 128u);
  EXPECT_THAT(shape.lse_of_no_key(2), testing::ElementsAre(-1.5f, 2, -1.5f, 2));
  for (const std::vector<float>& wrong : {std::vector<float>{1}, {1, 2, 3}, {1, NAN}}) {
    const auto refused = config_of(gpt_oss(wrong));
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("blk.0.attn_sinks.weight"));
  }
  const auto without =
      config_of(yarn(metadata(64, 131072, 150'000, "gpt-oss"), 32, 4096, "gpt-oss"));
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().message, HasSubstr("blk.0.attn_sinks.weight"));
}

TEST(RopeScaling, where_a_part_of_a_head_turns_the_amplitude_belongs_to_that_part) {
  const auto config = config_of(
      yarn(metadata(128, 131072, 1'000'000), 4, 32768).add_u32("llama.rope.dimension_count", 64));
  ASSERT_TRUE(config.ok()) << config.error().message;
  const double amplitude = 0.1 * std::log(4.0) + 1;
  EXPECT_NEAR(config->layers[0].rotated_scale, amplitude * amplitude, 1e-6);
  EXPECT_FLOAT_EQ(config->layers[0].attention.attention_scale, 1 / std::sqrt(128.0f));
}

const kvcache::LayerShape& shape_of(const Result<ModelConfig>& config) {
  return config->layers.at(0).attention;
}

TEST(RopeScaling, an_old_linear_factor_is_one_of_type_linear) {
  const auto old = config_of(metadata(64, 16384, 10'000).add_f32("llama.rope.scale_linear", 4));
  const auto linear = config_of(file_of("linear"));
  ASSERT_TRUE(old.ok() && linear.ok());
  EXPECT_EQ(shape_of(old).inverse_frequency, shape_of(linear).inverse_frequency);
}

TEST(RopeScaling, yarn_slows_every_pair_where_none_stays_as_trained) {
  const auto with = [](float ext_factor) {
    return config_of(file_of("yarn").add_f32("llama.rope.scaling.yarn_ext_factor", ext_factor));
  };
  const auto plain = config_of(metadata(128, 131072, 1'000'000));
  const auto yarn = config_of(file_of("yarn")), all = with(0), not_set = with(-1);
  ASSERT_TRUE(plain.ok() && yarn.ok() && all.ok() && not_set.ok());
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_DOUBLE_EQ(shape_of(all).inverse_frequency[i], shape_of(plain).inverse_frequency[i] / 4);
  EXPECT_EQ(shape_of(not_set).inverse_frequency, shape_of(yarn).inverse_frequency);
}

TEST(RopeScaling, yarn_by_long_and_short_factors_is_longrope_with_its_own_amplitude) {
  const auto named = config_of(longrope(131072).add_string("llama.rope.scaling.type", "yarn"));
  const auto plain = config_of(longrope(131072));
  ASSERT_TRUE(named.ok() && plain.ok());
  EXPECT_EQ(shape_of(named).inverse_frequency, shape_of(plain).inverse_frequency);
  const double amplitude = 0.1 * std::log(32.0) + 1;
  EXPECT_NEAR(shape_of(named).attention_scale, amplitude * amplitude / std::sqrt(96.0), 1e-6);
}

std::string refusal(const GgufWriter& writer) {
  const auto config = config_of(writer);
  return config.ok() ? "accepted" : config.error().message + " [" + config.error().code + "]";
}

TEST(RopeScaling, an_amplitude_that_cannot_be_is_refused) {
  const auto impossible =
      AllOf(HasSubstr("llama.rope.scaling\""), HasSubstr("scales queries and keys"),
            HasSubstr("[MODEL_METADATA]"));
  GgufWriter from_one = metadata(64, 512, 10'000);
  from_one.add_u32("llama.rope.scaling.original_context_length", 1)
      .add_tensor("rope_factors_long.weight", {32}, std::vector<float>(32, 1));
  EXPECT_THAT(refusal(from_one), impossible);
  const auto weighed = [](float weight) {
    return refusal(file_of("yarn").add_f32("llama.rope.scaling.yarn_log_multiplier", weight));
  };
  EXPECT_EQ(weighed(1), "accepted");
  EXPECT_THAT(weighed(-10), impossible);  // the square would hide the sign
  EXPECT_THAT(weighed(-1 / (0.1f * std::log(4.0f))), impossible);
  for (const float factor : {101.0f, 3e38f})
    EXPECT_THAT(
        refusal(metadata(64, 512, 10'000).add_f32("llama.rope.scaling.attn_factor", factor)),
        impossible);
}

TEST(RopeScaling, factors_that_the_scaling_does_not_use_are_refused) {
  const std::vector<float> ones(48, 1);
  GgufWriter only_short = metadata(96, 512, 10'000);
  only_short.add_tensor("rope_factors_short.weight", {48}, ones);
  EXPECT_EQ(refusal(only_short),
            "The model has a tensor \"rope_factors_short.weight\", which RoPE scaling \"none\" "
            "does not use. [MODEL_ARCH]");
  EXPECT_THAT(refusal(longrope(131072)
                          .add_string("llama.rope.scaling.type", "linear")
                          .add_f32("llama.rope.scaling.factor", 4)),
              HasSubstr("\"rope_factors_long.weight\", which RoPE scaling \"linear\""));
  EXPECT_THAT(refusal(longrope(4096).add_string("llama.rope.scaling.type", "dynamic")),
              HasSubstr("\"dynamic\" is not supported"));
}

TEST(RopeScaling, what_is_not_known_or_cannot_be_is_refused) {
  EXPECT_THAT(refusal(metadata(64, 512, 10'000).add_string("llama.rope.scaling.type", "dynamic")),
              HasSubstr("\"dynamic\" is not supported"));
  EXPECT_THAT(refusal(metadata(64, 512, 10'000).add_string("llama.rope.scaling.type", "yarn")),
              HasSubstr("llama.rope.scaling.factor"));
  EXPECT_THAT(refusal(yarn(metadata(64, 512, 10'000), 4, 128)
                          .add_f32("llama.rope.scaling.yarn_beta_fast", 0.5f)),
              HasSubstr("yarn_beta_fast"));
  EXPECT_THAT(refusal(file_of("yarn").add_f32("llama.rope.scaling.yarn_ext_factor", 1.5f)),
              HasSubstr("yarn_ext_factor"));
  EXPECT_THAT(refusal(metadata(64, 512, 10'000).add_string("llama.rope.scaling.type", "longrope")),
              HasSubstr("rope_factors_short.weight"));
  GgufWriter zero = metadata(64, 512, 10'000);
  zero.add_tensor("rope_freqs.weight", {32}, std::vector<float>(32));
  EXPECT_THAT(refusal(zero), HasSubstr("not a finite number above 0"));
}

}  // namespace
}  // namespace satchel::runtime
