// Measure: speed, and what a recipe costs on a text, on this machine and model; for `satchel bench`
// and `satchel eval`.
//   needs   an Engine that nobody else uses meanwhile
//   errors  MEMORY, CONTEXT_FULL, cancelled/STOPPED, those of the model
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>

#include "kvcache/cache.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"
#include "runtime/fidelity/fidelity.h"

namespace satchel::runtime {

struct Speed {
  std::size_t n_prompt = 0, n_decode = 0;
  double prefill_ms = 0;  // one prompt of n_prompt tokens, compression included
  double decode_ms = 0;   // n_decode tokens after it, one at a time, logits included
  kvcache::CacheStats stats;
};
struct SpeedRequest {
  std::size_t n_prompt = 512, n_decode = 64;
};
// Token ids are made up; no speed depends on which they are.
Result<Speed> measure_speed(Engine& engine, const kvcache::Recipe& recipe,
                            const SpeedRequest& request, std::stop_token stop);

struct TextFidelity {
  Fidelity fidelity;                     // over ids.size() - n_prompt predictions
  double exact_nll = 0, packed_nll = 0;  // mean of -ln p(next token of the text), nats
  kvcache::CacheStats stats;             // of the compressed cache at the end
};
// The first n_prompt ids are read as one prompt by an exact cache and by one under `recipe`; then
// both are led along the rest of the text token by token, and their next-token distributions are
// compared.
Result<TextFidelity> measure_on_text(Engine& engine, const kvcache::Recipe& recipe,
                                     std::span<const std::int32_t> ids, std::size_t n_prompt,
                                     std::stop_token stop);

}  // namespace satchel::runtime
