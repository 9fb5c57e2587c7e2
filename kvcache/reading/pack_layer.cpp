// The end of a layer: what its lanes keep is decided where the recipe does that here, gathered, and
// packed; new tails wait in scratch. Lanes do not change yet.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kvcache/compaction/decide.h"
#include "kvcache/reading/prompt_state.h"

namespace satchel::kvcache {

Result<void> PromptReading::State::pack_layer() {
  SATCHEL_TRY(load_old_tails());
  if (plan.stores_scores && cache.takes_part(layer)) SATCHEL_TRY(store_scores());
  std::vector<Run> to_pack;
  if (plan.mode == ReadingMode::in_layer && cache.takes_part(layer)) {
    SATCHEL_TRY(decide_layer(to_pack));
  } else {
    for (std::size_t head = 0; head < n_kv_heads(); ++head) runs_of_line(head, to_pack);
  }
  SATCHEL_TRY(pack(to_pack));
  return stage_tails();
}

// Old tails in front of the new tokens, so that a page may hold the end of one and the beginning of
// the other.
Result<void> PromptReading::State::load_old_tails() {
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const Lane& lane = cache.lanes[lane_index(head)];
    SATCHEL_TRY(
        copy_exact(cache.backend, head_dim(),
                   {lane.tail(), 0, line(head), head_room() - lane.n_tail(), lane.n_tail()}));
  }
  return {};
}

Result<void> PromptReading::State::store_scores() {
  std::vector<float> row(plan.n_tokens());
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    SATCHEL_TRY(cache.backend.download(std::as_writable_bytes(std::span(row)),
                                       reinterpret_cast<const std::byte*>(scores(head))));
    SATCHEL_TRY(cache.scores.write(lane_index(head), plan.first_position, row));
  }
  return {};
}

std::int32_t PromptReading::State::position_in_line(std::size_t head, std::size_t row) const {
  if (!kept_positions.empty() && !kept_positions[head].empty()) return kept_positions[head][row];
  return static_cast<std::int32_t>(plan.first_position + row - head_room());
}

// Everything but sinks and new tail stays, cut where the tier changes.
void PromptReading::State::runs_of_line(std::size_t head, std::vector<Run>& to_pack) {
  const LanePlan& lane = plan.lanes[lane_index(head)];
  const std::size_t begin = head_room() - lane.n_tail_before + lane.n_new_sinks;
  const std::size_t window = cache.shape.layers[layer].window;
  const std::size_t text_end = plan.first_position + plan.n_tokens();
  bool goes_on = false;
  for (std::size_t row = begin; row < begin + lane.n_body; ++row) {
    const std::size_t position = plan.first_position + row - head_room();
    if (window > 0 && position + window <= text_end) continue;  // no later query sees it
    const std::uint8_t tier = row < head_room() ? cache.tier_at(position, plan.finest) : plan.tier;
    if (!goes_on || to_pack.back().tier != tier)
      to_pack.push_back({.head = head, .first = row, .n = 0, .tier = tier});
    ++to_pack.back().n;
    goes_on = true;
  }
}

