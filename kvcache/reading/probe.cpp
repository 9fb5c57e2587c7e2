// A second pass over text that the lanes hold already: its queries are seen, its keys are dropped.
#include <algorithm>

#include "kvcache/reading/prompt_state.h"

namespace satchel::kvcache {
namespace {

bool overlaps(const PageRecord& page, const ProbeJob& job) {
  const auto first = static_cast<std::int32_t>(job.first);
  const auto end = static_cast<std::int32_t>(job.first + job.n_tokens);
  return page.first_position < end && page.last_position >= first;
}

// Part of `run`, whose positions are first, first + 1, …
void add_run(PromptReading::State::ProbedLane& probed, const kernels::ExactRun& run,
             std::size_t first, std::size_t head_dim, const ProbeJob& job) {
  const std::size_t begin = std::max(first, job.first);
  const std::size_t end = std::min(first + run.n_tokens, job.first + job.n_tokens);
  if (begin >= end) return;
  const std::size_t skip = begin - first;
  probed.runs.push_back({.k = run.k + skip * head_dim,
                         .v = run.v + skip * head_dim,
                         .positions = run.positions + skip,
                         .n_tokens = end - begin});
}

}  // namespace

std::optional<ProbeJob> Cache::next_probe(std::size_t chunk_tokens) const {
  const State& s = *state_;
  if (!s.wants().probe) return std::nullopt;
  for (const TextSpan& span : s.spans) {
    if (span.state != SpanState::pending || span.n_probed >= span.n_tokens) continue;
    return ProbeJob{.first = span.first + span.n_probed,
                    .n_tokens = std::min(chunk_tokens, span.n_tokens - span.n_probed)};
  }
  return std::nullopt;
}

Result<PromptReading> Cache::begin_probe(const ProbeJob& job, std::size_t n_tokens,
                                         std::size_t first_position) {
  State& s = *state_;
  SATCHEL_ASSERT(s.reading == nullptr && job.first + job.n_tokens <= s.n_tokens);
  s.undo_open_step();
  std::size_t n_slots = 0;
  for (const Lane& lane : s.lanes) {
    std::size_t slots = lane.n_sinks() + lane.n_tail();
    for (const PageRecord& page : lane.pages()) slots += overlaps(page, job) ? page.n_tokens : 0;
    n_slots = std::max(n_slots, slots);
  }
  SATCHEL_TRY_ASSIGN(PromptReading probe,
                     s.open_reading(plan_probe(s, n_tokens, first_position, n_slots), job));
  probe.state_->job = job;
  probe.state_->probed.resize(s.lanes.size());
  probe.state_->held_runs.resize(probe.state_->table->n_lanes());
  SATCHEL_TRY_ASSIGN(probe.state_->probed_table,
                     s.backend.make_lane_table(probe.state_->table->n_lanes()));
  return probe;
}

void PromptReading::State::find_probed_runs(std::size_t index) {
  const Lane& lane = cache.lanes[index];
  ProbedLane& found = probed[index];
  found.runs.clear();
  if (lane.n_sinks() > 0) add_run(found, lane.sinks().run(lane.n_sinks()), 0, head_dim(), job);
  found.n_sink_runs = std::ssize(found.runs);
  add_run(found, lane.tail().run(lane.n_tail()), cache.n_tokens - lane.n_tail(), head_dim(), job);
}

void PromptReading::State::place_probed(std::size_t index) {
  find_probed_runs(index);
  ProbedLane& found = probed[index];
  for (std::size_t i = 0; i < found.pages.size(); ++i)
    found.pages[i].bytes = cache.lanes[index].page_views()[found.page_of[i]].bytes;
}

Result<void> PromptReading::State::find_probed() {
  std::array<std::int32_t, kernels::kPageTokens> positions_of;
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const Lane& lane = cache.lanes[lane_index(head)];
    ProbedLane& found = probed[lane_index(head)];
    found = {};
    find_probed_runs(lane_index(head));
    for (const kernels::ExactRun& run : found.runs) {
      const std::size_t at = found.positions.size();
      found.positions.resize(at + run.n_tokens);
      SATCHEL_TRY(
          cache.backend.download(std::as_writable_bytes(std::span(found.positions).subspan(at)),
                                 reinterpret_cast<const std::byte*>(run.positions)));
    }
    for (std::size_t i = 0; i < lane.pages().size(); ++i) {
      const PageRecord& page = lane.pages()[i];
      if (!overlaps(page, job)) continue;
      SATCHEL_TRY(cache.read_positions(page, positions_of));
      kernels::PageView view = lane.page_views()[i];
      for (std::size_t slot = 0; slot < page.n_tokens; ++slot) {
        const auto position = static_cast<std::size_t>(positions_of[slot]);
        const bool inside = position >= job.first && position < job.first + job.n_tokens;
        if (!inside) view.live.clear(slot);
        found.positions.push_back(view.live.has(slot) ? positions_of[slot] : -1);
      }
      found.pages.push_back(view);
      found.page_of.push_back(i);
    }
  }
  return {};
}

// How much of a query falls on the stretch must not depend on how long the rest of the text is: it is
// normalised over the first tokens, the stretch, and what the probe itself has said so far.
Result<const float*> PromptReading::State::probed_lse(const float* q, std::size_t first) {
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const Lane& lane = cache.lanes[lane_index(head)];
    const ProbedLane& seen = probed[lane_index(head)];
    std::vector<kernels::ExactRun>& held = held_runs[head];
    held.clear();
    if (lane.n_sinks() > 0) held.push_back(lane.sinks().run(lane.n_sinks()));
    held.insert(held.end(), seen.runs.begin() + seen.n_sink_runs, seen.runs.end());
    held.push_back(fresh(head).run(n_read));
    SATCHEL_TRY(probed_table->set_runs(head, held));
    SATCHEL_TRY(probed_table->set_pages(head, seen.pages));
  }
  const LayerShape& shape = cache.shape.layers[layer];
  float* lse = reinterpret_cast<float*>(at(plan.lse_at));
  kernels::AttendArgs args = shape.attend_args();
  args.out = reinterpret_cast<float*>(at(plan.unused_at));
  for (std::size_t begin = 0; begin < n_chunk; begin += kLseRows) {
    const std::size_t n = std::min(kLseRows, n_chunk - begin);
    const kernels::Sequence keys{.lanes = probed_table.get(), .first_lane = 0, .n_tokens = n};
    args.q = q + begin * shape.n_heads * shape.head_dim;
    args.batch = batch(first + begin, n);
    args.sequences = {&keys, 1};
    args.lse = lse + begin * shape.n_heads;
    SATCHEL_TRY(cache.backend.attend(args));
  }
  return lse;
}

Result<void> PromptReading::State::keep_probed() {
  if (!cache.takes_part(layer)) return {};
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const ProbedLane& seen = probed[lane_index(head)];
    std::vector<float> by_slot(seen.positions.size()), by_position(job.n_tokens);
    SATCHEL_TRY(cache.backend.download(std::as_writable_bytes(std::span(by_slot)),
                                       reinterpret_cast<const std::byte*>(scores(head))));
    for (std::size_t slot = 0; slot < by_slot.size(); ++slot)
      if (seen.positions[slot] >= 0)
        by_position[static_cast<std::size_t>(seen.positions[slot]) - job.first] = by_slot[slot];
    SATCHEL_TRY(cache.scores.write(lane_index(head), job.first, by_position));
  }
  return {};
}

}  // namespace satchel::kvcache
