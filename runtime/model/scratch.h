// Scratch: how much of the pool each kind of pass through the model takes, and where each array
// lies in it. The estimator and the passes themselves ask here, so that they cannot disagree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kvcache/pool.h"
#include "runtime/model/config.h"

namespace satchel::runtime {

// Tokens that go through a layer at once: as many as keep a stop and a progress report within 200
// ms on a slow CPU, 256 at most. A function of the model alone, so that every run cuts alike.
std::size_t chunk_tokens(const ModelConfig& config);

// Arrays of one chunk. The two halves of a layer share their memory, and so do the logits.
struct Workspace {
  float* normed = nullptr;  // [chunk, width]; also what attention and FFN give back
  float *q = nullptr, *k = nullptr, *v = nullptr;
  float* attended = nullptr;             // [chunk, n_heads * head_dim]
  float* lse = nullptr;                  // [chunk, n_heads]
  float *gate = nullptr, *up = nullptr;  // [chunk, ffn_width], over q … lse
  float* logits = nullptr;               // [n_vocabulary], over q … up
};

// What one pass over n_tokens leases: hidden [n_tokens, width], then the workspace of a chunk.
class PassScratch {
 public:
  static std::size_t bytes(const ModelConfig& config, std::size_t n_tokens);
  static Result<PassScratch> take(kvcache::Pool& pool, const ModelConfig& config,
                                  std::size_t n_tokens);
  float* hidden() const { return hidden_; }
  const Workspace& work() const { return work_; }

 private:
  kvcache::ScratchLease lease_;
  float* hidden_ = nullptr;
  Workspace work_;
};

// The last hidden states (normed) of a reading and of its replay, kept to be compared.
//   rows   min(n_tokens, kFidelityTokens)
std::size_t fidelity_rows(std::size_t n_tokens);
std::size_t fidelity_bytes(const ModelConfig& config, std::size_t n_tokens);

// All that Session::read leases beside the cache's own reading: kept rows, then the pass.
std::size_t reading_bytes(const ModelConfig& config, std::size_t n_tokens);

}  // namespace satchel::runtime
