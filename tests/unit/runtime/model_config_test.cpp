// What is read from a model file, and what is refused in which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <utility>

#include "kernels/registry/registry.h"
#include "runtime/model/config.h"
#include "support/failing_backend.h"
#include "unit/runtime/tiny_model.h"
#include "unit/runtime/tiny_recurrent.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;
using tests::GgufWriter;

// Only what a config is made of: metadata and a table of 8 tokens.
GgufWriter metadata() {
  GgufWriter out;
  out.add_string("general.architecture", "llama")
      .add_u32("llama.block_count", 3)
      .add_u32("llama.embedding_length", 256)
      .add_u32("llama.feed_forward_length", 64)
      .add_u32("llama.context_length", 512)
      .add_u32("llama.attention.head_count", 4)
      .add_f32("llama.attention.layer_norm_rms_epsilon", 1e-6f);
  const std::vector<float> table(8 * 256);
  out.add_tensor("token_embd.weight", {256, 8}, table);
  return out;
}

Result<ModelConfig> config_of(const GgufWriter& writer) {
  const auto bytes = writer.bytes();
  auto file = GgufFile::view(bytes);
  if (!file.ok()) return file.error();
  return ModelConfig::from(*file);
}

std::string refusal(const GgufWriter& writer) {
  const auto config = config_of(writer);
  return config.ok() ? "accepted" : config.error().message + " [" + config.error().code + "]";
}

TEST(ModelConfig, of_the_bundled_model_is_as_its_metadata_say) {
  const auto file = GgufFile::open(bundled_model());
  ASSERT_TRUE(file.ok());
  const auto config = ModelConfig::from(*file);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->name, "notes-mini");
  ASSERT_EQ(config->n_layers(), 6u);
  EXPECT_EQ(config->width, 192u);
  for (const LayerConfig& layer : config->layers) {
    EXPECT_EQ(layer.attention.n_heads, 4u);
    EXPECT_EQ(layer.attention.n_kv_heads, 2u);
    EXPECT_EQ(layer.attention.head_dim, 64u);
    EXPECT_EQ(layer.attention.window, 0u);
    EXPECT_FLOAT_EQ(layer.attention.attention_scale, 0.125f);
    EXPECT_EQ(layer.ffn_width, 384u);
    ASSERT_EQ(layer.attention.inverse_frequency.size(), 32u);
    EXPECT_NEAR(layer.attention.inverse_frequency[1], std::pow(100000.0, -2.0 / 64), 1e-12);
  }
  EXPECT_EQ(config->n_vocabulary, 2048u);
  EXPECT_EQ(config->context, 2048u);
}

TEST(ModelConfig, what_a_file_leaves_out_has_its_usual_meaning) {
  const auto config = config_of(metadata());
  ASSERT_TRUE(config.ok()) << config.error().message;
  const kvcache::LayerShape& shape = config->layers.at(0).attention;
  EXPECT_EQ(shape.n_kv_heads, 4u);
  EXPECT_EQ(shape.head_dim, 64u);
  EXPECT_EQ(shape.inverse_frequency.size(), 32u);
  EXPECT_EQ(config->n_vocabulary, 8u);
}

TEST(ModelConfig, linear_scaling_and_llama_3_factors_slow_the_turns) {
  const auto plain = config_of(metadata());
  const auto linear = config_of(metadata()
                                    .add_string("llama.rope.scaling.type", "linear")
                                    .add_f32("llama.rope.scaling.factor", 4));
  std::vector<float> factors(32, 1.0f);
  factors[31] = 8;
  const auto llama3 = config_of(metadata().add_tensor("rope_freqs.weight", {32}, factors));
  ASSERT_TRUE(plain.ok() && linear.ok() && llama3.ok());
  const auto frequency = [](const Result<ModelConfig>& config, std::size_t i) {
    return config->layers.at(2).attention.inverse_frequency.at(i);
  };
  EXPECT_DOUBLE_EQ(frequency(linear, 5), frequency(plain, 5) / 4);
  EXPECT_DOUBLE_EQ(frequency(llama3, 30), frequency(plain, 30));
  EXPECT_DOUBLE_EQ(frequency(llama3, 31), frequency(plain, 31) / 8);
}

