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

bool wants_lane_table(const kvcache::Recipe& recipe) {
  const kvcache::Pipeline& pipeline = recipe.pipeline();
  return pipeline.decides() && pipeline.allocator().wants_lane_shares();
}

Result<void> ensure_lane_table(runtime::Engine& engine, const kvcache::Recipe& recipe,
                               Console& console) {
  if (!wants_lane_table(recipe) || engine.config().lane_shares != nullptr) return {};
  SATCHEL_TRY_ASSIGN(const auto found,
                     profile_lanes(engine, *runtime::lane_rules().front(), {}, console));
  return engine.set_lane_shares(found.table);
}

LaneTableInUse lane_table_in_use(const Paths& paths, const std::string& fingerprint,
                                 const runtime::ModelConfig& config, Console& console) {
  LaneTableInUse in_use = {
      .found = runtime::find_lane_table(paths.lane_tables, fingerprint, config),
      .file = runtime::lane_table_file(paths.lane_tables, fingerprint),
      .shipped = "comes with Satchel",
      .none = "none yet; \"satchel profile\" makes one, and so does a chat while idle"};
  warn_if_damaged(in_use, "A lane table", console);
  return in_use;
}

}  // namespace satchel::app
