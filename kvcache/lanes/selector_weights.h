// SelectorWeights: what a trained selector was taught of one model (scorers/locret.cpp has what it does
// with it): per layer a small network from what attention makes of a token to a score for each KV head.
//   layers  all of the model, in its order: scores = fc2 · silu(fc1 · [q k v]), q and k before RoPE, heads
//           and their values in the order of the model's file
//   file    safetensors, as PyTorch's world writes it: u64 length, JSON header, values. In
//           "__metadata__": "format" "satchel-selector", "version" "1", "method" "locret",
//           "model_fingerprint", and for people "source". Tensors "layers.<i>.fc1.weight" [hidden,
//           (n_heads + 2 n_kv_heads) · head_dim] and "layers.<i>.fc2.weight" [n_kv_heads, hidden], F16,
//           BF16 or F32. training/locret writes it
//   memory  fp32, twice the file's size or its own, beside the model's weights
//   errors  corrupt, SELECTOR_WEIGHTS: names the file, what is wrong in it, and what to do
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

// Of a file; chosen: Locret's own for Llama-3.1-8B has 403 MB.
inline constexpr std::size_t kSelectorBytesMax = std::size_t{512} << 20;
inline constexpr std::size_t kSelectorHeaderMax = 64u << 10;  // chosen: 200 layers and more

struct SelectorWeights {
  struct Layer {
    std::size_t n_in = 0, n_hidden = 0, n_out = 0;
    std::vector<float> fc1;  // [n_hidden, n_in]
    std::vector<float> fc2;  // [n_out, n_hidden]
  };
  std::string model;   // fingerprint of its file
  std::string source;  // from what they were made, for people
  std::vector<Layer> layers;

  // Safe on any bytes. All values are finite.
  static Result<SelectorWeights> parse(std::string_view bytes, std::string_view called);
};

}  // namespace satchel::kvcache
