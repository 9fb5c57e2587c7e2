#include "kvcache/cache_state.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kvcache/reading/prompt_state.h"

namespace satchel::kvcache {

namespace {

std::size_t head_dim_max(const CacheShape& shape) {
  std::size_t most = 0;
  for (const LayerShape& layer : shape.layers) most = std::max(most, layer.head_dim);
  return most;
}

std::size_t stages_of(const TierLayouts& layouts, const Pipeline& pipeline) {
  return std::min(layouts.n_tiers(), kTierRecipe + pipeline.n_own_codecs() + 1);
}

Lane::Room room_of(const Pipeline& pipeline) {
  return {.n_sinks = kSinkTokens, .n_tail = pipeline.tail() + kFlushTokens};
}

}  // namespace

std::size_t reserve_bytes(const CacheShape& shape, const TierLayouts& layouts,
                          const Pipeline& pipeline) {
  return Arena::rounded_up(layouts.page_bytes_max() +
                           pipeline.reader().note_bytes(head_dim_max(shape)));
}

CacheBook::CacheBook(const CacheShape& shape_in, const Recipe& recipe_in, TierLayouts layouts_in)
    : shape(shape_in),
      recipe(recipe_in),
      pipeline(recipe.pipeline()),
      layouts(std::move(layouts_in)),
      recipe_is_exact(layouts.of(kTierRecipe, shape.layers[0].head_dim, 1).k.is_exact() &&
                      layouts.of(kTierRecipe, shape.layers[0].head_dim, 1).v.is_exact()) {
  for (std::size_t layer = 0; layer < shape.n_layers(); ++layer) {
    first_lane.push_back(layer_of.size());
    layer_of.insert(layer_of.end(), shape.layers[layer].n_kv_heads, layer);
  }
  first_lane.push_back(layer_of.size());
}

CacheState::CacheState(const CacheHome& home_in, const CacheShape& shape_in,
                       const Recipe& recipe_in, TierLayouts layouts_in)
    : CacheBook(shape_in, recipe_in, std::move(layouts_in)),
      home(home_in),
      backend(*home.backend),
      arena(*home.arena),
      scores(backend, arena, shape.n_lanes()) {
  appended.resize(shape.n_layers());
  arena.add_user(*this);
}

CacheState::~CacheState() {
  scores.clear();
  for (auto lane = lanes.rbegin(); lane != lanes.rend(); ++lane) lane->give_all();
  if (has_reserve) arena.give(reserve);
  if (has_scratch) arena.give(scratch);
  arena.remove_user(*this);
}

std::size_t fixed_bytes(const CacheShape& shape, const TierLayouts& layouts,
                        const Pipeline& pipeline) {
  std::size_t bytes =
      Arena::rounded_up(CompactionScratch::bytes(shape, stages_of(layouts, pipeline))) +
      reserve_bytes(shape, layouts, pipeline);
  const Lane::Room room = room_of(pipeline);
  for (const LayerShape& layer : shape.layers)
    bytes += layer.n_kv_heads * Arena::rounded_up(Lane::exact_bytes(layer.head_dim, room));
  return bytes;
}

Result<void> CacheState::take_fixed() {
  arena.reserve_extents(shape.n_lanes() + 2);
  SATCHEL_TRY(arena.check_free(fixed_bytes(shape, layouts, pipeline)));
  SATCHEL_TRY_ASSIGN(scratch,
                     arena.take(CompactionScratch::bytes(shape, stages_of(layouts, pipeline))));
  has_scratch = true;
  SATCHEL_TRY_ASSIGN(reserve, arena.take(reserve_bytes(shape, layouts, pipeline)));
  has_reserve = true;
  for (std::size_t i = 0; i < shape.n_lanes(); ++i) {
    const std::size_t head_dim = layer(i).head_dim;
    const Lane::Room room = room_of(pipeline);
    SATCHEL_TRY_ASSIGN(const ExtentId exact, arena.take(Lane::exact_bytes(head_dim, room)));
    lanes.emplace_back(arena, head_dim, exact, room, pipeline.tail());
  }
  SATCHEL_TRY_ASSIGN(table, backend.make_lane_table(shape.n_lanes()));
  for (std::size_t i = 0; i < lanes.size(); ++i) SATCHEL_TRY(show(i));
  reserve_lists();
  return {};
}

std::size_t CacheBook::n_tail(std::size_t lane) const {
  if (lanes.empty()) return planned.empty() ? 0 : planned[lane].n_tail;
  return lanes[lane].n_tail();
}

std::size_t CacheBook::tail_kept(std::size_t lane) const {
  if (lanes.empty()) return planned.empty() ? pipeline.tail() : planned[lane].tail_kept;
  return lanes[lane].tail_kept();
}

std::size_t CacheBook::page_bytes(std::uint8_t tier, std::size_t head_dim, std::size_t n) const {
  return Arena::rounded_up(layouts.of(tier, head_dim, n).bytes + note_bytes(head_dim));
}

std::size_t CacheBook::body_bytes(std::uint8_t tier, std::size_t head_dim, std::size_t n) const {
  const std::size_t rest = n % kernels::kPageTokens;
  return n / kernels::kPageTokens * page_bytes(tier, head_dim, kernels::kPageTokens) +
         (rest == 0 ? 0 : page_bytes(tier, head_dim, rest));
}

Result<PageRecord> CacheState::take_page(std::uint8_t tier, std::size_t lane, std::size_t n) {
  const std::size_t head_dim = lanes[lane].head_dim();
  PageRecord page;
  page.layout = &layouts.of_lane(tier, lane, head_dim, n);
  SATCHEL_TRY_ASSIGN(page.extent, arena.take(page.layout->bytes + note_bytes(head_dim)));
  page.serial = page.bytes_serial = next_serial++;
  page.tier = tier;
  page.n_tokens = static_cast<std::uint32_t>(n);
  page.live = kernels::LiveMask::first(n);
  return page;
}

Result<void> CacheState::write_note(const PageRecord& page, std::size_t head_dim) {
  const std::size_t n_bytes = note_bytes(head_dim);
  if (n_bytes == 0) return {};
  float* decoded = compaction_scratch(*this, head_dim).k;
  const kernels::DecodeArgs args{.layout = page.layout,
                                 .page = arena.at(page.extent),
                                 .n_tokens = page.n_tokens,
                                 .k = decoded};
  SATCHEL_TRY(backend.decode_pages({&args, 1}));
  step.page_k.resize(page.n_tokens * head_dim);
  SATCHEL_TRY(backend.download(std::as_writable_bytes(std::span(step.page_k)),
                               reinterpret_cast<const std::byte*>(decoded)));
  step.page_note.resize(n_bytes);
  pipeline.reader().note(step.page_k, head_dim, step.page_note);
  return backend.upload(arena.at(page.extent) + page.layout->bytes, step.page_note);
}

Result<void> CacheState::read_positions(const PageRecord& page, std::span<std::int32_t> positions) {
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

Result<void> CacheState::show_runs(std::size_t lane) {
  return table->set_runs(lane, lanes[lane].runs());
}

Result<void> CacheState::show(std::size_t lane) {
  SATCHEL_TRY(show_runs(lane));
  return table->set_pages(lane, lanes[lane].page_views());
}

void CacheState::extents_moved() {
  for (Lane& lane : lanes) lane.refresh();
  table_is_stale = true;
  if (reading != nullptr) reading->extents_moved();
}

Result<void> CacheState::show_all_if_stale() {
  if (!table_is_stale) return {};
  for (std::size_t i = 0; i < lanes.size(); ++i) SATCHEL_TRY(show(i));
  table_is_stale = false;
  return {};
}

void CacheState::reserve_lists() {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::size_t head_dim : layouts.head_dims())
    for (std::uint8_t tier = 0; tier < layouts.n_tiers(); ++tier)
      least = std::min(least, page_bytes(tier, head_dim, kernels::kPageTokens));
  // Lanes flush in the same step, at most two tiers each, until nothing is free.
  const std::size_t more = arena.free_bytes() / (least * lanes.size()) + 4;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].reserve_pages(lanes[i].pages().size() + more);
    table_is_stale = true;
  }
  arena.reserve_extents(more * lanes.size());
  const std::size_t segments = lanes.size() * kFlushSegmentsMax;
  flushed.reserve(segments);
  flushed_lane.reserve(segments);
  encodes.reserve(segments);
  std::size_t n_heads = 0;
  for (const LayerShape& layer : shape.layers) n_heads = std::max(n_heads, layer.n_kv_heads);
  stores.reserve(2 * n_heads);
  spans.reserve(spans.size() + 2);
  reserve_step(more);
}

