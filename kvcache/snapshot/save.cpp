// Snapshot::save: appends what is new, then points.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "kvcache/compaction/flush.h"
#include "kvcache/snapshot/finite_values.h"
#include "kvcache/snapshot/snapshot_state.h"

namespace satchel::kvcache {
namespace {

Error not_finite() {
  return {ErrorKind::internal, "CACHE_NAN",
          "The model's numbers for this chat have become NaN or infinite, so its cache is not "
          "saved; the chat is processed again when opened. No message is affected. The model's "
          "file may be damaged."};
}

// One save on its way. What it builds replaces Snapshot::State::stored only after the commit.
class Saver {
 public:
  Saver(CacheState& cache, RecordStore& store, const CacheKey& key, const std::stop_token& stop)
      : cache_(cache), store_(store), key_(key), stop_(stop) {}

  // keeps_earlier: texts that were cut.
  Result<SaveReport> save(StoredSnapshot& stored, const SnapshotIdentity& identity,
                          bool keeps_earlier);
  bool keeps_earlier() const { return !next_.earlier.empty(); }  // by the save that failed

 private:
  Result<void> start_from(const StoredSnapshot& stored, const SnapshotIdentity& identity,
                          bool keeps_earlier);
  Result<void> put_earlier(std::span<const std::byte> bytes, const Manifest& manifest);
  void trim_earlier();
  bool is_referenced(const StoredRecord& record) const;
  std::unordered_set<std::uint64_t> stored_serials() const;
  Result<void> put_pages();
  Result<void> put_sinks();
  Result<void> put_tails();
  Result<void> put_scores();
  Result<void> put_states();
  // Where the values of one more item go; puts what has gathered if that makes the record too
  // large.
  Result<ByteWriter*> place_for(RecordKind kind, const RecordItem& item, Cut cut);
  Result<void> put(RecordKind kind);
  Result<RecordEntry> write(RecordKind kind, std::vector<std::byte> bytes,
                            std::span<const Cut> cuts);
  Result<void> add_exact(RecordKind kind, std::size_t lane, const ExactBlock& exact, std::size_t n);
  // What was written, valid until the next write.
  Result<std::span<const std::byte>> download(ByteWriter& to, const void* from,
                                              std::size_t n_bytes) const;
  Result<void> download_halves(ByteWriter& to, const void* from, std::size_t n_bytes) const;
  Manifest manifest(const SnapshotIdentity& identity) const;

