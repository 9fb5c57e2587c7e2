#include "kvcache/snapshot/restorer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>

#include "kernels/base/size_text.h"
#include "kvcache/snapshot/finite_values.h"

namespace satchel::kvcache {

Restorer::Restorer(CacheState& cache, Manifest& manifest, std::span<const SavedBeside> beside)
    : cache_(cache),
      manifest_(manifest),
      beside_(beside),
      lanes_(cache.lanes.size()),
      scores_(manifest.score_chunks.size(), std::vector<bool>(cache.lanes.size())) {
  for (const Lane& lane : cache.lanes) tails_before_.push_back(lane.tail_kept());
}

Restorer::~Restorer() {
  if (is_live_) return;
  for (const auto& [serial, page] : pages_)
    if (page.is_here) cache_.arena.give(page.extent);
  cache_.give_moved_sinks();
  cache_.scores.clear();
  cache_.states.clear();
  for (std::size_t i = 0; i < tails_before_.size(); ++i)
    (void)cache_.fit_exact(i, tails_before_[i]);  // what does not fit keeps its length
  (void)cache_.show_all_if_stale();
}

Result<void> Restorer::prepare() {
  if (manifest_.lanes.size() != lanes_.size()) return damaged("its manifest lists other lanes");
  SATCHEL_TRY(index_pages());
  for (const SavedBeside& other : beside_) share_pages(other);
  return take_memory();
}

// Records that both have in the store are the same bytes, so pages of the same number are too.
void Restorer::share_pages(const SavedBeside& other) {
  if (&other.cache->arena != &cache_.arena || other.cache->lanes.size() != lanes_.size()) return;
  std::unordered_map<RecordId, Hash128> wanted;
  for (const RecordEntry& entry : manifest_.records)
    if (entry.kind == RecordKind::pages) wanted.emplace(entry.id, entry.checksum);
  std::vector<const StoredRecord*> both;
  for (const StoredRecord& record : other.stored->records) {
    const auto found = wanted.find(record.entry.id);
    if (found != wanted.end() && found->second == record.entry.checksum) both.push_back(&record);
  }
  if (both.empty()) return;
  struct Held {
    std::size_t lane;
    const PageRecord* page;
  };
  std::unordered_map<std::uint64_t, Held> held;
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    for (const PageRecord& page : other.cache->lanes[i].pages())
      held.emplace(page.bytes_serial, Held{i, &page});
  for (const StoredRecord* const record : both) {
    bool has_all = record->serials.size() == record->n_items;
    for (const std::uint64_t serial : record->serials) {
      const auto found = held.find(serial);
      const bool is_there =
          found != held.end() && share_page(serial, found->second.lane, *found->second.page);
      has_all = has_all && (is_there || !pages_.contains(serial));
    }
    if (has_all) known_.emplace(record->entry.id, *record);
  }
}

// Whether the page is here then.
bool Restorer::share_page(std::uint64_t serial, std::size_t lane, const PageRecord& held) {
  const auto found = pages_.find(serial);
  if (found == pages_.end()) return false;
  Page& page = found->second;
  if (page.is_here) return true;
  if (page.lane != lane || page.n_tokens != held.n_tokens || *page.layout != *held.layout)
    return false;
  cache_.arena.share(held.extent);
  page.extent = held.extent;
  page.is_here = page.is_shared = true;
  bytes_shared_ += cache_.arena.bytes_of(held.extent);
  return true;
}

void Restorer::add_known(const RecordEntry& entry) {
  const StoredRecord& known = known_.at(entry.id);
  keep_record({.entry = entry, .n_items = known.n_items}, known.serials);
}

// What the store has of pages or states, as the next save builds on it.
void Restorer::keep_record(StoredRecord record, std::span<const std::uint64_t> serials) {
  const bool are_pages = record.entry.kind == RecordKind::pages,
             are_states = record.entry.kind == RecordKind::states;
  for (const std::uint64_t serial : serials) {
    const auto page = pages_.find(serial);
    if (are_states || (are_pages && page != pages_.end())) record.serials.push_back(serial);
    if (record.entry.is_thin && are_pages && page != pages_.end())
      n_thinned_ += page->second.live.count();
  }
  stored_.records.push_back(std::move(record));
}

Result<void> Restorer::index_pages() {
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    const std::size_t tail_kept = manifest_.lanes[lane].tail_kept;
    if (tail_kept != cache_.layout.pipeline.tail() &&
        tail_kept != cache_.layout.pipeline.short_tail())
      return damaged("lane " + std::to_string(lane) + " has a tail of an impossible size");
    for (const StoredPage& stored : manifest_.lanes[lane].pages)
      SATCHEL_TRY(index_page(lane, stored));
  }
  return {};
}