// Until the arena is full: no step lengthens a list beyond this.
void CacheState::reserve_step(std::size_t more_pages) {
  const std::size_t n_more = (more_pages + 1) * kernels::kPageTokens;
  std::size_t n_pages = 0, n_slots = 0, n_heads = 0, n_queries = 0;
  for (const Lane& lane : lanes) {
    n_pages = std::max(n_pages, lane.pages().size() + more_pages);
    n_slots = std::max(n_slots, lane.n_slots());
  }
  for (const LayerShape& layer : shape.layers) {
    n_heads = std::max(n_heads, layer.n_kv_heads);
    n_queries = std::max(n_queries, layer.n_heads * layer.head_dim);
  }
  const std::size_t head_dim = head_dim_max(shape);
  if (!pipeline.reader().reads_all()) {
    step.queries.reserve(n_queries);
    step.notes.reserve(n_pages * note_bytes(head_dim));
    step.note_of.reserve(n_pages);
    step.work.reserve(2 * n_pages);
    step.chosen.reserve(n_pages);
    step.chosen_views.reserve(n_heads * n_pages);
    step.view_ends.reserve(n_heads);
    step.page_k.reserve(kernels::kPageTokens * head_dim);
    step.page_note.reserve(note_bytes(head_dim));
  }
  if (wants().decoding) {
    step.by_slot.reserve(n_slots + n_more);
    step.by_position.reserve(n_tokens + n_more);
    scores.reserve(n_tokens + n_more);
  }
}