TEST(ModelConfig, a_sliding_window_belongs_to_the_layers_and_leaves_the_context_long) {
  const auto config = config_of(metadata().add_u32("llama.attention.sliding_window", 128));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->context, 512u);
  for (const LayerConfig& layer : config->layers) EXPECT_EQ(layer.attention.window, 128u);
  const auto shape = config->cache_shape();
  ASSERT_EQ(shape.n_layers(), 3u);
  EXPECT_EQ(shape.layers[2].window, 128u);
  EXPECT_EQ(shape.n_lanes(), 12u);
  EXPECT_EQ(shape.lane(2, 1), 9u);
  EXPECT_EQ(shape.fp16_bytes_per_token(), 12u * 64 * 2 * 2);
}

TEST(ModelConfig, what_the_graph_does_not_compute_is_refused_by_name) {
  GgufWriter mamba;
  mamba.add_string("general.architecture", "mamba");
  EXPECT_EQ(refusal(mamba),
            "The architecture \"mamba\" is not supported. Supported: deepseek2, gemma, gemma2, "
            "gemma3, gemma4, gpt-oss, granite, granitehybrid, granitemoe, lfm2, lfm2moe, llama, "
            "mistral3, nemotron_h, nemotron_h_moe, olmo2, phi3, qwen2, qwen3, qwen35, qwen35moe, "
            "qwen3moe, qwen3next, smollm3. "
            "[MODEL_ARCH]");
  EXPECT_THAT(refusal(metadata()
                          .add_u32("llama.expert_count", 8)
                          .add_u32("llama.expert_used_count", 2)
                          .add_u32("llama.expert_gating_func", 2)),
              HasSubstr("does not weight its experts by a softmax"));
  const auto experts = [] {
    return metadata().add_u32("llama.expert_count", 8).add_u32("llama.expert_used_count", 2);
  };
  EXPECT_EQ(refusal(experts().add_f32("llama.expert_weights_scale", 1)), "accepted");
  for (const GgufWriter& otherwise : {experts().add_bool("llama.expert_weights_norm", false),
                                      experts().add_f32("llama.expert_weights_scale", 2.5f)})
    EXPECT_THAT(refusal(otherwise), HasSubstr("does not weight its experts by a softmax"));
  EXPECT_THAT(refusal(metadata().add_u32("llama.attention.value_length", 32)),
              HasSubstr("key length 64 and value length 32"));
}