  CacheState& cache_;
  RecordStore& store_;
  const CacheKey& key_;
  const std::stop_token& stop_;
  std::unordered_set<std::uint64_t> referenced_ = {};  // serials
  std::vector<StoredRecord> old_exact_ = {};           // stored, not pages
  std::vector<SavedState> states_ = {};
  StoredSnapshot next_ = {};
  std::vector<RecordItem> items_ = {};  // of the record that gathers …
  std::vector<Cut> cuts_ = {};          // … and how they may be cut
  ByteWriter values_ = {};
  SaveReport report_ = {};
};

bool Saver::is_referenced(const StoredRecord& record) const {
  return std::ranges::any_of(record.serials,
                             [&](std::uint64_t serial) { return referenced_.contains(serial); });
}

// Its records stay as they are.
Result<void> Saver::put_earlier(std::span<const std::byte> bytes, const Manifest& manifest) {
  EarlierText earlier = {.tokens = manifest.tokens};
  for (const RecordEntry& record : manifest.records)
    earlier.records.push_back({.id = record.id, .n_bytes = record.n_bytes});
  while (!bytes.empty()) {
    const std::span<const std::byte> part = bytes.first(std::min(bytes.size(), kRecordBytesAim));
    bytes = bytes.subspan(part.size());
    const RecordItem item = {.number = earlier.manifest.size(),
                             .n_bytes = static_cast<std::uint32_t>(part.size())};
    const Cut cut = cut_manifest(part.size());
    SATCHEL_TRY_ASSIGN(
        const RecordEntry written,
        write(RecordKind::manifest,
              encode_record(RecordKind::manifest, next_.next_record, {&item, 1}, part), {&cut, 1}));
    earlier.manifest.push_back({.id = written.id, .n_bytes = written.n_bytes});
  }
  next_.earlier.push_back(std::move(earlier));
  return {};
}

std::size_t bytes_of(const EarlierText& text) {
  std::size_t n = 0;
  for (const auto* records : {&text.manifest, &text.records})
    for (const EarlierText::Record& record : *records) n += record.n_bytes;
  return n;
}

// The oldest go, where together they take more than the text itself, or the largest of them alone.
void Saver::trim_earlier() {
  std::unordered_set<RecordId> counted;
  std::size_t n_most = 0;
  for (const StoredRecord& record : next_.records)
    if (counted.insert(record.entry.id).second) n_most += record.entry.n_bytes;
  n_most = std::max(n_most, kEarlierBytes);
  for (const EarlierText& text : next_.earlier) n_most = std::max(n_most, bytes_of(text));
  std::size_t n = 0;
  for (std::size_t i = next_.earlier.size(); i-- > 0;) {
    for (const auto* records : {&next_.earlier[i].manifest, &next_.earlier[i].records})
      for (const EarlierText::Record& record : *records)
        if (counted.insert(record.id).second) n += record.n_bytes;
    if (n <= n_most) continue;
    next_.earlier.erase(next_.earlier.begin(),
                        next_.earlier.begin() + static_cast<std::ptrdiff_t>(i + 1));
    return;
  }
}

// Builds on what is stored if that is still what the store has; else writes everything. Records
// none of whose pages a lane still sees are left out. A text that this one does not go on from is
// kept beside it.
Result<void> Saver::start_from(const StoredSnapshot& stored, const SnapshotIdentity& identity,
                               bool keeps_earlier) {
  for (const Lane& lane : cache_.lanes)
    for (const PageRecord& page : lane.pages()) referenced_.insert(page.bytes_serial);
  states_ = cache_.states.saved(cache_.next_serial);
  for (const SavedState& state : states_) referenced_.insert(state.serial);
  SATCHEL_TRY_ASSIGN(const std::optional<SavedManifest> newest, store_.newest_manifest(key_));
  const std::uint64_t generation = newest ? newest->generation : 0;
  const auto goes_on_from = [&identity](const std::vector<std::int32_t>& text) {
    return std::ranges::mismatch(text, identity.tokens).in1 == text.end();
  };
  const bool is_known = newest && stored.generation == generation;
  if (is_known) {
    next_.next_record = stored.next_record;
    next_.earlier = stored.earlier;
    for (const StoredRecord& record : stored.records) {
      if (record.serials.empty()) old_exact_.push_back(record);
      if (is_referenced(record)) next_.records.push_back(record);
    }
  }
  next_.generation = generation + 1;
  next_.tokens.assign(identity.tokens.begin(), identity.tokens.end());
  if (newest && !(is_known && goes_on_from(stored.tokens))) {
    const Result<Manifest> manifest = decode_manifest(newest->bytes);
    if (!manifest.ok()) {  // without its table the ids in use are not known: begin anew
      next_.records.clear();
      old_exact_.clear();
      next_.earlier.clear();
      return store_.drop(key_);
    }
    next_.next_record = std::max(next_.next_record, manifest->next_record);
    next_.earlier = manifest->earlier;
    if (refusal_of(cache_, *manifest, identity) != RereadReason::none)
      next_.earlier.clear();
    else if (keeps_earlier && !goes_on_from(manifest->tokens))
      SATCHEL_TRY(put_earlier(newest->bytes, *manifest));
  }
  if (!keeps_earlier) next_.earlier.clear();
  std::erase_if(next_.earlier, [&](const EarlierText& text) { return goes_on_from(text.tokens); });
  if (next_.earlier.size() > kEarlierTextsMax) next_.earlier.erase(next_.earlier.begin());
  return {};
}

std::unordered_set<std::uint64_t> Saver::stored_serials() const {
  std::unordered_set<std::uint64_t> stored;
  for (const StoredRecord& record : next_.records)
    stored.insert(record.serials.begin(), record.serials.end());
  return stored;
}

// A record for each position, so that one that is damaged takes no other with it.
Result<void> Saver::put_states() {
  const std::unordered_set<std::uint64_t> stored = stored_serials();
  const RecurrentStates& states = cache_.states;
  for (const SavedState& state : states_) {
    if (stored.contains(state.serial)) continue;
    for (std::size_t layer = 0; layer < states.n_layers(); ++layer) {
      const std::size_t n_bytes = states.layer_bytes(layer, state.is_packed);
      const std::size_t n_codes = state.is_packed ? states.n_codes(layer) : 0;
      SATCHEL_TRY_ASSIGN(ByteWriter* const to,
                         place_for(RecordKind::states,
                                   {.number = state.serial,
                                    .lane = static_cast<std::uint32_t>(layer),
                                    .n_bytes = static_cast<std::uint32_t>(n_bytes)},
                                   cut_states(n_bytes, n_codes)));
      const std::span<std::byte> bytes = to->extend(n_bytes);
      SATCHEL_TRY(states.download(state.serial, layer, bytes));
      if (!are_finite_floats(bytes.first(n_bytes - n_codes))) return not_finite();
    }
    SATCHEL_TRY(put(RecordKind::states));
  }
  return {};
}

Result<void> Saver::put_pages() {
  std::unordered_set<std::uint64_t> stored = stored_serials();
  const auto is_new = [&](const Lane& lane) {
    return std::ranges::any_of(
        lane.pages(), [&](const PageRecord& page) { return !stored.contains(page.bytes_serial); });
  };
  if (std::ranges::none_of(cache_.lanes, is_new)) return {};
  // The pages of a record below the least size are written again with the new ones, but not those
  // that were thinned: the manifest says which ones they are.
  const auto last =
      std::ranges::find(next_.records.rbegin(), next_.records.rend(), RecordKind::pages,
                        [](const StoredRecord& record) { return record.entry.kind; });
  if (last != next_.records.rend() && last->entry.n_bytes < kRecordBytesMin &&
      !last->entry.is_thin) {
    for (const std::uint64_t serial : last->serials) stored.erase(serial);
    next_.records.erase(std::next(last).base());
  }
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i) {
    const Lane& lane = cache_.lanes[i];
    for (const PageRecord& page : lane.pages()) {
      if (!stored.insert(page.bytes_serial).second)
        continue;  // or the second part of a page in two
      const std::size_t n_note = cache_.layout.note_bytes(lane.head_dim());
      const std::size_t n_bytes = page.layout->bytes + n_note;
      SATCHEL_TRY_ASSIGN(ByteWriter* const to,
                         place_for(RecordKind::pages,
                                   {.number = page.bytes_serial,
                                    .lane = static_cast<std::uint32_t>(i),
                                    .n_bytes = static_cast<std::uint32_t>(n_bytes)},
                                   cut_page(*page.layout, n_note)));
      SATCHEL_TRY(cache_.arena.fetch({&page.extent, 1}, Arena::Goes::oldest));
      SATCHEL_TRY_ASSIGN(const std::span<const std::byte> bytes,
                         download(*to, cache_.arena.at(page.extent), n_bytes));
      if (!are_finite_values(*page.layout, bytes)) return not_finite();
    }
  }
  return put(RecordKind::pages);
}

Result<void> Saver::put_sinks() {
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i)
    SATCHEL_TRY(
        add_exact(RecordKind::sinks, i, cache_.lanes[i].sinks(), cache_.lanes[i].n_sinks()));
  return put(RecordKind::sinks);
}

