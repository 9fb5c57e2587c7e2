// Keeps the tokens with the largest scores; the rest is gone. Ties go to the lower position.
//   source  arXiv:2306.14048; order of ties: ../shared/methods/selection.md section 1
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class TopKAssigner final : public Assigner {
 public:
  Result<void> assign(kernels::Backend& backend, const float* scores, std::size_t n_scores,
                      std::size_t budget, std::int32_t* kept) const override {
    return backend.select(scores, n_scores, budget, kept);
  }
};
}  // namespace

extern const StageEntry assigners_top_k{.kind = StageKind::assigner,
                                        .name = "top_k",
                                        .source = "arXiv:2306.14048",
                                        .make = make_stage<TopKAssigner>};
}  // namespace satchel::kvcache
