// The keys of a lane one after the other, and their logits: shared by score() and logsumexp().
#pragma once

#include <functional>

#include "kernels/contract/backend.h"

namespace satchel::kernels::reference {

struct LaneKey {
  const float* k = nullptr;   // [head_dim], as if encoded at `position`
  std::int32_t position = 0;  // a page's shift included
  std::size_t slot = 0;       // counted over the runs' tokens, then each page's n_tokens slots
};

// Calls body for each key of a live slot.
void for_each_key(const LaneQueries& lane, const std::function<void(const LaneKey&)>& body);

bool can_attend(const LaneQueries& lane, std::int32_t query, std::int32_t key);

// cap(q·k·scale) of head `head` of token `token`.
double logit(const LaneQueries& lane, std::size_t token, std::size_t head, const LaneKey& key);

}  // namespace satchel::kernels::reference