TEST(ModelConfig, impossible_numbers_are_refused_with_the_key) {
  const auto with = [](const char* key, std::uint32_t value) {
    return refusal(metadata().add_u32(key, value));
  };
  EXPECT_THAT(with("llama.attention.head_count_kv", 3), HasSubstr("does not divide the 4 heads"));
  EXPECT_THAT(with("llama.attention.head_count_kv", 0), HasSubstr("head_count_kv\" is 0"));
  EXPECT_THAT(with("llama.attention.key_length", 100'000), HasSubstr("key_length"));
  EXPECT_THAT(with("llama.rope.dimension_count", 128), HasSubstr("dimension_count"));
  EXPECT_THAT(with("llama.rope.dimension_count", 33), HasSubstr("must be even"));
  EXPECT_THAT(with("llama.expert_count", 8), HasSubstr("llama.expert_used_count"));
  EXPECT_THAT(with("llama.vocab_size", 9), HasSubstr("token_embd.weight has 8 rows"));
  EXPECT_THAT(refusal(metadata().add_f32("llama.rope.freq_base", 0)), HasSubstr("freq_base"));
  EXPECT_THAT(refusal(metadata().add_tensor("rope_freqs.weight", {3}, std::vector<float>(3, 1))),
              HasSubstr("must have 32 of type F32"));
  GgufWriter empty;
  empty.add_string("general.architecture", "llama");
  EXPECT_THAT(refusal(empty), HasSubstr("llama.block_count"));
}

TEST(ModelConfig, of_gated_delta_net_passes_over_layers_that_draft) {
  const GgufWriter writer = tiny_qwen35_gguf(512);
  const auto config = config_of(writer);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->n_layers(), 4u);
  EXPECT_EQ(config->n_draft_layers, 1u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(config->layers[i].is_recurrent(), i != 3) << i;
    EXPECT_EQ(config->layers[i].delta.is_there(), i != 3) << i;
    EXPECT_EQ(config->layers[i].has_output_gate, i == 3) << i;
  }
  EXPECT_EQ(config->layers[3].attention.n_rotated(), 8u);
  EXPECT_EQ(config->cache_shape().states,
            (std::vector<kvcache::StateShape>(3, {3 * 128 + 4 * 16 * 16, 3 * 128})));
}

TEST(ModelConfig, of_mamba_has_a_layer_of_it_where_there_are_no_kv_heads) {
  const GgufWriter writer = tiny_granite_gguf(512);
  const auto config = config_of(writer);
  ASSERT_TRUE(config.ok()) << config.error().message;
  ASSERT_EQ(config->n_layers(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(config->layers[i].mamba.is_there(), i != 1 && i != 4) << i;
    EXPECT_EQ(config->layers[i].is_recurrent(), i != 1 && i != 4) << i;
    EXPECT_EQ(config->layers[i].attention.n_rotated(), 0u) << "the file says so";
  }
  EXPECT_EQ(config->cache_shape().states,
            (std::vector<kvcache::StateShape>(3, {3 * 192 + 4 * 32 * 16, 3 * 192})));
}

// Metadata of Granite 4 H, of which one number is another.
GgufWriter granite_with(std::string_view changed, std::uint32_t value) {
  GgufWriter out;
  out.add_string("general.architecture", "granitehybrid");
  for (const auto& [key, usual] : std::initializer_list<std::pair<std::string_view, std::uint32_t>>{
           {"granitehybrid.block_count", 2},
           {"granitehybrid.embedding_length", 256},
           {"granitehybrid.feed_forward_length", 64},
           {"granitehybrid.context_length", 512},
           {"granitehybrid.attention.head_count", 4},
           {"granitehybrid.expert_count", 0},
           {"granitehybrid.ssm.conv_kernel", 4},
           {"granitehybrid.ssm.state_size", 16},
           {"granitehybrid.ssm.group_count", 2},
           {"granitehybrid.ssm.time_step_rank", 4},
           {"granitehybrid.ssm.inner_size", 64}})
    out.add_u32(key, key == changed ? value : usual);
  const std::int32_t kv_heads[] = {0, changed == "no attention" ? 0 : 2};
  out.add_i32_array("granitehybrid.attention.head_count_kv", kv_heads);
  out.add_f32("granitehybrid.attention.layer_norm_rms_epsilon", 1e-6f);
  const std::vector<float> table(8 * 256);
  out.add_tensor("token_embd.weight", {256, 8}, table);
  return out;
}

TEST(ModelConfig, of_mamba_is_refused_where_its_numbers_do_not_fit) {
  const auto with = [](std::string_view key, std::uint32_t value) {
    return refusal(granite_with(key, value));
  };
  EXPECT_EQ(with("", 0), "accepted");
  EXPECT_THAT(with("granitehybrid.ssm.group_count", 3), HasSubstr("does not divide the 4 heads"));
  EXPECT_THAT(with("granitehybrid.ssm.group_count", 0), HasSubstr("ssm.group_count"));
  EXPECT_THAT(with("granitehybrid.ssm.inner_size", 65), HasSubstr("ssm.inner_size"));
  EXPECT_THAT(with("granitehybrid.ssm.inner_size", 4 * 257), HasSubstr("heads 1 to 256 values"));
  EXPECT_THAT(with("granitehybrid.ssm.state_size", 257), HasSubstr("ssm.state_size"));
  EXPECT_THAT(with("granitehybrid.ssm.conv_kernel", 1), HasSubstr("must be at least 2"));
  EXPECT_THAT(with("granitehybrid.ssm.conv_kernel", 17), HasSubstr("ssm.conv_kernel"));
  EXPECT_THAT(with("granitehybrid.ssm.time_step_rank", 0), HasSubstr("ssm.time_step_rank"));
  EXPECT_THAT(with("no attention", 0), HasSubstr("leaves no layer attention"));
}

// Metadata of Nemotron-H, a block for each letter: Mamba-2, attention, feed-forward or nothing.
GgufWriter nemotron_of(std::string_view blocks, const std::string& name = "nemotron_h") {
  GgufWriter out;
  out.add_string("general.architecture", name);
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, std::uint32_t>>{{".embedding_length", 256},
                                                                    {".context_length", 512},
                                                                    {".attention.head_count", 4},
                                                                    {".ssm.conv_kernel", 4},
                                                                    {".ssm.state_size", 16},
                                                                    {".ssm.group_count", 2},
                                                                    {".ssm.time_step_rank", 4},
                                                                    {".ssm.inner_size", 64}})
    out.add_u32(name + key, value);
  out.add_u32(name + ".block_count", static_cast<std::uint32_t>(blocks.size()));
  std::vector<std::int32_t> kv_heads, widths;
  for (const char block : blocks) {
    kv_heads.push_back(block == '*' || block == '+' ? 2 : 0);
    widths.push_back(block == '-' || block == '+' ? 64 : 0);
  }
  out.add_i32_array(name + ".attention.head_count_kv", kv_heads);
  out.add_i32_array(name + ".feed_forward_length", widths);
  out.add_f32(name + ".attention.layer_norm_rms_epsilon", 1e-6f);
  const std::vector<float> table(8 * 256);
  out.add_tensor("token_embd.weight", {256, 8}, table);
  return out;
}

TEST(ModelConfig, of_nemotron_joins_a_feed_forward_and_the_block_before_it) {
  const GgufWriter writer = nemotron_of("M-M*-M");
  const auto config = config_of(writer);
  ASSERT_TRUE(config.ok()) << config.error().message;
  ASSERT_EQ(config->n_layers(), 4u);
  const bool has_ffn[] = {true, false, true, false};
  const std::size_t blocks[] = {0, 2, 3, 5};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(config->layers[i].block, blocks[i]) << i;
    EXPECT_EQ(config->layers[i].has_ffn(), has_ffn[i]) << i;
    EXPECT_EQ(config->layers[i].mamba.is_there(), i != 2) << i;
  }
  EXPECT_EQ(config->layers[0].ffn_block, 1u);
  EXPECT_EQ(config->layers[2].ffn_block, 4u);
  GgufWriter with_drafts = nemotron_of("M-*-+");
  with_drafts.add_u32("nemotron_h.nextn_predict_layers", 1);
  const auto drafts = config_of(with_drafts);
  ASSERT_TRUE(drafts.ok()) << drafts.error().message;
  EXPECT_EQ(drafts->n_layers(), 2u);
  EXPECT_EQ(drafts->n_draft_layers, 1u);
}

