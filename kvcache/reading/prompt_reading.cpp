// Reading a span: layer by layer, chunk by chunk, into scratch; nothing is seen before commit().
#include <limits>
#include <numeric>
#include <string>

#include "kvcache/reading/prompt_state.h"

namespace satchel::kvcache {

PromptReading::PromptReading(std::unique_ptr<State> state) : state_(std::move(state)) {}
PromptReading::PromptReading(PromptReading&&) noexcept = default;
PromptReading::~PromptReading() = default;

PromptReading::State::State(CacheState& cache_in, ReadingPlan plan_in, Arena::Lease lease_in,
                            std::unique_ptr<kernels::LaneTable> table_in)
    : cache(cache_in),
      plan(std::move(plan_in)),
      lease(std::move(lease_in)),
      table(std::move(table_in)),
      positions(plan.n_tokens()),
      runs(table->n_lanes()),
      n_runs(table->n_lanes()),
      pages(cache.lanes.size()) {
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(plan.first_position));
  cache.reading = this;
}

PromptReading::State::~State() {
  for (const std::vector<PageRecord>& made : pages)
    for (const PageRecord& page : made) cache.arena.give(page.extent);
  cache.reading = nullptr;
  if (committed) {
    cache.forget_scores();
    return;
  }
  // Dropped: scores that were written beyond the text would count for other tokens.
  cache.scores.keep_only(chunks_before);
  if (plan.mode == ReadingMode::probe || cache.scores.zero_from(cache.n_tokens).ok()) return;
  cache.scores.keep_only(0, cache.n_tokens / ScoreStore::kChunk * ScoreStore::kChunk);
}

namespace {

Result<void> check_positions(std::size_t first, std::size_t n_tokens) {
  if (n_tokens == 0)
    return Error{ErrorKind::invalid, "PROMPT_EMPTY", "There is nothing to read: 0 tokens."};
  constexpr std::size_t kPositions = std::numeric_limits<std::int32_t>::max();
  if (n_tokens > kPositions || first > kPositions - n_tokens)
    return Error{ErrorKind::invalid, "CACHE_POSITION",
                 "No positions are left for " + std::to_string(n_tokens) + " more tokens."};
  return {};
}

std::size_t n_kv_heads_max(const CacheShape& shape) {
  std::size_t most = 0;
  for (const LayerShape& layer : shape.layers) most = std::max(most, layer.n_kv_heads);
  return most;
}

}  // namespace

Result<PromptReading> Cache::begin_reading(const ReadRequest& request) {
  State& s = *state_;
  SATCHEL_ASSERT(s.reading == nullptr && request.finest <= kTierRecipe);
  SATCHEL_TRY(check_positions(s.n_tokens, request.n_tokens));
  s.undo_open_step();
  SATCHEL_TRY(s.flush_if_due());
  ReadingPlan plan = plan_that_fits(s, request, s.arena.free_bytes());
  SATCHEL_TRY(s.arena.check_free(plan.needed_bytes()));
  return s.open_reading(std::move(plan), {.first = s.n_tokens, .n_tokens = request.n_tokens});
}

// `scored`: the positions whose scores go to the store, where the plan says so.
Result<PromptReading> CacheState::open_reading(ReadingPlan plan, const ProbeJob& scored) {
  const std::vector<std::size_t> before = scores.chunks();
  Result<PromptReading> opened = [&]() -> Result<PromptReading> {
    if (plan.stores_scores) SATCHEL_TRY(scores.ensure(scored.first, scored.n_tokens));
    return make_reading(std::move(plan), before);
  }();
  if (!opened.ok()) scores.keep_only(before);
  return opened;
}

Result<PromptReading> CacheState::make_reading(ReadingPlan plan,
                                               const std::vector<std::size_t>& chunks_before) {
  SATCHEL_TRY_ASSIGN(Arena::Lease lease, arena.take_scratch(plan.scratch_bytes));
  SATCHEL_TRY(show_all_if_stale());
  SATCHEL_TRY_ASSIGN(auto lanes_table, backend.make_lane_table(n_kv_heads_max(shape)));
  auto state = std::make_unique<PromptReading::State>(*this, std::move(plan), std::move(lease),
                                                      std::move(lanes_table));
  state->chunks_before = chunks_before;  // at once: from here on a failure drops a reading
  SATCHEL_TRY(backend.upload(state->at(state->plan.positions_at),
                             std::as_bytes(std::span(state->positions))));
  return PromptReading(std::move(state));
}

