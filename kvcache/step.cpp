// Decode steps: one token joins every lane; every kFlushTokens steps the tails are flushed.
#include <algorithm>
#include <limits>
#include <numeric>

#include "kvcache/cache_state.h"

namespace satchel::kvcache {
namespace {

// What a flush of one lane takes out of its tail: tokens [first, first + n) of it, at one tier.
struct Segment {
  std::size_t first = 0, n = 0;
  std::uint8_t tier = kTierRecipe;
};

// A flush now, or of the tails as they will be after n_more steps; nothing waits finer than `finest`.
struct FlushPlan {
  std::uint8_t finest = kTierExact;
  std::size_t n_more = 0;
};

// Cut where the tier changes and at whole pages; at most kFlushSegmentsMax, the last takes the rest
// of what a page holds.
std::size_t segments_of(const CacheState& cache, const Lane& lane, const FlushPlan& plan,
                        std::array<Segment, kFlushSegmentsMax>& segments) {
  const std::size_t n_tail = lane.n_tail() + plan.n_more;
  const std::size_t n_out = n_tail - std::min(n_tail, lane.tail_kept());
  const std::size_t position = cache.n_tokens + plan.n_more - n_tail;
  std::size_t n = 0;
  for (std::size_t at = 0; at < n_out; ++at) {
    const std::uint8_t tier = cache.tier_at(position + at, plan.finest);
    const bool opens = n == 0 || segments[n - 1].n == kernels::kPageTokens ||
                       (segments[n - 1].tier != tier && n < kFlushSegmentsMax);
    if (opens) {
      SATCHEL_ASSERT(n < kFlushSegmentsMax);
      segments[n++] = {.first = at, .n = 0, .tier = tier};
    }
    ++segments[n - 1].n;
    segments[n - 1].tier = std::min(segments[n - 1].tier, tier);  // the finer of two
  }
  return n;
}

std::size_t flush_bytes(const CacheState& cache, const FlushPlan& plan) {
  std::array<Segment, kFlushSegmentsMax> segments;
  std::size_t bytes = 0;
  for (const Lane& lane : cache.lanes) {
    const std::size_t n = segments_of(cache, lane, plan, segments);
    for (std::size_t i = 0; i < n; ++i)
      bytes += cache.page_bytes(segments[i].tier, lane.head_dim(), segments[i].n);
  }
  return bytes;
}

// What observe_lane() borrows for one lane at a time.
std::size_t observe_bytes(const CacheState& cache) {
  std::size_t n_slots = 0;
  for (const Lane& lane : cache.lanes) n_slots = std::max(n_slots, lane.n_slots());
  return Arena::rounded_up((n_slots + 1) * sizeof(float));
}

}  // namespace

Result<void> Cache::begin_step() {
  State& s = *state_;
  SATCHEL_ASSERT(s.reading == nullptr);
  s.undo_open_step();
  SATCHEL_TRY(s.show_all_if_stale());
  SATCHEL_TRY(s.flush_if_due());
  if (s.n_tokens >= std::numeric_limits<std::int32_t>::max())
    return Error{ErrorKind::invalid, "CACHE_POSITION", "No position is left for another token."};
  SATCHEL_TRY(s.arena.check_free(step_needs()));
  if (s.wants().decoding) SATCHEL_TRY(s.scores.ensure(0, s.n_tokens + 1));
  SATCHEL_TRY(s.show_all_if_stale());
  s.step_open = true;
  return {};
}

// The step that fills the tails needs room for their pages, at the coarsest. A flush that is due and
// failed needs the same.
std::size_t Cache::step_needs() const {
  const State& s = *state_;
  std::size_t bytes = 0;
  if (s.since_flush + 1 >= kFlushTokens)
    bytes =
        flush_bytes(s, {.finest = kTierRecipe, .n_more = s.since_flush < kFlushTokens ? 1u : 0u});
  if (s.wants().decoding)
    bytes = std::max(bytes, observe_bytes(s)) + s.scores.missing_bytes(0, s.n_tokens + 1);
  return bytes;
}

Result<void> Cache::append(std::size_t layer, const float* k, const float* v) {
  State& s = *state_;
  SATCHEL_ASSERT(s.step_open && layer < s.shape.n_layers() && s.appended[layer] == 0);
  const std::size_t head_dim = s.shape.layers[layer].head_dim;
  const std::size_t first = s.first_lane[layer], end = s.first_lane[layer + 1];
  const auto position = static_cast<std::int32_t>(s.n_tokens);
  s.stores.clear();
  for (std::size_t i = first; i < end; ++i) {
    const Lane& lane = s.lanes[i];
    const bool to_sinks = s.next_is_sink(lane);
    const ExactBlock block = to_sinks ? lane.sinks() : lane.tail();
    const std::size_t slot = to_sinks ? lane.n_sinks() : lane.n_tail();
    for (const auto& [from, to] : {std::pair(k, block.k), std::pair(v, block.v)})
      s.stores.push_back({.from = from + (i - first) * head_dim,
                          .n_rows = 1,
                          .n_values = head_dim,
                          .from_stride = head_dim,
                          .to = to + slot * head_dim});
    SATCHEL_TRY(s.backend.upload(reinterpret_cast<std::byte*>(block.positions + slot),
                                 std::as_bytes(std::span(&position, 1))));
  }
  SATCHEL_TRY(s.backend.store(s.stores));
  for (std::size_t i = first; i < end; ++i) {  // only now is it visible
    Lane& lane = s.lanes[i];
    const bool to_sinks = s.next_is_sink(lane);
    lane.set_lengths(lane.n_sinks() + (to_sinks ? 1u : 0u), lane.n_tail() + (to_sinks ? 0u : 1u));
    SATCHEL_TRY(s.show_runs(i));
  }
  SATCHEL_TRY(s.show_all_if_stale());  // where another cache's step has moved extents
  s.appended[layer] = 1;
  return {};
}

Result<void> Cache::end_step() {
  State& s = *state_;
  SATCHEL_ASSERT(s.step_open);
  for (std::uint8_t& appended : s.appended) {
    SATCHEL_ASSERT(appended == 1);
    appended = 0;
  }
  s.step_open = false;
  if (s.n_tokens >= kSinkTokens) ++s.since_flush;
  s.extend_text({.n_tokens = 1, .kind = SpanKind::answer}, SpanState::open);
  if (s.pages_chosen) s.table_is_stale = true;
  s.pages_chosen = false;
  SATCHEL_TRY(s.flush_if_due());
  return s.show_all_if_stale();
}

void CacheState::undo_open_step() {
  if (!step_open) return;
  for (std::size_t layer = 0; layer < shape.n_layers(); ++layer) {
    if (appended[layer] == 0) continue;
    appended[layer] = 0;
    for (std::size_t i = first_lane[layer]; i < first_lane[layer + 1]; ++i) {
      Lane& lane = lanes[i];
      const bool from_sinks = n_tokens < kSinkTokens;
      lane.set_lengths(lane.n_sinks() - (from_sinks ? 1u : 0u),
                       lane.n_tail() - (from_sinks ? 0u : 1u));
    }
  }
  table_is_stale = true;
  step_open = pages_chosen = false;
}

Result<void> CacheState::flush_if_due() {
  if (since_flush < kFlushTokens) return {};
  SATCHEL_TRY(flush());
  const Moment moment{.occasion = Occasion::steps, .n_tokens = n_tokens};
  return pipeline.fires(moment) ? decide_all_text() : Result<void>();
}

// All pages are taken, then all are encoded in one call, then the lanes change: a backend that
// fails in between leaves them as they were.
Result<void> CacheState::flush() {
  FlushPlan plan;
  while (plan.finest < kTierRecipe && flush_bytes(*this, plan) > arena.free_bytes()) ++plan.finest;
  SATCHEL_TRY(arena.check_free(flush_bytes(*this, plan)));
  flushed.clear();
  flushed_lane.clear();
  const auto taken_back = [this](Error error) {
    for (const PageRecord& page : flushed) arena.give(page.extent);
    flushed.clear();
    return error;
  };
  std::array<Segment, kFlushSegmentsMax> segments;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const std::size_t n = segments_of(*this, lanes[i], plan, segments);
    for (std::size_t j = 0; j < n; ++j) {
      Result<PageRecord> page = take_page(segments[j].tier, i, segments[j].n);
      if (!page.ok()) return taken_back(page.error());
      page->first_position =
          static_cast<std::int32_t>(n_tokens - lanes[i].n_tail() + segments[j].first);
      page->last_position = page->first_position + static_cast<std::int32_t>(segments[j].n) - 1;
      flushed.push_back(*page);
      flushed_lane.push_back(i);
    }
  }
  const Result<void> encoded = encode_flushed();
  if (!encoded.ok()) return taken_back(encoded.error());
  return move_flushed();
}

