// Packing: the second pass over pending text, and the decision about it.
//   errors   cancelled/STOPPED; those of model and cache
//   threads  as the Model's
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "kvcache/cache/cache.h"
#include "runtime/model/model.h"
#include "runtime/progress.h"

namespace satchel::runtime {

// The token ids that make the model repeat a text. A stretch that begins in the middle of a text is
// identified by the tokens before it.
//   source  arXiv:2505.23416 (KVzip) section 3.2
struct RepeatScript {
  std::vector<std::int32_t> first;  // before a stretch that begins a text
  std::vector<std::int32_t> later;  // before the tokens that precede another stretch …
  std::vector<std::int32_t> then;   // … and between them and it
};
inline constexpr std::size_t kHookTokens = 8;  // as the paper's code

struct TextPass {
  kvcache::Cache& cache;
  // The chat's token ids; the cache has seen the first cache.n_tokens() of them.
  std::span<const std::int32_t> text;
  const RepeatScript& script;
  std::stop_token stop;
  const ProgressFn& progress;
};

// Does one stretch of the second pass or, after the last, the decision. False: nothing is pending.
Result<bool> pack_step(Model& model, const TextPass& pass, kvcache::CompactionReport& report);
// Steps until nothing is pending.
Result<kvcache::CompactionReport> pack_all(Model& model, const TextPass& pass);

}  // namespace satchel::runtime
