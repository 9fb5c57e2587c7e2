// Groups of KV heads as one shared head. Listed, not built: it is done to a model, not to a page.
//   formula [K_1 … K_g] ~ C · P by SVD of the heads' keys over texts, C one head wide; P goes into the
//           weights of the queries (of V: into those of the output); the model is trained on
//   needs   a model that has been converted so: one whose heads are merged in its weights is read as any
//           other with grouped queries, and takes any codec. P of keys does not go past RoPE: such a
//           model keeps C before it
//   source  arXiv:2406.07056 (Effectively Compress KV Heads for LLM)
#include "kvcache/codecs/missing_need.h"

namespace satchel::kvcache {

extern const StageEntry codecs_effectively_compress_kv_heads{
    .kind = StageKind::codec,
    .name = "effectively-compress-kv-heads",
    .source = "arXiv:2406.07056",
    .make = [](Params&) {
      return missing_need("effectively-compress-kv-heads",
                          "a model whose heads were merged in its weights and trained on, which "
                          "is done by a converter and not in a cache");
    }};
}  // namespace satchel::kvcache
