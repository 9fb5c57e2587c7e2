// Estimator: every predicted figure comes from here: the load dialog, the sliders, `satchel
// estimate` and the default budget.
//   bound    cache_bytes and all that counts it: of a text read in one span never less than what is
//            then allocated (estimator_test.cpp). Several leave pages part-filled: these are
//            counted where expected_bytes is asked for
//   promise  expected_bytes is what is then held, to the byte where every token stays or the
//            head-budget profile says what each lane keeps: all presets, with the profiles that
//            ship, in as many spans as the budget makes of the text
//            (tests/unit/runtime/expected_bytes_test.cpp holds it within 1 %). Where lanes compete
//            by the scores of the text it is about that: 3 % with ada-kv, kvzip and xkv on the
//            bundled model.
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
  // The same as it will be, as far as anybody can know: CacheStats::bytes when all is packed; where
  // the budget is too small for that, in the least that would do. 0 where not asked.
  std::size_t expected_bytes = 0;
  std::size_t scratch_bytes =
      0;  // reading one prompt of n_tokens: activations, one layer's exact K and V
  // Beside weights and arena: what the backend has taken to work in so far, rows of logits.
  std::size_t outside_bytes = 0;
  std::size_t arena_bytes = 0;   // cache + scratch: what --budget counts
  std::size_t fp16_bytes = 0;    // the same tokens in fp16
  std::size_t budget_bytes = 0;  // the request's, or the default
  // Largest n_tokens, up to the model's context, that `budget_bytes` holds; 0 where not asked.
  std::size_t n_tokens_fit = 0;
  // The same where the recipe comes down to the coarsest tier and the least share it allows.
  std::size_t n_tokens_most = 0;
  std::size_t available_bytes = 0;  // request.available.most
  bool fits = false;                // arena_bytes <= budget_bytes, and weights + arena <= available
};

// What costs more than the bounds: all spans of the text are planned, the tokens that fit searched
// for.
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
// The least limit that a chat of this recipe can be opened under, and say something.
Result<std::size_t> least_budget(const ModelConfig& config, const kvcache::Recipe& recipe);
// The full cache with its scratch at the model's context, or what caches usually take of it
// if that is less.
Result<std::size_t> default_budget(const ModelConfig& config,
                                   const kernels::AvailableMemory& available);

}  // namespace satchel::runtime
