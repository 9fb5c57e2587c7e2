// SelectorWeights: what was trained for one model and one method, layer by layer. A method's stage
// says what it computes with them.
//   method          used by                 tensors of a layer
//   locret          scorers/locret          fc1.weight [hidden, n_in], fc2.weight [n_kv_heads,
//                                           hidden]
//   attention-gate  scorers/attention_gate  q.weight, k.weight, v.weight [n_kv_heads · dim, n_in],
//                                           out.weight [n_kv_heads, n_kv_heads · dim], out.bias
//                                           [n_kv_heads]
//   lococo          mergers/lococo          conv.weight [channels, 2 · head_dim, kernel], the
//                                           kernel odd, conv.bias [channels], normalizer [1], from
//                                           0 to 1
//   n_in    (n_heads + 2 n_kv_heads) · head_dim: [q k v] of a token, q and k before RoPE, heads and
//           their values in the order of the model's file
//   file    safetensors, as PyTorch tools write it: u64 length, JSON header, values.
//           "__metadata__" has "format" "satchel-selector", "version" "1", "method",
//           "model_fingerprint" and, for people, "source". Tensors are called "layers.<i>.<name>",
//           all layers of the model, F16, BF16 or F32. training/<method> writes it.
//   memory  held as fp32 beside the model's weights: twice the size of a 16-bit file
//   errors  corrupt, SELECTOR_WEIGHTS: names the file, what is wrong in it, and what to do
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

// Limit of a file; chosen: Locret's own file for Llama-3.1-8B has 403 MB.
inline constexpr std::size_t kSelectorBytesMax = std::size_t{512} << 20;
inline constexpr std::size_t kSelectorHeaderMax = 64u << 10;  // chosen: 200 layers and more

enum class SelectorMethod { locret, attention_gate, lococo };
inline constexpr std::array kSelectorMethods = {
    SelectorMethod::locret, SelectorMethod::attention_gate, SelectorMethod::lococo};
std::string_view to_text(SelectorMethod method);  // as files and commands have it

struct SelectorWeights {
  struct Tensor {
    std::vector<std::size_t> shape;  // one to three sizes, none 0
    std::vector<float> values;       // last index fastest
    std::size_t n_rows() const { return shape[0]; }
    std::size_t n_columns() const { return values.size() / shape[0]; }
    const float* row(std::size_t i) const { return values.data() + i * n_columns(); }
  };
  struct Locret {
    static constexpr SelectorMethod kMethod = SelectorMethod::locret;
    Tensor fc1, fc2;
  };
  struct AttentionGate {
    static constexpr SelectorMethod kMethod = SelectorMethod::attention_gate;
    Tensor q, k, v, out, bias;
  };
  struct LoCoCo {
    static constexpr SelectorMethod kMethod = SelectorMethod::lococo;
    Tensor conv, bias, normalizer;
  };
  using Layer = std::variant<Locret, AttentionGate, LoCoCo>;  // in the order of SelectorMethod

  SelectorMethod method = SelectorMethod::locret;  // of all layers
  std::string model;                               // fingerprint of its file
  std::string source;                              // the training data, for people
  std::vector<Layer> layers;

  std::size_t bytes() const;  // that the layers' values take
  // Safe for arbitrary bytes. All values of the result are finite, a layer's tensors match one
  // another. A file of another method than `method` is an error.
  static Result<SelectorWeights> parse(std::string_view bytes, std::string_view called,
                                       SelectorMethod method);
};

// What was trained for a model, by method. A file is read when a stage first asks for its method;
// copies of the set share what has been read.
//   threads  any
class SelectorSet {
 public:
  using Weights = std::shared_ptr<const SelectorWeights>;  // null: nothing was trained
  using Read = std::function<Result<Weights>()>;

  // Null: nothing was trained for that method, or it cannot be read. Lives as long as a copy of the
  // set has it.
  const SelectorWeights* of(SelectorMethod method) const;
  // Why it cannot be read; none: it can, or nothing was trained.
  std::optional<Error> damage(SelectorMethod method) const;
  // The same without reading anything: null also where nobody has asked yet.
  const SelectorWeights* in_memory(SelectorMethod method) const;
  std::size_t bytes_in_memory() const;

  void set(SelectorMethod method, Weights weights);
  void set_read(SelectorMethod method, Read read);  // called once at most
  // Whether they have the same weights, not equal ones.
  friend bool operator==(const SelectorSet&, const SelectorSet&) = default;

 private:
  struct Entry;
  std::array<std::shared_ptr<Entry>, kSelectorMethods.size()> entries_ = {};
};

// What was trained for one layer; it points into the set.
class LayerSelectors {
 public:
  LayerSelectors() = default;
  LayerSelectors(const SelectorSet& of, std::size_t layer) : of_(&of), layer_(layer) {}
  // Of: Locret, AttentionGate or LoCoCo. Null: nothing was trained for that method.
  template <class Of>
  const Of* get() const {
    const SelectorWeights* weights = of_ == nullptr ? nullptr : of_->of(Of::kMethod);
    return weights == nullptr ? nullptr : std::get_if<Of>(&weights->layers[layer_]);
  }

 private:
  const SelectorSet* of_ = nullptr;
  std::size_t layer_ = 0;
};

// SELECTOR_WEIGHTS: a stage that lacks its weights; not_found, or what their file's damage is.
//   stage    'The scorer "locret"'
//   instead  a sentence with recipes that need none
Error no_selector_weights(std::string_view stage, SelectorMethod method, std::string_view instead,
                          const std::optional<Error>& damage);

}  // namespace satchel::kvcache
