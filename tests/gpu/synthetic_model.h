// A model of a known shape with random Q4_0 weights, as a GGUF file that exists only in memory: its
// gigabytes of weights are one stretch of random blocks, mapped again and again. What is loaded
// from it lies at as many places as the weights of a real model.
//   needs   widths whose matrices are whole numbers of kStretchStep bytes (asserted); Linux
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::bench {

struct ModelShape {
  std::string name;
  std::size_t n_layers, width, n_heads, n_kv_heads, head_dim, ffn_width, n_vocabulary;
  bool tied;
};
// "1b", "8b" (Llama-3.2-1B, Llama-3.1-8B) and "tiny", to try the program on.
Result<ModelShape> model_shape(std::string_view name);

class SyntheticModel {
 public:
  static Result<SyntheticModel> make(const ModelShape& shape);
  ~SyntheticModel();
  SyntheticModel(SyntheticModel&& other) noexcept;
  SyntheticModel(const SyntheticModel&) = delete;

  std::span<const std::byte> bytes() const { return {memory_, n_bytes_}; }

 private:
  SyntheticModel() = default;
  std::byte* memory_ = nullptr;
  std::size_t n_bytes_ = 0;
};

}  // namespace satchel::bench
