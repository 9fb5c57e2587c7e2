#include "kvcache/cache/cache.h"

#include <algorithm>

#include "kernels/base/size_text.h"
#include "kvcache/planning/plan_prefill.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {
namespace {

Result<void> check_shape(const CacheShape& shape) {
  const bool whole =
      shape.n_layers() > 0 &&
      std::all_of(shape.layers.begin(), shape.layers.end(), [](const auto& layer) {
        return layer.n_heads > 0 && layer.n_kv_heads > 0 && layer.n_heads % layer.n_kv_heads == 0;
      });
  if (!whole)
    return Error{
        ErrorKind::unsupported, "CACHE_SHAPE",
        "A cache needs layers, and in each query heads that are a multiple of the KV heads."};
  for (const StateShape& state : shape.states)
    if (state.n_values == 0 || state.n_values > kStateValuesMax || state.n_exact > state.n_values)
      return Error{ErrorKind::unsupported, "CACHE_SHAPE",
                   "A recurrent layer's state of " + std::to_string(state.n_values) +
                       " values is empty or too large to be saved."};
  if (shape.head_budgets != nullptr && !shape.suits(*shape.head_budgets))
    return Error{
        ErrorKind::invalid, "LANE_SHARES",
        "The head budgets do not fit this model: its number of lanes or its key size differs."};
  if (shape.key_bases != nullptr && !shape.suits(*shape.key_bases))
    return Error{
        ErrorKind::invalid, "KEY_BASES",
        "The key bases do not fit this model: its number of lanes or its key size differs."};
  for (const SelectorMethod method : kSelectorMethods)
    if (const SelectorWeights* weights = shape.selectors.in_memory(method);
        weights != nullptr && !shape.suits(*weights))
      return Error{ErrorKind::invalid, "SELECTOR_WEIGHTS",
                   "The selector weights for \"" + std::string(to_text(method)) +
                       "\" do not fit this model: its number of layers, or the number or size of "
                       "its heads differs."};
  return {};
}

// The least that is of any use: one page of tokens, prefilled as a prompt.
Result<void> check_bytes(const Arena& arena, const CacheShape& shape, const Recipe& recipe) {
  SATCHEL_TRY_ASSIGN(const CacheNeed least, cache_need(shape, recipe, kernels::kPageTokens));
  if (arena.free_bytes() >= least.total()) return {};
  return Error{ErrorKind::out_of_memory,
               "MEMORY",
               "A memory limit of " + size_text(arena.bytes()) + " with " +
                   size_text(arena.free_bytes()) +
                   " free is too small for this model: an empty chat and a short prompt take " +
                   size_text(least.total()) + ". Raise the limit, or close other chats.",
               {{"limit_bytes", arena.bytes()},
                {"free_bytes", arena.free_bytes()},
                {"needed_bytes", least.total()}}};
}

// What is decided about, or rounded to make room, would have to be fetched to be looked at.
Result<void> check_far(const CacheState& cache) {
  if (!cache.arena.has_far() || cache.layout.keeps_all_exact()) return {};
  return Error{ErrorKind::unsupported, "FAR_RECIPE",
               "Recipe \"" + cache.layout.recipe.name() +
                   "\" leaves text out or rounds it, so its pages cannot be kept on disk. Choose "
                   "a recipe that keeps all text as it is (full, quest), or do without the disk."};
}

}  // namespace

Result<std::unique_ptr<Cache>> Cache::open(std::shared_ptr<Arena> arena, const CacheShape& shape,
                                           const Recipe& recipe) {
  SATCHEL_TRY(check_shape(shape));
  SATCHEL_TRY(recipe.pipeline().check(shape));
  SATCHEL_TRY(check_bytes(*arena, shape, recipe));
  return make(std::move(arena), shape, recipe);
}