TEST(ModelConfig, of_nemotron_is_refused_where_its_blocks_do_not_fit) {
  for (const char* blocks : {"-M*", "M--*", "M+"})
    EXPECT_THAT(refusal(nemotron_of(blocks)), HasSubstr("must follow one of another part"))
        << blocks;
  EXPECT_THAT(refusal(nemotron_of("M-M-")), HasSubstr("leaves no layer attention"));
  const auto experts = [] {
    const std::string name = "nemotron_h_moe";
    return nemotron_of("M-*-", name)
        .add_u32(name + ".expert_count", 4)
        .add_u32(name + ".expert_used_count", 2);
  };
  EXPECT_THAT(refusal(experts().add_u32("nemotron_h_moe.moe_latent_size", 64)),
              HasSubstr("moe_latent_size"));
  EXPECT_THAT(refusal(experts().add_u32("nemotron_h_moe.expert_gating_func", 1)),
              HasSubstr("by normalised sigmoids"));
  EXPECT_THAT(refusal(experts().add_u32("nemotron_h_moe.expert_group_count", 2)),
              HasSubstr("by normalised sigmoids"));
}

// Metadata of Qwen 3.5, of which one number is another.
GgufWriter qwen35_with(std::string_view changed, std::uint32_t value) {
  GgufWriter out;
  out.add_string("general.architecture", "qwen35");
  for (const auto& [key, usual] : std::initializer_list<std::pair<std::string_view, std::uint32_t>>{
           {"qwen35.block_count", 5},
           {"qwen35.embedding_length", 256},
           {"qwen35.feed_forward_length", 64},
           {"qwen35.context_length", 512},
           {"qwen35.attention.head_count", 4},
           {"qwen35.attention.head_count_kv", 2},
           {"qwen35.full_attention_interval", 4},
           {"qwen35.nextn_predict_layers", 1},
           {"qwen35.ssm.conv_kernel", 4},
           {"qwen35.ssm.state_size", 16},
           {"qwen35.ssm.group_count", 2},
           {"qwen35.ssm.time_step_rank", 4},
           {"qwen35.ssm.inner_size", 64}})
    out.add_u32(key, key == changed ? value : usual);
  out.add_f32("qwen35.attention.layer_norm_rms_epsilon", 1e-6f);
  const std::vector<float> table(8 * 256);
  out.add_tensor("token_embd.weight", {256, 8}, table);
  return out;
}