Result<void> Saver::put_tails() {
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i)
    SATCHEL_TRY(add_exact(RecordKind::tails, i, cache_.lanes[i].tail(), cache_.lanes[i].n_tail()));
  return put(RecordKind::tails);
}

// Positions need not be stored: sinks are the first tokens, a tail the newest.
Result<void> Saver::add_exact(RecordKind kind, std::size_t lane, const ExactBlock& exact,
                              std::size_t n) {
  if (n == 0) return {};
  const std::size_t row_bytes = n * cache_.lanes[lane].head_dim() * sizeof(Half);
  const std::size_t n_bytes = n * cache_.lanes[lane].token().fp16_bytes();
  SATCHEL_TRY_ASSIGN(ByteWriter* const to,
                     place_for(kind,
                               {.lane = static_cast<std::uint32_t>(lane),
                                .n_bytes = static_cast<std::uint32_t>(n_bytes)},
                               cut_exact(cache_.lanes[lane].token(), n)));
  SATCHEL_TRY(download_halves(*to, exact.k, row_bytes));
  return exact.is_latent() ? Result<void>() : download_halves(*to, exact.v, row_bytes);
}

Result<void> Saver::put_scores() {
  std::vector<float> row(ScoreStore::kChunk);
  for (const std::size_t first : cache_.scores.chunks()) {
    if (first >= cache_.text.n_tokens) continue;  // of a token that has not come
    for (std::size_t lane = 0; lane < cache_.lanes.size(); ++lane) {
      SATCHEL_TRY(cache_.scores.read(lane, first, row));
      if (!are_finite_floats(std::as_bytes(std::span(row)))) return not_finite();
      SATCHEL_TRY_ASSIGN(
          ByteWriter* const to,
          place_for(RecordKind::scores,
                    {.number = first,
                     .lane = static_cast<std::uint32_t>(lane),
                     .n_bytes = static_cast<std::uint32_t>(row.size() * sizeof(float))},
                    cut_scores(row.size() * sizeof(float))));
      to->bytes(std::as_bytes(std::span(row)));
    }
  }
  return put(RecordKind::scores);
}

