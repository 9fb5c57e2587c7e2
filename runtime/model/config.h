// ModelConfig: what passes through a model must know of it, read from GGUF metadata and checked
// there. Which keys mean what is the architecture's knowledge (graph.h, arch/).
//   errors   unsupported MODEL_ARCH; corrupt MODEL_METADATA naming the key
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/contract/backend.h"
#include "kvcache/shape/cache_shape.h"

namespace satchel::runtime {

class GgufFile;

// A layer of Gated DeltaNet, in sizes as kernels::GatedDeltaArgs has them.
struct DeltaConfig {
  std::size_t n_taps = 0, n_key_heads = 0, n_value_heads = 0, key_dim = 0, value_dim = 0;
  kernels::GatedDeltaArgs::KeyHeads key_heads = kernels::GatedDeltaArgs::KeyHeads::tiled;

  bool is_there() const { return n_value_heads != 0; }
  std::size_t n_channels() const { return 2 * n_key_heads * key_dim + value_width(); }
  std::size_t value_width() const { return n_value_heads * value_dim; }
  std::size_t n_tail() const { return (n_taps - 1) * n_channels(); }
  std::size_t n_state() const { return n_tail() + n_value_heads * key_dim * value_dim; }
};

// A layer of Mamba-2, in sizes as kernels::Mamba2Args has them.
struct MambaConfig {
  std::size_t n_taps = 0, n_heads = 0, n_groups = 0, head_dim = 0, state_dim = 0;

  bool is_there() const { return n_heads != 0; }
  std::size_t width() const { return n_heads * head_dim; }
  std::size_t n_channels() const { return width() + 2 * n_groups * state_dim; }
  std::size_t n_tail() const { return (n_taps - 1) * n_channels(); }
  std::size_t n_state() const { return n_tail() + width() * state_dim; }
};

// A layer of latent attention. Its LayerShape has one KV head of key_dim() values.
struct LatentConfig {
  std::size_t rank = 0;        // of the latent; 0: it is none
  std::size_t rotated = 0;     // values of a key and of a head's query that RoPE rotates
  std::size_t plain = 0;       // values of a head's query that it does not
  std::size_t value_dim = 0;   // of a head
  std::size_t query_rank = 0;  // of what queries are made of; 0: of the hidden state

  bool is_there() const { return rank != 0; }
  std::size_t key_dim() const { return rotated + rank; }
  std::size_t query_dim() const { return plain + rotated; }
};

struct LayerConfig {
  kvcache::LayerShape attention;
  // Which of the file's blocks it is, and which its feed-forward: that may be a block of its own.
  std::size_t block = 0, ffn_block = 0;
  // Of each expert, where there are experts; 0: no feed-forward.
  std::size_t ffn_width = 0;
  std::size_t n_experts = 0, n_experts_used = 0;  // 0: none
  std::size_t ffn_beside = 0;                     // of a feed-forward beside the experts; 0: none
  std::size_t ffn_shared = 0;                     // of an expert that all tokens use; 0: none
  std::vector<float> expert_factors = {};         // [n_experts] of what each gives; empty: 1
  kernels::Backend::Weighting expert_weighting = kernels::Backend::Weighting::softmax;
  std::vector<float> choice_biases = {};           // [n_experts] of who is chosen; empty: 0
  float expert_scale = 1;                          // of what all that are chosen give
  bool experts_are_fused = false;                  // one tensor holds their gate and up
  bool values_are_keys = false;                    // K = V: both are made of one projection
  float output_scale = 1;                          // of x behind the layer
  std::optional<std::size_t> reads_lanes_of = {};  // an earlier layer; none: it has its own
  // A recurrent layer has a state of so many fp32 values and no heads; 0: attention.
  std::size_t n_state = 0;
  std::size_t n_state_tail = 0;  // the first of them: rows of its convolution
  std::size_t conv_taps = 0;     // of its gated short convolution over [width]; 0: it has none
  DeltaConfig delta = {};        // or what it has instead
  MambaConfig mamba = {};        // likewise
  LatentConfig latent = {};      // of its attention, where that is latent
  // What attention gives is multiplied by the sigmoid of a projection of as many values.
  bool has_output_gate = false;
  // Of the products of queries and keys, what only the dimensions that RoPE rotates are multiplied
  // with (RoPE's scaling where it rotates not all of a head; else attention_scale has it).
  // Queries get it, before RoPE: cached keys are rotated and nothing else.
  float rotated_scale = 1;

  bool has_ffn() const { return ffn_width != 0; }
  bool is_recurrent() const { return n_state != 0; }
  bool has_lanes() const { return !reads_lanes_of && !is_recurrent(); }
  std::size_t q_width() const { return attention.n_heads * attention.head_dim; }
  std::size_t kv_width() const { return attention.n_kv_heads * attention.head_dim; }
};

struct ModelConfig {
  std::string architecture, name;
  std::size_t width = 0, n_vocabulary = 0, context = 0;
  float norm_epsilon = 1e-5f;
  // Factors of embeddings, of what half a layer adds to x, of logits; then the logits' soft cap.
  float embedding_scale = 1, residual_scale = 1, logit_scale = 1;
  float logit_cap = 0;              // 0: none
  std::size_t per_layer_width = 0;  // of what each layer is given of a token anew; 0: nothing
  std::vector<LayerConfig> layers;
  // Layers that the file has behind these, which draft tokens ahead: they are not used.
  std::size_t n_draft_layers = 0;
  kernels::WorkLimits work_limits = {};  // Model::load() takes the backend's where this is unset
  // Null until they have been measured.
  std::shared_ptr<const kvcache::HeadBudgets> head_budgets = nullptr;
  // Likewise.
  std::shared_ptr<const kvcache::KeyBases> key_bases = nullptr;
  kvcache::SelectorSet selectors = {};

  std::size_t n_layers() const { return layers.size(); }
  // From the first of these on, no layer has lanes of its own or a state: what is read of a text
  // ends there.
  std::size_t n_reading_layers() const;
  // Whose lanes a layer attends to, as cache_shape() counts: it has the layers with own lanes only.
  std::size_t cache_layer(std::size_t layer) const;
  std::size_t state_layer(std::size_t layer) const;  // of the recurrent layers, which one it is
  kvcache::CacheShape cache_shape() const;
  static Result<ModelConfig> from(const GgufFile& file);
};

}  // namespace satchel::runtime
