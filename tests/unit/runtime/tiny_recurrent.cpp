#include "unit/runtime/tiny_recurrent.h"

#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "support/chain_model.h"
#include "support/weights.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kWidth = 64, kFfn = 96, kTaps = 3, kHeadDim = 32, kHeads = 2;
constexpr std::int32_t kKvHeads[] = {0, 1, 0, 0, 1};  // 0: a convolution, or Mamba-2
// Gated DeltaNet: heads of keys, of values, values of each, channels of the convolution.
constexpr std::size_t kKeys = 2, kValues = 4, kDeltaDim = 16, kDeltaWidth = kValues * kDeltaDim;
constexpr std::size_t kChannels = 2 * kKeys * kDeltaDim + kDeltaWidth, kDeltaTaps = 4;
// Mamba-2: heads, groups of them, values of each, values of a state for each of those.
constexpr std::size_t kMambaHeads = 4, kGroups = 2, kMambaDim = 32, kStateDim = 16;
constexpr std::size_t kMambaWidth = kMambaHeads * kMambaDim, kMambaTaps = 4;
constexpr std::size_t kMambaChannels = kMambaWidth + 2 * kGroups * kStateDim;
// Latent attention: ranks and parts of a head as LatentConfig has them.
constexpr std::size_t kRank = 32, kRotated = 16, kPlain = 16, kLatentValues = 16;
constexpr std::size_t kExperts = 4, kExpertFfn = 32;
constexpr std::size_t kQwenLayers = 5, kInterval = 4;  // the fifth drafts

// Adds tensors of random values whose products keep the size of what they are given.
class Tensors {
 public:
  explicit Tensors(tests::GgufWriter& out) : out_(out) {}
  void matrix(const std::string& name, std::size_t n_out, std::size_t n_in) {
    std::vector<float> values = test::random_values(n_out * n_in, ++seed_);
    for (float& value : values) value /= std::sqrt(static_cast<float>(n_in));
    out_.add_tensor(name, {n_in, n_out}, values);
  }
  void gain(const std::string& name, std::size_t n, float value = 1) { rows(name, 1, n, value); }
  void rows(const std::string& name, std::size_t n_rows, std::size_t n, float value) {
    const std::vector<float> values(n_rows * n, value);
    n_rows == 1 ? out_.add_tensor(name, {n}, values) : out_.add_tensor(name, {n, n_rows}, values);
  }

 private:
  tests::GgufWriter& out_;
  std::uint64_t seed_ = 20;
};

void add_convolution(Tensors& tensors, const std::string& at) {
  tensors.matrix(at + "shortconv.in_proj.weight", 3 * kWidth, kWidth);
  tensors.matrix(at + "shortconv.out_proj.weight", kWidth, kWidth);
  tensors.matrix(at + "shortconv.conv.weight", kWidth, kTaps);
}

void add_delta(Tensors& tensors, const std::string& at) {
  tensors.matrix(at + "attn_qkv.weight", kChannels, kWidth);
  tensors.matrix(at + "attn_gate.weight", kDeltaWidth, kWidth);
  tensors.matrix(at + "ssm_alpha.weight", kValues, kWidth);
  tensors.matrix(at + "ssm_beta.weight", kValues, kWidth);
  tensors.matrix(at + "ssm_conv1d.weight", kChannels, kDeltaTaps);
  tensors.gain(at + "ssm_a", kValues, -0.5f);
  tensors.gain(at + "ssm_dt.bias", kValues, -1);
  tensors.gain(at + "ssm_norm.weight", kDeltaDim);
  tensors.matrix(at + "ssm_out.weight", kWidth, kDeltaWidth);
}

void add_mamba(Tensors& tensors, const std::string& at) {
  tensors.matrix(at + "ssm_in.weight", kMambaWidth + kMambaChannels + kMambaHeads, kWidth);
  tensors.matrix(at + "ssm_conv1d.weight", kMambaChannels, kMambaTaps);
  tensors.gain(at + "ssm_conv1d.bias", kMambaChannels, 0.25f);
  tensors.rows(at + "ssm_a", kMambaHeads, 1, -0.5f);
  tensors.rows(at + "ssm_d", kMambaHeads, 1, 0.5f);
  tensors.gain(at + "ssm_dt.bias", kMambaHeads, -1);
  tensors.rows(at + "ssm_norm.weight", kGroups, kMambaWidth / kGroups, 1);
  tensors.matrix(at + "ssm_out.weight", kWidth, kMambaWidth);
}

