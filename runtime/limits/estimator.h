// Estimator: every predicted figure comes from here: the load dialog, the sliders, `satchel
// estimate` and the default budget.
//   bound    cache_bytes, and every figure that includes it, is never less than what a text read in
//            one span allocates (estimator_test.cpp). Several spans leave pages part-filled; those
//            are counted only if expected_bytes is requested
//   promise  expected_bytes is what the cache will hold: to the byte if every token stays or the
//            head-budget profile says what each lane keeps, as with all presets and the profiles
//            that ship (tests/unit/runtime/expected_bytes_test.cpp holds it within 1 %). If lanes
//            compete by the scores of the text it is approximate: 3 % with ada-kv, kvzip and xkv
//            on the bundled model
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/base/result.h"
#include "kernels/contract/backend.h"
#include "kvcache/cache/cache.h"
#include "runtime/model/config.h"

namespace satchel::runtime {

// A session that could not read this many tokens would be of no use.
inline constexpr std::size_t kLeastTokens = 256;

struct Estimate {
  std::size_t weight_bytes = 0;  // as the backend will hold them
  std::size_t cache_bytes = 0;   // sinks, tails and pages for n_tokens, at most
  // The likely value: CacheStats::bytes when everything is packed. If the budget is too small, in
  // the least memory that would do. 0 if not requested.
  std::size_t expected_bytes = 0;
  // To read one prompt of n_tokens: activations, one layer's exact K and V.
  std::size_t scratch_bytes = 0;
  // Beside weights and arena: the backend's own workspace so far, and rows of logits.
  std::size_t outside_bytes = 0;
  std::size_t arena_bytes = 0;   // cache + scratch: what --budget counts
  std::size_t fp16_bytes = 0;    // the same tokens in fp16
  std::size_t budget_bytes = 0;  // the request's, or the default
  // Largest n_tokens, up to the model's context, that `budget_bytes` holds; 0 if not requested.
  std::size_t n_tokens_fit = 0;
  // The same at the coarsest tier and the least share that the recipe allows.
  std::size_t n_tokens_most = 0;
  std::size_t available_bytes = 0;  // request.available.most
  bool fits = false;                // arena_bytes <= budget_bytes, and weights + arena <= available
};

// Figures that cost more than the bounds: they plan all spans of the text, or search for the tokens
// that fit.
struct EstimateAsks {
  bool expected_bytes = false;
  bool tokens_that_fit = false;
};
struct EstimateRequest {
  std::size_t n_tokens = 0;      // 0: the model's context
  std::size_t budget_bytes = 0;  // 0: the default budget
  EstimateAsks asks = {};
  std::optional<kernels::AvailableMemory> available = {};  // of the backend; nothing: main memory's
};
Result<Estimate> estimate(const ModelConfig& config, std::size_t weight_bytes,
                          const kvcache::Recipe& recipe, const EstimateRequest& request);
// The least limit under which a chat of this recipe can be opened and answer something.
Result<std::size_t> least_budget(const ModelConfig& config, const kvcache::Recipe& recipe);
// The full cache with its scratch at the model's context, or the usual share of the available
// memory if that is less.
Result<std::size_t> default_budget(const ModelConfig& config,
                                   const kernels::AvailableMemory& available);

}  // namespace satchel::runtime
