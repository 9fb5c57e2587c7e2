// Budgets by layer: turns the formula of a depth-dependent allocator into whole totals.
#pragma once

#include <cstddef>
#include <span>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

enum class LaneFloor { none, tenth_of_mean };
// Rounds by the largest remainder. The totals sum to keep_total(span), or to the protected tokens
// if that is more. No lane gets less than the floor, less than its protected tokens, or more than
// it holds.
//   desired  [n_layers], desired tokens per lane of each layer, protected ones included
//   out      totals [n_layers], over all lanes of a layer
void totals_of_layers(const TokenSpan& span, std::size_t n_protected,
                      std::span<const double> desired, std::span<std::size_t> totals,
                      LaneFloor floor = LaneFloor::tenth_of_mean);

//   budgets  [n_lanes]
//   out      totals [n_layers]
void sum_by_layer(const TokenSpan& span, std::span<const std::size_t> budgets,
                  std::span<std::size_t> totals);

// The average number of tokens that a lane may choose besides the protected ones; at least 0.
double mean_choice(const TokenSpan& span, std::size_t n_protected);

}  // namespace satchel::kvcache