const TextSpan* CacheBook::span_at(std::size_t position) const {
  for (auto span = spans.rbegin(); span != spans.rend(); ++span)
    if (position >= span->first && position < span->end()) return &*span;
  return nullptr;
}

bool CacheBook::is_protected(std::size_t position) const {
  const TextSpan* span = span_at(position);
  return span == nullptr || span->kind == SpanKind::kept || span->state == SpanState::open;
}

// A position that is no text yet is of the turn that is being answered.
std::uint8_t CacheBook::tier_at(std::size_t position, std::uint8_t finest) const {
  if (is_protected(position)) return kept_tier(finest);
  return span_at(position)->state == SpanState::pending ? held_tier(finest) : kTierRecipe;
}

std::uint8_t CacheBook::held_tier(std::uint8_t finest) const {
  return recipe_is_exact ? kTierRecipe : finest;
}

std::uint8_t CacheBook::kept_tier(std::uint8_t finest) const {
  return held_tier(std::min(finest, kTierEight));
}

std::size_t CacheBook::line_bytes(std::size_t lane, std::size_t n_head, std::size_t n_new,
                                  std::uint8_t tier, std::uint8_t finest) const {
  const std::size_t head_dim = layer(lane).head_dim;
  const std::size_t first = n_tokens - n_tail(lane);
  std::size_t bytes = 0, n = 0;
  std::uint8_t now = tier;
  for (std::size_t at = 0; at < n_head; ++at) {
    const std::uint8_t here = tier_at(first + at, finest);
    if (n > 0 && here != now) {
      bytes += body_bytes(now, head_dim, n);
      n = 0;
    }
    now = here;
    ++n;
  }
  if (n > 0 && n_new > 0 && now != tier) {
    bytes += body_bytes(now, head_dim, n);
    n = 0;
  }
  return bytes + body_bytes(n_new > 0 ? tier : now, head_dim, n + n_new);
}

