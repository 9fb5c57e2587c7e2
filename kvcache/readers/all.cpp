// Every step reads every page.
//   source  ours
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class AllReader final : public Reader {};
}  // namespace

extern const StageEntry readers_all{
    .kind = StageKind::reader, .name = "all", .source = "ours", .make = make_stage<AllReader>};
}  // namespace satchel::kvcache