// A page in two parts stands twice in one lane, and no slot in both.
Result<void> Restorer::index_page(std::uint32_t lane, const StoredPage& stored) {
  if (stored.tier >= cache_.layout.tiers.n_tiers())
    return damaged("lane " + std::to_string(lane) + " has a page of an unknown tier");
  const auto [found, is_new] = pages_.try_emplace(
      stored.serial, Page{.lane = lane,
                          .layout = &cache_.layout.tiers.of_lane(
                              stored.tier, lane, cache_.lanes[lane].token(), stored.n_tokens),
                          .n_tokens = stored.n_tokens,
                          .tier = stored.tier});
  Page& page = found->second;
  const bool is_same =
      page.lane == lane && page.tier == stored.tier && page.n_tokens == stored.n_tokens;
  bool overlaps = false;
  for (std::size_t i = 0; i < page.live.words.size(); ++i) {
    overlaps = overlaps || (page.live.words[i] & stored.live.words[i]) != 0;
    page.live.words[i] |= stored.live.words[i];
  }
  if (!is_same || overlaps)
    return damaged("page " + std::to_string(stored.serial) + " occurs twice in its manifest");
  return {};
}

std::size_t Restorer::bytes_needed() const {
  std::size_t bytes =
      manifest_.score_chunks.size() * ScoreStore::bytes_for(lanes_.size(), ScoreStore::kChunk) +
      cache_.moved_sinks_needs(manifest_.reach);
  for (const auto& [serial, page] : pages_)
    if (!page.is_here)
      bytes += cache_.layout.page_bytes(page.tier, cache_.lanes[page.lane].token(), page.n_tokens);
  return cache_.arena.has_far() ? far_bytes_needed() : bytes;
}

// Notes stay in memory, and of the pages those of one layer.
std::size_t Restorer::far_bytes_needed() const {
  std::size_t notes = 0;
  std::vector<std::size_t> of_layer(cache_.layout.shape.n_layers());
  for (const auto& [serial, page] : pages_) {
    const TokenShape& token = cache_.lanes[page.lane].token();
    if (!page.is_here) notes += Arena::rounded_up(cache_.layout.note_bytes(token.head_dim));
    of_layer[cache_.layout.layer_of[page.lane]] +=
        cache_.layout.page_bytes(page.tier, token, page.n_tokens);
  }
  return notes + *std::ranges::max_element(of_layer);
}

// Tails first: short ones give memory back.
Result<void> Restorer::take_memory() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const StoredLane& lane = manifest_.lanes[i];
    SATCHEL_TRY(cache_.fit_exact(i, lane.tail_kept));
    if (cache_.lanes[i].tail_kept() < lane.tail_kept)
      return Error{ErrorKind::out_of_memory, "CACHE_FULL", "its tails need more memory"};
  }
  const std::size_t bytes = bytes_needed();
  if (!cache_.arena.check_free(bytes).ok())
    return Error{ErrorKind::out_of_memory, "CACHE_FULL",
                 "it needs " + size_text(bytes) + " besides sinks and tails"};
  for (const std::uint64_t first : manifest_.score_chunks)
    SATCHEL_TRY(cache_.scores.ensure(first, ScoreStore::kChunk));
  SATCHEL_TRY(cache_.take_moved_sinks(manifest_.reach));
  cache_.states.expect(manifest_.states, bytes);
  return {};
}

Result<void> Restorer::add(const RecordEntry& entry, const Record& record) {
  if (record.checksum != entry.checksum || record.id != entry.id || record.kind != entry.kind)
    return damaged("it is not the record that the manifest names");
  ItemValues values(record, item_);
  for (std::size_t i = 0; i < record.items.size(); ++i) {
    const Result<void> added = add_item(record.kind, record.items[i], values.next());
    if (added.ok()) continue;
    undo(record.kind, std::span(record.items).first(i));
    return added.error();
  }
  const Result<void> checked = values.check();
  if (!checked.ok()) {
    undo(record.kind, record.items);
    return checked.error();
  }
  StoredRecord stored{.entry = entry, .n_items = record.items.size()};
  std::vector<std::uint64_t> serials;
  if (record.kind == RecordKind::pages || record.kind == RecordKind::states)
    for (const RecordItem& item : record.items) serials.push_back(item.number);
  else
    stored.payload_hash = record.payload_hash();
  keep_record(std::move(stored), serials);
  return {};
}

