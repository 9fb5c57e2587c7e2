// Model: weights on a backend and the three ways tokens go through them: a prompt is read, a token
// is decoded, tokens already read are replayed against the compressed cache.
//   memory   every array as long as a prompt or a vocabulary is leased from the cache's pool
//            (scratch.h); decode_step allocates nothing
//   errors   those of cache and backend; cancelled/STOPPED; internal/LOGITS_NAN
//   threads  one call at a time
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "kvcache/cache.h"
#include "runtime/fidelity/fidelity.h"
#include "runtime/gguf/reader.h"
#include "runtime/model/arch/llama.h"
#include "runtime/model/config.h"
#include "runtime/model/weights.h"
#include "runtime/progress.h"

namespace satchel::runtime {

struct PromptPass {
  kvcache::Cache& cache;
  std::span<const std::int32_t> ids;  // at positions cache.n_tokens() …
  std::stop_token stop;
  const ProgressFn& progress;
  float* last_rows = nullptr;    // [fidelity_rows(n), width], backend's memory; null: not wanted
  std::span<float> logits = {};  // [n_vocabulary] after the last token, main memory; may be empty
};

struct ReplayPass {
  kvcache::Cache& cache;
  std::span<const std::int32_t> ids;  // the newest tokens of the cache
  std::stop_token stop;
  float* rows = nullptr;  // [n, width], backend's memory
};

class Model {
 public:
  // backend and file outlive the Model.
  static Result<std::unique_ptr<Model>> load(kernels::Backend& backend, const GgufFile& file,
                                             ModelConfig config, const ProgressFn& progress);
  Model(const Model&) = delete;

  const ModelConfig& config() const { return config_; }
  const Weights& weights() const { return weights_; }
  kernels::Backend& backend() { return backend_; }

  // All or nothing: where it fails or is stopped, the cache is as it was.
  Result<void> read_prompt(const PromptPass& pass);
  // The token at position cache.n_tokens(); logits [n_vocabulary], main memory.
  Result<void> decode_step(kvcache::Cache& cache, std::int32_t id, std::span<float> logits);
  // Queries of tokens the cache has seen, over what it holds now, masked by position; nothing is
  // appended. Hidden states differ from the first reading's only by what compression cost.
  Result<void> replay(const ReplayPass& pass);
  // Both [n, width] as read_prompt and replay keep them.
  Result<Fidelity> compare(kvcache::Pool& pool, const float* exact, const float* packed,
                           std::size_t n_tokens);

 private:
  Model(kernels::Backend& backend, ModelConfig config)
      : backend_(backend), config_(std::move(config)) {}
  Result<void> read_layer(const PromptPass& pass, std::size_t layer, const PassScratch& scratch,
                          kvcache::PromptReading& reading);
  // Logits after one hidden state, through work.normed and work.logits.
  Result<void> logits_of(const float* x, const Workspace& work, std::span<float> logits);

  kernels::Backend& backend_;
  ModelConfig config_;
  Weights weights_;
  LlamaGraph graph_{backend_, config_, weights_};
};

}  // namespace satchel::runtime
