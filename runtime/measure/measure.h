// Measure: speed of a recipe, on this machine and model; for `satchel bench`.
//   needs   an Engine that nobody else uses meanwhile
//   errors  MEMORY, CONTEXT_FULL, cancelled/STOPPED, those of the model
#pragma once

#include <cstddef>
#include <stop_token>

#include "kvcache/cache.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::runtime {

struct Speed {
  std::size_t n_prompt = 0, n_decode = 0;
  double prefill_ms = 0;  // one prompt of n_prompt tokens, compression included …
  double pack_ms = 0;     // … and what a second pass takes after it; 0: the cache wants none
  double decode_ms = 0;   // n_decode tokens after it, one at a time, logits included
  kvcache::CacheStats stats;
};
struct SpeedRequest {
  std::size_t n_prompt = 512, n_decode = 64;
};
// Token ids are made up; no speed depends on which they are.
Result<Speed> measure_speed(Engine& engine, const kvcache::Recipe& recipe,
                            const SpeedRequest& request, std::stop_token stop);

}  // namespace satchel::runtime
