// Two neighbouring layers' vectors of a token as one direction and two lengths. Listed, not built: its
// pages would hold two layers.
//   formula u, w unit vectors of layer l and l + 1, a the angle between them: one direction
//           (sin((1 - t) · a) · u + sin(t · a) · w) / sin a, t = 0.6; x = its length · the direction.
//           Tokens whose angle is among the largest stay as they are
//   needs   pages of two layers: a page here is one lane's, K and V of one layer and head, and lanes
//           evict, compact and are saved each by itself
//   source  arXiv:2405.14366 (MiniCache)
#include "kvcache/codecs/missing_need.h"

namespace satchel::kvcache {

extern const StageEntry codecs_minicache{
    .kind = StageKind::codec,
    .name = "minicache",
    .source = "arXiv:2405.14366",
    .make = [](Params&) {
      return missing_need("minicache", "pages of two layers, which this cache does not make");
    }};
}  // namespace satchel::kvcache
