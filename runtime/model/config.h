// ModelConfig: what the graph must know of a Llama-architecture model, read from GGUF metadata and
// checked there.
//   errors   unsupported MODEL_ARCH; corrupt MODEL_METADATA naming the key
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/contract/backend.h"
#include "kvcache/cache.h"

namespace satchel::runtime {

class GgufFile;

struct ModelConfig {
  std::string architecture, name;
  std::size_t n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0;
  std::size_t width = 0, ffn_width = 0, n_vocabulary = 0, context = 0;
  float norm_epsilon = 1e-5f;
  kernels::RopePairs rope_pairs = kernels::RopePairs::adjacent;
  std::vector<double> inverse_frequency;  // [n_rotated / 2], scaling applied

  kvcache::CacheShape cache_shape() const;
  static Result<ModelConfig> from(const GgufFile& file);
};

}  // namespace satchel::runtime