Result<ByteWriter*> Saver::place_for(RecordKind kind, const RecordItem& item, Cut cut) {
  const std::size_t n_bytes =
      kRecordHeaderBytes + (items_.size() + 1) * kRecordItemBytes + values_.size() + item.n_bytes;
  if (!items_.empty() && n_bytes > kRecordBytesAim) SATCHEL_TRY(put(kind));
  items_.push_back(item);
  cuts_.push_back(std::move(cut));
  return &values_;
}

// What gathered becomes a record, unless the very same is stored.
Result<void> Saver::put(RecordKind kind) {
  if (items_.empty()) return {};
  std::vector<std::byte> bytes = encode_record(kind, next_.next_record, items_, values_.buffer());
  StoredRecord record;
  const bool has_serials = kind == RecordKind::pages || kind == RecordKind::states;
  if (has_serials) {
    for (const RecordItem& item : items_) record.serials.push_back(item.number);
    record.n_items = items_.size();
  } else {
    record.payload_hash = record_payload_hash(bytes);
  }
  const std::vector<Cut> cuts = std::exchange(cuts_, {});
  items_.clear();
  values_.buffer().clear();
  const auto same = std::ranges::find_if(old_exact_, [&](const StoredRecord& old) {
    return old.entry.kind == kind && old.payload_hash == record.payload_hash;
  });
  if (!has_serials && same != old_exact_.end()) {
    next_.records.push_back(*same);
    return {};
  }
  SATCHEL_TRY_ASSIGN(record.entry, write(kind, std::move(bytes), cuts));
  next_.records.push_back(std::move(record));
  return {};
}

// The record goes to the store under the next number, tight where that is shorter.
Result<RecordEntry> Saver::write(RecordKind kind, std::vector<std::byte> bytes,
                                 std::span<const Cut> cuts) {
  SATCHEL_ASSERT(bytes.size() <= kRecordBytesMax);
  if (stop_.stop_requested() && report_.bytes_written >= kSavedAnyway)
    return Error{ErrorKind::cancelled, "STOPPED",
                 "Stopped while saving. What was saved before stays."};
  if (store_.coder() != nullptr) {
    std::vector<std::byte> tight = tighten_record(bytes, cuts, *store_.coder());
    if (!tight.empty()) bytes = std::move(tight);
  }
  const RecordId id = next_.next_record;
  SATCHEL_TRY(store_.put_record(key_, id, bytes));
  ++next_.next_record;
  report_.bytes_written += bytes.size();
  ++report_.n_records_written;
  return RecordEntry{.id = id,
                     .kind = kind,
                     .n_bytes = static_cast<std::uint32_t>(bytes.size()),
                     .checksum = record_checksum(bytes)};
}

Result<std::span<const std::byte>> Saver::download(ByteWriter& to, const void* from,
                                                   std::size_t n_bytes) const {
  const std::span<std::byte> bytes = to.extend(n_bytes);
  SATCHEL_TRY(cache_.backend.download(bytes, static_cast<const std::byte*>(from)));
  return std::span<const std::byte>(bytes);
}

Result<void> Saver::download_halves(ByteWriter& to, const void* from, std::size_t n_bytes) const {
  SATCHEL_TRY_ASSIGN(const std::span<const std::byte> bytes, download(to, from, n_bytes));
  return are_finite_halves(bytes) ? Result<void>() : not_finite();
}

Manifest Saver::manifest(const SnapshotIdentity& identity) const {
  Manifest manifest{.generation = next_.generation,
                    .next_record = next_.next_record,
                    .model = std::string(identity.model),
                    .recipe = std::string(identity.recipe),
                    .shape = shape_bytes(cache_.layout.shape),
                    .layouts = layout_bytes(cache_.layout, identity.numerics),
                    .since_flush = static_cast<std::uint32_t>(cache_.since_flush),
                    .next_serial = cache_.next_serial,
                    .tokens = {identity.tokens.begin(), identity.tokens.end()},
                    .segments = cache_.text.segments,
                    .reach = cache_.reach,
                    .has_states = cache_.states.any(),
                    .states = states_,
                    .earlier = next_.earlier};
  for (const Lane& lane : cache_.lanes) {
    StoredLane stored{.n_sinks = static_cast<std::uint32_t>(lane.n_sinks()),
                      .n_tail = static_cast<std::uint32_t>(lane.n_tail()),
                      .tail_kept = static_cast<std::uint32_t>(lane.tail_kept())};
    for (const PageRecord& page : lane.pages())
      stored.pages.push_back({.serial = page.bytes_serial,
                              .tier = page.tier,
                              .n_tokens = static_cast<std::uint16_t>(page.n_tokens),
                              .live = page.live,
                              .shift = page.shift,
                              .first_position = page.first_position,
                              .last_position = page.last_position});
    manifest.lanes.push_back(std::move(stored));
  }
  for (const std::size_t first : cache_.scores.chunks())
    if (first < cache_.text.n_tokens) manifest.score_chunks.push_back(first);
  for (const StoredRecord& record : next_.records) manifest.records.push_back(record.entry);
  return manifest;
}

