// Never selects: every token is kept.
//   source  ours
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class NeverTrigger final : public Trigger {
 public:
  bool ever_fires() const override { return false; }
  bool fires(TriggerEvent, std::size_t) const override { return false; }
};
}  // namespace

extern const StageMaker triggers_never = stage_of<NeverTrigger>("ours");
}  // namespace satchel::kvcache
