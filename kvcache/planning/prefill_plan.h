// PrefillPlan: everything about the prefill of one span that is known before it begins: how it is
// treated, what each lane's tail will hold, what the body may take at most, and where each array
// lies in scratch. It is made once: the planners ask whether it fits, begin_prefill() goes by it.
#pragma once

#include <cstddef>
#include <vector>

#include "kvcache/layout/text_segments.h"

namespace satchel::kvcache {

enum class PrefillMode {
  plain,     // every token is kept, the body at one tier
  in_layer,  // the recipe decides at the end of each layer, on exact K and V
  probe,     // nothing is kept
};

// One lane's part. Its new tokens line up behind the old tail: the first become sinks where sinks
// are missing, the newest n_tail_after are the new tail, the rest is for the body.
struct LanePlan {
  std::size_t n_tail_before = 0, n_new_sinks = 0, n_tail_after = 0;
  std::size_t n_body = 0;  // of the line: what leaves for pages, at most
  std::size_t budget = 0;  // where it is known: of the new tokens, all that stay or will stay
  std::size_t tail_kept = kTailTokens;  // from now on
  bool is_scored = true;  // in_layer: false where all of the new tokens stay, or none but the least
  std::size_t staged_at = 0;  // in scratch: new sinks, then what is new of the new tail
};

// Headroom before the new tokens of a line: a tail is never longer.
inline constexpr std::size_t kLineHeadroom = kTailTokens + kFlushTokens;

struct PrefillPlan {
  PrefillRequest request = {};
  std::size_t first_position = 0;
  PrefillMode mode = PrefillMode::plain;
  std::uint8_t tier = kTierRecipe;   // plain: of new tokens in the body
  std::uint8_t finest = kTierExact;  // bounds the tiers of pending text, old tails among it
  SegmentState state_after = SegmentState::done;
  bool scores_prefill = false, stores_scores = false;
  std::size_t since_flush_after = 0;
  std::vector<std::size_t> totals = {};  // in_layer: [layers that take part]
  bool budgets_known = false;            // of each lane
  std::size_t n_block = 0;               // tokens that are observed together; 0: as chunks come
  std::vector<LanePlan> lanes = {};
  // Of the pages, at most. Of far ones the largest layer's, with what it reads, and all notes.
  std::size_t body_bytes = 0;
  std::size_t settle_bytes = 0;  // beyond these, where commit() decides and flushes tails
  std::size_t score_bytes = 0;   // of the score store
  // Byte offsets into scratch. The line of a KV head: headroom for an old tail, then the new
  // tokens.
  std::size_t positions_at = 0, lines_at = 0, line_bytes = 0;
  std::vector<std::size_t> held_at = {};  // [layers] the new tokens of a shared one; empty: none is
  std::size_t kept_at = 0;                // in_layer: lines again, gathered by tier
  std::size_t indices_at = 0;             // in_layer: [n_kv_heads, line_tokens] int32
  std::size_t counts_at = 0;              // likewise fp32, where the merger counts
  std::size_t scores_at = 0, scores_head_bytes = 0;  // [n_kv_heads] rows of fp32
  // in_layer, where the merger wants reference queries: of each KV head, reference_bytes apart,
  // [n_references, head_dim] fp32, [n_references] fp32 of the LSE; then the merger's workspace.
  std::size_t n_references = 0, references_at = 0, reference_bytes = 0, merge_work_at = 0;
  std::size_t state_at = 0, state_bytes = 0;  // of a scorer, where it has one
  std::size_t block_q_at = 0;                 // [n_block or more, n_heads, head_dim] fp32 …
  std::size_t block_lse_at = 0;               // … [n_block or more, n_heads], kBlockWork
  std::size_t scratch_bytes = 0;

  std::size_t n_tokens() const { return request.n_tokens; }
  std::size_t line_tokens() const {
    return (mode == PrefillMode::probe ? 0 : kLineHeadroom) + n_tokens();
  }
  std::size_t needed_bytes() const {
    return scratch_bytes + body_bytes + settle_bytes + score_bytes;
  }
};

}  // namespace satchel::kvcache