TEST(ModelConfig, of_gated_delta_net_is_refused_where_its_numbers_do_not_fit) {
  const auto with = [](std::string_view key, std::uint32_t value) {
    return refusal(qwen35_with(key, value));
  };
  EXPECT_EQ(with("", 0), "accepted");
  EXPECT_THAT(with("qwen35.ssm.group_count", 3), HasSubstr("does not divide the 4 value heads"));
  EXPECT_THAT(with("qwen35.ssm.inner_size", 65), HasSubstr("ssm.inner_size"));
  EXPECT_THAT(with("qwen35.ssm.inner_size", 4 * 257), HasSubstr("value heads 1 to 256 values"));
  EXPECT_THAT(with("qwen35.ssm.conv_kernel", 1), HasSubstr("must be at least 2"));
  EXPECT_THAT(with("qwen35.ssm.conv_kernel", 17), HasSubstr("ssm.conv_kernel"));
  EXPECT_THAT(with("qwen35.full_attention_interval", 5), HasSubstr("leaves no layer attention"));
  EXPECT_THAT(with("qwen35.nextn_predict_layers", 5), HasSubstr("must be at most 4"));
  EXPECT_THAT(with("qwen35.attention.head_count_kv", 0), HasSubstr("head_count_kv"));
}

// Metadata of DeepSeek-V2-Lite, made small, of which one number is another; 0: it is left out.
GgufWriter deepseek2_with(std::string_view changed, std::uint32_t value) {
  GgufWriter out;
  out.add_string("general.architecture", "deepseek2");
  for (const auto& [key, usual] : std::initializer_list<std::pair<std::string_view, std::uint32_t>>{
           {"deepseek2.block_count", 3},
           {"deepseek2.embedding_length", 256},
           {"deepseek2.feed_forward_length", 64},
           {"deepseek2.context_length", 512},
           {"deepseek2.attention.head_count", 4},
           {"deepseek2.attention.head_count_kv", 1},
           {"deepseek2.attention.kv_lora_rank", 512},
           {"deepseek2.attention.key_length", 576},
           {"deepseek2.attention.value_length", 512},
           {"deepseek2.attention.key_length_mla", 192},
           {"deepseek2.attention.value_length_mla", 128},
           {"deepseek2.rope.dimension_count", 64},
           {"deepseek2.expert_count", 8},
           {"deepseek2.expert_used_count", 2},
           {"deepseek2.expert_group_count", 1},
           {"deepseek2.expert_feed_forward_length", 32},
           {"deepseek2.expert_shared_count", 2},
           {"deepseek2.expert_gating_func", 1},
           {"deepseek2.leading_dense_block_count", 1}})
    if (key != changed || value != 0) out.add_u32(key, key == changed ? value : usual);
  out.add_f32("deepseek2.attention.layer_norm_rms_epsilon", 1e-6f);
  const std::vector<float> table(8 * 256);
  out.add_tensor("token_embd.weight", {256, 8}, table);
  return out;
}