Result<void> CacheState::encode_flushed() {
  encodes.clear();
  for (std::size_t i = 0; i < flushed.size(); ++i) {
    const Lane& lane = lanes[flushed_lane[i]];
    const ExactBlock tail = lane.tail();
    const std::size_t first =
        static_cast<std::size_t>(flushed[i].first_position) - (n_tokens - lane.n_tail());
    encodes.push_back({.layout = flushed[i].layout,
                       .exact = {.k = tail.k + first * lane.head_dim(),
                                 .v = tail.v + first * lane.head_dim(),
                                 .positions = tail.positions + first,
                                 .n_tokens = flushed[i].n_tokens},
                       .page = arena.at(flushed[i].extent)});
  }
  SATCHEL_TRY(backend.encode_pages(encodes));
  for (std::size_t i = 0; i < flushed.size(); ++i)
    SATCHEL_TRY(write_note(flushed[i], lanes[flushed_lane[i]].head_dim()));
  return {};
}

Result<void> CacheState::move_flushed() {
  std::size_t next = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Lane& lane = lanes[i];
    const std::size_t n_kept = std::min(lane.n_tail(), lane.tail_kept());
    const std::size_t n_out = lane.n_tail() - n_kept;
    if (n_out == 0) continue;
    // The kept tokens may overlap where they go: copy() allows that.
    const Result<void> copied =
        copy_exact(backend, lane.head_dim(), {lane.tail(), n_out, lane.tail(), 0, n_kept});
    if (!copied.ok()) {
      for (; next < flushed.size(); ++next) arena.give(flushed[next].extent);
      flushed.clear();
      return lose_all(copied.error());
    }
    lane.set_lengths(lane.n_sinks(), n_kept);
    for (; next < flushed.size() && flushed_lane[next] == i; ++next) lane.add_page(flushed[next]);
    SATCHEL_TRY(show(i));
  }
  flushed.clear();
  since_flush = 0;
  return drop_behind_windows();
}

