// MiniKV's codec under the paper's name: the same parameters, bytes and bound as `minikv2`, which is what
// recipes and saved caches have called it from the beginning (minikv2.cpp has the contract).
//   source  arXiv:2411.18077 (MiniKV)
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

extern const StageEntry codecs_minikv2;

extern const StageEntry codecs_minikv{
    .kind = StageKind::codec,
    .name = "minikv",
    .source = "arXiv:2411.18077",
    .make = [](Params& params) { return codecs_minikv2.make(params); }};
}  // namespace satchel::kvcache
