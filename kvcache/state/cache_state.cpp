#include "kvcache/state/cache_state.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kvcache/shape/rope_pairs.h"

namespace satchel::kvcache {

CacheState::CacheState(std::shared_ptr<Arena> arena_in, const CacheShape& shape_in,
                       const Recipe& recipe_in, TierLayouts layouts_in)
    : shared_arena(std::move(arena_in)),
      backend(*shared_arena->backend()),
      arena(*shared_arena),
      layout(shape_in, recipe_in, std::move(layouts_in)),
      scores(backend, arena, layout.shape.n_lanes()),
      states(backend, arena, layout.shape, !layout.recipe_is_exact) {
  appended.resize(layout.shape.n_layers());
  arena.add_user(*this);
}

CacheState::~CacheState() {
  scores.clear();
  for (auto lane = lanes.rbegin(); lane != lanes.rend(); ++lane) lane->give_all();
  if (has_reserve) arena.give(reserve);
  if (has_scratch) arena.give(scratch);
  arena.remove_user(*this);
}

CacheView CacheState::view() const {
  CacheView view{.layout = layout,
                 .text = text,
                 .since_flush = since_flush,
                 .is_far = arena.has_far(),
                 .fetch_bytes = fetch_bytes()};
  for (const Lane& lane : lanes)
    view.tails.push_back({.n = lane.n_tail(), .kept = lane.tail_kept()});
  return view;
}

Result<void> CacheState::take_fixed() {
  arena.reserve_extents(layout.shape.n_lanes() + 2);
  SATCHEL_TRY(arena.check_free(layout.fixed_bytes()));
  SATCHEL_TRY_ASSIGN(scratch, arena.take(layout.scratch_bytes()));
  has_scratch = true;
  SATCHEL_TRY_ASSIGN(reserve, arena.take(layout.reserve_bytes()));
  has_reserve = true;
  for (std::size_t i = 0; i < layout.shape.n_lanes(); ++i) {
    const TokenShape token = layout.layer(i).token();
    const Lane::Capacity capacity = exact_capacity(layout.pipeline.tail());
    SATCHEL_TRY_ASSIGN(const ExtentId exact, arena.take(Lane::exact_bytes(token, capacity)));
    lanes.emplace_back(arena, reach, token, exact, capacity, layout.pipeline.tail());
  }
  SATCHEL_TRY_ASSIGN(table, backend.make_lane_table(layout.shape.n_lanes()));
  for (std::size_t i = 0; i < lanes.size(); ++i) SATCHEL_TRY(show(i));
  SATCHEL_TRY(states.take());
  reserve_lists();
  return {};
}

Result<PageRecord> CacheState::take_page(std::uint8_t tier, std::size_t lane, std::size_t n) {
  const TokenShape& token = lanes[lane].token();
  PageRecord page;
  page.layout = &layout.tiers.of_lane(tier, lane, token, n);
  SATCHEL_TRY_ASSIGN(page.extent,
                     take_page_extent(page.layout->bytes, layout.note_bytes(token.head_dim)));
  page.serial = page.bytes_serial = next_serial++;
  page.tier = tier;
  page.n_tokens = static_cast<std::uint32_t>(n);
  page.live = kernels::LiveMask::first(n);
  return page;
}

Result<ExtentId> CacheState::take_page_extent(std::size_t page_bytes, std::size_t note_bytes) {
  const std::size_t bytes = page_bytes + note_bytes;
  return arena.has_far() ? arena.take_far(bytes, note_bytes) : arena.take(bytes);
}

const std::byte* CacheState::note_at(const PageRecord& page) {
  return arena.is_far(page.extent) ? arena.rest_at(page.extent)
                                   : arena.at(page.extent) + page.layout->bytes;
}

Result<void> CacheState::finish_page(const PageRecord& page, std::size_t head_dim) {
  const std::size_t n_bytes = layout.note_bytes(head_dim);
  if (n_bytes > 0) {
    SATCHEL_TRY(read_keys(page, head_dim, step.page_k));
    step.page_note.resize(n_bytes);
    layout.pipeline.reader().note(step.page_k, head_dim, step.page_note);
    SATCHEL_TRY(backend.upload(arena.at(page.extent) + page.layout->bytes, step.page_note));
  }
  return arena.settle(page.extent);
}

Result<void> CacheState::fetch_layer(std::size_t layer) {
  if (!arena.has_far()) return {};
  step.fetched.clear();
  for (std::size_t i = layout.first_lane[layer]; i < layout.first_lane[layer + 1]; ++i)
    for (const PageRecord& page : lanes[i].pages_in_reach()) step.fetched.push_back(page.extent);
  return fetch_chosen(layer);
}

// Where every layer's pages are read in turn, what was read longest ago is what comes next.
Result<void> CacheState::fetch_chosen(std::size_t layer) {
  if (!arena.has_far()) return {};
  const bool reads_all = layout.pipeline.reader().reads_all();
  SATCHEL_TRY(arena.fetch(step.fetched, reads_all ? Arena::Goes::newest : Arena::Goes::oldest));
  for (std::size_t i = layout.first_lane[layer]; i < layout.first_lane[layer + 1]; ++i)
    lanes[i].refresh();
  return {};
}

std::size_t CacheState::fetch_bytes() const {
  std::size_t most = 0;
  if (!arena.has_far()) return most;
  for (std::size_t layer = 0; layer < layout.shape.n_layers(); ++layer) {
    std::size_t bytes = 0;
    for (std::size_t i = layout.first_lane[layer]; i < layout.first_lane[layer + 1]; ++i)
      for (const PageRecord& page : lanes[i].pages_in_reach())
        bytes += Arena::rounded_up(arena.far_size(page.extent));
    most = std::max(most, bytes);
  }
  return most;
}

Result<void> CacheState::read_keys(const PageRecord& page, std::size_t head_dim,
                                   std::vector<float>& keys) {
  SATCHEL_TRY(arena.fetch({&page.extent, 1}, Arena::Goes::oldest));
  const TokenShape token{.head_dim = head_dim, .is_latent = page.layout->is_latent()};
  float* decoded = compaction_scratch(*this, token).k;
  const kernels::DecodeArgs args{.layout = page.layout,
                                 .page = arena.at(page.extent),
                                 .n_tokens = page.n_tokens,
                                 .k = decoded};
  SATCHEL_TRY(backend.decode_pages({&args, 1}));
  keys.resize(page.n_tokens * head_dim);
  return download(backend, keys, decoded);
}

Result<void> CacheState::read_positions(const PageRecord& page, std::span<std::int32_t> positions) {
  SATCHEL_TRY(arena.fetch({&page.extent, 1}, Arena::Goes::oldest));
  SATCHEL_TRY(backend.download(std::as_writable_bytes(positions.first(page.n_tokens)),
                               arena.at(page.extent) + page.layout->positions_at));
  for (std::int32_t& position : positions.first(page.n_tokens)) position += page.shift;
  return {};
}

Result<void> CacheState::set_range(PageRecord& page) {
  std::array<std::int32_t, kernels::kPageTokens> positions;
  SATCHEL_TRY(read_positions(page, positions));
  page.first_position = std::numeric_limits<std::int32_t>::max();
  page.last_position = std::numeric_limits<std::int32_t>::min();
  for (std::size_t slot = 0; slot < page.n_tokens; ++slot) {
    if (!page.live.has(slot)) continue;
    page.first_position = std::min(page.first_position, positions[slot]);
    page.last_position = std::max(page.last_position, positions[slot]);
  }
  return {};
}

namespace {

// The copy is made from the sinks themselves every time: rotating it again would round again.
Result<void> move_lane_sinks(CacheState& cache, std::size_t index, std::int32_t by) {
  const Lane& lane = cache.lanes[index];
  const std::size_t d = lane.head_dim(), n = lane.n_sinks();
  std::vector<Half> keys(n * d);
  SATCHEL_TRY(download(cache.backend, keys, lane.sinks().k));
  std::vector<float> key(d);
  std::vector<std::int32_t> positions(n);
  for (std::size_t t = 0; t < n; ++t) {
    const std::span<Half> row = std::span(keys).subspan(t * d, d);
    for (std::size_t c = 0; c < d; ++c) key[c] = half_to_float(row[c]);
    rope_pairs(cache.layout.layer(index), static_cast<double>(by), std::span(key));
    for (std::size_t c = 0; c < d; ++c) row[c] = float_to_half(key[c]);
    positions[t] = static_cast<std::int32_t>(t) + by;
  }
  const ExactBlock to = lane.moved_sinks();
  SATCHEL_TRY(upload(cache.backend, to.k, std::span<const Half>(keys)));
  SATCHEL_TRY(upload(cache.backend, to.positions, std::span<const std::int32_t>(positions)));
  if (to.is_latent()) return {};
  return cache.backend.copy(reinterpret_cast<std::byte*>(to.v),
                            reinterpret_cast<const std::byte*>(lane.sinks().v),
                            n * d * sizeof(Half));
}

}  // namespace

std::size_t CacheState::moved_sinks_needs(const Reach& wanted) const {
  std::size_t bytes = 0;
  for (const Lane& lane : lanes)
    if (wanted.sinks_moved() != 0 && !lane.has_moved_sinks())
      bytes += Arena::rounded_up(lane.moved_sinks_bytes());
  return bytes;
}

Result<void> CacheState::take_moved_sinks(const Reach& wanted) {
  if (wanted.sinks_moved() == 0) return {};
  SATCHEL_TRY(arena.check_free(moved_sinks_needs(wanted)));
  arena.reserve_extents(lanes.size());
  for (Lane& lane : lanes) {
    if (lane.has_moved_sinks()) continue;
    const Result<ExtentId> extent = arena.take(lane.moved_sinks_bytes());
    if (!extent.ok()) {
      give_moved_sinks();
      return extent.error();
    }
    lane.set_moved_sinks(*extent);
  }
  return {};
}

void CacheState::give_moved_sinks() {
  for (Lane& lane : lanes)
    if (reach.sinks_moved() == 0) lane.give_moved_sinks();
}

Result<void> CacheState::move_sinks(const Reach& wanted) {
  const std::int32_t by = wanted.sinks_moved();
  for (std::size_t i = 0; i < lanes.size() && by != 0; ++i) {
    const Result<void> moved = move_lane_sinks(*this, i, by);
    if (!moved.ok()) return lose_all(moved.error());
  }
  return {};
}

Result<void> CacheState::set_reach(const Reach& wanted) {
  SATCHEL_TRY(take_moved_sinks(wanted));
  SATCHEL_TRY(move_sinks(wanted));
  reach = wanted;
  give_moved_sinks();
  for (Lane& lane : lanes) lane.arrange();
  table_is_stale = true;
  reserve_lists();
  return show_all_if_stale();
}

Result<void> CacheState::show_runs(std::size_t lane) {
  return table->set_runs(lane, lanes[lane].runs());
}

Result<void> CacheState::show(std::size_t lane) {
  SATCHEL_TRY(show_runs(lane));
  return table->set_pages(lane, draft.open ? draft_views(lane) : lanes[lane].page_views());
}

// Of the chosen pages those that are still there. Valid until the next call for this lane.
std::span<const kernels::PageView> CacheState::draft_views(std::size_t lane) {
  const std::span<const PageRecord> pages = lanes[lane].pages_in_reach();
  const std::vector<std::uint64_t>& chosen = draft.pages[lane];
  std::vector<kernels::PageView>& views = draft.views[lane];
  views.clear();
  for (std::size_t i = 0; i < pages.size(); ++i)
    if (std::find(chosen.begin(), chosen.end(), pages[i].serial) != chosen.end())
      views.push_back(lanes[lane].page_views()[i]);
  return views;
}

void CacheState::extents_moved() {
  for (Lane& lane : lanes) lane.refresh();
  table_is_stale = true;
  if (prefill != nullptr) prefill->extents_moved();
}

Result<void> CacheState::show_all_if_stale() {
  if (!table_is_stale) return {};
  for (std::size_t i = 0; i < lanes.size(); ++i) SATCHEL_TRY(show(i));
  table_is_stale = false;
  return {};
}

void CacheState::reserve_lists() {
  constexpr std::size_t kMore = kFlushesReserved * kFlushRunsMax;
  flushes_reserved = kFlushesReserved;
  for (Lane& lane : lanes) lane.reserve_pages(lane.pages().size() + kMore);
  table_is_stale = true;
  arena.reserve_extents(kMore * lanes.size());
  const std::size_t segments = lanes.size() * kFlushRunsMax;
  step.flushed.reserve(segments);
  step.flushed_lanes.reserve(segments);
  step.encodes.reserve(segments);
  std::size_t n_heads = 0;
  for (const LayerShape& layer : layout.shape.layers) n_heads = std::max(n_heads, layer.n_kv_heads);
  step.stores.reserve(2 * n_heads);
  text.segments.reserve(text.segments.size() + 2);
  reserve_step(kMore);
}

void CacheState::reserve_step(std::size_t more_pages) {
  const std::size_t n_more = (more_pages + 1) * kernels::kPageTokens;
  std::size_t n_pages = 0, n_slots = 0, n_heads = 0, n_queries = 0;
  for (const Lane& lane : lanes) {
    n_pages = std::max(n_pages, lane.pages().size() + more_pages);
    n_slots = std::max(n_slots, lane.n_slots());
  }
  for (const LayerShape& layer : layout.shape.layers) {
    n_heads = std::max(n_heads, layer.n_kv_heads);
    n_queries = std::max(n_queries, layer.n_heads * layer.head_dim);
  }
  const std::size_t head_dim = layout.shape.head_dim_max();
  if (arena.has_far()) step.fetched.reserve(n_heads * n_pages);
  const Reader& reader = layout.pipeline.reader();
  if (!reader.reads_all()) {
    step.queries.reserve(n_queries);
    step.notes.reserve(n_pages * layout.note_bytes(head_dim));
    step.note_of.reserve(n_pages);
    step.work.reserve(2 * (reader.chooses_tokens() ? n_slots + n_more : n_pages));
    step.chosen.reserve(n_pages);
    step.read.reserve(n_pages);
    step.chosen_views.reserve(n_heads * n_pages);
    step.chosen_pages.reserve(n_heads * n_pages);
    step.view_ends.reserve(n_heads);
    step.page_k.reserve(kernels::kPageTokens * head_dim);
    step.page_note.reserve(layout.note_bytes(head_dim));
  }
  if (const std::size_t n_carried = reader.n_carried(); n_carried > 0) {
    step.slot_positions.reserve(n_slots + n_more);
    step.attention.reserve(n_slots + n_more);
    step.carried.resize(n_heads);
    for (Reader::Carried& carried : step.carried) carried.positions.reserve(n_carried);
  }
  if (requirements().decoding) {
    step.by_slot.reserve(n_slots + n_more);
    step.by_position.reserve(text.n_tokens + n_more);
    scores.reserve(text.n_tokens + n_more);
  }
}

CompactionScratch compaction_scratch(CacheState& cache, const TokenShape& token) {
  constexpr std::size_t n = kernels::kPageTokens;
  std::byte* at = cache.arena.at(cache.scratch);
  const auto take = [&at](std::size_t bytes) {
    std::byte* begin = at;
    at += bytes;
    return begin;
  };
  CompactionScratch scratch;
  const std::size_t row_bytes = aligned_64(n * token.head_dim * sizeof(float));
  scratch.k = reinterpret_cast<float*>(take(row_bytes));
  if (!token.is_latent) scratch.v = reinterpret_cast<float*>(take(row_bytes));
  scratch.indices = reinterpret_cast<std::int32_t*>(take(aligned_64(n * sizeof(std::int32_t))));
  scratch.source = exact_block(take(exact_block_bytes(n, token)), n, token);
  for (std::size_t bucket = 0; bucket < cache.layout.n_buckets(); ++bucket)
    scratch.buckets[bucket] = exact_block(take(exact_block_bytes(n, token)), n, token);
  return scratch;
}

void CacheState::undo_open_step() {
  if (!step_open) return;
  for (std::size_t layer = 0; layer < layout.shape.n_layers(); ++layer) {
    const std::size_t n = draft.n_tokens + (appended[layer] != 0 ? step_tokens : 0);
    appended[layer] = 0;
    for (std::size_t i = layout.first_lane[layer]; i < layout.first_lane[layer + 1]; ++i)
      drop_newest(lanes[i], n);
  }
  table_is_stale = true;
  step_open = pages_chosen = draft.open = draft.choosing = false;
  draft.n_tokens = 0;
}

void CacheState::drop_newest(Lane& lane, std::size_t n) {
  const std::size_t n_of_tail = std::min(n, lane.n_tail());
  lane.set_lengths(lane.n_sinks() - (n - n_of_tail), lane.n_tail() - n_of_tail);
}

// What no later query of a layer with a window can see.
Result<void> CacheState::drop_behind_windows() {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const std::size_t window = layout.layer(i).window;
    if (window == 0 || text.n_tokens < window) continue;
    const auto last_gone = static_cast<std::int32_t>(text.n_tokens - window);
    bool any = false;
    for (std::size_t j = 0; j < lanes[i].pages().size(); ++j) {
      PageRecord page = lanes[i].pages()[j];
      if (page.last_position > last_gone) continue;
      page.live = {};
      lanes[i].replace_page(j, page);
      any = true;
    }
    if (!any) continue;
    lanes[i].drop_empty_pages();
    SATCHEL_TRY(show(i));
  }
  return {};
}

