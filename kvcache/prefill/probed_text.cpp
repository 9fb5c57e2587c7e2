#include "kvcache/prefill/probed_text.h"

#include <algorithm>
#include <array>

#include "kvcache/prefill/prefill.h"

namespace satchel::kvcache {
namespace {

// Part of `run`, whose positions are first, first + 1, …
void add_run(ProbedText::SeenLane& probed, const kernels::ExactRun& run, std::size_t first,
             std::size_t head_dim, const ProbeJob& job) {
  const std::size_t begin = std::max(first, job.first);
  const std::size_t end = std::min(first + run.n_tokens, job.end());
  if (begin >= end) return;
  const std::size_t skip = begin - first;
  probed.runs.push_back({.k = run.k + skip * head_dim,
                         .v = run.v + skip * head_dim,
                         .positions = run.positions + skip,
                         .n_tokens = end - begin});
}

}  // namespace

ProbedText::ProbedText(PrefillScratch& scratch, const ProbeJob& job)
    : scratch_(scratch), cache_(scratch.cache), job_(job), lanes_(cache_.lanes.size()) {}

std::size_t ProbedText::n_slots(const CacheState& cache, const ProbeJob& job) {
  std::size_t most = 0;
  for (const Lane& lane : cache.lanes) {
    std::size_t slots = lane.n_sinks() + lane.n_tail();
    for (const PageRecord& page : lane.pages())
      slots += page.overlaps(job.first, job.end()) ? page.n_tokens : 0;
    most = std::max(most, slots);
  }
  return most;
}

void ProbedText::mark() const {
  for (TextSegment& segment : cache_.text.segments)
    if (segment.contains(job_.first))
      segment.n_probed = std::max(segment.n_probed, job_.end() - segment.first);
}

// What is out of reach can't be looked at, and waits until it is in reach again.
std::optional<ProbeJob> next_probe(const CacheState& s, std::size_t chunk_tokens) {
  if (!s.requirements().probe) return std::nullopt;
  for (const TextSegment& segment : s.text.segments) {
    if (segment.state != SegmentState::pending || segment.n_probed >= segment.n_tokens) continue;
    ProbeJob job{.first = segment.first + segment.n_probed};
    const std::size_t most = std::min(chunk_tokens, segment.n_tokens - segment.n_probed);
    while (job.n_tokens < most && s.reach.place(job.end())) ++job.n_tokens;
    if (job.n_tokens > 0) return job;
  }
  return std::nullopt;
}

void ProbedText::find_runs(std::size_t index) {
  const Lane& lane = cache_.lanes[index];
  SeenLane& found = lanes_[index];
  found.runs.clear();
  if (lane.n_sinks() > 0)
    add_run(found, lane.sinks().run(lane.n_sinks()), 0, scratch_.head_dim(), job_);
  add_run(found, lane.tail().run(lane.n_tail()), cache_.text.n_tokens - lane.n_tail(),
          scratch_.head_dim(), job_);
}

void ProbedText::place(std::size_t index) {
  find_runs(index);
  SeenLane& found = lanes_[index];
  for (std::size_t i = 0; i < found.pages.size(); ++i)
    found.pages[i].bytes = cache_.lanes[index].page_views()[found.page_of[i]].bytes;
}

Result<void> ProbedText::find() {
  std::array<std::int32_t, kernels::kPageTokens> positions_of;
  for (std::size_t head = 0; head < scratch_.n_kv_heads(); ++head) {
    const Lane& lane = cache_.lanes[scratch_.lane_index(head)];
    SeenLane& found = lanes_[scratch_.lane_index(head)];
    found = {};
    find_runs(scratch_.lane_index(head));
    for (const kernels::ExactRun& run : found.runs) {
      const std::size_t at = found.positions.size();
      found.positions.resize(at + run.n_tokens);
      SATCHEL_TRY(download(cache_.backend, std::span(found.positions).subspan(at), run.positions));
    }
    for (std::size_t i = 0; i < lane.page_views().size(); ++i) {
      const PageRecord& page = lane.pages()[i];
      if (!page.overlaps(job_.first, job_.end())) continue;
      SATCHEL_TRY(cache_.read_positions(page, positions_of));
      kernels::PageView view = lane.page_views()[i];
      const std::size_t n_before = found.positions.size();
      view.first_position = page.last_position;
      view.last_position = page.first_position;
      for (std::size_t slot = 0; slot < page.n_tokens; ++slot) {
        const std::int32_t position = positions_of[slot];
        const auto at = static_cast<std::size_t>(position);
        if (at < job_.first || at >= job_.end()) view.live.clear(slot);
        const bool is_seen = view.live.has(slot);
        found.positions.push_back(is_seen ? position : -1);
        if (!is_seen) continue;
        view.first_position = std::min(view.first_position, position);
        view.last_position = std::max(view.last_position, position);
      }
      if (view.live.count() == 0) {
        found.positions.resize(n_before);
        continue;
      }
      found.pages.push_back(view);
      found.page_of.push_back(i);
    }
  }
  return {};
}

Result<void> ProbedText::store_scores() {
  if (!cache_.layout.takes_part(scratch_.layer)) return {};
  for (std::size_t head = 0; head < scratch_.n_kv_heads(); ++head) {
    const SeenLane& seen = lanes_[scratch_.lane_index(head)];
    std::vector<float> by_slot(seen.positions.size()), by_position(job_.n_tokens);
    SATCHEL_TRY(download(cache_.backend, by_slot, scratch_.scores(head)));
    for (std::size_t slot = 0; slot < by_slot.size(); ++slot)
      if (seen.positions[slot] >= 0)
        by_position[static_cast<std::size_t>(seen.positions[slot]) - job_.first] = by_slot[slot];
    SATCHEL_TRY(cache_.scores.write(scratch_.lane_index(head), job_.first, by_position));
  }
  return {};
}

}  // namespace satchel::kvcache
