#include "kvcache/prefill/pack_layer.h"

#include <algorithm>
#include <cmath>

#include "kvcache/recipes/decide.h"

namespace satchel::kvcache {

LayerPacker::LayerPacker(PrefillScratch& scratch, const KeptReferences& references)
    : scratch_(scratch),
      references_(references),
      cache_(scratch.cache),
      plan_(scratch.plan),
      pages_(cache_.lanes.size()) {}

LayerPacker::~LayerPacker() {
  for (const std::vector<PageRecord>& made : pages_)
    for (const PageRecord& page : made) cache_.arena.give(page.extent);
}

Result<void> LayerPacker::pack_layer() {
  SATCHEL_TRY(load_old_tails());
  if (plan_.stores_scores && cache_.layout.takes_part(scratch_.layer)) SATCHEL_TRY(store_scores());
  std::vector<Run> to_pack;
  if (plan_.mode == PrefillMode::in_layer && cache_.layout.takes_part(scratch_.layer)) {
    SATCHEL_TRY(decide_layer(to_pack));
  } else {
    for (std::size_t head = 0; head < scratch_.n_kv_heads(); ++head) runs_of_line(head, to_pack);
  }
  SATCHEL_TRY(pack(to_pack));
  n_taking_part_ += cache_.layout.takes_part(scratch_.layer) ? 1u : 0u;
  return stage_tails();
}

// Old tails in front of the new tokens, so that a page may hold the end of one and the beginning of
// the other.
Result<void> LayerPacker::load_old_tails() {
  for (std::size_t head = 0; head < scratch_.n_kv_heads(); ++head) {
    const Lane& lane = cache_.lanes[scratch_.lane_index(head)];
    SATCHEL_TRY(copy_exact(
        cache_.backend, scratch_.head_dim(),
        {lane.tail(), 0, scratch_.line(head), scratch_.headroom() - lane.n_tail(), lane.n_tail()}));
  }
  return {};
}

Result<void> LayerPacker::store_scores() {
  std::vector<float> row(plan_.n_tokens());
  for (std::size_t head = 0; head < scratch_.n_kv_heads(); ++head) {
    SATCHEL_TRY(read_scores(head, row));
    SATCHEL_TRY(cache_.scores.write(scratch_.lane_index(head), plan_.first_position, row));
  }
  return {};
}

Result<void> LayerPacker::read_scores(std::size_t head, std::span<float> scores) {
  SATCHEL_TRY(download(cache_.backend, scores, scratch_.scores(head)));
  for (std::size_t t = 0; t < weights_.size(); ++t) scores[t] *= weights_[t];
  return {};
}

std::int32_t LayerPacker::position_in_line(std::size_t head, std::size_t row) const {
  if (!kept_positions_.empty() && !kept_positions_[head].empty()) return kept_positions_[head][row];
  return static_cast<std::int32_t>(plan_.first_position + row - scratch_.headroom());
}

// Everything but sinks and new tail stays, cut where the tier changes.
void LayerPacker::runs_of_line(std::size_t head, std::vector<Run>& to_pack) {
  const LanePlan& lane = plan_.lanes[scratch_.lane_index(head)];
  const std::size_t begin = scratch_.headroom() - lane.n_tail_before + lane.n_new_sinks;
  const std::size_t window = cache_.layout.shape.layers[scratch_.layer].window;
  const std::size_t text_end = plan_.first_position + plan_.n_tokens();
  bool goes_on = false;
  for (std::size_t row = begin; row < begin + lane.n_body; ++row) {
    const std::size_t position = plan_.first_position + row - scratch_.headroom();
    if (window > 0 && position + window <= text_end) continue;  // no later query sees it
    const std::uint8_t tier =
        row < scratch_.headroom() ? cache_.tier_at(position, plan_.finest) : plan_.tier;
    if (!goes_on || to_pack.back().tier != tier)
      to_pack.push_back({.head = head, .first = row, .n = 0, .tier = tier});
    ++to_pack.back().n;
    goes_on = true;
  }
}

Result<void> LayerPacker::decide_layer(std::vector<Run>& to_pack) {
  TokenSpan span = cache_.token_span(plan_.first_position, plan_.n_tokens());
  span.n_after = 0;
  span.first_lane = cache_.layout.n_deciding_before(scratch_.lane_index(0));
  std::vector<LaneDecision> lanes(scratch_.n_kv_heads());
  std::vector<ScoredLane> scored;
  for (std::size_t head = 0; head < scratch_.n_kv_heads(); ++head) {
    lanes[head].lane = scratch_.lane_index(head);
    lanes[head].layer = scratch_.layer;
    lanes[head].scores.resize(plan_.n_tokens());
    if (plan_.scores_prefill) SATCHEL_TRY(read_scores(head, lanes[head].scores));
    scored.push_back(
        {.scores = lanes[head].scores, .k = scratch_.fresh(head).k, .v = scratch_.fresh(head).v});
  }
  const LayerShape& shape = cache_.layout.shape.layers[scratch_.layer];
  SATCHEL_TRY(cache_.layout.pipeline.scorer().finish(cache_.backend, shape, span, scored));
  const bool merges = cache_.layout.pipeline.merger().merges();
  std::vector<std::vector<float>> unfiltered;
  for (LaneDecision& lane : lanes) {
    if (merges) unfiltered.push_back(lane.scores);
    cache_.layout.pipeline.filter(span, lane.scores);
    const LanePlan& part = plan_.lanes[lane.lane];
    const auto keep = [&](std::size_t first, std::size_t n) {
      std::fill_n(lane.scores.begin() + static_cast<std::ptrdiff_t>(first), n, kNeverEvict);
    };
    const std::size_t n_tail = std::min(plan_.n_tokens(), part.n_tail_after);
    keep(plan_.n_tokens() - n_tail, n_tail);
    keep(0, part.n_new_sinks);
  }
  if (plan_.budgets_known) {
    for (LaneDecision& lane : lanes) lane.budget = plan_.lanes[lane.lane].budget;
    assign(cache_.layout.pipeline, lanes);
  } else {
    decide(cache_.layout.pipeline, span, plan_.totals[n_taking_part_], lanes);
  }
  counts_.assign(scratch_.n_kv_heads(), {});
  std::vector<std::vector<std::uint8_t>> tiers;
  for (std::size_t head = 0; head < scratch_.n_kv_heads(); ++head) {
    counts_[head].assign(plan_.n_tokens(), 1.0f);
    const LanePlan& part = plan_.lanes[lanes[head].lane];
    if (merges && lanes[head].budget < plan_.n_tokens())
      SATCHEL_TRY(cache_.layout.pipeline.merger().merge(
          cache_.backend, {.k = scratch_.fresh(head).k,
                           .v = scratch_.fresh(head).v,
                           .positions = scratch_.fresh(head).positions,
                           .n_tokens = plan_.n_tokens(),
                           .head_dim = scratch_.head_dim(),
                           .first_position = plan_.first_position,
                           .layer = &shape,
                           .tiers = lanes[head].tiers,
                           .scores = lanes[head].scores,
                           .unfiltered = unfiltered[head],
                           .counts = counts_[head],
                           .n_sinks = part.n_new_sinks,
                           .n_tail = std::min(plan_.n_tokens(), part.n_tail_after),
                           .references = references_.of(head),
                           .selectors = cache_.layout.selectors_of(scratch_.layer),
                           .fits = &cache_.fits}));
    n_evicted_ += static_cast<std::size_t>(
        std::count(lanes[head].tiers.begin(), lanes[head].tiers.end(), kGone));
    tiers.push_back(std::move(lanes[head].tiers));
  }
  return gather_kept(tiers, to_pack);
}

// What goes into pages_, tier by tier: rows of scratch_.line(head) side by side in
// scratch_.kept(head).
Result<void> LayerPacker::gather_kept(std::span<const std::vector<std::uint8_t>> tiers,
                                      std::vector<Run>& to_pack) {
  kept_positions_.assign(scratch_.n_kv_heads(), {});
  std::vector<kernels::GatherArgs> gathers;
  const std::size_t n_line = plan_.line_tokens();
  for (std::size_t head = 0; head < scratch_.n_kv_heads(); ++head) {
    const LanePlan& lane = plan_.lanes[scratch_.lane_index(head)];
    std::vector<std::int32_t> rows;
    std::vector<float> log_counts;
    const auto add = [&](std::size_t row, std::uint8_t tier, float count) {
      if (to_pack.empty() || to_pack.back().head != head || to_pack.back().tier != tier)
        to_pack.push_back(
            {.head = head, .first = rows.size(), .n = 0, .tier = tier, .is_kept = true});
      ++to_pack.back().n;
      kept_positions_[head].push_back(
          static_cast<std::int32_t>(plan_.first_position + row - scratch_.headroom()));
      rows.push_back(static_cast<std::int32_t>(row));
      log_counts.push_back(std::log(count));
    };
    const std::size_t begin = scratch_.headroom() - lane.n_tail_before + lane.n_new_sinks;
    for (std::size_t row = begin; row < std::min(begin + lane.n_body, scratch_.headroom()); ++row)
      add(row, cache_.tier_at(plan_.first_position + row - scratch_.headroom(), plan_.finest), 1);
    for (std::size_t tier = 0; tier < cache_.layout.pipeline.n_own_codecs(); ++tier)
      for (std::size_t row = std::max(begin, scratch_.headroom()); row < begin + lane.n_body; ++row)
        if (tiers[head][row - scratch_.headroom()] == tier)
          add(row, static_cast<std::uint8_t>(kTierRecipe + tier),
              counts_[head][row - scratch_.headroom()]);
    if (rows.empty()) continue;
    std::byte* indices = scratch_.at(plan_.indices_at + head * n_line * sizeof(std::int32_t));
    SATCHEL_TRY(cache_.backend.upload(indices, std::as_bytes(std::span(rows))));
    if (plan_.counts_at > 0)
      SATCHEL_TRY(
          cache_.backend.upload(scratch_.at(plan_.counts_at + head * n_line * sizeof(float)),
                                std::as_bytes(std::span(log_counts))));
    const ExactBlock from = scratch_.line(head), to = scratch_.kept(head);
    const auto gather = [&](const void* source, std::size_t row_bytes, void* target) {
      gathers.push_back({.from = static_cast<const std::byte*>(source),
                         .indices = reinterpret_cast<const std::int32_t*>(indices),
                         .n_rows = rows.size(),
                         .row_bytes = row_bytes,
                         .to = static_cast<std::byte*>(target)});
    };
    gather(from.k, scratch_.head_dim() * sizeof(Half), to.k);
    if (!to.is_latent()) gather(from.v, scratch_.head_dim() * sizeof(Half), to.v);
    gather(from.positions, sizeof(std::int32_t), to.positions);
  }
  return cache_.backend.gather(gathers);
}

Result<void> LayerPacker::pack(std::span<const Run> to_pack) {
  std::vector<kernels::EncodeArgs> encodes;
  std::vector<const PageRecord*> made;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // lane, index in pages_[lane]
  for (const Run& run : to_pack) {
    const ExactBlock block = run.is_kept ? scratch_.kept(run.head) : scratch_.line(run.head);
    const std::size_t lane = scratch_.lane_index(run.head);
    for (std::size_t done = 0; done < run.n;) {
      const std::size_t n = std::min(run.n - done, kernels::kPageTokens);
      const std::size_t row = run.first + done;
      SATCHEL_TRY_ASSIGN(PageRecord page, cache_.take_page(run.tier, lane, n));
      page.first_position = position_in_line(run.head, row);
      page.last_position = position_in_line(run.head, row + n - 1);
      places.emplace_back(lane, pages_[lane].size());
      pages_[lane].push_back(page);
      const float* log_counts = nullptr;
      if (run.is_kept && plan_.counts_at > 0 && page.layout->log_counts_at > 0)
        log_counts = reinterpret_cast<const float*>(scratch_.at(
                         plan_.counts_at + run.head * plan_.line_tokens() * sizeof(float))) +
                     row;
      encodes.push_back({.layout = page.layout,
                         .exact = {.k = block.k + row * scratch_.head_dim(),
                                   .v = block.v + row * scratch_.head_dim(),
                                   .positions = block.positions + row,
                                   .n_tokens = n},
                         .log_counts = log_counts});
      done += n;
    }
  }
  // Taking pages_ may move extents, so their addresses are asked for only now.
  for (std::size_t i = 0; i < encodes.size(); ++i)
    encodes[i].page = cache_.arena.at(pages_[places[i].first][places[i].second].extent);
  SATCHEL_TRY(cache_.backend.encode_pages(encodes));
  for (const auto& [lane, index] : places)
    SATCHEL_TRY(cache_.finish_page(pages_[lane][index], scratch_.head_dim()));
  kept_positions_.clear();
  return {};
}

Result<void> LayerPacker::stage_tails() {
  for (std::size_t head = 0; head < scratch_.n_kv_heads(); ++head) {
    const LanePlan& lane = plan_.lanes[scratch_.lane_index(head)];
    const std::size_t n_tail = n_staged_tail(plan_, lane);
    const ExactBlock staged =
        exact_block(scratch_.at(lane.staged_at), lane.n_new_sinks + n_tail, scratch_.token());
    const std::size_t end = scratch_.headroom() + plan_.n_tokens();
    SATCHEL_TRY(
        copy_exact(cache_.backend, scratch_.head_dim(),
                   {scratch_.line(head), scratch_.headroom(), staged, 0, lane.n_new_sinks}));
    SATCHEL_TRY(copy_exact(cache_.backend, scratch_.head_dim(),
                           {scratch_.line(head), end - n_tail, staged, lane.n_new_sinks, n_tail}));
  }
  return {};
}

}  // namespace satchel::kvcache