Result<void> Restorer::add_item(RecordKind kind, const RecordItem& item,
                                std::span<const std::byte> values) {
  if (kind == RecordKind::states) return add_states(item, values);
  if (item.lane >= lanes_.size()) return damaged("it names a lane that does not exist");
  if (kind == RecordKind::pages) return add_page(item, values);
  return kind == RecordKind::scores ? add_scores(item, values) : add_exact(kind, item, values);
}

// Of items that add_item() has taken.
void Restorer::undo(RecordKind kind, std::span<const RecordItem> items) {
  for (const RecordItem& item : items) {
    if (kind == RecordKind::states) {
      cache_.states.forget(item.number);
      continue;
    }
    StagedLane& lane = lanes_[item.lane];
    if (kind == RecordKind::sinks) lane.has_sinks = false;
    if (kind == RecordKind::tails) lane.has_tail = false;
    if (kind == RecordKind::scores) {
      const auto chunk = std::ranges::lower_bound(manifest_.score_chunks, item.number);
      scores_[static_cast<std::size_t>(chunk - manifest_.score_chunks.begin())][item.lane] = false;
      const std::vector<float> zeros(ScoreStore::kChunk);
      (void)cache_.scores.write(item.lane, item.number, zeros);
    }
    const auto page = pages_.find(item.number);
    if (kind != RecordKind::pages || page == pages_.end() || !page->second.is_here ||
        page->second.is_shared)
      continue;
    cache_.arena.give(page->second.extent);
    page->second.is_here = false;
  }
}

Result<void> Restorer::add_page(const RecordItem& item, std::span<const std::byte> bytes) {
  const auto found = pages_.find(item.number);
  if (found == pages_.end()) return {};  // no lane sees it any more
  Page& page = found->second;
  if (page.is_shared) return {};
  const std::size_t n_bytes =
      page.layout->bytes + cache_.layout.note_bytes(cache_.lanes[page.lane].head_dim());
  if (page.is_here || page.lane != item.lane || bytes.size() != n_bytes)
    return damaged("its page " + std::to_string(item.number) +
                   " is not the one that the manifest names");
  ByteReader reader(bytes.subspan(page.layout->positions_at));
  std::int32_t last = -1;
  for (std::size_t slot = 0; slot < page.n_tokens; ++slot) {
    const auto position = reader.number<std::int32_t>();
    if (position <= last) return damaged("the positions of a page do not increase");
    last = position;
  }
  if (!are_finite_values(*page.layout, bytes))
    return damaged("a page contains NaN or infinite values");
  SATCHEL_TRY_ASSIGN(
      page.extent, cache_.take_page_extent(page.layout->bytes, bytes.size() - page.layout->bytes));
  page.is_here = true;
  Result<void> uploaded = cache_.backend.upload(cache_.arena.at(page.extent), bytes);
  if (uploaded.ok()) uploaded = cache_.arena.settle(page.extent);
  if (!uploaded.ok()) undo(RecordKind::pages, {&item, 1});
  return uploaded;
}

