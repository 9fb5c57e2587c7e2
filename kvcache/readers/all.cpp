// Every step attends to every page.
//   source  ours
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class AllReader final : public Reader {};
}  // namespace

extern const StageMaker readers_all = stage_of<AllReader>("ours");
}  // namespace satchel::kvcache
