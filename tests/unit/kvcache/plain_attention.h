// What a lane holds, token by token, what attention sees of it, and attention by plain loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/contract/lane_view.h"
#include "kvcache/lanes/reach.h"
#include "kvcache/shape/cache_shape.h"

namespace satchel::kvcache {

struct DecodedToken {
  std::vector<float> k = {}, v = {};
  std::int32_t shift = 0;  // of its page: the key is rotated as it was `shift` positions before
  double log_count = 0;
  const kernels::PageLayout* layout = nullptr;  // null: sinks, tail, or a span being read

  // Per value of K, without metadata; of codecs with loops of their own 4.
  std::size_t bits() const;
};
// What a lane holds: position -> values as a reader sees them.
using DecodedLane = std::map<std::int32_t, DecodedToken>;

// As attention sees it: parts of a reach may stand side by side, at the same positions.
using SeenLane = std::multimap<std::int32_t, DecodedToken>;

// What is seen of a lane that holds this: parts moved to their places, nothing of the others.
SeenLane in_reach(const DecodedLane& held, const Reach& reach, const LayerShape& layer);
// How two lanes differ: what stands where, values, shifts; keys by more than the rounding of sinks
// that were rotated. Empty: they don't.
std::string difference(const SeenLane& a, const SeenLane& b);

// softmax over `lane` as AttendArgs says, by plain loops; returns the log of the sum too.
struct Attended {
  std::vector<double> out;
  double lse = 0;
  std::map<std::int32_t, double> weights;  // by position: of all that is seen there
};
Attended attend_plainly(const float* q, const LayerShape& layer, std::int32_t query_position,
                        const DecodedLane& lane);
Attended attend_plainly(const float* q, const LayerShape& layer, std::int32_t query_position,
                        const SeenLane& lane);

}  // namespace satchel::kvcache