// Into the lane's own extent: it is empty, so what is written is not seen yet.
Result<void> Restorer::add_exact(RecordKind kind, const RecordItem& item,
                                 std::span<const std::byte> bytes) {
  const bool is_sinks = kind == RecordKind::sinks;
  const StoredLane& stored = manifest_.lanes[item.lane];
  const std::size_t n = is_sinks ? stored.n_sinks : stored.n_tail;
  const Lane& lane = cache_.lanes[item.lane];
  bool& is_here = is_sinks ? lanes_[item.lane].has_sinks : lanes_[item.lane].has_tail;
  const std::size_t row_bytes = n * lane.head_dim() * sizeof(Half);
  if (is_here || n == 0 || item.number != 0 || bytes.size() != lane.token().n_rows() * row_bytes)
    return damaged("lane " + std::to_string(item.lane) + " has a different number of exact tokens");
  if (!are_finite_halves(bytes))
    return damaged("lane " + std::to_string(item.lane) + " contains NaN or infinite values");
  const ExactBlock to = is_sinks ? lane.sinks() : lane.tail();
  std::vector<std::int32_t> positions(n);
  std::iota(positions.begin(), positions.end(),
            static_cast<std::int32_t>(is_sinks ? 0 : manifest_.n_tokens() - n));
  SATCHEL_TRY(cache_.backend.upload(reinterpret_cast<std::byte*>(to.k), bytes.first(row_bytes)));
  if (!to.is_latent())
    SATCHEL_TRY(cache_.backend.upload(reinterpret_cast<std::byte*>(to.v), bytes.last(row_bytes)));
  SATCHEL_TRY(upload(cache_.backend, to.positions, positions));
  is_here = true;
  return {};
}

Result<void> Restorer::add_scores(const RecordItem& item, std::span<const std::byte> bytes) {
  const auto chunk = std::ranges::lower_bound(manifest_.score_chunks, item.number);
  const auto index = static_cast<std::size_t>(chunk - manifest_.score_chunks.begin());
  if (chunk == manifest_.score_chunks.end() || *chunk != item.number || scores_[index][item.lane] ||
      bytes.size() != ScoreStore::kChunk * sizeof(float))
    return damaged("it has scores that the manifest does not list");
  if (!are_finite_floats(bytes)) return damaged("it contains NaN or infinite scores");
  std::vector<float> row(ScoreStore::kChunk);
  std::memcpy(row.data(), bytes.data(), bytes.size());
  SATCHEL_TRY(cache_.scores.write(item.lane, item.number, row));
  scores_[index][item.lane] = true;
  return {};
}

// Layers come in order. What nobody expects is of a checkpoint that went, or has no memory here.
Result<void> Restorer::add_states(const RecordItem& item, std::span<const std::byte> bytes) {
  RecurrentStates& states = cache_.states;
  if (!states.expects(item.number)) return {};
  if (item.lane >= states.n_layers() || item.lane != states.n_here(item.number) ||
      bytes.size() != states.layer_bytes(item.lane, states.is_packed(item.number)))
    return damaged("its states are not those that the manifest names");
  const std::size_t n_codes = states.is_packed(item.number) ? states.n_codes(item.lane) : 0;
  if (!are_finite_floats(bytes.first(bytes.size() - n_codes)))
    return damaged("it contains NaN or infinite states");
  return states.put(item.number, item.lane, bytes);
}

Result<void> Restorer::check_pages() {
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    for (const StoredPage& stored : manifest_.lanes[lane].pages)
      if (pages_.at(stored.serial).is_here) SATCHEL_TRY(check_page(lane, stored));
    const auto mingle = [](const PageRecord& page, const PageRecord& next) {
      return next.first_position <= page.last_position;
    };
    const std::vector<PageRecord>& pages = lanes_[lane].pages;  // they seldom mingle
    if (std::ranges::adjacent_find(pages, mingle) != pages.end()) SATCHEL_TRY(check_distinct(lane));
  }
  return {};
}

// Positions rise inside a page (add_page), so that its ends tell.
Result<void> Restorer::check_page(std::uint32_t lane, const StoredPage& stored) {
  using Limits = std::numeric_limits<std::int32_t>;
  const Page& page = pages_.at(stored.serial);
  PageRecord record{.extent = page.extent,
                    .serial = stored.serial,
                    .bytes_serial = stored.serial,
                    .tier = stored.tier,
                    .n_tokens = stored.n_tokens,
                    .live = stored.live,
                    .shift = 0,  // below, once it is known to fit
                    .layout = page.layout};
  std::array<std::int32_t, kernels::kPageTokens> raw;
  SATCHEL_TRY(cache_.read_positions(record, raw));
  const auto position = [&](std::size_t slot) { return std::int64_t{raw[slot]} + stored.shift; };
  std::size_t first = 0, last = stored.n_tokens - 1u;
  bool fits = position(first) >= Limits::min() && position(last) <= Limits::max();
  while (!stored.live.has(first)) ++first;  // there is a live one (manifest.cpp)
  while (!stored.live.has(last)) --last;
  fits = fits && position(first) >= stored.first_position && position(last) <= stored.last_position;
  if (!fits)
    return damaged("a page of lane " + std::to_string(lane) + " contains the wrong positions");
  record.shift = stored.shift;
  record.first_position = static_cast<std::int32_t>(position(first));
  record.last_position = static_cast<std::int32_t>(position(last));
  lanes_[lane].pages.push_back(record);
  return {};
}