void add_attention(Tensors& tensors, const std::string& at, std::size_t n_queries,
                   std::size_t n_kv_heads) {
  tensors.matrix(at + "attn_q.weight", n_queries * kHeadDim, kWidth);
  tensors.matrix(at + "attn_k.weight", n_kv_heads * kHeadDim, kWidth);
  tensors.matrix(at + "attn_v.weight", n_kv_heads * kHeadDim, kWidth);
  tensors.matrix(at + "attn_output.weight", kWidth, kHeads * kHeadDim);
}

void add_head_norms(Tensors& tensors, const std::string& at) {
  tensors.gain(at + "attn_q_norm.weight", kHeadDim);
  tensors.gain(at + "attn_k_norm.weight", kHeadDim);
}

void add_feed_forward(Tensors& tensors, const std::string& at) {
  tensors.matrix(at + "ffn_gate.weight", kFfn, kWidth);
  tensors.matrix(at + "ffn_up.weight", kFfn, kWidth);
  tensors.matrix(at + "ffn_down.weight", kWidth, kFfn);
}

// Rows of the output gate lie among those of the queries.
void add_gated_attention(Tensors& tensors, const std::string& at) {
  add_attention(tensors, at, 2 * kHeads, 2);
  add_head_norms(tensors, at);
}

void add_latent_attention(Tensors& tensors, const std::string& at) {
  tensors.matrix(at + "attn_q.weight", kHeads * (kPlain + kRotated), kWidth);
  tensors.matrix(at + "attn_kv_a_mqa.weight", kRank + kRotated, kWidth);
  tensors.gain(at + "attn_kv_a_norm.weight", kRank);
  tensors.matrix(at + "attn_k_b.weight", kHeads * kRank, kPlain);
  tensors.matrix(at + "attn_v_b.weight", kHeads * kLatentValues, kRank);
  tensors.matrix(at + "attn_output.weight", kWidth, kHeads * kLatentValues);
}

void add_experts(Tensors& tensors, const std::string& at) {
  tensors.matrix(at + "ffn_gate_inp.weight", kExperts, kWidth);
  for (const auto& [kind, n] : {std::pair{"exps", kExperts}, {"shexp", std::size_t{1}}}) {
    tensors.matrix(at + "ffn_gate_" + kind + ".weight", n * kExpertFfn, kWidth);
    tensors.matrix(at + "ffn_up_" + kind + ".weight", n * kExpertFfn, kWidth);
    tensors.matrix(at + "ffn_down_" + kind + ".weight", n * kWidth, kExpertFfn);
  }
}

using Counts = std::initializer_list<std::pair<const char*, std::size_t>>;

tests::GgufWriter metadata(const std::string& architecture, std::size_t context,
                           const Counts& more) {
  tests::GgufWriter out;
  out.add_string("general.architecture", architecture).add_string("general.name", "tiny");
  const auto add = [&](const Counts& counts) {
    for (const auto& [key, value] : counts)
      out.add_u32(architecture + "." + key, static_cast<std::uint32_t>(value));
  };
  add({{"embedding_length", kWidth},
       {"feed_forward_length", kFfn},
       {"context_length", context},
       {"attention.head_count", kHeads}});
  add(more);
  out.add_f32(architecture + ".attention.layer_norm_rms_epsilon", 1e-5f);
  out.add_f32(architecture + ".rope.freq_base", 1'000'000.0f);
  test::add_byte_vocabulary(out);
  out.add_string("tokenizer.chat_template",
                 "{{- bos_token -}}{{ '<|im_start|>' + message['role'] + '\\n' }}");
  return out;
}

}  // namespace

tests::GgufWriter tiny_deepseek2_gguf(std::size_t context) {
  tests::GgufWriter out = metadata("deepseek2", context,
                                   {{"block_count", 2},
                                    {"attention.head_count_kv", 1},
                                    {"attention.kv_lora_rank", kRank},
                                    {"attention.key_length", kRank + kRotated},
                                    {"attention.value_length", kRank},
                                    {"attention.key_length_mla", kPlain + kRotated},
                                    {"attention.value_length_mla", kLatentValues},
                                    {"rope.dimension_count", kRotated},
                                    {"leading_dense_block_count", 1},
                                    {"expert_count", kExperts},
                                    {"expert_used_count", 2},
                                    {"expert_shared_count", 1},
                                    {"expert_feed_forward_length", kExpertFfn}});
  Tensors tensors(out);
  tensors.matrix("token_embd.weight", test::kBytePieces, kWidth);
  tensors.gain("output_norm.weight", kWidth);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const std::string at = "blk." + std::to_string(layer) + ".";
    tensors.gain(at + "attn_norm.weight", kWidth);
    tensors.gain(at + "ffn_norm.weight", kWidth);
    add_latent_attention(tensors, at);
    if (layer == 0)
      add_feed_forward(tensors, at);
    else
      add_experts(tensors, at);
  }
  return out;
}

