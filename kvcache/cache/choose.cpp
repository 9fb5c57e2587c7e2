// What a decode step reads, where the recipe's page selector chooses: lane by lane of a layer, then
// the backend's table shows the chosen pages.
//   memory  lists of StepScratch, and the scratch that compactions use between steps: nothing is
//           leased, so no page of another cache in the same step moves
#include <algorithm>
#include <array>
#include <limits>

#include "kvcache/cache/cache.h"
#include "kvcache/state/cache_state.h"
#include "kvcache/state/page_positions.h"

namespace satchel::kvcache {
namespace {

// What attention to the pages of a lane is computed in, in the backend's memory.
struct AttentionScratch {
  float* scores = nullptr;
  std::size_t n_scores = 0;  // at least a page's
  float* lse = nullptr;      // [n_heads]
  std::int32_t* position = nullptr;
};
AttentionScratch attention_scratch(CacheState& s, const TokenShape& token, std::size_t n_heads) {
  const CompactionScratch scratch = compaction_scratch(s, token);
  const std::size_t n = kernels::kPageTokens * token.head_dim, n_apart = n_heads + 1;
  SATCHEL_ASSERT(n >= n_apart + kernels::kPageTokens);
  return {.scores = scratch.k,
          .n_scores = n - n_apart,
          .lse = scratch.k + (n - n_apart),
          .position = reinterpret_cast<std::int32_t*>(scratch.k + (n - 1))};
}

// One query of a layer, and the heads of one lane.
struct LaneQuery {
  std::size_t layer = 0, head = 0;
  const float* q = nullptr;       // [n_heads, head_dim], backend's memory
  std::span<const float> values;  // of the lane's heads, main memory
};

kernels::LaneQueries head_queries(const LayerShape& shape, const LaneQuery& query,
                                  const kernels::Batch& batch) {
  return {.q = query.q,
          .batch = batch,
          .n_heads = shape.n_heads,
          .head_dim = shape.head_dim,
          .first_head = query.head * shape.n_group(),
          .n_group = shape.n_group(),
          .keys = {},
          .scale = shape.attention_scale,
          .soft_cap = shape.soft_cap,
          .window = shape.window,
          .rope = shape.rope()};
}

// As many pages at a time as the scratch has slots for.
Result<void> score_pages(CacheState& s, const kernels::LaneQueries& queries, const Lane& lane,
                         const AttentionScratch& scratch) {
  const std::span<const kernels::PageView> pages = lane.page_views();
  std::span<float> left(s.step.attention);
  for (std::size_t first = 0, end = 0; first < pages.size(); first = end) {
    std::size_t n = 0;
    while (end < pages.size() && n + pages[end].n_tokens <= scratch.n_scores)
      n += pages[end++].n_tokens;
    const std::span<float> now = left.first(n);
    SATCHEL_TRY(upload(s.backend, scratch.scores, std::span<const float>(now)));
    kernels::ScoreArgs args{.lane = queries,
                            .lse = scratch.lse,
                            .queries = kernels::ScoreArgs::Queries::max,
                            .heads = kernels::ScoreArgs::Heads::max,
                            .scores = scratch.scores};
    args.lane.keys.pages = pages.subspan(first, end - first);
    SATCHEL_TRY(s.backend.score({&args, 1}));
    SATCHEL_TRY(download(s.backend, now, scratch.scores));
    left = left.subspan(n);
  }
  return {};
}

// Step::attention of a lane.
Result<void> attend_to_pages(CacheState& s, const LaneQuery& query, const Lane& lane) {
  const LayerShape& shape = s.layout.shape.layers[query.layer];
  s.step.attention.assign(s.step.slot_positions.size(), 0.0f);
  const AttentionScratch scratch = attention_scratch(s, lane.token(), shape.n_heads);
  const std::array position = {static_cast<std::int32_t>(s.text.n_tokens)};
  SATCHEL_TRY(upload(s.backend, scratch.position, position));
  constexpr std::array none = {-std::numeric_limits<float>::infinity()};
  for (std::size_t h = 0; h < shape.n_group(); ++h)
    SATCHEL_TRY(upload(s.backend, scratch.lse + query.head * shape.n_group() + h, none));
  const kernels::Batch batch{.positions = scratch.position,
                             .n_tokens = 1,
                             .position_min = position[0],
                             .position_max = position[0]};
  const kernels::LaneQueries queries = head_queries(shape, query, batch);
  kernels::LogSumExpArgs sum{.lane = queries, .lse = scratch.lse};
  sum.lane.keys = {.runs = lane.runs(), .pages = lane.page_views()};
  SATCHEL_TRY(s.backend.logsumexp({&sum, 1}));
  return score_pages(s, queries, lane, scratch);
}

Result<void> find_slot_positions(CacheState& s, const Lane& lane) {
  s.step.slot_positions.clear();
  for (const PageRecord& page : lane.pages_in_reach()) {
    std::array<std::int32_t, kernels::kPageTokens> positions;
    SATCHEL_TRY(find_positions(s, page, positions));
    s.step.slot_positions.insert(s.step.slot_positions.end(), positions.begin(),
                                 positions.begin() + page.n_tokens);
  }
  return {};
}

Result<void> fetch_notes(CacheState& s, const Lane& lane) {
  const std::size_t n_bytes = s.layout.note_bytes(lane.head_dim());
  const std::span<const PageRecord> pages = lane.pages_in_reach();
  s.step.notes.resize(pages.size() * n_bytes);
  s.step.note_of.clear();
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::span<std::byte> note = std::span(s.step.notes).subspan(i * n_bytes, n_bytes);
    if (n_bytes > 0) SATCHEL_TRY(s.backend.download(note, s.note_at(pages[i])));
    s.step.note_of.push_back(note);
  }
  return {};
}

// The reader's Step::carried and what comes with it.
Result<Reader::Carried*> find_carried(CacheState& s, const LaneQuery& query, const Lane& lane) {
  const Reader& reader = s.layout.pipeline.reader();
  s.step.attention.clear();
  s.step.slot_positions.clear();
  if (reader.n_carried() == 0) return nullptr;
  Reader::Carried& carried = s.step.carried[query.head];
  SATCHEL_TRY(find_slot_positions(s, lane));
  if (reader.needs_attention(query.layer, carried)) {
    SATCHEL_TRY(s.fetch_layer(query.layer));
    SATCHEL_TRY(attend_to_pages(s, query, lane));
  }
  return &carried;
}

// To the tokens that are read, and the range of their positions.
Result<void> narrow(CacheState& s, const PageRecord& page, const kernels::LiveMask& read,
                    kernels::PageView& view) {
  std::array<std::int32_t, kernels::kPageTokens> positions;
  SATCHEL_TRY(find_positions(s, page, positions));
  const std::int32_t moved = view.first_position - page.first_position;
  view.live = read;
  view.first_position = std::numeric_limits<std::int32_t>::max();
  view.last_position = std::numeric_limits<std::int32_t>::min();
  for (std::size_t t = 0; t < page.n_tokens; ++t) {
    if (!read.has(t)) continue;
    view.first_position = std::min(view.first_position, positions[t] + moved);
    view.last_position = std::max(view.last_position, positions[t] + moved);
  }
  return {};
}

Result<void> choose_lane(CacheState& s, const LaneQuery& query) {
  const Lane& lane = s.lanes[s.layout.first_lane[query.layer] + query.head];
  const LayerShape& shape = s.layout.shape.layers[query.layer];
  const std::span<const kernels::PageView> pages = lane.page_views();
  SATCHEL_TRY(fetch_notes(s, lane));
  SATCHEL_TRY_ASSIGN(Reader::Carried* const carried, find_carried(s, query, lane));
  const Reader& reader = s.layout.pipeline.reader();
  std::size_t n_slots = 0;
  s.step.read.clear();
  for (const kernels::PageView& page : pages) {
    s.step.read.push_back(page.live);
    n_slots += page.n_tokens;
  }
  s.step.chosen.clear();
  s.step.work.resize(2 * (reader.chooses_tokens() ? n_slots : pages.size()));
  reader.choose({.layer = query.layer,
                 .scale = shape.attention_scale,
                 .q = query.values,
                 .head_dim = lane.head_dim(),
                 .notes = s.step.note_of,
                 .pages = pages,
                 .work = s.step.work,
                 .read = s.step.read,
                 .positions = s.step.slot_positions,
                 .attention = s.step.attention,
                 .carried = carried,
                 .window = shape.window},
                s.step.chosen);
  for (const std::size_t i : s.step.chosen) {
    s.step.chosen_views.push_back(pages[i]);
    s.step.chosen_pages.push_back(i);
    if (s.step.read[i] != pages[i].live)
      SATCHEL_TRY(narrow(s, lane.pages()[i], s.step.read[i], s.step.chosen_views.back()));
  }
  return {};
}

// Where they lie now: before, those that are far were nowhere.
Result<void> fetch_chosen_pages(CacheState& s, std::size_t layer) {
  StepScratch& step = s.step;
  const auto each = [&](auto&& see) {
    const std::size_t first = s.layout.first_lane[layer];
    for (std::size_t head = 0, i = 0; head < step.view_ends.size(); ++head)
      for (; i < step.view_ends[head]; ++i) see(s.lanes[first + head], i);
  };
  step.fetched.clear();
  each([&](const Lane& lane, std::size_t i) {
    step.fetched.push_back(lane.pages()[step.chosen_pages[i]].extent);
  });
  SATCHEL_TRY(s.fetch_chosen(layer));
  SATCHEL_TRY(s.show_all_if_stale());
  each([&](const Lane& lane, std::size_t i) {
    step.chosen_views[i].bytes = lane.page_views()[step.chosen_pages[i]].bytes;
  });
  return {};
}

}  // namespace