// What no later query of a layer with a window can see.
Result<void> CacheState::drop_behind_windows() {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const std::size_t window = layer(i).window;
    if (window == 0 || n_tokens < window) continue;
    const auto last_gone = static_cast<std::int32_t>(n_tokens - window);
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

Result<void> Cache::choose_pages(std::size_t layer, const float* q) {
  State& s = *state_;
  const Reader& reader = s.pipeline.reader();
  if (reader.reads_all()) return {};
  const LayerShape& shape = s.shape.layers[layer];
  StepScratch& step = s.step;
  step.queries.resize(shape.n_heads * shape.head_dim);
  SATCHEL_TRY(s.backend.download(std::as_writable_bytes(std::span(step.queries)),
                                 reinterpret_cast<const std::byte*>(q)));
  const std::size_t group = shape.n_group() * shape.head_dim;
  step.chosen_views.clear();
  step.view_ends.clear();
  s.pages_chosen = true;  // the table shows this step's choice until it ends
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
    SATCHEL_TRY(s.choose_lane(layer, head, std::span(step.queries).subspan(head * group, group)));
    step.view_ends.push_back(step.chosen_views.size());
  }
  for (std::size_t head = 0, begin = 0; head < shape.n_kv_heads; begin = step.view_ends[head++])
    SATCHEL_TRY(s.table->set_pages(
        s.first_lane[layer] + head,
        std::span(step.chosen_views).subspan(begin, step.view_ends[head] - begin)));
  return {};
}

