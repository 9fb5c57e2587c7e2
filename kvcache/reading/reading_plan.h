// ReadingPlan: everything about the reading of one span that is known before it is read: how it is
// treated, what each lane's tail will hold, what the body may take at most, and where each piece lies
// in scratch. cache_need(), reading_fits() and begin_reading() all come from here.
#pragma once

#include <cstddef>
#include <vector>

#include "kvcache/cache_state.h"

namespace satchel::kvcache {

enum class ReadingMode {
  plain,     // every token is kept, the body at one tier
  in_layer,  // the recipe decides at the end of each layer, on exact K and V
  probe,     // nothing is kept
};

// One lane's part. Its new tokens line up behind the old tail: the first become sinks where sinks
// are missing, the newest n_tail_after are the new tail, the rest is for the body.
struct LanePlan {
  std::size_t n_tail_before = 0, n_new_sinks = 0, n_tail_after = 0;
  std::size_t n_body = 0;  // of the line: what leaves for pages, at most
  std::size_t budget = 0;  // in_layer, where it is known: of the new tokens, all that stay
  std::size_t tail_kept = kTailTokens;  // from now on
  bool is_scored = true;  // in_layer: false where all of the new tokens stay, or none but the least
  std::size_t staged_at = 0;  // in scratch: new sinks, then the new tail
};

struct ReadingPlan {
  ReadRequest request = {};
  std::size_t first_position = 0;
  ReadingMode mode = ReadingMode::plain;
  std::uint8_t tier = kTierRecipe;   // plain: of new tokens in the body
  std::uint8_t finest = kTierExact;  // bounds the tiers of what waits, old tails among it
  SpanState state_after = SpanState::done;
  bool scores_reading = false, stores_scores = false;
  std::size_t since_flush_after = 0;
  std::vector<std::size_t> totals = {};  // in_layer: [layers that take part]
  bool budgets_known = false;            // in_layer: of each lane
  std::size_t n_block = 0;               // tokens that are observed together; 0: as chunks come
  std::vector<LanePlan> lanes = {};
  std::size_t body_bytes = 0;    // of the pages, at most
  std::size_t settle_bytes = 0;  // beyond these, where commit() decides and flushes tails
  std::size_t score_bytes = 0;   // of the score store
  // Byte offsets into scratch. The line of a KV head: room for an old tail, then the new tokens.
  std::size_t positions_at = 0, lines_at = 0, line_bytes = 0;
  std::size_t kept_at = 0;                           // in_layer: lines again, gathered by tier
  std::size_t indices_at = 0;                        // in_layer: [n_kv_heads, line_tokens] int32
  std::size_t counts_at = 0;                         // likewise fp32, where the merger counts
  std::size_t scores_at = 0, scores_head_bytes = 0;  // [n_kv_heads] rows of fp32
  std::size_t state_at = 0, state_bytes = 0;         // of a scorer, where it has one
  std::size_t lse_at = 0;                            // probe: [n_tokens, n_heads] fp32 …
  std::size_t unused_at = 0;                         // … [kLseRows, n_heads, head_dim] fp32
  std::size_t block_q_at = 0;    // [n_block or more, n_heads, head_dim] fp32 …
  std::size_t block_lse_at = 0;  // … [n_block or more, n_heads], kBlockWork
  std::size_t scratch_bytes = 0;

  std::size_t n_tokens() const { return request.n_tokens; }
  std::size_t line_tokens() const;
  std::size_t needed_bytes() const {
    return scratch_bytes + body_bytes + settle_bytes + score_bytes;
  }
};

// Room before the new tokens of a line: a tail is never longer.
inline constexpr std::size_t kLineHead = kTailTokens + kFlushTokens;

// A lane that keeps so many tokens of a text can afford a long tail.
inline constexpr std::size_t kLongTailBudget = 2 * kTailTokens;

// Rows of a probe that are normalised at a time.
inline constexpr std::size_t kLseRows = 64;

// A reading at the end of what the cache holds; `finest` bounds the tier of what must wait.
ReadingPlan plan_reading(const CacheBook& cache, const ReadRequest& request, std::uint8_t finest);
// The same with what must wait as fine as the request asks and free_bytes allow; at the recipe's tier
// also where it does not fit.
ReadingPlan plan_that_fits(const CacheBook& cache, const ReadRequest& request,
                           std::size_t free_bytes);
// As Cache's, of free_bytes.
std::size_t reading_needs(const CacheBook& cache, const ReadRequest& request,
                          Cache::OtherBytes other_bytes, const void* context);
ReadRequest reading_fits(const CacheBook& cache, std::size_t free_bytes, const ReadRequest& request,
                         Cache::OtherBytes other_bytes, const void* context);
// n_slots: of the lane with the most slots to score.
ReadingPlan plan_probe(const CacheBook& cache, std::size_t n_tokens, std::size_t first_position,
                       std::size_t n_slots);

// What a document leaves in pages once lanes of several layers have been decided together.
std::size_t decided_bytes(const CacheBook& cache, std::size_t first_position, std::size_t n_tokens);

// What a second pass over n_waiting tokens borrows at a time, its scores included; 0: none is wanted.
std::size_t probe_bytes(const CacheBook& cache, std::size_t n_waiting);

// Bytes that pages of n_tokens in m lanes take at most, however they share them, if each lane has
// n_partial pages of a tier that are not full.
std::size_t ragged_bytes(const CacheBook& cache, std::uint8_t tier, std::size_t head_dim,
                         std::size_t n_tokens, std::size_t n_lanes, std::size_t n_partial = 1);

}  // namespace satchel::kvcache
