// KVzip's budgets: what share of a text each lane keeps when the tokens of all lanes compete by
// what the model looks at while it says the text again. The default; LaneProfiler does the work.
//   source  arXiv:2505.23416
#include <algorithm>

#include "app/eval/lane_rules/lane_rule.h"
#include "app/eval/measure/passes.h"
#include "runtime/engine_state.h"

namespace satchel::eval {
namespace {

Result<LaneFindings> find(const LaneSearch& search) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe kvzip, kvcache::Recipe::builtin("kvzip"));
  const std::size_t n_most = std::min(runtime::kProfileTokens, search.engine.config().context);
  SATCHEL_TRY_ASSIGN(auto arena, large_arena(search.engine, kvzip, n_most));
  runtime::LaneProfiler profiler(search.engine.state().profiled(), std::move(arena), search.texts);
  for (bool goes_on = true; goes_on;) {
    SATCHEL_TRY_ASSIGN(goes_on, profiler.step(search.stop));
    search.tell(0, 1, profiler.done());
  }
  const auto of_texts = profiler.of_texts();
  LaneFindings found{.table = profiler.table(), .of_texts = {of_texts.begin(), of_texts.end()}};
  if (of_texts.size() > 1) found.agreement = profiler.agreement();
  return found;
}

}  // namespace

extern const LaneRule rule_kvzip{.name = "kvzip",
                                 .about = "KVzip: what its reconstruction score keeps in each lane",
                                 .find = find};

}  // namespace satchel::eval