Result<std::unique_ptr<Cache>> Cache::make(std::shared_ptr<Arena> arena, const CacheShape& shape,
                                           const Recipe& recipe) {
  SATCHEL_TRY_ASSIGN(TierLayouts layouts, TierLayouts::make(shape, recipe.pipeline()));
  auto state = std::make_unique<CacheState>(std::move(arena), shape, recipe, std::move(layouts));
  SATCHEL_TRY(check_far(*state));
  SATCHEL_TRY(state->take_fixed());
  return std::unique_ptr<Cache>(new Cache(std::move(state)));
}

Result<std::unique_ptr<Cache>> Cache::twin() const {
  return make(state_->shared_arena, state_->layout.shape, state_->layout.recipe);
}

Cache::Cache(std::unique_ptr<CacheState> state) : state_(std::move(state)) {}
Cache::~Cache() = default;

const CacheShape& Cache::shape() const {
  return state_->layout.shape;
}
const Recipe& Cache::recipe() const {
  return state_->layout.recipe;
}
Arena& Cache::arena() {
  return state_->arena;
}
bool Cache::is_far() const {
  return state_->arena.has_far();
}
std::size_t Cache::n_tokens() const {
  return state_->text.n_tokens;
}
std::span<const TextSegment> Cache::segments() const {
  return state_->text.segments;
}

const Reach& Cache::reach() const {
  return state_->reach;
}

std::size_t Cache::n_seen() const {
  return n_tokens() - static_cast<std::size_t>(state_->reach.sinks_moved());
}

CacheStats Cache::stats() const {
  return stats_of(*state_);
}
CacheEdit Cache::edit() {
  return CacheEdit(*state_);
}
Compactor Cache::compactor() {
  return Compactor(*state_);
}
CacheInspector Cache::inspector() {
  return CacheInspector(*state_);
}
CacheState& Cache::state() {
  return *state_;
}

RecurrentStates& Cache::states() {
  return state_->states;
}

PrefillPlan Cache::largest_fit(const PrefillRequest& request, const PassBytes& pass) const {
  return kvcache::largest_fit(state_->view(), request, pass, state_->arena.free_bytes());
}
std::size_t Cache::prefill_needs(const PrefillRequest& request, const PassBytes& pass) const {
  return kvcache::prefill_needs(state_->view(), request, pass);
}
Result<Prefill> Cache::begin_prefill(PrefillPlan plan) {
  return Prefill::begin(*state_, std::move(plan));
}
Result<Prefill> Cache::begin_prefill(const PrefillRequest& request) {
  return Prefill::begin(*state_, {.request = request});
}
Result<Prefill> Cache::begin_probe(const ProbeJob& job, std::size_t n_tokens,
                                   std::size_t first_position) {
  return Prefill::begin_probe(*state_, job, n_tokens, first_position);
}
std::optional<ProbeJob> Cache::next_probe(std::size_t chunk_tokens) const {
  return kvcache::next_probe(*state_, chunk_tokens);
}

bool Cache::needs_second_pass() const {
  return state_->requirements().probe;
}

bool Cache::needs_head_budgets() const {
  const CacheLayout& layout = state_->layout;
  return layout.shape.head_budgets == nullptr && layout.pipeline.needs_head_budgets();
}

void Cache::set_head_budgets(std::shared_ptr<const HeadBudgets> budgets) {
  SATCHEL_ASSERT(state_->prefill == nullptr);
  SATCHEL_ASSERT(state_->layout.shape.suits(*budgets));
  state_->layout.shape.head_budgets = std::move(budgets);
}

bool Cache::needs_pre_rope() const {
  return state_->requirements().pre_rope;
}

kernels::Sequence Cache::lanes(std::size_t layer) const {
  SATCHEL_ASSERT(layer < state_->layout.shape.n_layers());
  return {.lanes = state_->table.get(),
          .first_lane = state_->layout.first_lane[layer],
          .n_tokens = state_->step_open ? state_->step_tokens : 1};
}

Result<void> Cache::refresh_lanes() {
  return state_->show_all_if_stale();
}

void Cache::clear() {
  SATCHEL_ASSERT(state_->prefill == nullptr);
  state_->clear();
}

}  // namespace satchel::kvcache
