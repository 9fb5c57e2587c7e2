// Reading a prompt: layer by layer, chunk by chunk, into scratch; staged until commit().
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>

#include "kvcache/cache_state.h"
#include "kvcache/reading_plan.h"

namespace satchel::kvcache {

// invariants  1 the cache's lanes do not change before commit(): what is new lies in scratch and in
//               pages that no lane knows yet
//             2 layers come in order, each with all of the prompt's tokens
struct PromptReading::State {
  CacheState& cache;
  ReadingPlan plan;
  ScratchLease scratch;
  std::vector<PageId> pages = {};                  // [plan.n_pages], lane after lane
  std::vector<kernels::PageView> page_views = {};  // of them, once encoded
  std::vector<std::int32_t> positions = {};        // [n_tokens]
  std::vector<std::int32_t> kept = {};             // of the lane in work, indices into the prompt
  std::vector<std::vector<std::int32_t>> staged_positions = {};  // [n_lanes]
  std::vector<std::array<kernels::ExactRun, 3>> runs = {};       // [n_kv_heads]
  std::vector<kernels::LaneView> views = {};                     // [n_kv_heads]
  std::size_t layer = 0, n_read = 0, n_chunk = 0;
  bool layer_open = false;

  State(CacheState& cache_in, ReadingPlan plan_in, ScratchLease scratch_in)
      : cache(cache_in), plan(std::move(plan_in)), scratch(std::move(scratch_in)) {
    cache.reading = true;
  }
  ~State() {
    for (auto page = pages.rbegin(); page != pages.rend(); ++page) cache.pool.give_page(*page);
    cache.reading = false;
  }
  State(State&&) = delete;

  std::size_t n_kv_heads() const { return cache.shape.n_kv_heads; }
  std::size_t lane_index(std::size_t head) const { return layer * n_kv_heads() + head; }
  std::byte* at(std::size_t offset) const { return scratch.data() + offset; }
  ExactBlock fresh(std::size_t head) const;
  float* scores(std::size_t head) const {
    return reinterpret_cast<float*>(at(plan.scores_at + head * plan.scores_head_bytes));
  }
  SpanLane span_lane(std::size_t head) const;

  void refresh_views();
  Result<void> choose(std::size_t head);
  // Tokens first … first + n of the line "old tail, then kept tokens that are no sinks" go to
  // `target` from slot `to` on.
  Result<void> place(std::size_t head, std::size_t first, std::size_t n, const ExactBlock& target,
                     std::size_t to) const;
  Result<void> place_kept(std::size_t head, std::size_t first, std::size_t n,
                          const ExactBlock& target, std::size_t to) const;
  std::int32_t position_in_line(std::size_t head, std::size_t index) const;
  Result<void> encode(std::size_t head);
  Result<void> stage(std::size_t head);
  Result<void> move_in(std::size_t lane);
};

ExactBlock PromptReading::State::fresh(std::size_t head) const {
  std::byte* k = at(plan.kv_at + head * plan.kv_head_bytes);
  return {reinterpret_cast<Half*>(k), reinterpret_cast<Half*>(k + plan.kv_head_bytes / 2),
          reinterpret_cast<std::int32_t*>(at(plan.positions_at))};
}

SpanLane PromptReading::State::span_lane(std::size_t head) const {
  const std::size_t n_group = cache.shape.n_heads / n_kv_heads();
  return {.keys = fresh(head).run(n_read),
          .n_heads = cache.shape.n_heads,
          .head_dim = cache.shape.head_dim,
          .first_head = head * n_group,
          .n_group = n_group,
          .scale = cache.shape.attention_scale};
}

void PromptReading::State::refresh_views() {
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const kernels::LaneView& history = cache.views[lane_index(head)];
    std::size_t n = 0;
    for (const kernels::ExactRun& run : history.runs) runs[head][n++] = run;
    if (n_read > 0) runs[head][n++] = fresh(head).run(n_read);
    views[head] = {std::span(runs[head]).first(n), history.pages};
  }
}

// Fills `kept` for one lane: by the recipe's stages, or with everything.
Result<void> PromptReading::State::choose(std::size_t head) {
  const LanePlan& lane = plan.lanes[lane_index(head)];
  kept.resize(lane.n_kept);
  if (!plan.evicts) {
    std::iota(kept.begin(), kept.end(), 0);
    return {};
  }
  kernels::Backend& backend = cache.backend;
  const Pipeline& pipeline = cache.recipe.pipeline();
  const TokenSpan span{.n_layers = cache.shape.n_layers,
                       .n_kv_heads = n_kv_heads(),
                       .n_tokens = plan.n_tokens,
                       .first_position = plan.first_position,
                       .keep = pipeline.keep()};
  auto* indices = reinterpret_cast<std::int32_t*>(at(plan.kept_at));
  SATCHEL_TRY(pipeline.scorer().finish(backend, span_lane(head), scores(head)));
  SATCHEL_TRY(pipeline.filter(backend, span, scores(head)));
  SATCHEL_TRY(
      pipeline.assigner().assign(backend, scores(head), plan.n_tokens, lane.n_kept, indices));
  SATCHEL_TRY(pipeline.merger().merge(backend, {.k = fresh(head).k,
                                                .v = fresh(head).v,
                                                .n_tokens = plan.n_tokens,
                                                .head_dim = cache.shape.head_dim,
                                                .kept = indices,
                                                .n_kept = lane.n_kept}));
  return backend.download(std::as_writable_bytes(std::span(kept)),
                          reinterpret_cast<const std::byte*>(indices));
}

