#include "app/cli/lane_table.h"

#include <algorithm>

#include "app/cli/interrupt.h"
#include "kvcache/stages/pipeline.h"
#include "runtime/measure/passes.h"

namespace satchel::app {

Result<std::unique_ptr<runtime::LaneProfiler>> profile_lanes(
    runtime::Engine& engine, std::span<const runtime::ProfileText> texts, Console& console) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe kvzip, kvcache::Recipe::builtin("kvzip"));
  const std::size_t n_most = std::min(runtime::kProfileTokens, engine.config().context);
  SATCHEL_TRY_ASSIGN(auto arena, runtime::roomy_arena(engine, kvzip, n_most));
  auto profiler = std::make_unique<runtime::LaneProfiler>(engine.state(), std::move(arena), texts);
  const runtime::ProgressFn progress = console.progress();
  const std::stop_token stop = begin_interruptible();
  for (bool goes_on = true; goes_on;) {
    const Result<bool> step = profiler->step(stop);
    if (!step.ok() && step.error().kind == ErrorKind::cancelled)
      return Error{ErrorKind::cancelled, "STOPPED", "Stopped; no lane table was made."};
    SATCHEL_TRY_ASSIGN(goes_on, step);
    if (progress)
      progress({runtime::Phase::profile, static_cast<std::size_t>(1000 * profiler->done()), 1000});
  }
  console.end_progress();
  return profiler;
}

Result<void> ensure_lane_table(runtime::Engine& engine, const kvcache::Recipe& recipe,
                               Console& console) {
  const kvcache::Pipeline& pipeline = recipe.pipeline();
  const bool wants = pipeline.decides() && pipeline.allocator().wants_lane_shares();
  if (!wants || engine.config().lane_shares != nullptr) return {};
  SATCHEL_TRY_ASSIGN(const auto profiler, profile_lanes(engine, {}, console));
  return engine.set_lane_shares(profiler->table());
}

}  // namespace satchel::app
