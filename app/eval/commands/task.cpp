#include "app/eval/commands/task.h"

namespace satchel::app {

Held Held::of(const kvcache::CacheStats& stats, std::size_t saved) {
  return {.n_tokens = stats.n_tokens,
          .bytes = stats.bytes - saved,
          .fp16_bytes = stats.fp16_bytes,
          .body_bytes = stats.body_bytes - saved,
          .body_fp16_bytes = stats.body_fp16_bytes,
          .n_kept = stats.n_kept,
          .n_evicted = stats.n_evicted};
}

void Held::add(const Held& other) {
  n_tokens += other.n_tokens;
  bytes += other.bytes;
  fp16_bytes += other.fp16_bytes;
  body_bytes += other.body_bytes;
  body_fp16_bytes += other.body_fp16_bytes;
  n_kept += other.n_kept;
  n_evicted += other.n_evicted;
}

}  // namespace satchel::app