void CacheState::clear() {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Lane& lane = lanes[i];
    for (std::size_t page = 0; page < lane.pages().size(); ++page) {
      PageRecord gone = lane.pages()[page];
      gone.live = {};
      lane.replace_page(page, gone);
    }
    lane.drop_empty_pages();
    lane.set_lengths(0, 0);
  }
  std::fill(appended.begin(), appended.end(), std::uint8_t{0});
  scores.clear();
  states.clear();
  text.segments.clear();
  reach = {};
  give_moved_sinks();
  step_open = pages_chosen = draft.open = draft.choosing = false;
  draft.n_tokens = 0;
  text.n_tokens = since_flush = 0;
  table_is_stale = true;
  reserve_lists();
}

Error CacheState::lose_all(Error error) {
  clear();
  return error;
}

// Where the arena is too full for a moment it is tried again after the next compaction.
void CacheState::retake_reserve() {
  if (has_reserve) return;
  const Result<ExtentId> taken = arena.take(layout.reserve_bytes());
  if (!taken.ok()) return;
  reserve = *taken;
  has_reserve = true;
}

// Scores are needed for what is pending, or for all text where decoding goes on scoring.
void CacheState::forget_scores() {
  if (requirements().decoding) return scores.keep_only(0, text.n_tokens);
  std::size_t first = std::numeric_limits<std::size_t>::max(), end = 0;
  for (const TextSegment& segment : text.segments) {
    if (!segment.waits()) continue;
    first = std::min(first, segment.first);
    end = std::max(end, segment.end());
  }
  scores.keep_only(std::min(first, end), end);
}