TEST(ModelConfig, of_latent_attention_has_one_row_of_576_values) {
  const auto config =
      config_of(deepseek2_with("", 1)
                    .add_string("deepseek2.rope.scaling.type", "yarn")
                    .add_f32("deepseek2.rope.scaling.factor", 40)
                    .add_u32("deepseek2.rope.scaling.original_context_length", 128)
                    .add_f32("deepseek2.rope.scaling.yarn_log_multiplier", 0.0707f));
  ASSERT_TRUE(config.ok()) << config.error().message;
  const kvcache::LayerShape& shape = config->layers[0].attention;
  EXPECT_TRUE(shape.is_latent);
  EXPECT_EQ(shape.head_dim, 576u);
  EXPECT_EQ(shape.n_group(), 4u);
  EXPECT_EQ(shape.n_rotated(), 64u);
  EXPECT_EQ(config->cache_shape().fp16_bytes_per_token(), 3u * 576 * 2);
  // DeepSeek-V2-Lite's mscale: 1 + 0.1 · 0.707 · ln 40.
  const double mscale = 1 + 0.0707 * std::log(40.0);
  EXPECT_NEAR(shape.attention_scale, mscale * mscale / std::sqrt(192.0), 1e-6);
  EXPECT_EQ(config->layers[0].rotated_scale, 1.0f);
  EXPECT_EQ(config->layers[0].n_experts, 0u);
  EXPECT_EQ(config->layers[0].ffn_width, 64u);
  EXPECT_EQ(config->layers[1].n_experts, 8u);
  EXPECT_EQ(config->layers[1].ffn_shared, 64u);
  using Weighting = kernels::Backend::Weighting;
  EXPECT_EQ(config->layers[1].expert_weighting, Weighting::softmax_of_all);
  EXPECT_EQ(config->layers[1].expert_scale, 1.0f);
  EXPECT_EQ(config->layers[2].block, 2u);
  const auto normed = config_of(deepseek2_with("", 1)
                                    .add_bool("deepseek2.expert_weights_norm", true)
                                    .add_f32("deepseek2.expert_weights_scale", 2.5f));
  ASSERT_TRUE(normed.ok());
  EXPECT_EQ(normed->layers[1].expert_weighting, Weighting::softmax);
  EXPECT_EQ(normed->layers[1].expert_scale, 2.5f);
}

TEST(ModelConfig, of_latent_attention_is_refused_where_it_is_another_or_does_not_fit) {
  const auto with = [](std::string_view key, std::uint32_t value) {
    return refusal(deepseek2_with(key, value));
  };
  EXPECT_EQ(with("", 1), "accepted");
  EXPECT_THAT(with("deepseek2.attention.key_length_mla", 0), HasSubstr("Convert the model again"));
  EXPECT_THAT(with("deepseek2.attention.key_length_mla", 64), HasSubstr("must be above"));
  EXPECT_THAT(with("deepseek2.attention.key_length", 512), HasSubstr("must be that of the latent"));
  EXPECT_THAT(with("deepseek2.attention.kv_lora_rank", 1024), HasSubstr("kv_lora_rank"));
  EXPECT_THAT(with("deepseek2.expert_group_count", 8), HasSubstr("groups of experts"));
  EXPECT_THAT(with("deepseek2.expert_gating_func", 2), HasSubstr("by a softmax"));
  EXPECT_THAT(with("deepseek2.leading_dense_block_count", 4), HasSubstr("must be at most 3"));
  EXPECT_THAT(refusal(deepseek2_with("", 1).add_f32("deepseek2.attention.temperature_scale", 0.1f)),
              HasSubstr("queries by their position"));
}