Result<void> PromptReading::State::decide_layer(std::vector<Run>& to_pack) {
  TokenSpan span = cache.token_span(plan.first_position, plan.n_tokens());
  span.n_after = 0;
  span.first_lane = cache.n_deciding_before(lane_index(0));
  std::vector<LaneDecision> lanes(n_kv_heads());
  std::vector<ScoredLane> scored;
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    lanes[head].lane = lane_index(head);
    lanes[head].layer = layer;
    lanes[head].scores.resize(plan.n_tokens());
    if (plan.scores_reading)
      SATCHEL_TRY(cache.backend.download(std::as_writable_bytes(std::span(lanes[head].scores)),
                                         reinterpret_cast<const std::byte*>(scores(head))));
    scored.push_back({.scores = lanes[head].scores, .k = fresh(head).k, .v = fresh(head).v});
  }
  const LayerShape& shape = cache.shape.layers[layer];
  SATCHEL_TRY(cache.pipeline.scorer().finish(cache.backend, shape, span, scored));
  const bool merges = cache.pipeline.merger().merges();
  std::vector<std::vector<float>> unfiltered;
  for (LaneDecision& lane : lanes) {
    if (merges) unfiltered.push_back(lane.scores);
    cache.pipeline.filter(span, lane.scores);
    const LanePlan& part = plan.lanes[lane.lane];
    const auto keep = [&](std::size_t first, std::size_t n) {
      std::fill_n(lane.scores.begin() + static_cast<std::ptrdiff_t>(first), n, kNeverEvict);
    };
    const std::size_t n_tail = std::min(plan.n_tokens(), part.n_tail_after);
    keep(plan.n_tokens() - n_tail, n_tail);
    keep(0, part.n_new_sinks);
  }
  if (plan.budgets_known) {
    for (LaneDecision& lane : lanes) lane.budget = plan.lanes[lane.lane].budget;
    assign(cache.pipeline, lanes);
  } else {
    decide(cache.pipeline, span, plan.totals[n_taking_part], lanes);
  }
  counts.assign(n_kv_heads(), {});
  std::vector<std::vector<std::uint8_t>> tiers;
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    counts[head].assign(plan.n_tokens(), 1.0f);
    if (merges && lanes[head].budget < plan.n_tokens())
      SATCHEL_TRY(
          cache.pipeline.merger().merge(cache.backend, {.k = fresh(head).k,
                                                        .v = fresh(head).v,
                                                        .n_tokens = plan.n_tokens(),
                                                        .head_dim = head_dim(),
                                                        .first_position = plan.first_position,
                                                        .layer = &shape,
                                                        .tiers = lanes[head].tiers,
                                                        .scores = lanes[head].scores,
                                                        .unfiltered = unfiltered[head],
                                                        .counts = counts[head]}));
    n_evicted += static_cast<std::size_t>(
        std::count(lanes[head].tiers.begin(), lanes[head].tiers.end(), kGone));
    tiers.push_back(std::move(lanes[head].tiers));
  }
  return gather_kept(tiers, to_pack);
}

// What goes into pages, tier by tier: rows of line(head) side by side in kept(head).
Result<void> PromptReading::State::gather_kept(std::span<const std::vector<std::uint8_t>> tiers,
                                               std::vector<Run>& to_pack) {
  kept_positions.assign(n_kv_heads(), {});
  std::vector<kernels::GatherArgs> gathers;
  const std::size_t n_line = plan.line_tokens();
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const LanePlan& lane = plan.lanes[lane_index(head)];
    std::vector<std::int32_t> rows;
    std::vector<float> log_counts;
    const auto add = [&](std::size_t row, std::uint8_t tier, float count) {
      if (to_pack.empty() || to_pack.back().head != head || to_pack.back().tier != tier)
        to_pack.push_back(
            {.head = head, .first = rows.size(), .n = 0, .tier = tier, .is_kept = true});
      ++to_pack.back().n;
      kept_positions[head].push_back(
          static_cast<std::int32_t>(plan.first_position + row - head_room()));
      rows.push_back(static_cast<std::int32_t>(row));
      log_counts.push_back(std::log(count));
    };
    const std::size_t begin = head_room() - lane.n_tail_before + lane.n_new_sinks;
    for (std::size_t row = begin; row < std::min(begin + lane.n_body, head_room()); ++row)
      add(row, cache.tier_at(plan.first_position + row - head_room(), plan.finest), 1);
    for (std::size_t tier = 0; tier < cache.pipeline.n_own_codecs(); ++tier)
      for (std::size_t row = std::max(begin, head_room()); row < begin + lane.n_body; ++row)
        if (tiers[head][row - head_room()] == tier)
          add(row, static_cast<std::uint8_t>(kTierRecipe + tier), counts[head][row - head_room()]);
    if (rows.empty()) continue;
    std::byte* indices = at(plan.indices_at + head * n_line * sizeof(std::int32_t));
    SATCHEL_TRY(cache.backend.upload(indices, std::as_bytes(std::span(rows))));
    if (plan.counts_at > 0)
      SATCHEL_TRY(cache.backend.upload(at(plan.counts_at + head * n_line * sizeof(float)),
                                       std::as_bytes(std::span(log_counts))));
    const ExactBlock from = line(head), to = kept(head);
    const auto gather = [&](const void* source, std::size_t row_bytes, void* target) {
      gathers.push_back({.from = static_cast<const std::byte*>(source),
                         .indices = reinterpret_cast<const std::int32_t*>(indices),
                         .n_rows = rows.size(),
                         .row_bytes = row_bytes,
                         .to = static_cast<std::byte*>(target)});
    };
    gather(from.k, head_dim() * sizeof(Half), to.k);
    gather(from.v, head_dim() * sizeof(Half), to.v);
    gather(from.positions, sizeof(std::int32_t), to.positions);
  }
  return cache.backend.gather(gathers);
}

