// Never selects: every token is kept.
//   source  ours
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class NeverTrigger final : public Trigger {
 public:
  bool ever_fires() const override { return false; }
  bool fires(const Moment&) const override { return false; }
};
}  // namespace

extern const StageEntry triggers_never{.kind = StageKind::trigger,
                                       .name = "never",
                                       .source = "ours",
                                       .make = make_stage<NeverTrigger>};
}  // namespace satchel::kvcache
