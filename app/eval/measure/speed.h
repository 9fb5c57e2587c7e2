// Measure: speed of a recipe, on this machine and model; for `satchel bench`.
//   needs   an Engine that nobody else uses meanwhile
//   errors  MEMORY, CONTEXT_FULL, cancelled/STOPPED, those of the model
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "kvcache/cache/cache.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::eval {

struct Speed {
  std::size_t n_prompt = 0, n_decode = 0;
  double prefill_ms = 0;  // one prompt of n_prompt tokens, compression included …
  double pack_ms = 0;     // … and what a second pass takes after it; 0: the cache wants none
  double decode_ms = 0;   // n_decode tokens after it, one at a time, logits included
  // The same in processor time of all threads: what other programs take does not count.
  double prefill_cpu_ms = 0, decode_cpu_ms = 0;
  kvcache::CacheStats stats;
};
struct SpeedRequest {
  std::size_t n_prompt = 512, n_decode = 64;
};

double cpu_ms();                            // of all threads, since the program began
double median(std::vector<double> values);  // of two in the middle, the upper; 0 of none

// Speed in a conversation that already holds n_before tokens, which were read and packed untimed.
// Each measurement goes on where the last one ended, so the conversation grows.
class SpeedMeter {
 public:
  // Room for n_rounds measurements of this size. The engine must outlive the meter.
  static Result<SpeedMeter> open(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                 std::size_t n_before, const SpeedRequest& request,
                                 std::size_t n_rounds, std::stop_token stop);
  Result<Speed> next(std::stop_token stop);

 private:
  SpeedMeter(runtime::Engine& engine, const SpeedRequest& request)
      : engine_(&engine), request_(request) {}
  Result<void> read(std::size_t n_tokens, Speed& speed, std::stop_token stop);

  runtime::Engine* engine_;
  SpeedRequest request_;
  std::unique_ptr<kvcache::Cache> cache_;
  std::vector<std::int32_t> ids_;  // all that the cache has seen
  std::vector<float> logits_;
};
// Token ids are made up; no speed depends on which they are.
Result<Speed> measure_speed(runtime::Engine& engine, const kvcache::Recipe& recipe,
                            const SpeedRequest& request, std::stop_token stop);

}  // namespace satchel::eval
