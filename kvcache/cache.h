// Cache: all lanes of one conversation inside one arena of fixed size.
// A lane is sinks (the first tokens, exact) + body (full packed pages) + tail (the newest 128 to
// 255 tokens, exact).
//
//   step    begin_step -> for each layer { append -> attend over lanes(layer) } -> end_step
//   prompt  begin_prompt -> for each layer { begin_layer -> for each chunk { add_chunk -> attend
//           over lanes() -> observe } -> end_layer } -> commit. Only one layer's exact K and V of
//           the prompt exist at a time.
//   invariants  1 the pool never grows, and no call of a decode step allocates
//               2 begin_step and begin_prompt fail before anything changes (out_of_memory,
//                 CACHE_FULL), or the rest cannot run out of memory
//               3 a prompt that is not committed leaves no trace, nor does a step that is not ended
//               4 a body page is full (kPageTokens) and never encoded again; positions rise along
//                 sinks, body, tail
//               5 K is stored after RoPE at the token's own position; evicting moves no position
//   flush       attention of a step reads the tail before any flush of that step; when a tail holds
//               256 tokens its oldest 128 become a page (../shared/methods/codecs.md 0.3)
//   threads     one call at a time
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/contract/backend.h"
#include "kvcache/pool.h"
#include "kvcache/recipes/recipe.h"

namespace satchel::kvcache {

inline constexpr std::size_t kSinkTokens = 4;
inline constexpr std::size_t kTailTokens = 128;  // exact at least this long
inline constexpr std::size_t kTailCapacity = kTailTokens + kernels::kPageTokens;  // 256

struct CacheShape {
  std::size_t n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0;
  float attention_scale = 0;  // usually 1 / sqrt(head_dim)
  std::size_t n_lanes() const { return n_layers * n_kv_heads; }
  // fp16 K and V of one token in every lane.
  std::size_t fp16_bytes_per_token() const { return n_lanes() * head_dim * 2 * sizeof(Half); }
};

// What a cache of `n_tokens`, read as one prompt, takes from the pool. The one place this is
// computed: the estimator, the programs and begin_prompt all ask here (tests/unit/kvcache holds it
// against what is then allocated).
struct CacheNeed {
  std::size_t fixed_bytes = 0;  // sinks and tails of all lanes
  std::size_t page_bytes = 0;   // body
  std::size_t reading_bytes =
      0;  // scratch of the reading itself: one layer's exact K, V, scores; staged tails
  std::size_t total() const { return fixed_bytes + page_bytes + reading_bytes; }
};
Result<CacheNeed> cache_need(const CacheShape& shape, const Recipe& recipe, std::size_t n_tokens);

struct LayerStats {
  std::size_t n_kept_min = 0, n_kept_max = 0;  // tokens per lane: sinks, body and tail
  std::size_t n_pages = 0;                     // of all lanes
  double k_bits = 16, v_bits = 16;             // per value in the body, metadata counted
};
struct CacheStats {
  std::size_t n_tokens = 0;    // seen by every lane, evicted ones included
  std::size_t fp16_bytes = 0;  // what all of them would take in fp16
  std::size_t bytes = 0;       // allocated: sinks and tails at full capacity, pages
  std::size_t body_fp16_bytes =
      0;  // fp16 of all tokens that are neither sink nor tail, evicted ones included
  std::size_t body_bytes = 0;             // pages as allocated
  std::size_t n_kept = 0, n_evicted = 0;  // tokens, summed over lanes
  std::size_t pool_bytes = 0, pool_used_bytes = 0, pool_peak_bytes = 0;
  std::vector<LayerStats> layers;
};

class Cache;

// A prompt on its way into the lanes. Dropped without commit(), it leaves the cache as it was.
class PromptReading {
 public:
  ~PromptReading();
  PromptReading(PromptReading&&) noexcept;

  Result<void> begin_layer(std::size_t layer);
  // k, v [n, n_kv_heads, head_dim] fp32 after RoPE: the next n tokens of the prompt, in order.
  Result<void> add_chunk(const float* k, const float* v, std::size_t n_tokens);
  // History and this layer's prompt tokens so far, one view per KV head; valid until the next call.
  std::span<const kernels::LaneView> lanes() const;
  // Whether observe() wants queries and LSE of every chunk (a scorer reads attention and something
  // will be evicted).
  bool wants_queries() const;
  // q [n, n_heads, head_dim], lse [n, n_heads] of the chunk last added.
  Result<void> observe(const float* q, const float* lse);
  Result<void> end_layer();
  // needs   end_layer() of the last layer. Cannot run out of memory.
  Result<void> commit();

 private:
  friend class Cache;
  struct State;
  explicit PromptReading(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Cache {
 public:
  // pool_bytes: the hard limit; everything counts. Fails with out_of_memory (MEMORY) naming the
  // least that would do.
  static Result<std::unique_ptr<Cache>> open(kernels::Backend& backend, const CacheShape& shape,
                                             const Recipe& recipe, std::size_t pool_bytes);
  ~Cache();

  const CacheShape& shape() const;
  const Recipe& recipe() const;
  Pool& pool();
  std::size_t n_tokens() const;  // seen: also the position of the next token
  CacheStats stats() const;
  void clear();  // back to empty

  Result<void> begin_step();
  // k, v [n_kv_heads, head_dim] fp32 after RoPE of the token at position n_tokens().
  Result<void> append(std::size_t layer, const float* k, const float* v);
  Result<void> end_step();
  std::span<const kernels::LaneView> lanes(std::size_t layer) const;

  // n_tokens new tokens at positions n_tokens() ….
  Result<PromptReading> begin_prompt(std::size_t n_tokens);

 private:
  friend class PromptReading;
  friend class Snapshot;
  struct State;
  explicit Cache(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::kvcache