std::string load_refusal(const GgufWriter& writer) {
  const auto bytes = writer.bytes();
  auto file = GgufFile::view(bytes);
  if (!file.ok()) return file.error().message;
  auto config = ModelConfig::from(*file);
  if (!config.ok()) return config.error().message;
  const auto backend = kernels::open_backend("reference", {});
  const auto model = Model::load(**backend, *file, *config, {});
  return model.ok() ? "accepted" : model.error().message + " [" + model.error().code + "]";
}

TEST(Weights, a_tensor_that_is_missing_or_of_another_shape_is_named) {
  EXPECT_EQ(load_refusal(tiny_gguf({})), "accepted");
  EXPECT_EQ(load_refusal(tiny_qwen35_gguf(512)), "accepted");
  EXPECT_EQ(load_refusal(tiny_granite_gguf(512)), "accepted");
  EXPECT_THAT(load_refusal(metadata()), HasSubstr("output_norm.weight"));
  GgufWriter wrong = metadata();
  wrong.add_tensor("output_norm.weight", {8}, std::vector<float>(8));
  EXPECT_THAT(load_refusal(wrong), HasSubstr("Tensor \"output_norm.weight\" is [1, 8], but must be "
                                             "[1, 256]. [MODEL_METADATA]"));
}

TEST(Weights, of_latent_attention_are_refused_where_the_device_does_not_know_it) {
  const auto bytes = tiny_deepseek2_gguf(512).bytes();
  auto file = GgufFile::view(bytes);
  ASSERT_TRUE(file.ok());
  auto config = ModelConfig::from(*file);
  ASSERT_TRUE(config.ok()) << config.error().message;
  test::FailingBackend backend(std::move(kernels::open_backend("reference", {})).value());
  EXPECT_TRUE(Model::load(backend, *file, *config, {}).ok());
  backend.forget_latent_lanes();
  const auto refused = Model::load(backend, *file, *config, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "GPU_HEADS");
  EXPECT_THAT(refused.error().message, HasSubstr("latent attention, which the kernels of failing"));
}

TEST(Weights, a_tensor_without_a_place_in_the_graph_is_refused) {
  GgufWriter normed = tiny_gguf({});
  normed.add_tensor("blk.1.attn_q_norm.weight", {64}, std::vector<float>(64));
  EXPECT_THAT(load_refusal(normed), HasSubstr("\"blk.1.attn_q_norm.weight\""));
  EXPECT_THAT(load_refusal(normed), HasSubstr("[MODEL_ARCH]"));
}

TEST(Weights, a_fused_tensor_has_the_rows_of_all_its_parts) {
  GgufWriter fused;
  fused.add_string("general.architecture", "phi3")
      .add_u32("phi3.block_count", 1)
      .add_u32("phi3.embedding_length", 64)
      .add_u32("phi3.feed_forward_length", 64)
      .add_u32("phi3.context_length", 512)
      .add_u32("phi3.attention.head_count", 2)
      .add_u32("phi3.attention.head_count_kv", 1)
      .add_f32("phi3.attention.layer_norm_rms_epsilon", 1e-6f);
  fused.add_tensor("token_embd.weight", {64, 8}, std::vector<float>(64 * 8));
  fused.add_tensor("output_norm.weight", {64}, std::vector<float>(64));
  fused.add_tensor("blk.0.attn_norm.weight", {64}, std::vector<float>(64));
  fused.add_tensor("blk.0.attn_qkv.weight", {64, 100}, std::vector<float>(64 * 100));
  EXPECT_THAT(load_refusal(fused), HasSubstr("is [100, 64], but must be [128, 64]"));
}

TEST(Weights, a_bias_of_attention_is_optional_and_must_fit) {
  GgufWriter biased = tiny_gguf({});
  biased.add_tensor("blk.1.attn_q.bias", {256}, std::vector<float>(256));
  EXPECT_EQ(load_refusal(biased), "accepted");
  GgufWriter wrong = tiny_gguf({});
  wrong.add_tensor("blk.1.attn_k.bias", {64}, std::vector<float>(64));
  EXPECT_THAT(load_refusal(wrong), HasSubstr("must be [1, 128]"));
}

}  // namespace
}  // namespace satchel::runtime