Result<void> Cache::choose_pages(std::size_t layer, const float* q) {
  CacheState& s = *state_;
  const Reader& reader = s.layout.pipeline.reader();
  if (reader.reads_all()) return show_fetched(layer);
  const LayerShape& shape = s.layout.shape.layers[layer];
  StepScratch& step = s.step;
  if (layer == 0)
    for (Reader::Carried& carried : step.carried) carried.is_set = false;
  step.queries.resize(shape.n_heads * shape.head_dim);
  SATCHEL_TRY(download(s.backend, step.queries, q));
  const std::size_t group = shape.n_group() * shape.head_dim;
  step.chosen_views.clear();
  step.chosen_pages.clear();
  step.view_ends.clear();
  s.pages_chosen = true;  // the table shows this step's choice until it ends
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
    SATCHEL_TRY(choose_lane(s, {.layer = layer,
                                .head = head,
                                .q = q,
                                .values = std::span(step.queries).subspan(head * group, group)}));
    step.view_ends.push_back(step.chosen_views.size());
  }
  if (s.arena.has_far()) SATCHEL_TRY(fetch_chosen_pages(s, layer));
  for (std::size_t head = 0, begin = 0; head < shape.n_kv_heads; begin = step.view_ends[head++])
    SATCHEL_TRY(s.table->set_pages(
        s.layout.first_lane[layer] + head,
        std::span(step.chosen_views).subspan(begin, step.view_ends[head] - begin)));
  return {};
}

// All pages of the layer's lanes, as they lie now. Near ones are shown already.
Result<void> Cache::show_fetched(std::size_t layer) {
  CacheState& s = *state_;
  if (!s.arena.has_far()) return {};
  SATCHEL_TRY(s.fetch_layer(layer));
  SATCHEL_TRY(s.show_all_if_stale());
  for (std::size_t i = s.layout.first_lane[layer]; i < s.layout.first_lane[layer + 1]; ++i)
    SATCHEL_TRY(s.show(i));
  return {};
}

}  // namespace satchel::kvcache