Result<void> PromptReading::State::pack(std::span<const Run> to_pack) {
  std::vector<kernels::EncodeArgs> encodes;
  std::vector<const PageRecord*> made;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // lane, index in pages[lane]
  for (const Run& run : to_pack) {
    const ExactBlock block = run.is_kept ? kept(run.head) : line(run.head);
    const std::size_t lane = lane_index(run.head);
    for (std::size_t done = 0; done < run.n;) {
      const std::size_t n = std::min(run.n - done, kernels::kPageTokens);
      const std::size_t row = run.first + done;
      SATCHEL_TRY_ASSIGN(PageRecord page, cache.take_page(run.tier, lane, n));
      page.first_position = position_in_line(run.head, row);
      page.last_position = position_in_line(run.head, row + n - 1);
      places.emplace_back(lane, pages[lane].size());
      pages[lane].push_back(page);
      const float* log_counts = nullptr;
      if (run.is_kept && plan.counts_at > 0 && page.layout->log_counts_at > 0)
        log_counts = reinterpret_cast<const float*>(
                         at(plan.counts_at + run.head * plan.line_tokens() * sizeof(float))) +
                     row;
      encodes.push_back({.layout = page.layout,
                         .exact = {.k = block.k + row * head_dim(),
                                   .v = block.v + row * head_dim(),
                                   .positions = block.positions + row,
                                   .n_tokens = n},
                         .log_counts = log_counts});
      done += n;
    }
  }
  // Taking pages may move extents, so their addresses are asked for only now.
  for (std::size_t i = 0; i < encodes.size(); ++i)
    encodes[i].page = cache.arena.at(pages[places[i].first][places[i].second].extent);
  SATCHEL_TRY(cache.backend.encode_pages(encodes));
  for (const auto& [lane, index] : places)
    SATCHEL_TRY(cache.write_note(pages[lane][index], head_dim()));
  kept_positions.clear();
  return {};
}

Result<void> PromptReading::State::stage_tails() {
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const LanePlan& lane = plan.lanes[lane_index(head)];
    const std::size_t n = lane.n_new_sinks + lane.n_tail_after;
    const ExactBlock staged = exact_block(at(lane.staged_at), n, head_dim());
    const std::size_t end = head_room() + plan.n_tokens();
    SATCHEL_TRY(copy_exact(cache.backend, head_dim(),
                           {line(head), head_room(), staged, 0, lane.n_new_sinks}));
    SATCHEL_TRY(copy_exact(
        cache.backend, head_dim(),
        {line(head), end - lane.n_tail_after, staged, lane.n_new_sinks, lane.n_tail_after}));
  }
  return {};
}

}  // namespace satchel::kvcache