Result<void> CacheState::fit_exact(std::size_t index, std::size_t tail_kept) {
  Lane& lane = lanes[index];
  if (tail_kept == lane.tail_kept()) return {};
  const Lane::Capacity capacity = exact_capacity(tail_kept);
  SATCHEL_ASSERT(lane.n_tail() <= capacity.n_tail);
  const std::size_t bytes = Lane::exact_bytes(lane.token(), capacity);
  if (!arena.check_free(bytes).ok()) return {};  // later, then
  SATCHEL_TRY_ASSIGN(const ExtentId extent, arena.take(bytes));
  const ExactBlock sinks = exact_block(arena.at(extent), capacity.n_sinks, lane.token());
  const ExactBlock tail =
      exact_block(arena.at(extent) + exact_block_bytes(capacity.n_sinks, lane.token()),
                  capacity.n_tail, lane.token());
  const auto moved = [&]() -> Result<void> {
    SATCHEL_TRY(copy_exact(backend, lane.head_dim(), {lane.sinks(), 0, sinks, 0, lane.n_sinks()}));
    return copy_exact(backend, lane.head_dim(), {lane.tail(), 0, tail, 0, lane.n_tail()});
  }();
  if (!moved.ok()) {
    arena.give(extent);
    return moved.error();
  }
  const ExtentId old = lane.exact_extent();
  lane.set_exact(extent, capacity, tail_kept);
  arena.give(old);
  return show(index);
}

}  // namespace satchel::kvcache
