// Budgets that follow the depth of a layer: what several allocators do with their formula's numbers.
#pragma once

#include <cstddef>
#include <span>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

enum class LaneFloor { none, tenth_of_mean };
// What a layer's lane wishes, of its own, for each layer: whole totals of layers that sum to
// keep_total(span), or to what is protected if that is more. No lane gets less than the floor, less
// than what is protected, or more than there is; by largest remainder.
//   wishes  [n_layers]
//   out     totals [n_layers], of all lanes of a layer
void totals_of_layers(const TokenSpan& span, std::size_t n_protected,
                      std::span<const double> wishes, std::span<std::size_t> totals,
                      LaneFloor floor = LaneFloor::tenth_of_mean);

// How many tokens a lane may choose on average, beside the protected ones; 0 if there are none left.
double mean_choice(const TokenSpan& span, std::size_t n_protected);

}  // namespace satchel::kvcache
