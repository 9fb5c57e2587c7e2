// Hyperparameters: the metadata of one architecture, "<architecture>.<key>", read and checked, and
// the parts of a ModelConfig that most architectures spell alike.
//   errors   corrupt MODEL_METADATA naming the key; unsupported MODEL_ARCH
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gguf/reader.h"
#include "runtime/model/config.h"

namespace satchel::runtime {

class Hyperparameters {
 public:
  // file outlives the object.
  Hyperparameters(const GgufFile& file, std::string_view architecture)
      : file_(file), architecture_(architecture) {}

  const GgufFile& file() const { return file_; }
  std::string key(std::string_view part) const { return architecture_ + "." + std::string(part); }
  bool has(std::string_view part) const { return file_.has(key(part)); }

  // A count that must lie in 1 … max.
  Result<std::size_t> count(std::string_view part, std::size_t max,
                            std::optional<std::size_t> absent = {}) const;
  // Likewise of each layer: one count for all, or one for each, which lies in least … max.
  Result<std::vector<std::size_t>> counts(std::string_view part, std::size_t max,
                                          std::size_t n_layers,
                                          std::optional<std::size_t> absent = {},
                                          std::size_t least = 1) const;
  // 0 … max, 0 where absent.
  Result<std::size_t> count_or_none(std::string_view part, std::size_t max) const;
  // Above `least`.
  Result<float> number_above(float least, std::string_view part,
                             std::optional<float> absent = {}) const;
  Error unfit(std::string_view part, const std::string& what) const;

  // Width, vocabulary, context, norm_epsilon, and of all layers: heads, head_dim, ffn_width, a
  // scale of 1 / sqrt(head_dim); no window, no RoPE. Only n_kv_heads and ffn_width may differ.
  Result<ModelConfig> sizes() const;
  // The same of a model that has layers without attention: their n_kv_heads are 0.
  Result<ModelConfig> sizes_of_hybrid() const;
  // The same where a block of the file has one part only, attention, a feed-forward or another:
  // n_kv_heads and ffn_width are 0 where it is not this.
  Result<ModelConfig> sizes_of_parts() const;
  // The same of a model whose attention is latent: one KV head, and lengths of keys and values that
  // are the caller's to read.
  Result<ModelConfig> sizes_of_latent() const;
  // attention.sliding_window, 0 where there is none or where it is as long as the context.
  Result<std::size_t> window(const ModelConfig& config) const;
  // Where the file has experts: how many, how wide and how weighted, of every feed-forward.
  //   usual  what the architecture has; with softmax_of_all the file says whether weights are
  //          normalised, and then by what they are made
  using Weighting = kernels::Backend::Weighting;
  Result<void> read_experts(ModelConfig& config, Weighting usual = Weighting::softmax) const;
  // The dimensions of a head that RoPE rotates.
  Result<std::size_t> n_rotated(std::size_t head_dim) const;

 private:
  Result<void> read_heads(LayerConfig& layer, std::size_t width) const;
  Result<void> check_value_length(const ModelConfig& config) const;
  Result<ModelConfig> sizes_but_kv_heads(std::size_t ffn_least = 1) const;
  struct ExpertWeights {
    Weighting weighting = Weighting::softmax;
    float scale = 1;
  };
  Result<ExpertWeights> expert_weights(Weighting usual) const;
  Result<void> read_kv_heads(ModelConfig& config, std::size_t least) const;
  Result<std::size_t> n_vocabulary(std::size_t width) const;

  const GgufFile& file_;
  std::string architecture_;
};

}  // namespace satchel::runtime