Result<void> CacheState::choose_lane(std::size_t layer, std::size_t head,
                                     std::span<const float> q) {
  const Lane& lane = lanes[first_lane[layer] + head];
  const std::size_t head_dim = lane.head_dim(), n_bytes = note_bytes(head_dim);
  step.notes.resize(lane.pages().size() * n_bytes);
  step.note_of.clear();
  for (std::size_t i = 0; i < lane.pages().size(); ++i) {
    const std::span<std::byte> note = std::span(step.notes).subspan(i * n_bytes, n_bytes);
    const PageRecord& page = lane.pages()[i];
    SATCHEL_TRY(backend.download(note, arena.at(page.extent) + page.layout->bytes));
    step.note_of.push_back(note);
  }
  step.chosen.clear();
  step.work.resize(2 * lane.pages().size());
  pipeline.reader().choose({.layer = layer,
                            .scale = shape.layers[layer].attention_scale,
                            .q = q,
                            .head_dim = head_dim,
                            .notes = step.note_of,
                            .pages = lane.page_views(),
                            .work = step.work},
                           step.chosen);
  for (const std::size_t i : step.chosen) step.chosen_views.push_back(lane.page_views()[i]);
  return {};
}

bool Cache::wants_step() const {
  const ScorerWants wants = state_->wants();
  const bool decides_next = state_->since_flush + 1 >= kFlushTokens;
  return wants.decoding && (!wants.newest_step || decides_next);
}

// Slots to positions: the score store knows tokens by where they stand in the text.
Result<void> Cache::observe_step(std::size_t layer, const float* q, const float* lse,
                                 const kernels::Batch& batch) {
  State& s = *state_;
  SATCHEL_ASSERT(s.step_open && batch.n_tokens == 1);
  if (!s.takes_part(layer)) return {};
  const LayerShape& shape = s.shape.layers[layer];
  const auto position = static_cast<std::int32_t>(s.n_tokens);
  const Observation seen{.purpose = Purpose::decoding,
                         .layer = shape,
                         .batch = batch,
                         .positions = std::span(&position, 1),
                         .q = q,
                         .lse = lse,
                         .span_first = s.n_tokens,
                         .span_end = s.n_tokens + 1};
  const bool replaces = s.wants().newest_step;
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head)
    SATCHEL_TRY(s.observe_lane(seen, s.first_lane[layer] + head, head, replaces));
  return {};
}

Result<void> CacheState::observe_lane(const Observation& seen, std::size_t index, std::size_t head,
                                      bool replaces) {
  const Lane& lane = lanes[index];
  const std::size_t n_slots = lane.n_slots();
  SATCHEL_TRY_ASSIGN(const Arena::Lease lease, arena.take_scratch(n_slots * sizeof(float)));
  SATCHEL_TRY(show_all_if_stale());
  std::vector<float>&by_slot = step.by_slot, &by_position = step.by_position;
  by_slot.assign(n_slots, 0.0f);
  by_position.assign(n_tokens + 1, 0.0f);
  SATCHEL_TRY(backend.upload(lease.data(), std::as_bytes(std::span(by_slot))));
  const ObservedLane observed{.keys = {.runs = lane.runs(), .pages = lane.page_views()},
                              .first_head = head * seen.layer.n_group(),
                              .n_group = seen.layer.n_group(),
                              .scores = reinterpret_cast<float*>(lease.data())};
  SATCHEL_TRY(pipeline.scorer().observe(backend, seen, {&observed, 1}));
  SATCHEL_TRY(backend.download(std::as_writable_bytes(std::span(by_slot)), lease.data()));
  if (!replaces) SATCHEL_TRY(scores.read(index, 0, by_position));
  std::size_t slot = 0;
  for (std::size_t t = 0; t < lane.n_sinks(); ++t) by_position[t] += by_slot[slot++];
  const std::size_t tail = n_tokens + 1 - lane.n_tail();
  for (std::size_t t = 0; t < lane.n_tail(); ++t) by_position[tail + t] += by_slot[slot++];
  std::array<std::int32_t, kernels::kPageTokens> positions;
  for (const PageRecord& page : lane.pages()) {
    SATCHEL_TRY(read_positions(page, positions));
    for (std::size_t i = 0; i < page.n_tokens; ++i, ++slot)
      if (page.live.has(i)) by_position[static_cast<std::size_t>(positions[i])] += by_slot[slot];
  }
  return scores.write(index, 0, by_position);
}

}  // namespace satchel::kvcache
