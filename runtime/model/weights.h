// Weights: every matrix and vector of a model, in the backend's memory, found by name and checked
// for shape.
//   owns    the backend's weights; they may read the file's mapping in place, so the file outlives
//           them
//   errors  MODEL_METADATA (missing tensor, wrong shape: both named), MODEL_QUANT (a weight type
//           nobody computes with), MODEL_ARCH (a tensor this graph has no place for, biases among
//           them)
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/contract/backend.h"
#include "runtime/gguf/reader.h"
#include "runtime/model/config.h"
#include "runtime/progress.h"

namespace satchel::runtime {

using WeightPtr = std::unique_ptr<kernels::Weight>;

struct LayerWeights {
  WeightPtr q, k, v;                      // [n_heads or n_kv_heads * head_dim, width]
  WeightPtr attention_out;                // [width, n_heads * head_dim]
  WeightPtr gate, up;                     // [ffn_width, width]
  WeightPtr down;                         // [width, ffn_width]
  const float* attention_gain = nullptr;  // [width]
  const float* ffn_gain = nullptr;        // [width]
};

struct Weights {
  WeightPtr embedding;                 // [n_vocabulary, width]
  WeightPtr separate_output;           // [n_vocabulary, width]; null where tied to the embedding
  const float* output_gain = nullptr;  // [width]
  std::vector<LayerWeights> layers;
  kernels::Buffer gains;        // all the vectors
  std::size_t bytes = 0;        // in use: what the backend repacked, else the file's bytes
  std::size_t owned_bytes = 0;  // of them, beyond the file's mapping

  const kernels::Weight& output() const { return separate_output ? *separate_output : *embedding; }

  static Result<Weights> load(kernels::Backend& backend, const GgufFile& file,
                              const ModelConfig& config, const ProgressFn& progress);
};

}  // namespace satchel::runtime