ExactBlock PromptReading::State::line(std::size_t head) const {
  const std::size_t bytes = exact_block_bytes(plan.line_tokens(), head_dim());
  return exact_block(at(plan.lines_at) + head * bytes, plan.line_tokens(), head_dim());
}

ExactBlock PromptReading::State::kept(std::size_t head) const {
  const std::size_t bytes = exact_block_bytes(plan.line_tokens(), head_dim());
  return exact_block(at(plan.kept_at) + head * bytes, plan.line_tokens(), head_dim());
}

ExactBlock PromptReading::State::fresh(std::size_t head) const {
  const ExactBlock all = line(head);
  const std::size_t skip = head_room();
  return {all.k + skip * head_dim(), all.v + skip * head_dim(), all.positions + skip};
}

float* PromptReading::State::scores(std::size_t head) const {
  return reinterpret_cast<float*>(at(plan.scores_at + head * plan.scores_head_bytes));
}

float* PromptReading::State::state() const {
  return plan.state_bytes > 0 ? reinterpret_cast<float*>(at(plan.state_at)) : nullptr;
}

kernels::Batch PromptReading::State::batch(std::size_t first, std::size_t n) const {
  const auto now = std::span(positions).subspan(first, n);
  return {.positions = reinterpret_cast<const std::int32_t*>(at(plan.positions_at)) + first,
          .n_tokens = n,
          .position_min = now.front(),
          .position_max = now.back()};
}

void PromptReading::State::extents_moved() {
  for (std::size_t head = 0; layer_open && head < n_kv_heads(); ++head) {
    const auto history = cache.lanes[lane_index(head)].runs();
    std::copy(history.begin(), history.end(), runs[head].begin());
    if (plan.mode == ReadingMode::probe) place_probed(lane_index(head));
  }
}

Result<void> PromptReading::State::show_lanes() {
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const Lane& lane = cache.lanes[lane_index(head)];
    std::size_t n = 0;
    for (const kernels::ExactRun& run : lane.runs()) runs[head][n++] = run;
    if (n_read > 0) runs[head][n++] = fresh(head).run(n_read);
    n_runs[head] = n;
    SATCHEL_TRY(table->set_runs(head, std::span(runs[head]).first(n)));
    SATCHEL_TRY(table->set_pages(head, lane.page_views()));
  }
  return {};
}

Result<void> PromptReading::State::zero_scores() {
  const std::vector<std::byte> zeros(plan.scores_head_bytes * n_kv_heads());
  SATCHEL_TRY(cache.backend.upload(at(plan.scores_at), zeros));
  if (plan.state_bytes == 0) return {};
  return cache.backend.upload(at(plan.state_at), std::vector<std::byte>(plan.state_bytes));
}

Result<void> PromptReading::begin_layer(std::size_t layer) {
  State& s = *state_;
  SATCHEL_ASSERT(!s.layer_open && layer == s.layer && layer < s.cache.shape.n_layers());
  s.layer_open = true;
  s.n_read = s.n_chunk = 0;
  if (s.plan.scores_reading) SATCHEL_TRY(s.zero_scores());
  if (s.plan.mode == ReadingMode::probe) SATCHEL_TRY(s.find_probed());
  return s.show_lanes();
}

Result<void> PromptReading::add_chunk(const float* k, const float* v, std::size_t n_tokens) {
  State& s = *state_;
  SATCHEL_ASSERT(s.layer_open && n_tokens <= s.plan.n_tokens() - s.n_read);
  const std::size_t head_dim = s.head_dim();
  std::vector<kernels::StoreArgs> stores;
  for (std::size_t head = 0; head < s.n_kv_heads(); ++head) {
    const ExactBlock block = s.fresh(head);
    for (const auto& [from, to] : {std::pair(k, block.k), std::pair(v, block.v)})
      stores.push_back({.from = from + head * head_dim,
                        .n_rows = n_tokens,
                        .n_values = head_dim,
                        .from_stride = s.n_kv_heads() * head_dim,
                        .to = to + s.n_read * head_dim});
    SATCHEL_TRY(s.cache.backend.copy(reinterpret_cast<std::byte*>(block.positions + s.n_read),
                                     s.at(s.plan.positions_at) + s.n_read * sizeof(std::int32_t),
                                     n_tokens * sizeof(std::int32_t)));
  }
  SATCHEL_TRY(s.cache.backend.store(stores));
  s.n_read += n_tokens;
  s.n_chunk = n_tokens;
  return s.show_lanes();
}

kernels::Sequence PromptReading::lanes() const {
  return {.lanes = state_->table.get(), .first_lane = 0, .n_tokens = state_->n_chunk};
}