// No position stands twice in the lane.
Result<void> Restorer::check_distinct(std::uint32_t lane) {
  std::vector<std::int32_t> taken;
  std::array<std::int32_t, kernels::kPageTokens> positions;
  for (const PageRecord& page : lanes_[lane].pages) {
    SATCHEL_TRY(cache_.read_positions(page, positions));
    for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
      if (page.live.has(slot)) taken.push_back(positions[slot]);
  }
  std::ranges::sort(taken);
  if (std::ranges::adjacent_find(taken) != taken.end())
    return damaged("a position occurs twice in lane " + std::to_string(lane));
  return {};
}

bool Restorer::has_scores(std::size_t chunk) const {
  return std::ranges::find(scores_[chunk], false) == scores_[chunk].end();
}

// A second pass looks again. Other scores can't be had again, so the text they are about is lost.
std::size_t Restorer::scores_lost_at(std::size_t chunk) const {
  const ScorerRequirements requirements = cache_.requirements();
  const std::size_t first = manifest_.score_chunks[chunk], end = first + ScoreStore::kChunk;
  if (requirements.decoding) return first;
  for (const TextSegment& segment : manifest_.segments)
    if (!requirements.probe && segment.waits() && segment.end() > first && segment.first < end)
      return std::max(segment.first, first);
  return manifest_.n_tokens();
}

std::size_t Restorer::n_whole() const {
  std::size_t n = manifest_.n_tokens();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const StoredLane& lane = manifest_.lanes[i];
    if (!lanes_[i].has_sinks) return 0;
    if (lane.n_tail > 0 && !lanes_[i].has_tail)
      n = std::min<std::size_t>(n, manifest_.n_tokens() - lane.n_tail);
    for (const StoredPage& page : lane.pages)
      if (!pages_.at(page.serial).is_here)
        n = std::min(n, static_cast<std::size_t>(page.first_position));
  }
  for (std::size_t chunk = 0; chunk < scores_.size(); ++chunk)
    if (!has_scores(chunk)) n = std::min(n, scores_lost_at(chunk));
  if (!manifest_.states.empty()) n = cache_.states.nearest_whole(n, manifest_.n_tokens());
  return n;
}

Result<void> Restorer::make_live() {
  for (std::size_t chunk = 0; chunk < scores_.size(); ++chunk) {
    if (has_scores(chunk)) continue;
    const std::size_t first = manifest_.score_chunks[chunk], end = first + ScoreStore::kChunk;
    for (TextSegment& segment : manifest_.segments)
      if (segment.end() > first && segment.first < end) segment.n_probed = 0;
  }
  is_live_ = true;  // from here on the lanes own what was staged
  cache_.next_serial = std::max(cache_.next_serial, manifest_.next_serial);
  cache_.reach = manifest_.reach;  // before pages come: they keep their order
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = cache_.lanes[i];
    lane.reserve_pages(lanes_[i].pages.size());
    for (PageRecord& page : lanes_[i].pages) {
      if (!std::exchange(pages_.at(page.bytes_serial).is_here, false)) {
        cache_.arena.share(page.extent);  // the second part of a page that is seen in two
        page.serial = cache_.next_serial++;
      }
      lane.add_page(page);
    }
    lane.set_lengths(lanes_[i].has_sinks ? manifest_.lanes[i].n_sinks : 0,
                     lanes_[i].has_tail ? manifest_.lanes[i].n_tail : 0);
  }
  SATCHEL_TRY(cache_.move_sinks(cache_.reach));
  cache_.text.segments = manifest_.segments;
  cache_.text.n_tokens = manifest_.n_tokens();
  cache_.states.adopt_saved(manifest_.n_tokens());
  cache_.since_flush = manifest_.since_flush;
  stored_.generation = manifest_.generation;
  stored_.next_record = manifest_.next_record;
  cache_.table_is_stale = true;
  cache_.reserve_lists();
  return cache_.show_all_if_stale();
}

}  // namespace satchel::kvcache
