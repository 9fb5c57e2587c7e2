#include "app/eval/commands/engine_pair.h"

#include "app/cli/workbench.h"
#include "app/eval/commands/lane_search.h"

namespace satchel::app {

Result<EnginePair> open_engine_pair(const Options& options, const kvcache::Recipe& recipe,
                                    Console& console) {
  EnginePair pair;
  SATCHEL_TRY_ASSIGN(pair.first, open_engine(options, console));
  SATCHEL_TRY_ASSIGN(pair.second, open_engine(options, console));
  SATCHEL_TRY(ensure_head_budgets(*pair.first, recipe, console));
  const auto& made = pair.first->config().head_budgets;
  if (made != nullptr && pair.second->config().head_budgets == nullptr)
    SATCHEL_TRY(pair.second->set_head_budgets(*made));
  return pair;
}

}  // namespace satchel::app
