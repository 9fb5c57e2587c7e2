#include "app/cli/lane_table.h"

#include "app/cli/interrupt.h"
#include "kvcache/stages/pipeline.h"

namespace satchel::app {

Result<runtime::LaneFindings> profile_lanes(runtime::Engine& engine, const runtime::LaneRule& rule,
                                            std::span<const runtime::ProfileText> texts,
                                            Console& console) {
  const runtime::ProgressFn progress = console.progress();
  Result<runtime::LaneFindings> found = runtime::find_lanes(
      rule,
      {.engine = engine, .texts = texts, .stop = begin_interruptible(), .progress = progress});
  if (!found.ok() && found.error().kind == ErrorKind::cancelled)
    return Error{ErrorKind::cancelled, "STOPPED", "Stopped; no lane table was made."};
  console.end_progress();
  return found;
}

Result<void> ensure_lane_table(runtime::Engine& engine, const kvcache::Recipe& recipe,
                               Console& console) {
  const kvcache::Pipeline& pipeline = recipe.pipeline();
  const bool wants = pipeline.decides() && pipeline.allocator().wants_lane_shares();
  if (!wants || engine.config().lane_shares != nullptr) return {};
  SATCHEL_TRY_ASSIGN(const auto found,
                     profile_lanes(engine, *runtime::lane_rules().front(), {}, console));
  return engine.set_lane_shares(found.table);
}

}  // namespace satchel::app
