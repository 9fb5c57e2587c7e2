#include "kvcache/prefill/prefill.h"

#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "kvcache/compaction/flush.h"
#include "kvcache/prefill/prefill_state.h"

namespace satchel::kvcache {

Prefill::Prefill(std::unique_ptr<State> state) : state_(std::move(state)) {}
Prefill::Prefill(Prefill&&) noexcept = default;
Prefill::~Prefill() = default;

Prefill::State::State(CacheState& cache_in, PrefillPlan plan_in, Arena::Lease lease,
                      std::unique_ptr<kernels::LaneTable> table_in)
    : cache(cache_in),
      scratch(cache_in, std::move(plan_in), std::move(lease)),
      plan(scratch.plan),
      references(scratch),
      packer(scratch, references),
      table(std::move(table_in)),
      runs(table->n_lanes()),
      n_runs(table->n_lanes()) {
  cache.prefill = this;
}

Prefill::State::~State() {
  cache.prefill = nullptr;
  if (committed) {
    cache.forget_scores();
    return;
  }
  cache.states.drop_staged();
  // Dropped: scores that were written beyond the text would count for other tokens.
  cache.scores.keep_only(chunks_before);
  if (scratch.is_probe() || cache.scores.zero_from(cache.text.n_tokens).ok()) return;
  cache.scores.keep_only(0, cache.text.n_tokens / ScoreStore::kChunk * ScoreStore::kChunk);
}

namespace {

Result<void> check_positions(std::size_t first, std::size_t n_tokens) {
  if (n_tokens == 0) return Error{ErrorKind::invalid, "PROMPT_EMPTY", "The prompt is empty."};
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

// A step that was open, or a flush that is due and failed before, changes the tails that were
// planned with.
Result<Prefill> Prefill::begin(CacheState& s, PrefillPlan plan) {
  const PrefillRequest request = plan.request;
  SATCHEL_ASSERT(s.prefill == nullptr && request.finest <= kTierRecipe);
  SATCHEL_TRY(check_positions(s.text.n_tokens, request.n_tokens));
  const bool stands = plan.first_position == s.text.n_tokens &&
                      plan.lanes.size() == s.lanes.size() && !s.step_open &&
                      s.since_flush < kFlushTokens && plan.needed_bytes() <= s.arena.free_bytes();
  s.undo_open_step();
  SATCHEL_TRY(flush_if_due(s));
  if (!stands) plan = plan_that_fits(s.view(), request, s.arena.free_bytes());
  SATCHEL_TRY(s.arena.check_free(plan.needed_bytes()));
  SATCHEL_TRY(s.states.begin());
  const std::size_t taken_later = plan.body_bytes + plan.settle_bytes;
  SATCHEL_TRY_ASSIGN(
      Prefill prefill,
      State::open(s, std::move(plan), {.first = s.text.n_tokens, .n_tokens = request.n_tokens}));
  SATCHEL_TRY(s.states.stage(request.n_tokens, taken_later));
  return prefill;
}

Result<Prefill> Prefill::begin_probe(CacheState& s, const ProbeJob& job, std::size_t n_tokens,
                                     std::size_t first_position) {
  SATCHEL_ASSERT(s.prefill == nullptr && job.end() <= s.text.n_tokens);
  s.undo_open_step();
  SATCHEL_TRY(s.states.begin());
  const std::size_t n_slots = ProbedText::n_slots(s, job);
  SATCHEL_TRY_ASSIGN(Prefill probe,
                     State::open(s, plan_probe(s.view(), n_tokens, first_position, n_slots), job));
  probe.state_->probe.emplace(probe.state_->scratch, job);
  return probe;
}

Result<Prefill> Prefill::State::open(CacheState& cache, PrefillPlan plan, const ProbeJob& scored) {
  const std::vector<std::size_t> before = cache.scores.chunks();
  Result<Prefill> opened = [&]() -> Result<Prefill> {
    if (plan.stores_scores) SATCHEL_TRY(cache.scores.ensure(scored.first, scored.n_tokens));
    return make(cache, std::move(plan), before);
  }();
  if (!opened.ok()) cache.scores.keep_only(before);
  return opened;
}

Result<Prefill> Prefill::State::make(CacheState& cache, PrefillPlan plan,
                                     const std::vector<std::size_t>& chunks_before) {
  SATCHEL_TRY_ASSIGN(Arena::Lease lease, cache.arena.take_scratch(plan.scratch_bytes));
  SATCHEL_TRY(cache.show_all_if_stale());
  SATCHEL_TRY_ASSIGN(auto lanes_table,
                     cache.backend.make_lane_table(n_kv_heads_max(cache.layout.shape)));
  auto state =
      std::make_unique<State>(cache, std::move(plan), std::move(lease), std::move(lanes_table));
  state->chunks_before = chunks_before;  // at once: from here on a failure drops a prefill
  SATCHEL_TRY(cache.backend.upload(state->scratch.at(state->plan.positions_at),
                                   std::as_bytes(std::span(state->scratch.positions))));
  return Prefill(std::move(state));
}

void Prefill::State::extents_moved() {
  for (std::size_t head = 0; layer_open && head < scratch.n_kv_heads(); ++head) {
    const auto history = cache.lanes[scratch.lane_index(head)].runs();
    std::copy(history.begin(), history.end(), runs[head].begin());
    if (probe) probe->place(scratch.lane_index(head));
  }
}

Result<void> Prefill::State::show_lanes(std::size_t layer) {
  for (std::size_t head = 0; head < cache.layout.shape.layers[layer].n_kv_heads; ++head) {
    const std::size_t index = cache.layout.first_lane[layer] + head;
    const Lane& lane = cache.lanes[index];
    const bool has_ended = layer < scratch.layer;
    std::size_t n = 0;
    for (const kernels::ExactRun& run : lane.runs()) runs[head][n++] = run;
    if (n_read > 0)
      runs[head][n++] = (has_ended ? scratch.held(layer, head) : scratch.fresh(head)).run(n_read);
    n_runs[head] = n;
    SATCHEL_TRY(table->set_runs(head, std::span(runs[head]).first(n)));
    const bool sees_stretch = probe && !has_ended && cache.layout.takes_part(layer);
    SATCHEL_TRY(
        table->set_pages(head, sees_stretch ? probe->lane(index).pages : lane.page_views()));
  }
  return {};
}

void Prefill::tell_ids(std::span<const std::int32_t> ids) {
  State& s = *state_;
  if (s.probe || !s.plan.scores_prefill || !s.cache.layout.pipeline.weighs()) return;
  SATCHEL_ASSERT(ids.size() == s.plan.n_tokens() && s.scratch.layer == 0 && !s.layer_open);
  std::unordered_map<std::int32_t, std::size_t> n_said;
  for (const std::int32_t id : ids) ++n_said[id];
  std::vector<float> weights;
  for (const std::int32_t id : ids) weights.push_back(s.cache.layout.pipeline.weight(n_said[id]));
  s.packer.weigh_by(std::move(weights));
}

Result<void> Prefill::begin_layer(std::size_t layer) {
  State& s = *state_;
  SATCHEL_ASSERT(!s.layer_open && layer == s.scratch.layer &&
                 layer < s.cache.layout.shape.n_layers());
  s.layer_open = true;
  s.n_read = s.n_chunk = 0;
  if (s.plan.scores_prefill) SATCHEL_TRY(s.scratch.zero_scores());
  if (s.probe) SATCHEL_TRY(s.probe->find());
  SATCHEL_TRY(s.cache.fetch_layer(layer));
  return s.show_lanes(layer);
}

Result<void> Prefill::add_chunk(const float* k, const float* v, std::size_t n_tokens) {
  State& s = *state_;
  SATCHEL_ASSERT(s.layer_open && n_tokens <= s.plan.n_tokens() - s.n_read);
  const std::size_t head_dim = s.scratch.head_dim();
  const auto first_position = static_cast<std::int32_t>(s.plan.first_position + s.n_read);
  std::vector<kernels::StoreArgs> stores;
  for (std::size_t head = 0; head < s.scratch.n_kv_heads(); ++head) {
    const ExactBlock block = s.scratch.fresh(head);
    const std::array rows = {std::pair(k, block.k), std::pair(v, block.v)};
    for (const auto& [from, to] : std::span(rows).first(s.scratch.token().n_rows()))
      stores.push_back({.from = from + head * head_dim,
                        .n_rows = n_tokens,
                        .n_values = head_dim,
                        .from_stride = s.scratch.n_kv_heads() * head_dim,
                        .to = to + s.n_read * head_dim,
                        .first_position = first_position});
    stores.back().positions = block.positions + s.n_read;
  }
  SATCHEL_TRY(s.cache.backend.store(stores));
  s.n_read += n_tokens;
  s.n_chunk = n_tokens;
  // Another chat may have decoded since the last chunk, and its pages have taken their place.
  SATCHEL_TRY(s.cache.fetch_layer(s.scratch.layer));
  return s.show_lanes(s.scratch.layer);
}

kernels::Sequence Prefill::lanes() const {
  return {.lanes = state_->table.get(), .first_lane = 0, .n_tokens = state_->n_chunk};
}

Result<kernels::Sequence> Prefill::shared_lanes(std::size_t layer) {
  State& s = *state_;
  SATCHEL_ASSERT(!s.layer_open && layer < s.scratch.layer && s.n_read == s.plan.n_tokens());
  SATCHEL_ASSERT(s.cache.layout.shape.layers[layer].is_shared);
  SATCHEL_TRY(s.cache.fetch_layer(layer));
  SATCHEL_TRY(s.show_lanes(layer));
  return kernels::Sequence{.lanes = s.table.get(), .first_lane = 0};
}

ScorerRequirements Prefill::requirements() const {
  const State& s = *state_;
  const bool seen =
      s.plan.scores_prefill && s.cache.layout.takes_part(s.scratch.layer) && s.any_scored();
  if (seen) return s.cache.requirements();
  return {.prefill = s.wants_references()};
}

bool Prefill::State::any_scored() const {
  if (plan.lanes.empty()) return true;  // a probe
  const auto first = plan.lanes.begin() + static_cast<std::ptrdiff_t>(scratch.lane_index(0));
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(scratch.n_kv_heads()),
                     [](const LanePlan& lane) { return lane.is_scored; });
}

bool Prefill::State::wants_references() const {
  return plan.n_references > 0 && cache.layout.takes_part(scratch.layer);
}

std::vector<ObservedLane> Prefill::State::observed_lanes() const {
  std::vector<ObservedLane> lanes;
  const std::size_t n_group = cache.layout.shape.layers[scratch.layer].n_group();
  for (std::size_t head = 0; head < scratch.n_kv_heads(); ++head) {
    const LanePlan* planned = plan.lanes.empty() ? nullptr : &plan.lanes[scratch.lane_index(head)];
    if (planned != nullptr && !planned->is_scored) continue;
    ObservedLane lane{.first_head = head * n_group,
                      .n_group = n_group,
                      .scores = scratch.scores(head),
                      .importance = cache.layout.importance_of(scratch.lane_index(head))};
    if (planned != nullptr && plan.budgets_known)
      lane.keep = static_cast<double>(planned->budget) / static_cast<double>(plan.n_tokens());
    if (probe) {
      const ProbedText::SeenLane& seen = probe->lane(scratch.lane_index(head));
      lane.keys = {.runs = seen.runs, .pages = seen.pages};
    } else {
      lane.keys = {.runs = std::span(runs[head]).subspan(n_runs[head] - 1, 1), .pages = {}};
      lane.held = {.runs = std::span(runs[head]).first(n_runs[head] - 1),
                   .pages = cache.lanes[scratch.lane_index(head)].page_views()};
    }
    lanes.push_back(lane);
  }
  return lanes;
}

Result<void> Prefill::observe(const Seen& seen) {
  State& s = *state_;
  SATCHEL_ASSERT(s.layer_open && s.n_chunk > 0);
  if (s.wants_references())
    SATCHEL_TRY(s.references.take(seen.q, seen.lse, s.n_read - s.n_chunk, s.n_chunk));
  if (!s.plan.scores_prefill || !s.cache.layout.takes_part(s.scratch.layer) || !s.any_scored())
    return {};
  if (s.plan.n_block == 0 || s.cache.requirements().pre_rope) SATCHEL_TRY(s.observe_chunk(seen));
  if (s.plan.n_block > 0) SATCHEL_TRY(s.hold(seen));
  s.n_chunk = 0;  // once for each chunk
  return {};
}

Result<void> Prefill::State::observe_chunk(const Seen& seen) {
  const std::size_t first = n_read - n_chunk;
  const std::size_t span_first = probe ? probe->job().first : plan.first_position;
  std::vector<kernels::ExactRun> chunk;
  if (!probe) chunk = chunk_runs(first);
  const Observation observation{
      .purpose = probe ? Purpose::probe : Purpose::prefill,
      .layer = cache.layout.shape.layers[scratch.layer],
      .batch = scratch.batch(first, n_chunk),
      .positions = std::span(scratch.positions).subspan(first, n_chunk),
      .q = seen.q,
      .lse = seen.lse,
      .pre_rope_q = seen.pre_rope_q,
      .pre_rope_k = seen.pre_rope_k,
      .hidden = seen.hidden,
      .chunk = chunk,
      .span_first = span_first,
      .span_end = span_first + (probe ? probe->job().n_tokens : plan.n_tokens()),
      .keep = cache.layout.pipeline.keep(),
      .state = scratch.state(),
      .selectors = cache.layout.selectors_of(scratch.layer)};
  return cache.layout.pipeline.scorer().observe(cache.backend, observation, observed_lanes());
}

std::vector<kernels::ExactRun> Prefill::State::chunk_runs(std::size_t first) const {
  std::vector<kernels::ExactRun> chunk;
  for (std::size_t head = 0; head < scratch.n_kv_heads(); ++head) {
    const ExactBlock all = scratch.fresh(head);
    const std::size_t skip = first * scratch.head_dim();
    chunk.push_back({.k = all.k + skip,
                     .v = all.v + skip,
                     .positions = all.positions + first,
                     .n_tokens = n_chunk});
  }
  return chunk;
}

// Before a merger changes any of it.
Result<void> Prefill::State::hold_layer() {
  for (std::size_t head = 0; head < scratch.n_kv_heads(); ++head)
    SATCHEL_TRY(copy_exact(
        cache.backend, scratch.head_dim(),
        {scratch.fresh(head), 0, scratch.held(scratch.layer, head), 0, plan.n_tokens()}));
  return {};
}

Result<void> Prefill::end_layer() {
  State& s = *state_;
  SATCHEL_ASSERT(s.layer_open && s.n_read == s.plan.n_tokens());
  if (s.cache.layout.shape.layers[s.scratch.layer].is_shared) SATCHEL_TRY(s.hold_layer());
  if (s.probe) {
    SATCHEL_TRY(s.probe->store_scores());
  } else {
    SATCHEL_TRY(s.packer.pack_layer());
  }
  s.layer_open = false;
  ++s.scratch.layer;
  return {};
}

}  // namespace satchel::kvcache