tests::GgufWriter tiny_lfm2_gguf(std::size_t context) {
  tests::GgufWriter out = metadata(
      "lfm2", context, {{"block_count", std::size(kKvHeads)}, {"shortconv.l_cache", kTaps}});
  out.add_i32_array("lfm2.attention.head_count_kv", kKvHeads);
  Tensors tensors(out);
  tensors.matrix("token_embd.weight", test::kBytePieces, kWidth);
  tensors.gain("token_embd_norm.weight", kWidth);
  for (std::size_t layer = 0; layer < std::size(kKvHeads); ++layer) {
    const std::string at = "blk." + std::to_string(layer) + ".";
    tensors.gain(at + "attn_norm.weight", kWidth);
    tensors.gain(at + "ffn_norm.weight", kWidth);
    if (kKvHeads[layer] == 0)
      add_convolution(tensors, at);
    else
      add_attention(tensors, at, kHeads, 1);
    if (kKvHeads[layer] != 0) add_head_norms(tensors, at);
    add_feed_forward(tensors, at);
  }
  return out;
}

tests::GgufWriter tiny_qwen35_gguf(std::size_t context) {
  tests::GgufWriter out = metadata("qwen35", context,
                                   {{"block_count", kQwenLayers},
                                    {"attention.head_count_kv", 2},
                                    {"rope.dimension_count", kHeadDim / 4},
                                    {"ssm.conv_kernel", kDeltaTaps},
                                    {"ssm.state_size", kDeltaDim},
                                    {"ssm.group_count", kKeys},
                                    {"ssm.time_step_rank", kValues},
                                    {"ssm.inner_size", kDeltaWidth},
                                    {"nextn_predict_layers", 1}});
  Tensors tensors(out);
  tensors.matrix("token_embd.weight", test::kBytePieces, kWidth);
  tensors.gain("output_norm.weight", kWidth);
  for (std::size_t layer = 0; layer < kQwenLayers; ++layer) {
    const std::string at = "blk." + std::to_string(layer) + ".";
    tensors.gain(at + "attn_norm.weight", kWidth);
    tensors.gain(at + "post_attention_norm.weight", kWidth);
    if (layer + 1 < kQwenLayers && (layer + 1) % kInterval != 0)
      add_delta(tensors, at);
    else
      add_gated_attention(tensors, at);
    add_feed_forward(tensors, at);
  }
  const std::string drafts = "blk." + std::to_string(kQwenLayers - 1) + ".nextn.";
  tensors.matrix(drafts + "eh_proj.weight", kWidth, 2 * kWidth);
  for (const char* name : {"enorm.weight", "hnorm.weight", "shared_head_norm.weight"})
    tensors.gain(drafts + name, kWidth);
  return out;
}

tests::GgufWriter tiny_granite_gguf(std::size_t context) {
  tests::GgufWriter out = metadata("granitehybrid", context,
                                   {{"block_count", std::size(kKvHeads)},
                                    {"ssm.conv_kernel", kMambaTaps},
                                    {"ssm.state_size", kStateDim},
                                    {"ssm.group_count", kGroups},
                                    {"ssm.time_step_rank", kMambaHeads},
                                    {"ssm.inner_size", kMambaWidth}});
  out.add_i32_array("granitehybrid.attention.head_count_kv", kKvHeads);
  out.add_bool("granitehybrid.rope.scaling.finetuned", false);
  out.add_f32("granitehybrid.residual_scale", 0.5f);
  Tensors tensors(out);
  tensors.matrix("token_embd.weight", test::kBytePieces, kWidth);
  tensors.gain("output_norm.weight", kWidth);
  for (std::size_t layer = 0; layer < std::size(kKvHeads); ++layer) {
    const std::string at = "blk." + std::to_string(layer) + ".";
    tensors.gain(at + "attn_norm.weight", kWidth);
    tensors.gain(at + "ffn_norm.weight", kWidth);
    if (kKvHeads[layer] == 0)
      add_mamba(tensors, at);
    else
      add_attention(tensors, at, kHeads, 1);
    add_feed_forward(tensors, at);
  }
  return out;
}

}  // namespace satchel::runtime
