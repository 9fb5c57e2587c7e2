#include "runtime/model/weights.h"

#include <string>

#include "kernels/reference/dequant.h"

namespace satchel::runtime {
namespace {

std::string shape_text(std::size_t n_out, std::size_t n_in) {
  return "[" + std::to_string(n_out) + ", " + std::to_string(n_in) + "]";
}

class Loader {
 public:
  Loader(kernels::Backend& backend, const GgufFile& file, const ModelConfig& config,
         const ProgressFn& progress)
      : backend_(backend), file_(file), config_(config), progress_(progress) {
    for (const GgufTensor& tensor : file.tensors()) bytes_total_ += tensor.bytes.size();
  }

  Result<Weights> run() {
    SATCHEL_TRY(file_.check_unchanged());
    const std::size_t n_gains = 2 * config_.n_layers + 1;
    SATCHEL_TRY_ASSIGN(out_.gains, backend_.allocate(n_gains * config_.width * sizeof(float)));
    SATCHEL_TRY_ASSIGN(out_.embedding,
                       matrix("token_embd.weight", config_.n_vocabulary, config_.width));
    for (std::size_t layer = 0; layer < config_.n_layers; ++layer) SATCHEL_TRY(one_layer(layer));
    SATCHEL_TRY_ASSIGN(out_.output_gain, gain("output_norm.weight"));
    if (file_.find_tensor("output.weight") != nullptr) {
      SATCHEL_TRY_ASSIGN(out_.separate_output,
                         matrix("output.weight", config_.n_vocabulary, config_.width));
    }
    SATCHEL_TRY(refuse_the_rest());
    out_.bytes += out_.gains.size();
    out_.owned_bytes += out_.gains.size();
    if (progress_) progress_({Phase::load_model, bytes_total_, bytes_total_});
    return std::move(out_);
  }

 private:
  Result<void> one_layer(std::size_t index) {
    const std::string at = "blk." + std::to_string(index) + ".";
    const std::size_t width = config_.width, ffn = config_.ffn_width;
    const std::size_t q_width = config_.n_heads * config_.head_dim;
    const std::size_t kv_width = config_.n_kv_heads * config_.head_dim;
    LayerWeights layer;
    SATCHEL_TRY_ASSIGN(layer.attention_gain, gain(at + "attn_norm.weight"));
    SATCHEL_TRY_ASSIGN(layer.q, matrix(at + "attn_q.weight", q_width, width));
    SATCHEL_TRY_ASSIGN(layer.k, matrix(at + "attn_k.weight", kv_width, width));
    SATCHEL_TRY_ASSIGN(layer.v, matrix(at + "attn_v.weight", kv_width, width));
    SATCHEL_TRY_ASSIGN(layer.attention_out, matrix(at + "attn_output.weight", width, q_width));
    SATCHEL_TRY_ASSIGN(layer.ffn_gain, gain(at + "ffn_norm.weight"));
    SATCHEL_TRY_ASSIGN(layer.gate, matrix(at + "ffn_gate.weight", ffn, width));
    SATCHEL_TRY_ASSIGN(layer.up, matrix(at + "ffn_up.weight", ffn, width));
    SATCHEL_TRY_ASSIGN(layer.down, matrix(at + "ffn_down.weight", width, ffn));
    out_.layers.push_back(std::move(layer));
    return {};
  }

  Result<const GgufTensor*> tensor(const std::string& name, std::size_t n_out, std::size_t n_in) {
    SATCHEL_TRY_ASSIGN(const GgufTensor* found, file_.require_tensor(name));
    const bool flat = found->n_dims <= (n_out == 1 ? 1u : 2u);
    if (!flat || found->row_length() != n_in || found->n_rows() != n_out)
      return Error{ErrorKind::corrupt, "MODEL_METADATA",
                   "Tensor \"" + name + "\" is " +
                       shape_text(found->n_rows(), found->row_length()) +
                       ", but the metadata ask for " + shape_text(n_out, n_in) + "."};
    ++n_used_;
    bytes_done_ += found->bytes.size();
    if (progress_) progress_({Phase::load_model, bytes_done_, bytes_total_});
    return found;
  }

  Result<WeightPtr> matrix(const std::string& name, std::size_t n_out, std::size_t n_in) {
    SATCHEL_TRY_ASSIGN(const GgufTensor* found, tensor(name, n_out, n_in));
    SATCHEL_TRY_ASSIGN(
        WeightPtr weight,
        backend_.load_weight(
            {.type = *found->type, .n_out = n_out, .n_in = n_in, .bytes = found->bytes}));
    out_.owned_bytes += weight->owned_bytes();
    out_.bytes += weight->owned_bytes() != 0 ? weight->owned_bytes() : found->bytes.size();
    return weight;
  }

  Result<const float*> gain(const std::string& name) {
    SATCHEL_TRY_ASSIGN(const GgufTensor* found, tensor(name, 1, config_.width));
    std::vector<float> values(config_.width);
    kernels::dequantise_row(*found->type, found->bytes.data(), values.size(), values.data());
    std::byte* to = out_.gains.data() + n_gains_++ * config_.width * sizeof(float);
    SATCHEL_TRY(backend_.upload(to, std::as_bytes(std::span(values))));
    return reinterpret_cast<const float*>(to);
  }

  // A tensor that has no place in the graph (a bias, a norm of queries) would make every answer
  // subtly wrong if it were passed over.
  Result<void> refuse_the_rest() {
    if (file_.find_tensor("rope_freqs.weight") != nullptr) ++n_used_;  // config.cpp reads it
    if (n_used_ == file_.tensors().size()) return {};
    for (const GgufTensor& stranger : file_.tensors())
      if (!known(stranger.name))
        return Error{ErrorKind::unsupported, "MODEL_ARCH",
                     "The model has a tensor " + quoted(stranger.name) +
                         ", which Satchel's llama graph does not compute with (biases and extra "
                         "norms are not supported)."};
    return {};
  }

  bool known(std::string_view name) const {
    if (name == "token_embd.weight" || name == "output_norm.weight" || name == "output.weight" ||
        name == "rope_freqs.weight")
      return true;
    if (name.ends_with(".attn_rot_embd") || name.ends_with(".attn.rope.freqs"))
      return true;  // old converters wrote the frequencies, which the metadata give as well
    for (std::size_t layer = 0; layer < config_.n_layers; ++layer) {
      const std::string at = "blk." + std::to_string(layer) + ".";
      if (!name.starts_with(at)) continue;
      const std::string_view part = name.substr(at.size());
      for (const std::string_view own : {"attn_norm.weight", "attn_q.weight", "attn_k.weight",
                                         "attn_v.weight", "attn_output.weight", "ffn_norm.weight",
                                         "ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"})
        if (part == own) return true;
    }
    return false;
  }

  kernels::Backend& backend_;
  const GgufFile& file_;
  const ModelConfig& config_;
  const ProgressFn& progress_;
  Weights out_;
  std::size_t n_gains_ = 0, n_used_ = 0, bytes_done_ = 0, bytes_total_ = 0;
};

}  // namespace

Result<Weights> Weights::load(kernels::Backend& backend, const GgufFile& file,
                              const ModelConfig& config, const ProgressFn& progress) {
  return Loader(backend, file, config, progress).run();
}

}  // namespace satchel::runtime
