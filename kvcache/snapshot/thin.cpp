#include "kvcache/snapshot/thin.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kvcache/snapshot/record.h"
#include "kvcache/snapshot/thin_page.h"

namespace satchel::kvcache {
namespace {

// A record is thinned where that saves one part in so many: less is not worth the error.
constexpr std::size_t kThinSavesAtLeast = 8;

class Thinner {
 public:
  Thinner(RecordStore& store, const CacheKey& key, Manifest& manifest, StoredLayouts layouts,
          std::span<const RecordId> spared)
      : store_(store),
        key_(key),
        manifest_(manifest),
        layouts_(std::move(layouts)),
        spared_(spared) {
    for (const StoredLane& lane : manifest.lanes)
      for (const StoredPage& page : lane.pages) pages_.try_emplace(page.serial, page);
  }

  Result<ThinReport> run(std::string_view note, const std::stop_token& stop);

 private:
  // A record in its thin form; empty: it is none, or saves too little.
  std::vector<std::byte> thinned(const RecordEntry& entry, std::span<const std::byte> bytes);
  std::optional<Cut> thin_item(RecordKind kind, const RecordItem& item,
                               std::span<std::byte> values);
  Result<void> thin(RecordEntry& entry);

  RecordStore& store_;
  const CacheKey& key_;
  Manifest& manifest_;
  const StoredLayouts layouts_;
  const std::span<const RecordId> spared_;
  std::unordered_map<std::uint64_t, StoredPage> pages_ = {};  // by serial
  RecordCapacity capacity_ = {};
  bool has_thinned_ = false;  // a page of the record in hand can be thinned
  bool has_thin_pages_ = false;
  ThinReport report_ = {};
};

// Nothing: the item is not as the manifest says. A page that has nothing to give is cut alike.
std::optional<Cut> Thinner::thin_item(RecordKind kind, const RecordItem& item,
                                      std::span<std::byte> values) {
  if (values.empty()) return std::nullopt;
  if (kind == RecordKind::tails) {
    constexpr std::size_t kKeyAndValue = 2 * sizeof(Half);
    if (values.size() % kKeyAndValue != 0) return std::nullopt;
    thin_exact(values);
    // Of a latent lane there are keys alone; to cut them in two costs nothing.
    return cut_exact({.head_dim = values.size() / kKeyAndValue}, 1);
  }
  const auto page = pages_.find(item.number);
  if (page == pages_.end()) return std::nullopt;
  const StoredLayouts::Page* const found =
      layouts_.find(item.lane, page->second.tier, page->second.n_tokens, values.size());
  if (found == nullptr) return std::nullopt;
  has_thinned_ = has_thinned_ || can_thin(found->layout);
  thin_page(found->layout, page->second.n_tokens, values.first(found->layout.bytes));
  return cut_page(found->layout, found->note_bytes, QuadCut::apart);
}

std::vector<std::byte> Thinner::thinned(const RecordEntry& entry,
                                        std::span<const std::byte> bytes) {
  const Result<Record> record = decode_record(bytes, store_.coder(), capacity_);
  if (!record.ok() || record->checksum != entry.checksum || record->kind != entry.kind) return {};
  std::vector<std::byte> values(record->values.begin(), record->values.end());
  std::vector<Cut> cuts;
  std::size_t at = 0;
  has_thinned_ = record->kind == RecordKind::tails;
  for (const RecordItem& item : record->items) {
    auto cut = thin_item(record->kind, item, std::span(values).subspan(at, item.n_bytes));
    if (!cut) return {};
    cuts.push_back(std::move(*cut));
    at += item.n_bytes;
  }
  if (!has_thinned_) return {};
  std::vector<std::byte> thin =
      tighten_record(encode_record(record->kind, manifest_.next_record, record->items, values),
                     cuts, *store_.coder(), kThinStreamSavesAtLeast);
  return thin.size() <= bytes.size() - bytes.size() / kThinSavesAtLeast ? thin
                                                                        : std::vector<std::byte>();
}

Result<void> Thinner::thin(RecordEntry& entry) {
  report_.bytes_before += entry.n_bytes;
  // Pages stand before tails: where none of them can be thinned, all of the text stays exact.
  const bool can_be =
      entry.kind == RecordKind::pages || (entry.kind == RecordKind::tails && has_thin_pages_);
  const bool is_spared = std::ranges::find(spared_, entry.id) != spared_.end();
  const Result<std::vector<std::byte>> bytes = can_be && !entry.is_thin && !is_spared
                                                   ? store_.record(key_, entry.id)
                                                   : std::vector<std::byte>();
  SATCHEL_TRY(bytes);
  const std::vector<std::byte> thin =
      bytes->empty() ? std::vector<std::byte>() : thinned(entry, *bytes);
  if (!thin.empty()) {
    SATCHEL_TRY(store_.put_record(key_, manifest_.next_record, thin));
    entry = {.id = manifest_.next_record++,
             .kind = entry.kind,
             .n_bytes = static_cast<std::uint32_t>(thin.size()),
             .checksum = record_checksum(thin),
             .is_thin = true};
    ++report_.n_records;
  }
  has_thin_pages_ = has_thin_pages_ || (entry.is_thin && entry.kind == RecordKind::pages);
  report_.bytes_after += entry.n_bytes;
  return {};
}

Result<ThinReport> Thinner::run(std::string_view note, const std::stop_token& stop) {
  for (RecordEntry& entry : manifest_.records) {
    if (stop.stop_requested()) return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
    SATCHEL_TRY(thin(entry));
  }
  if (report_.n_records == 0) return report_;
  manifest_.earlier.clear();
  ++manifest_.generation;
  const std::vector<std::byte> bytes = encode_manifest(manifest_);
  std::vector<RecordId> live;
  for (const RecordEntry& entry : manifest_.records) live.push_back(entry.id);
  SATCHEL_TRY(store_.commit(key_, {.generation = manifest_.generation,
                                   .manifest = bytes,
                                   .live = live,
                                   .model = manifest_.model,
                                   .recipe = manifest_.recipe,
                                   .n_tokens = manifest_.n_tokens(),
                                   .note = note}));
  return report_;
}

// Else no record needs to be read.
bool may_thin(const Manifest& manifest, const StoredLayouts& layouts) {
  for (std::size_t lane = 0; lane < manifest.lanes.size(); ++lane)
    for (const StoredPage& page : manifest.lanes[lane].pages)
      if (const auto* found = layouts.find(lane, page.tier, page.n_tokens, 0);
          found != nullptr && can_thin(found->layout))
        return true;
  return false;
}

}  // namespace

Result<ThinReport> thin_saved(RecordStore& store, const CacheKey& key, const std::stop_token& stop,
                              std::span<const RecordId> spared) {
  SATCHEL_TRY_ASSIGN(const std::optional<SavedManifest> saved, store.newest_manifest(key));
  if (!saved || store.coder() == nullptr) return ThinReport();
  Result<Manifest> manifest = decode_manifest(saved->bytes);
  if (!manifest.ok() || manifest->generation != saved->generation) return ThinReport();
  Result<StoredLayouts> layouts = StoredLayouts::read(manifest->shape, manifest->layouts);
  if (!layouts.ok() || !may_thin(*manifest, *layouts)) return ThinReport();
  Result<ThinReport> thinned =
      Thinner(store, key, *manifest, std::move(layouts).value(), spared).run(saved->note, stop);
  // A record is missing: whoever restores the rest is told.
  if (!thinned.ok() && thinned.error().kind == ErrorKind::not_found) return ThinReport();
  return thinned;
}

}  // namespace satchel::kvcache
