// Does not merge: dropped tokens are lost.
//   source  arXiv:2306.14048, arXiv:2411.18077
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class NoneMerger final : public Merger {
 public:
  bool merges() const override { return false; }
  Result<void> merge(kernels::Backend&, const MergeLane&) const override { return {}; }
};
}  // namespace

extern const StageMaker mergers_none = stage_of<NoneMerger>("arXiv:2306.14048");
}  // namespace satchel::kvcache
