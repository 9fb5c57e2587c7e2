// ReadingPlan: everything about the reading of one prompt that is known before it is read: what each
// lane will keep, how many pages it fills, and where each piece lies in scratch. cache_need() and
// begin_prompt() both come from here, so that the estimate is what is then allocated.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kvcache/cache.h"

namespace satchel::kvcache {

// What a lane holds before the prompt.
struct LaneLengths {
  std::size_t n_sinks = 0, n_tail = 0;
};

// One lane's part. Its new tokens line up behind the old tail: the first become sinks where sinks
// are missing, of the rest the oldest go into pages and the newest kTailTokens to kTailCapacity - 1
// stay exact.
struct LanePlan {
  std::size_t n_kept = 0;                      // tokens of the prompt that stay, sinks included
  std::size_t n_new_sinks = 0;                 // of them
  std::size_t n_pages = 0, first_page = 0;     // filled by this prompt; index among all of the plan
  std::size_t first_staged = 0, n_staged = 0;  // in the line "old tail, then kept": what is staged
  std::size_t tail_slot = 0;                   // where the first staged token goes in the tail
  std::size_t staged_at = 0;                   // in scratch: new sinks, then staged tail
  std::size_t n_sinks_after = 0, n_tail_after = 0;
};

struct ReadingPlan {
  std::size_t n_tokens = 0, first_position = 0;
  bool evicts = false;
  std::vector<LanePlan> lanes;
  std::size_t n_pages = 0;
  // Byte offsets into scratch. K and V of one layer: per KV head k, then v [n_tokens, head_dim].
  std::size_t positions_at = 0, kv_at = 0, kv_head_bytes = 0;
  std::size_t scores_at = 0, scores_head_bytes = 0;  // [n_kv_heads, n_tokens] fp32, if it evicts
  std::size_t kept_at = 0;                           // [n_tokens] int32, if it evicts
  std::size_t page_at = 0;                           // one page's tokens, exact
  std::size_t scratch_bytes = 0;
};

struct ReadingRequest {
  const CacheShape& shape;
  const Pipeline& pipeline;
  std::size_t first_position = 0, n_tokens = 0;
  std::span<const LaneLengths> history = {};  // empty: an empty cache
};
ReadingPlan plan_reading(const ReadingRequest& request);

}  // namespace satchel::kvcache