ScorerWants PromptReading::wants() const {
  const State& s = *state_;
  const bool seen = s.plan.scores_reading && s.cache.takes_part(s.layer) && s.any_scored();
  return seen ? s.cache.wants() : ScorerWants{};
}

bool PromptReading::State::any_scored() const {
  if (plan.lanes.empty()) return true;  // a probe
  const auto first = plan.lanes.begin() + static_cast<std::ptrdiff_t>(lane_index(0));
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(n_kv_heads()),
                     [](const LanePlan& lane) { return lane.is_scored; });
}

std::vector<ObservedLane> PromptReading::State::observed_lanes() const {
  std::vector<ObservedLane> lanes;
  const std::size_t n_group = cache.shape.layers[layer].n_group();
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const LanePlan* planned = plan.lanes.empty() ? nullptr : &plan.lanes[lane_index(head)];
    if (planned != nullptr && !planned->is_scored) continue;
    ObservedLane lane{.first_head = head * n_group,
                      .n_group = n_group,
                      .scores = scores(head),
                      .worth = cache.worth_of(lane_index(head))};
    if (planned != nullptr && plan.budgets_known)
      lane.keep = static_cast<double>(planned->budget) / static_cast<double>(plan.n_tokens());
    if (plan.mode == ReadingMode::probe) {
      const ProbedLane& seen = probed[lane_index(head)];
      lane.keys = {.runs = seen.runs, .pages = seen.pages};
    } else {
      lane.keys = {.runs = std::span(runs[head]).subspan(n_runs[head] - 1, 1), .pages = {}};
      lane.held = {.runs = std::span(runs[head]).first(n_runs[head] - 1),
                   .pages = cache.lanes[lane_index(head)].page_views()};
    }
    lanes.push_back(lane);
  }
  return lanes;
}

Result<void> PromptReading::observe(const Seen& seen) {
  State& s = *state_;
  SATCHEL_ASSERT(s.layer_open && s.n_chunk > 0);
  if (!s.plan.scores_reading || !s.cache.takes_part(s.layer) || !s.any_scored()) return {};
  if (s.plan.n_block == 0 || s.cache.wants().pre_rope) SATCHEL_TRY(s.observe_chunk(seen));
  if (s.plan.n_block > 0) SATCHEL_TRY(s.hold(seen));
  s.n_chunk = 0;  // once for each chunk
  return {};
}

Result<void> PromptReading::State::observe_chunk(const Seen& seen) {
  const std::size_t first = n_read - n_chunk;
  const bool is_probe = plan.mode == ReadingMode::probe;
  const std::size_t span_first = is_probe ? job.first : plan.first_position;
  const float* lse = seen.lse;
  if (is_probe) {
    SATCHEL_TRY_ASSIGN(lse, probed_lse(seen.q, first));
  }
  std::vector<kernels::ExactRun> chunk;
  if (!is_probe) chunk = chunk_runs(first);
  const Observation observation{
      .purpose = is_probe ? Purpose::probe : Purpose::reading,
      .layer = cache.shape.layers[layer],
      .batch = batch(first, n_chunk),
      .positions = std::span(positions).subspan(first, n_chunk),
      .q = seen.q,
      .lse = lse,
      .pre_rope_q = seen.pre_rope_q,
      .pre_rope_k = seen.pre_rope_k,
      .hidden = seen.hidden,
      .chunk = chunk,
      .span_first = span_first,
      .span_end = span_first + (is_probe ? job.n_tokens : plan.n_tokens()),
      .keep = cache.pipeline.keep(),
      .state = state(),
      .selector = cache.selector_of(layer)};
  return cache.pipeline.scorer().observe(cache.backend, observation, observed_lanes());
}

std::vector<kernels::ExactRun> PromptReading::State::chunk_runs(std::size_t first) const {
  std::vector<kernels::ExactRun> chunk;
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const ExactBlock all = fresh(head);
    const std::size_t skip = first * head_dim();
    chunk.push_back({.k = all.k + skip,
                     .v = all.v + skip,
                     .positions = all.positions + first,
                     .n_tokens = n_chunk});
  }
  return chunk;
}

Result<void> PromptReading::end_layer() {
  State& s = *state_;
  SATCHEL_ASSERT(s.layer_open && s.n_read == s.plan.n_tokens());
  if (s.plan.mode == ReadingMode::probe) {
    SATCHEL_TRY(s.keep_probed());
  } else {
    SATCHEL_TRY(s.pack_layer());
  }
  s.layer_open = false;
  s.n_taking_part += s.cache.takes_part(s.layer) ? 1u : 0u;
  ++s.layer;
  return {};
}

}  // namespace satchel::kvcache
