#include "runtime/engine_state.h"

#include "kernels/base/size_text.h"
#include "runtime/grammar/model_tokens.h"
#include "runtime/profile/profile_files.h"

namespace satchel::runtime {
namespace {

Error another_chat_is_open(const kvcache::Arena& arena) {
  return {ErrorKind::invalid, "CACHE_LIMIT",
          "While another chat is open, the memory limit can be raised to " +
              size_text(arena.capacity_bytes()) + " at most. Close that chat and try again."};
}

}  // namespace

std::shared_ptr<const TokenTrie> EngineState::tokens_for_grammars() {
  if (token_trie == nullptr) token_trie = token_trie_of(*tokenizer, *chat_template);
  return token_trie;
}

Result<void> EngineState::keep_head_budgets(const kvcache::HeadBudgets& budgets) {
  SATCHEL_TRY(file.check_unchanged());  // else they are those of another model
  model->set_head_budgets(std::make_shared<const kvcache::HeadBudgets>(budgets));
  return profiles.empty() ? Result<void>() : save_head_budgets(profiles, budgets);
}

Result<double> EngineState::profile_step(const std::stop_token& stop) {
  SATCHEL_ASSERT(arena != nullptr && model->config().head_budgets == nullptr);
  if (lane_profiler == nullptr) lane_profiler = std::make_unique<LaneProfiler>(profiled(), arena);
  const Result<bool> goes_on = lane_profiler->step(stop);
  if (goes_on.ok() && *goes_on) return lane_profiler->done();
  if (!goes_on.ok() && goes_on.error().kind == ErrorKind::cancelled) return goes_on.error();
  const std::unique_ptr<LaneProfiler> finished = std::move(lane_profiler);
  if (!goes_on.ok()) {
    can_profile = false;
    record(LogLevel::warning, "head_budgets_not_made code=" + goes_on.error().code);
    return goes_on.error();
  }
  if (!keep_head_budgets(finished->table()).ok())
    record(LogLevel::warning, "head_budgets_not_kept");
  return 1.0;
}

double EngineState::profile_done() const {
  return lane_profiler == nullptr ? 0 : lane_profiler->done();
}

// The arena lives as long as a cache does; without one it can be replaced by one of any size.
Result<void> EngineState::set_budget(std::size_t bytes) {
  if (arena != nullptr && bytes <= arena->capacity_bytes()) return arena->set_limit(bytes);
  lane_profiler.reset();  // it starts again, with the memory there is then
  can_profile = true;
  if (arena != nullptr && arena.use_count() > 1) return another_chat_is_open(*arena);
  arena.reset();
  SATCHEL_TRY_ASSIGN(arena, open_arena(bytes));
  return {};
}

Result<std::shared_ptr<kvcache::Arena>> EngineState::open_arena(std::size_t bytes) const {
  SATCHEL_TRY_ASSIGN(std::shared_ptr<kvcache::Arena> opened, kvcache::Arena::open(backend, bytes));
  if (!open_far) return opened;
  SATCHEL_TRY_ASSIGN(std::unique_ptr<kvcache::FarStore> store, open_far());
  opened->set_far(std::move(store));
  return opened;
}

void EngineState::take_arena(std::shared_ptr<kvcache::Arena> other) {
  lane_profiler.reset();  // as in set_budget()
  can_profile = true;
  arena = std::move(other);
}

Result<void> EngineState::check_alone() const {
  const long mine = 2 + (lane_profiler != nullptr ? 1 : 0);  // the engine's share and the cache's
  if (arena.use_count() <= mine) return {};
  return another_chat_is_open(*arena);
}

}  // namespace satchel::runtime
