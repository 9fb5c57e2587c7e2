#include "unit/runtime/tiny_recurrent.h"

#include <cmath>
#include <string>
#include <vector>

#include "support/chain_model.h"
#include "support/weights.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kWidth = 64, kFfn = 96, kTaps = 3, kHeadDim = 32, kHeads = 2;
constexpr std::int32_t kKvHeads[] = {0, 1, 0, 0, 1};  // 0: a convolution

// Adds tensors of random values whose products keep the size of what they are given.
class Tensors {
 public:
  explicit Tensors(tests::GgufWriter& out) : out_(out) {}
  void matrix(const std::string& name, std::size_t n_out, std::size_t n_in) {
    std::vector<float> values = test::random_values(n_out * n_in, ++seed_);
    for (float& value : values) value /= std::sqrt(static_cast<float>(n_in));
    out_.add_tensor(name, {n_in, n_out}, values);
  }
  void gain(const std::string& name, std::size_t n) {
    out_.add_tensor(name, {n}, std::vector<float>(n, 1.0f));
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

void add_attention(Tensors& tensors, const std::string& at) {
  tensors.matrix(at + "attn_q.weight", kHeads * kHeadDim, kWidth);
  tensors.matrix(at + "attn_k.weight", kHeadDim, kWidth);
  tensors.matrix(at + "attn_v.weight", kHeadDim, kWidth);
  tensors.gain(at + "attn_q_norm.weight", kHeadDim);
  tensors.gain(at + "attn_k_norm.weight", kHeadDim);
  tensors.matrix(at + "attn_output.weight", kWidth, kHeads * kHeadDim);
}

}  // namespace

tests::GgufWriter tiny_lfm2_gguf(std::size_t context) {
  tests::GgufWriter out;
  out.add_string("general.architecture", "lfm2").add_string("general.name", "tiny LFM2");
  for (const auto& [key, value] : {std::pair{"block_count", std::size(kKvHeads)},
                                   {"embedding_length", kWidth},
                                   {"feed_forward_length", kFfn},
                                   {"context_length", context},
                                   {"attention.head_count", kHeads},
                                   {"shortconv.l_cache", kTaps}})
    out.add_u32("lfm2." + std::string(key), static_cast<std::uint32_t>(value));
  out.add_i32_array("lfm2.attention.head_count_kv", kKvHeads);
  out.add_f32("lfm2.attention.layer_norm_rms_epsilon", 1e-5f);
  out.add_f32("lfm2.rope.freq_base", 1'000'000.0f);
  test::add_byte_vocabulary(out);
  out.add_string("tokenizer.chat_template",
                 "{{- bos_token -}}{{ '<|im_start|>' + message['role'] + '\\n' }}");
  Tensors tensors(out);
  tensors.matrix("token_embd.weight", test::kBytePieces, kWidth);
  tensors.gain("token_embd_norm.weight", kWidth);
  for (std::size_t layer = 0; layer < std::size(kKvHeads); ++layer) {
    const std::string at = "blk." + std::to_string(layer) + ".";
    tensors.gain(at + "attn_norm.weight", kWidth);
    tensors.gain(at + "ffn_norm.weight", kWidth);
    (kKvHeads[layer] == 0 ? add_convolution : add_attention)(tensors, at);
    tensors.matrix(at + "ffn_gate.weight", kFfn, kWidth);
    tensors.matrix(at + "ffn_up.weight", kFfn, kWidth);
    tensors.matrix(at + "ffn_down.weight", kWidth, kFfn);
  }
  return out;
}

}  // namespace satchel::runtime
