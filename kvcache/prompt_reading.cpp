// Reading a prompt: layer by layer, chunk by chunk, into scratch; nothing is seen before commit().
#include <limits>
#include <numeric>
#include <string>

#include "kvcache/prompt_state.h"

namespace satchel::kvcache {

PromptReading::PromptReading(std::unique_ptr<State> state) : state_(std::move(state)) {}
PromptReading::PromptReading(PromptReading&&) noexcept = default;
PromptReading::~PromptReading() = default;

Result<PromptReading> Cache::begin_prompt(std::size_t n_tokens) {
  State& s = *state_;
  SATCHEL_ASSERT(!s.reading);
  if (n_tokens == 0)
    return Error{ErrorKind::invalid, "PROMPT_EMPTY", "There is nothing to read: 0 tokens."};
  constexpr std::size_t kPositions = std::numeric_limits<std::int32_t>::max();
  if (n_tokens > kPositions || s.n_tokens > kPositions - n_tokens)
    return Error{ErrorKind::invalid, "CACHE_POSITION",
                 "No positions are left for " + std::to_string(n_tokens) + " more tokens."};
  s.undo_open_step();
  SATCHEL_TRY(s.flush_full_tails());

  std::vector<LaneLengths> history;
  for (const Lane& lane : s.lanes) history.push_back({lane.n_sinks(), lane.n_tail()});
  ReadingPlan plan = plan_reading({.shape = s.shape,
                                   .pipeline = s.recipe.pipeline(),
                                   .first_position = s.n_tokens,
                                   .n_tokens = n_tokens,
                                   .history = history});
  SATCHEL_TRY_ASSIGN(ScratchLease scratch, s.pool.take_scratch(plan.scratch_bytes));
  SATCHEL_TRY(s.pool.check_free_pages(plan.n_pages));
  auto state = std::make_unique<PromptReading::State>(s, std::move(plan), std::move(scratch));
  state->pages.reserve(state->plan.n_pages);
  for (std::size_t i = 0; i < state->plan.n_pages; ++i) {
    SATCHEL_TRY_ASSIGN(const PageId page, s.pool.take_page());
    state->pages.push_back(page);
  }
  state->page_views.resize(state->plan.n_pages);
  state->positions.resize(n_tokens);
  std::iota(state->positions.begin(), state->positions.end(),
            static_cast<std::int32_t>(s.n_tokens));
  state->staged_positions.resize(s.lanes.size());
  state->runs.resize(s.shape.n_kv_heads);
  state->views.resize(s.shape.n_kv_heads);
  SATCHEL_TRY(s.backend.upload(state->at(state->plan.positions_at),
                               std::as_bytes(std::span(state->positions))));
  return PromptReading(std::move(state));
}

Result<void> PromptReading::begin_layer(std::size_t layer) {
  State& s = *state_;
  SATCHEL_ASSERT(!s.layer_open && layer == s.layer && layer < s.cache.shape.n_layers);
  s.layer_open = true;
  s.n_read = s.n_chunk = 0;
  if (s.plan.evicts) {
    const std::vector<std::byte> zeros(s.plan.scores_head_bytes * s.n_kv_heads());
    SATCHEL_TRY(s.cache.backend.upload(s.at(s.plan.scores_at), zeros));
  }
  s.refresh_views();
  return {};
}

Result<void> PromptReading::add_chunk(const float* k, const float* v, std::size_t n_tokens) {
  State& s = *state_;
  SATCHEL_ASSERT(s.layer_open && n_tokens <= s.plan.n_tokens - s.n_read);
  const std::size_t head_dim = s.cache.shape.head_dim;
  for (std::size_t head = 0; head < s.n_kv_heads(); ++head) {
    const ExactBlock block = s.fresh(head);
    const auto store = [&](const float* from, Half* to) {
      return s.cache.backend.store({.from = from + head * head_dim,
                                    .n_rows = n_tokens,
                                    .n_values = head_dim,
                                    .from_stride = s.n_kv_heads() * head_dim,
                                    .to = to + s.n_read * head_dim});
    };
    SATCHEL_TRY(store(k, block.k));
    SATCHEL_TRY(store(v, block.v));
  }
  s.n_read += n_tokens;
  s.n_chunk = n_tokens;
  s.refresh_views();
  return {};
}

std::span<const kernels::LaneView> PromptReading::lanes() const {
  return state_->views;
}

bool PromptReading::wants_queries() const {
  return state_->plan.evicts && state_->cache.recipe.pipeline().scorer().wants_queries();
}

Result<void> PromptReading::observe(const float* q, const float* lse) {
  State& s = *state_;
  SATCHEL_ASSERT(s.layer_open && s.n_chunk > 0);
  if (!wants_queries()) return {};
  const QueryChunk chunk{
      .q = q,
      .lse = lse,
      .positions = std::span(s.positions).subspan(s.n_read - s.n_chunk, s.n_chunk)};
  const Scorer& scorer = s.cache.recipe.pipeline().scorer();
  for (std::size_t head = 0; head < s.n_kv_heads(); ++head)
    SATCHEL_TRY(scorer.observe(s.cache.backend, s.span_lane(head), chunk, s.scores(head)));
  s.n_chunk = 0;  // once for each chunk
  return {};
}

Result<void> PromptReading::end_layer() {
  State& s = *state_;
  SATCHEL_ASSERT(s.layer_open && s.n_read == s.plan.n_tokens);
  for (std::size_t head = 0; head < s.n_kv_heads(); ++head) {
    SATCHEL_TRY(s.choose(head));
    SATCHEL_TRY(s.encode(head));
    SATCHEL_TRY(s.stage(head));
  }
  s.layer_open = false;
  ++s.layer;
  return {};
}

Result<void> PromptReading::commit() {
  State& s = *state_;
  CacheState& cache = s.cache;
  SATCHEL_ASSERT(!s.layer_open && s.layer == cache.shape.n_layers);
  std::vector<std::size_t> n_pages;
  for (std::size_t i = 0; i < cache.lanes.size(); ++i)
    n_pages.push_back(cache.lanes[i].pages().size() + s.plan.lanes[i].n_pages);
  cache.reserve_pages(n_pages);
  for (std::size_t i = 0; i < cache.lanes.size(); ++i) {
    const Result<void> moved = s.move_in(i);
    if (moved.ok()) continue;  // else the device is lost, and with it what the cache held
    s.pages.erase(s.pages.begin(),
                  s.pages.begin() + static_cast<std::ptrdiff_t>(s.plan.lanes[i].first_page));
    cache.clear();
    return moved.error();
  }
  cache.n_tokens += s.plan.n_tokens;
  s.pages.clear();  // the lanes have them now
  return {};
}

}  // namespace satchel::kvcache