Result<SaveReport> Saver::save(StoredSnapshot& stored, const SnapshotIdentity& identity,
                               bool keeps_earlier) {
  SATCHEL_TRY(start_from(stored, identity, keeps_earlier));
  SATCHEL_TRY(put_pages());
  SATCHEL_TRY(put_sinks());
  SATCHEL_TRY(put_tails());
  SATCHEL_TRY(put_scores());
  SATCHEL_TRY(put_states());
  trim_earlier();
  const Manifest table = manifest(identity);
  const std::vector<std::byte> bytes = encode_manifest(table);
  std::vector<RecordId> live;
  for (const RecordEntry& record : table.records) {
    live.push_back(record.id);
    report_.bytes_total += record.n_bytes;
  }
  for (const EarlierText& earlier : table.earlier)
    for (const auto* records : {&earlier.manifest, &earlier.records})
      for (const EarlierText::Record& record : *records) live.push_back(record.id);
  SATCHEL_TRY(store_.commit(key_, {.generation = next_.generation,
                                   .manifest = bytes,
                                   .live = live,
                                   .model = identity.model,
                                   .recipe = identity.recipe,
                                   .n_tokens = table.n_tokens()}));
  report_.n_tokens = table.n_tokens();
  report_.bytes_written += bytes.size();
  report_.bytes_total += bytes.size();
  stored = std::move(next_);
  return report_;
}

}  // namespace

Snapshot::Snapshot(Cache& cache, RecordStore& store, CacheKey key)
    : state_(std::make_unique<State>(State{cache, cache.state(), store, std::move(key)})) {}
Snapshot::~Snapshot() = default;

Result<SaveReport> Snapshot::save(const SnapshotIdentity& identity, const std::stop_token& stop) {
  State& s = *state_;
  SATCHEL_TRY(make_idle(s.lanes));
  SATCHEL_ASSERT(identity.tokens.size() == s.lanes.text.n_tokens);
  if (s.lanes.text.n_tokens == 0) return SaveReport{};
  Saver saver(s.lanes, s.store, s.key, stop);
  Result<SaveReport> saved = saver.save(s.stored, identity, /*keeps_earlier=*/true);
  // Earlier texts give way where not all fits, and may have lost records.
  if (!saved.ok() && saver.keeps_earlier() &&
      (saved.error().code == "CACHE_QUOTA" || saved.error().code == "BLOCK_SIZE" ||
       saved.error().kind == ErrorKind::not_found))
    saved = Saver(s.lanes, s.store, s.key, stop).save(s.stored, identity, /*keeps_earlier=*/false);
  return saved;
}

Result<bool> copy_saved(const SavedPlace& from, const SavedPlace& to, std::string_view note) {
  SATCHEL_TRY_ASSIGN(const std::optional<SavedManifest> saved,
                     from.store.newest_manifest(from.key));
  if (!saved) return false;
  Result<Manifest> manifest = decode_manifest(saved->bytes);
  if (!manifest.ok()) return false;
  manifest->earlier.clear();
  std::vector<RecordId> live;
  for (const RecordEntry& record : manifest->records) {
    live.push_back(record.id);
    if (&from.store == &to.store) {
      SATCHEL_TRY(to.store.share_record(from.key, record.id, to.key));
      continue;
    }
    SATCHEL_TRY_ASSIGN(const std::vector<std::byte> bytes, from.store.record(from.key, record.id));
    SATCHEL_TRY(to.store.put_record(to.key, record.id, bytes));
  }
  const std::vector<std::byte> bytes = encode_manifest(*manifest);
  SATCHEL_TRY(to.store.commit(to.key, {.generation = saved->generation,
                                       .manifest = bytes,
                                       .live = live,
                                       .model = manifest->model,
                                       .recipe = manifest->recipe,
                                       .n_tokens = manifest->n_tokens(),
                                       .note = note}));
  return true;
}

}  // namespace satchel::kvcache
