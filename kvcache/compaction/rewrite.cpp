#include "kvcache/compaction/rewrite.h"

#include <algorithm>

namespace satchel::kvcache {

LaneRewriter::LaneRewriter(CacheState& cache, std::size_t lane, const TierOf& tier_of)
    : cache_(cache),
      index_(lane),
      lane_(cache.lanes[lane]),
      tier_of_(tier_of),
      buckets_(cache.layout.n_buckets()) {}

Result<void> LaneRewriter::rewrite_pages(const Takes& takes) {
  std::vector<std::uint64_t> serials;
  for (const PageRecord& page : lane_.pages())
    if ((!takes || takes(page)) &&
        std::find(serials.begin(), serials.end(), page.serial) == serials.end())
      serials.push_back(page.serial);
  for (const std::uint64_t serial : serials) SATCHEL_TRY(rewrite_page(serial, takes));
  return {};
}

// A page most of which stays where it is keeps its bytes: making it anew would round again, and
// saves less than half of it. Exact ones lose nothing.
bool LaneRewriter::only_masks(const PageRecord& page, std::span<const std::uint8_t> targets) const {
  if (page.layout->is_exact()) return false;
  std::size_t n_stay = 0;
  for (std::size_t slot = 0; slot < page.n_tokens; ++slot) {
    if (!page.live.has(slot) || targets[slot] == kGone) continue;
    if (targets[slot] != page.tier) return false;
    ++n_stay;
  }
  return 2 * n_stay >= page.n_tokens;
}

Result<void> LaneRewriter::rewrite_page(std::uint64_t serial, const Takes& takes) {
  std::size_t index = 0;
  while (index < lane_.pages().size() && lane_.pages()[index].serial != serial) ++index;
  if (index == lane_.pages().size()) return {};
  const PageRecord page = lane_.pages()[index];
  if (takes && !takes(page)) return {};
  std::array<std::int32_t, kernels::kPageTokens> positions;
  SATCHEL_TRY(cache_.read_positions(page, positions));
  std::vector<std::uint8_t> targets(page.n_tokens, kGone);
  bool changes = false;
  for (std::size_t slot = 0; slot < page.n_tokens; ++slot) {
    if (!page.live.has(slot)) continue;
    targets[slot] = tier_of_(static_cast<std::size_t>(positions[slot]), page.tier);
    SATCHEL_ASSERT(targets[slot] >= page.tier);
    changes = changes || targets[slot] != page.tier;
    n_evicted_ += targets[slot] == kGone ? 1u : 0u;
    n_lowered_ += targets[slot] != kGone && targets[slot] != page.tier ? 1u : 0u;
  }
  if (!changes) return {};
  std::vector<Place> gone;
  for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
    if (page.live.has(slot) && targets[slot] == kGone) gone.push_back({serial, slot});
  const bool masks = only_masks(page, targets);
  std::vector<float> log_counts(page.n_tokens);
  if (page.layout->log_counts_at > 0)
    SATCHEL_TRY(cache_.backend.download(std::as_writable_bytes(std::span(log_counts)),
                                        cache_.arena.at(page.extent) + page.layout->log_counts_at));
  if (!masks) SATCHEL_TRY(load(page));
  for (std::uint8_t tier = 0; !masks && tier < cache_.layout.tiers.n_tiers(); ++tier) {
    std::vector<std::size_t> slots;
    std::vector<std::int32_t> at;
    std::vector<float> counts;
    for (std::size_t slot = 0; slot < page.n_tokens; ++slot) {
      if (!page.live.has(slot) || targets[slot] != tier) continue;
      slots.push_back(slot);
      at.push_back(positions[slot]);
      counts.push_back(log_counts[slot]);
    }
    const Source source = [&] { return compaction_scratch(cache_, lane_.token()).source; };
    SATCHEL_TRY(gather(source, tier, page.shift, serial, slots, at, counts));
  }
  take_away(gone);
  return cache_.show(index_);
}

// The page's tokens, exact, into the scratch's source block.
Result<void> LaneRewriter::load(const PageRecord& page) {
  const std::size_t d = lane_.head_dim();
  const CompactionScratch scratch = compaction_scratch(cache_, lane_.token());
  const std::byte* bytes = cache_.arena.at(page.extent);
  const kernels::DecodeArgs decode{.layout = page.layout,
                                   .page = bytes,
                                   .n_tokens = page.n_tokens,
                                   .k = scratch.k,
                                   .v = scratch.v};
  SATCHEL_TRY(cache_.backend.decode_pages({&decode, 1}));
  const auto rows = [&](const float* from, Half* to) {
    return kernels::StoreArgs{
        .from = from, .n_rows = page.n_tokens, .n_values = d, .from_stride = d, .to = to};
  };
  const std::array stores = {rows(scratch.k, scratch.source.k), rows(scratch.v, scratch.source.v)};
  SATCHEL_TRY(cache_.backend.store(std::span(stores).first(lane_.token().n_rows())));
  return cache_.backend.copy(reinterpret_cast<std::byte*>(scratch.source.positions),
                             bytes + page.layout->positions_at,
                             page.n_tokens * sizeof(std::int32_t));
}

// Rows `slots` of the source, which are those of page `serial` (0: of the tail), join what is
// gathered for their tier; full pages are made on the way.
Result<void> LaneRewriter::gather(const Source& source, std::uint8_t tier, std::int32_t shift,
                                  std::uint64_t serial, std::span<const std::size_t> slots,
                                  std::span<const std::int32_t> positions,
                                  std::span<const float> log_counts) {
  const std::size_t at = cache_.layout.bucket_of(tier);
  Bucket& bucket = buckets_[at];
  for (std::size_t done = 0; done < slots.size();) {
    const bool other_shift = !bucket.places.empty() && bucket.shift != shift;
    const bool falls_back = !bucket.positions.empty() && positions[done] <= bucket.positions.back();
    const bool other_tier = !bucket.places.empty() && bucket.tier != tier;
    const bool other_place =
        !bucket.positions.empty() &&
        cache_.reach.place(static_cast<std::size_t>(positions[done])) !=
            cache_.reach.place(static_cast<std::size_t>(bucket.positions.back()));
    if (bucket.places.size() == kernels::kPageTokens || other_shift || other_tier || falls_back ||
        other_place)
      SATCHEL_TRY(emit(at));
    const std::size_t fill = bucket.places.size();
    const std::size_t n = std::min(slots.size() - done, kernels::kPageTokens - fill);
    const std::size_t d = lane_.head_dim();
    const CompactionScratch scratch = compaction_scratch(cache_, lane_.token());
    std::vector<std::int32_t> rows;
    for (std::size_t i = done; i < done + n; ++i)
      rows.push_back(static_cast<std::int32_t>(slots[i]));
    SATCHEL_TRY(upload(cache_.backend, scratch.indices, rows));
    const ExactBlock from = source(), to = scratch.buckets[at];
    const auto rows_to = [&](const void* base, std::size_t row_bytes, void* target) {
      return kernels::GatherArgs{.from = static_cast<const std::byte*>(base),
                                 .indices = scratch.indices,
                                 .n_rows = n,
                                 .row_bytes = row_bytes,
                                 .to = static_cast<std::byte*>(target) + fill * row_bytes};
    };
    const std::array gathers = {rows_to(from.positions, sizeof(std::int32_t), to.positions),
                                rows_to(from.k, d * sizeof(Half), to.k),
                                rows_to(from.v, d * sizeof(Half), to.v)};
    SATCHEL_TRY(cache_.backend.gather(std::span(gathers).first(1 + lane_.token().n_rows())));
    bucket.shift = shift;
    bucket.tier = tier;
    for (std::size_t i = done; i < done + n; ++i) {
      bucket.places.push_back({serial, slots[i]});
      bucket.positions.push_back(positions[i]);
      bucket.log_counts.push_back(log_counts[i]);
    }
    done += n;
  }
  return {};
}

Result<void> LaneRewriter::emit(std::size_t index) {
  Bucket& bucket = buckets_[index];
  const std::size_t n = bucket.places.size(), d = lane_.head_dim();
  if (n == 0) return {};
  lane_.reserve_pages(lane_.pages().size() + 1);
  cache_.table_is_stale = true;  // it may show the views where they were
  SATCHEL_TRY_ASSIGN(PageRecord page, cache_.take_page(bucket.tier, index_, n));
  page.shift = bucket.shift;
  page.first_position = bucket.positions.front();
  page.last_position = bucket.positions.back();
  const CompactionScratch scratch = compaction_scratch(cache_, lane_.token());
  kernels::EncodeArgs encode{.layout = page.layout,
                             .exact = scratch.buckets[index].run(n),
                             .page = cache_.arena.at(page.extent)};
  const auto made = [&]() -> Result<void> {
    if (page.layout->log_counts_at > 0) {  // the indices are not needed now
      auto* log_counts = reinterpret_cast<float*>(scratch.indices);
      SATCHEL_TRY(upload(cache_.backend, log_counts, bucket.log_counts));
      encode.log_counts = log_counts;
    }
    SATCHEL_TRY(cache_.backend.encode_pages({&encode, 1}));
    return cache_.finish_page(page, d);
  }();
  if (!made.ok()) {
    cache_.arena.give(page.extent);
    return made.error();
  }
  take_away(bucket.places);
  lane_.add_page(page);
  bucket = {};
  return cache_.show(index_);
}

std::size_t LaneRewriter::index_of(std::uint64_t serial, std::size_t slot) const {
  for (std::size_t i = 0; i < lane_.pages().size(); ++i)
    if (lane_.pages()[i].serial == serial && lane_.pages()[i].live.has(slot)) return i;
  return lane_.pages().size();
}

// From the pages where they were; the tail is shortened by its caller.
void LaneRewriter::take_away(std::span<const Place> places) {
  std::vector<std::size_t> touched;
  for (const Place& place : places) {
    if (place.serial == 0) continue;
    const std::size_t i = index_of(place.serial, place.slot);
    SATCHEL_ASSERT(i < lane_.pages().size());
    PageRecord page = lane_.pages()[i];
    page.live.clear(place.slot);
    lane_.replace_page(i, page);
    if (touched.empty() || touched.back() != i) touched.push_back(i);
  }
  for (const std::size_t i : touched) {
    PageRecord page = lane_.pages()[i];
    // Where that fails the old range is wider, which costs time only.
    if (page.live.count() > 0) (void)cache_.set_range(page);
    lane_.replace_page(i, page);
  }
  lane_.drop_empty_pages();
}

// The tail's oldest tokens are gathered, made into pages, and only then leave it. Where that fails
// the pages go again: the tail still has the tokens.
Result<void> LaneRewriter::flush_tail(std::size_t n) {
  if (n == 0) return {};
  const Result<void> packed = pack_tail(n);
  if (!packed.ok()) {
    const auto first = static_cast<std::int32_t>(cache_.text.n_tokens - lane_.n_tail());
    for (std::size_t i = 0; i < lane_.pages().size(); ++i) {
      PageRecord page = lane_.pages()[i];
      if (page.first_position >= first) page.live = {};
      lane_.replace_page(i, page);
    }
    lane_.drop_empty_pages();
    return packed.error();
  }
  const std::size_t n_left = lane_.n_tail() - n;
  const Result<void> copied =
      copy_exact(cache_.backend, lane_.head_dim(), {lane_.tail(), n, lane_.tail(), 0, n_left});
  if (!copied.ok()) return cache_.lose_all(copied.error());
  lane_.set_lengths(lane_.n_sinks(), n_left);
  return cache_.show(index_);
}

// needs  nothing else is gathered
Result<void> LaneRewriter::pack_tail(std::size_t n) {
  const std::size_t first = cache_.text.n_tokens - lane_.n_tail();
  std::vector<std::uint8_t> targets;
  for (std::size_t i = 0; i < n; ++i) targets.push_back(tier_of_(first + i, kTierExact));
  for (std::uint8_t tier = 0; tier < cache_.layout.tiers.n_tiers(); ++tier) {
    std::vector<std::size_t> slots;
    std::vector<std::int32_t> positions;
    for (std::size_t i = 0; i < n; ++i) {
      if (targets[i] != tier) continue;
      slots.push_back(i);
      positions.push_back(static_cast<std::int32_t>(first + i));
    }
    const std::vector<float> log_counts(slots.size());
    SATCHEL_TRY(gather([this] { return lane_.tail(); }, tier, 0, 0, slots, positions, log_counts));
    n_lowered_ += slots.size();
  }
  n_evicted_ += static_cast<std::size_t>(std::count(targets.begin(), targets.end(), kGone));
  return finish();
}

Result<void> LaneRewriter::finish() {
  for (std::size_t i = 0; i < buckets_.size(); ++i) SATCHEL_TRY(emit(i));
  return {};
}

}  // namespace satchel::kvcache
