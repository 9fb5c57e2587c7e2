// Dropped tokens leave nothing behind.
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

extern const StageEntry mergers_none{.kind = StageKind::merger,
                                     .name = "none",
                                     .source = "arXiv:2306.14048",
                                     .make = make_stage<NoneMerger>};
}  // namespace satchel::kvcache