bool CacheBook::joins_what_waits(const ReadRequest& read) const {
  return read.goes_on && wants().probe && !spans.empty() && spans.back().kind == read.kind &&
         spans.back().state == SpanState::pending && spans.back().n_probed == 0;
}

// Documents that came one after the other stay apart.
void CacheBook::extend_text(const ReadRequest& read, SpanState state) {
  const bool goes_on =
      joins_what_waits(read) || (!spans.empty() && spans.back().kind == read.kind &&
                                 spans.back().state == state && read.kind != SpanKind::document);
  if (goes_on) {
    spans.back().n_tokens += read.n_tokens;
  } else {
    spans.push_back(
        {.first = n_tokens, .n_tokens = read.n_tokens, .kind = read.kind, .state = state});
  }
  n_tokens += read.n_tokens;
}

bool CacheBook::decides_in_layer() const {
  if (!pipeline.decides()) return false;
  if (pipeline.decides_in_layer()) return true;
  const TokenSpan any = token_span(0, 1);
  std::vector<std::size_t> budgets(any.n_lanes);
  return pipeline.decides_when_read() && pipeline.allocator().known(any, 0, budgets);
}

std::span<const float> CacheBook::worth_of(std::size_t lane) const {
  if (shape.lane_shares == nullptr || !shape.lane_shares->worth) return {};
  SATCHEL_ASSERT(takes_part(layer_of[lane]));
  return shape.lane_shares->worth->lanes[n_deciding_before(lane)];
}

std::size_t CacheBook::n_deciding_before(std::size_t lane) const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < lane; ++i) n += takes_part(layer_of[i]) ? 1u : 0u;
  return n;
}

TokenSpan CacheBook::token_span(std::size_t first, std::size_t n) const {
  TokenSpan span{.n_tokens = n,
                 .first_position = first,
                 .keep = pipeline.keep(),
                 .lane_shares = shape.lane_shares.get()};
  for (std::size_t i = 0; i < shape.n_layers(); ++i) {
    if (!takes_part(i)) continue;
    ++span.n_layers;
    span.n_lanes += shape.layers[i].n_kv_heads;
  }
  span.n_after = n_tokens - std::min(n_tokens, first + n);
  return span;
}

std::size_t CacheBook::stage_of(std::uint8_t tier) const {
  return std::min<std::size_t>(tier, stages_of(layouts, pipeline) - 1);
}

std::size_t CompactionScratch::bytes(const CacheShape& shape, std::size_t n_stages) {
  const std::size_t d = head_dim_max(shape), n = kernels::kPageTokens;
  return 2 * aligned_64(n * d * sizeof(float)) + aligned_64(n * sizeof(std::int32_t)) +
         (n_stages + 1) * exact_block_bytes(n, d);
}

CompactionScratch compaction_scratch(CacheState& cache, std::size_t head_dim) {
  constexpr std::size_t n = kernels::kPageTokens;
  std::byte* at = cache.arena.at(cache.scratch);
  const auto take = [&at](std::size_t bytes) {
    std::byte* begin = at;
    at += bytes;
    return begin;
  };
  CompactionScratch scratch;
  scratch.k = reinterpret_cast<float*>(take(aligned_64(n * head_dim * sizeof(float))));
  scratch.v = reinterpret_cast<float*>(take(aligned_64(n * head_dim * sizeof(float))));
  scratch.indices = reinterpret_cast<std::int32_t*>(take(aligned_64(n * sizeof(std::int32_t))));
  scratch.source = exact_block(take(exact_block_bytes(n, head_dim)), n, head_dim);
  for (std::size_t stage = 0; stage < cache.n_stages(); ++stage)
    scratch.staged[stage] = exact_block(take(exact_block_bytes(n, head_dim)), n, head_dim);
  return scratch;
}

}  // namespace satchel::kvcache