Result<void> PromptReading::State::place_kept(std::size_t head, std::size_t first, std::size_t n,
                                              const ExactBlock& target, std::size_t to) const {
  const ExactBlock source = fresh(head);
  const std::size_t head_dim = cache.shape.head_dim;
  if (!plan.evicts) return copy_exact(cache.backend, head_dim, {source, first, target, to, n});
  if (n == 0) return {};
  const auto* indices = reinterpret_cast<const std::int32_t*>(at(plan.kept_at)) + first;
  const auto gather = [&](const void* from, std::size_t row_bytes, void* into) {
    return cache.backend.gather(static_cast<const std::byte*>(from), indices, n, row_bytes,
                                static_cast<std::byte*>(into));
  };
  SATCHEL_TRY(gather(source.k, head_dim * sizeof(Half), target.k + to * head_dim));
  SATCHEL_TRY(gather(source.v, head_dim * sizeof(Half), target.v + to * head_dim));
  return gather(source.positions, sizeof(std::int32_t), target.positions + to);
}

Result<void> PromptReading::State::place(std::size_t head, std::size_t first, std::size_t n,
                                         const ExactBlock& target, std::size_t to) const {
  const Lane& lane = cache.lanes[lane_index(head)];
  const std::size_t n_old = lane.n_tail() - std::min(lane.n_tail(), first);
  const std::size_t from_tail = std::min(n, n_old);
  SATCHEL_TRY(
      copy_exact(cache.backend, cache.shape.head_dim, {lane.tail(), first, target, to, from_tail}));
  const std::size_t n_new_sinks = plan.lanes[lane_index(head)].n_new_sinks;
  const std::size_t first_kept = n_new_sinks + first + from_tail - lane.n_tail();
  return n == from_tail ? Result<void>()
                        : place_kept(head, first_kept, n - from_tail, target, to + from_tail);
}

std::int32_t PromptReading::State::position_in_line(std::size_t head, std::size_t index) const {
  const Lane& lane = cache.lanes[lane_index(head)];
  if (index < lane.n_tail()) return lane.tail_positions()[index];
  const std::size_t i = plan.lanes[lane_index(head)].n_new_sinks + index - lane.n_tail();
  return positions[static_cast<std::size_t>(kept[i])];
}

Result<void> PromptReading::State::encode(std::size_t head) {
  const LanePlan& lane = plan.lanes[lane_index(head)];
  const std::size_t head_dim = cache.shape.head_dim;
  for (std::size_t i = 0; i < lane.n_pages; ++i) {
    const std::size_t first = i * kernels::kPageTokens;
    const ExactBlock block = exact_block(at(plan.page_at), kernels::kPageTokens, head_dim);
    SATCHEL_TRY(place(head, first, kernels::kPageTokens, block, 0));
    std::byte* bytes = cache.pool.page(pages[lane.first_page + i]);
    SATCHEL_TRY(cache.backend.encode_page(cache.layout, block.run(kernels::kPageTokens), bytes));
    page_views[lane.first_page + i] = {
        .bytes = bytes,
        .layout = &cache.layout,
        .first_position = position_in_line(head, first),
        .last_position = position_in_line(head, first + kernels::kPageTokens - 1)};
  }
  return {};
}

Result<void> PromptReading::State::stage(std::size_t head) {
  const LanePlan& lane = plan.lanes[lane_index(head)];
  const ExactBlock block =
      exact_block(at(lane.staged_at), lane.n_new_sinks + lane.n_staged, cache.shape.head_dim);
  SATCHEL_TRY(place_kept(head, 0, lane.n_new_sinks, block, 0));
  SATCHEL_TRY(place(head, lane.first_staged, lane.n_staged, block, lane.n_new_sinks));
  auto& to = staged_positions[lane_index(head)];
  to.resize(lane.n_staged);
  for (std::size_t i = 0; i < lane.n_staged; ++i)
    to[i] = position_in_line(head, lane.first_staged + i);
  return {};
}

// From scratch into the lane; nothing here allocates from the pool.
Result<void> PromptReading::State::move_in(std::size_t index) {
  const LanePlan& part = plan.lanes[index];
  Lane& lane = cache.lanes[index];
  const std::size_t head_dim = cache.shape.head_dim;
  const ExactBlock block =
      exact_block(at(part.staged_at), part.n_new_sinks + part.n_staged, head_dim);
  SATCHEL_TRY(copy_exact(cache.backend, head_dim,
                         {block, 0, lane.sinks(), lane.n_sinks(), part.n_new_sinks}));
  SATCHEL_TRY(copy_exact(cache.backend, head_dim,
                         {block, part.n_new_sinks, lane.tail(), part.tail_slot, part.n_staged}));
  for (std::size_t i = 0; i < part.n_staged; ++i)
    lane.set_tail_position(part.tail_slot + i, staged_positions[index][i]);
  for (std::size_t i = part.first_page; i < part.first_page + part.n_pages; ++i)
    lane.add_page(pages[i], page_views[i]);
  lane.set_lengths(part.n_sinks_after, part.n_tail_after);
  cache.refresh(index);
  return {};
}

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
