// Gives every lane the same.
//   source  arXiv:2306.14048 (H2O), arXiv:2404.14469 (SnapKV)
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class UniformAllocator final : public Allocator {};
}  // namespace

extern const StageMaker allocators_uniform =
    stage_of<UniformAllocator>("arXiv:2306.14048, arXiv:2404.14469");
}  // namespace satchel::kvcache
