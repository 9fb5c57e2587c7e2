// SelectorWeights: the weights of a selector trained for one model (used by scorers/locret.cpp).
// Each layer has a small network from a token's q, k and v to a score per KV head.
//   layers  all layers of the model, in order: scores = fc2 · silu(fc1 · [q k v]), q and k before
//           RoPE, heads and their values in the order of the model's file
//   file    safetensors, as PyTorch tools write it: u64 length, JSON header, values.
//           "__metadata__" has "format" "satchel-selector", "version" "1", "method" "locret",
//           "model_fingerprint" and, for people, "source". Tensors: "layers.<i>.fc1.weight"
//           [hidden, (n_heads + 2 n_kv_heads) · head_dim] and "layers.<i>.fc2.weight"
//           [n_kv_heads, hidden], F16, BF16 or F32. training/locret writes it.
//   memory  held as fp32 beside the model's weights: twice the size of a 16-bit file
//   errors  corrupt, SELECTOR_WEIGHTS: names the file, what is wrong in it, and what to do
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

// Limit of a file; chosen: Locret's own file for Llama-3.1-8B has 403 MB.
inline constexpr std::size_t kSelectorBytesMax = std::size_t{512} << 20;
inline constexpr std::size_t kSelectorHeaderMax = 64u << 10;  // chosen: 200 layers and more

struct SelectorWeights {
  struct Layer {
    std::size_t n_in = 0, n_hidden = 0, n_out = 0;
    std::vector<float> fc1;  // [n_hidden, n_in]
    std::vector<float> fc2;  // [n_out, n_hidden]
  };
  std::string model;   // fingerprint of its file
  std::string source;  // the training data, for people
  std::vector<Layer> layers;

  // Safe for arbitrary bytes. All values of the result are finite.
  static Result<SelectorWeights> parse(std::string_view bytes, std::string_view called);
};

}  // namespace satchel::kvcache
