// K and V of all heads of a layer as a few trained features of the layer's input. Listed, not built.
//   formula c = A · x, kept for each token; K = RoPE(B · c), W_k ~ B · A; V likewise, without RoPE
//   needs   factors A and B of W_k and W_v of every layer, trained to reconstruct K and V of this model,
//           and the layer's input x: a page is given K and V of one head, after RoPE. Factors by SVD of
//           the weights alone (its starting point) would need x as well
//   source  arXiv:2409.10593 (CSKV); its code (wln20/CSKV)
#include "kvcache/codecs/missing_need.h"

namespace satchel::kvcache {

extern const StageEntry codecs_cskv{
    .kind = StageKind::codec, .name = "cskv", .source = "arXiv:2409.10593", .make = [](Params&) {
      return missing_need("cskv",
                          "trained factors of the model's key and value weights, and the inputs of "
                          "its layers, which this cache does not hold");
    }};
}  // namespace satchel::kvcache
