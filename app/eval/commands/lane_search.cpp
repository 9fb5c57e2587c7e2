#include "app/eval/commands/lane_search.h"

#include "app/cli/interrupt.h"
#include "kvcache/recipes/pipeline.h"

namespace satchel::app {

Result<eval::LaneFindings> profile_lanes(runtime::Engine& engine, const eval::LaneRule& rule,
                                         std::span<const runtime::ProfileText> texts,
                                         Console& console) {
  const runtime::ProgressFn progress = console.progress();
  Result<eval::LaneFindings> found = eval::find_lanes(
      rule,
      {.engine = engine, .texts = texts, .stop = begin_interruptible(), .progress = progress});
  if (!found.ok() && found.error().kind == ErrorKind::cancelled)
    return Error{ErrorKind::cancelled, "STOPPED", "Stopped. No head-budget profile was made."};
  console.end_progress();
  return found;
}

bool needs_head_budgets(const kvcache::Recipe& recipe) {
  return recipe.pipeline().needs_head_budgets();
}

Result<void> ensure_head_budgets(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                 Console& console) {
  if (!needs_head_budgets(recipe) || engine.config().head_budgets != nullptr) return {};
  SATCHEL_TRY_ASSIGN(const auto found,
                     profile_lanes(engine, *eval::lane_rules().front(), {}, console));
  return engine.set_head_budgets(found.table);
}

}  // namespace satchel::app
