// Snapshot::restore: what the manifest says, then record after record, then live, then cut to what
// is both whole and wanted.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "kvcache/snapshot/fetched_records.h"
#include "kvcache/snapshot/restorer.h"

namespace satchel::kvcache {
namespace {

RestoreReport damaged_report(std::string what) {
  return {.reason = RereadReason::damaged, .detail = std::move(what)};
}

std::size_t common_prefix(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  return static_cast<std::size_t>(in_a - a.begin());
}

// One restore on its way, into an empty cache.
class Restore {
 public:
  Restore(Cache& cache, CacheState& lanes, RecordStore& store, const CacheKey& key,
          const SnapshotIdentity& identity, std::span<const SavedBeside> beside)
      : cache_(cache),
        lanes_(lanes),
        store_(store),
        key_(key),
        identity_(identity),
        beside_(beside) {}

  Result<RestoreReport> run(StoredSnapshot& stored);

 private:
  Result<RestoreReport> run(Manifest& manifest, StoredSnapshot& stored);
  Result<std::optional<RestoreReport>> run_earlier(const Manifest& newest, StoredSnapshot& stored);
  Result<Manifest> read_earlier(const EarlierText& earlier) const;
  Result<void> empty_again();
  Result<void> add_records(Restorer& restorer, const Manifest& manifest);
  Result<void> add(Restorer& restorer, const RecordEntry& entry, const Result<Record>& record,
                   std::size_t n_bytes);
  Result<RestoreReport> cut(std::size_t n_whole, std::size_t n_saved);

  Cache& cache_;
  CacheState& lanes_;
  RecordStore& store_;
  const CacheKey& key_;
  const SnapshotIdentity& identity_;
  const std::span<const SavedBeside> beside_;
  std::size_t n_common_ = 0;  // tokens that saved and present text begin with alike
  std::size_t bytes_read_ = 0;
  std::string first_damage_ = {};  // empty: all records are sound
};

Result<void> Restore::add_records(Restorer& restorer, const Manifest& manifest) {
  std::vector<RecordEntry> unknown;
  std::ranges::copy_if(manifest.records, std::back_inserter(unknown),
                       [&](const RecordEntry& entry) { return !restorer.knows(entry); });
  FetchedRecords records(store_, key_, unknown);
  for (const RecordEntry& entry : manifest.records) {
    if (restorer.knows(entry)) {
      restorer.add_known(entry);
      continue;
    }
    SATCHEL_TRY_ASSIGN(const Result<Record>* const record, records.next());
    SATCHEL_TRY(add(restorer, entry, *record, records.n_bytes()));
  }
  return {};
}

// A record that is damaged or missing is left out; the rest goes on.
Result<void> Restore::add(Restorer& restorer, const RecordEntry& entry,
                          const Result<Record>& record, std::size_t n_bytes) {
  const Result<void> added = record.ok() ? restorer.add(entry, *record) : record.error();
  if (!added.ok() && added.error().kind != ErrorKind::corrupt) return added.error();
  if (added.ok()) bytes_read_ += n_bytes;
  if (!added.ok() && first_damage_.empty())
    first_damage_ = "record " + std::to_string(entry.id) + ": " + added.error().message;
  return {};
}

Result<RestoreReport> Restore::run(StoredSnapshot& stored) {
  SATCHEL_TRY_ASSIGN(const std::optional<SavedManifest> saved, store_.newest_manifest(key_));
  if (!saved) return RestoreReport{.reason = RereadReason::nothing_saved};
  Result<Manifest> manifest = decode_manifest(saved->bytes);
  if (!manifest.ok() && manifest.error().kind == ErrorKind::unsupported)
    return RestoreReport{.reason = RereadReason::other_format, .detail = manifest.error().message};
  if (!manifest.ok()) return damaged_report(manifest.error().message);
  if (manifest->generation != saved->generation)
    return damaged_report("its manifest is from another save");
  const RereadReason no = refusal_of(lanes_, *manifest, identity_);
  if (no != RereadReason::none) return RestoreReport{.reason = no};
  bytes_read_ = saved->bytes.size();
  SATCHEL_TRY_ASSIGN(std::optional<RestoreReport> report, run_earlier(*manifest, stored));
  if (!report) {
    n_common_ = common_prefix(manifest->tokens, identity_.tokens);
    if (n_common_ == 0) return RestoreReport{.reason = RereadReason::other_tokens};
    SATCHEL_TRY_ASSIGN(report, run(manifest.value(), stored));
  }
  stored.tokens = std::move(manifest->tokens);
  stored.earlier = std::move(manifest->earlier);
  return std::move(*report);
}

// The text that has more in common with this one than the newest has; nothing: there is none, or
// not as much of it is whole.
Result<std::optional<RestoreReport>> Restore::run_earlier(const Manifest& newest,
                                                          StoredSnapshot& stored) {
  using Found = std::optional<RestoreReport>;
  const std::size_t n_newest = common_prefix(newest.tokens, identity_.tokens);
  const EarlierText* best = nullptr;
  n_common_ = n_newest;
  for (const EarlierText& earlier : newest.earlier) {
    const std::size_t n = common_prefix(earlier.tokens, identity_.tokens);
    if (n > n_common_) best = &earlier;
    n_common_ = std::max(n_common_, n);
  }
  if (best == nullptr) return Found();
  Result<Manifest> manifest = read_earlier(*best);
  const bool is_no_text = !manifest.ok() && (manifest.error().kind == ErrorKind::corrupt ||
                                             manifest.error().kind == ErrorKind::unsupported);
  if (!manifest.ok() && !is_no_text) return manifest.error();
  if (!manifest.ok() || manifest->tokens != best->tokens ||
      refusal_of(lanes_, *manifest, identity_) != RereadReason::none)
    return Found();
  manifest->generation = newest.generation;
  manifest->next_record = newest.next_record;
  manifest->next_serial = std::max(manifest->next_serial, newest.next_serial);
  const std::size_t n_read = bytes_read_;
  SATCHEL_TRY_ASSIGN(RestoreReport report, run(manifest.value(), stored));
  if (report.n_tokens > n_newest) return Found(std::move(report));
  if (report.n_tokens > 0) SATCHEL_TRY(empty_again());
  stored = {};
  first_damage_.clear();
  bytes_read_ = n_read;
  return Found();
}

// corrupt: a part is damaged or missing.
Result<Manifest> Restore::read_earlier(const EarlierText& earlier) const {
  std::vector<std::byte> bytes;
  RecordCapacity capacity;
  for (const auto& [id, n_bytes] : earlier.manifest) {
    const Result<std::vector<std::byte>> stored = store_.record(key_, id);
    if (!stored.ok() && stored.error().kind == ErrorKind::not_found)
      return damaged("a part of an earlier text is missing");
    SATCHEL_TRY(stored);
    SATCHEL_TRY_ASSIGN(const Record record, decode_record(*stored, store_.coder(), capacity));
    if (record.kind != RecordKind::manifest || record.id != id)
      return damaged("a part of an earlier text is none");
    bytes.insert(bytes.end(), record.values.begin(), record.values.end());
  }
  return decode_manifest(bytes);
}

Result<RestoreReport> Restore::run(Manifest& manifest, StoredSnapshot& stored) {
  Restorer restorer(lanes_, manifest, beside_);
  const Result<void> prepared = restorer.prepare();
  if (!prepared.ok() && prepared.error().kind == ErrorKind::out_of_memory)
    return RestoreReport{.reason = RereadReason::over_limit, .detail = prepared.error().message};
  if (!prepared.ok() && prepared.error().kind == ErrorKind::corrupt)
    return damaged_report(prepared.error().message);
  SATCHEL_TRY(prepared);
  SATCHEL_TRY(add_records(restorer, manifest));
  const Result<void> checked = restorer.check_pages();
  if (!checked.ok() && checked.error().kind == ErrorKind::corrupt)
    return damaged_report(checked.error().message);
  SATCHEL_TRY(checked);
  const std::size_t n_whole = restorer.n_whole();
  if ((n_whole < manifest.n_tokens() || restorer.lacks_states()) && first_damage_.empty())
    first_damage_ = "its records lack data that its manifest lists";
  if (n_whole == 0) return damaged_report(first_damage_);
  SATCHEL_TRY(restorer.make_live());
  Result<RestoreReport> report = cut(n_whole, manifest.n_tokens());
  if (report.ok() && report->n_tokens > 0) {
    report->n_thinned = restorer.n_thinned();
    report->bytes_shared = restorer.bytes_shared();
    stored = std::move(restorer).stored();
    return report;
  }
  SATCHEL_TRY(empty_again());
  return report;
}

Result<void> Restore::empty_again() {
  cache_.clear();
  for (std::size_t i = 0; i < lanes_.lanes.size(); ++i)
    SATCHEL_TRY(lanes_.fit_exact(i, lanes_.layout.pipeline.tail()));
  return {};
}

// What is there now has n_saved tokens, whole up to n_whole.
Result<RestoreReport> Restore::cut(std::size_t n_whole, std::size_t n_saved) {
  RestoreReport report{.reason = RereadReason::none, .bytes_read = bytes_read_};
  report.n_tokens = cache_.edit().truncation_point(std::min(n_whole, n_common_));
  if (n_common_ < n_whole)
    report.reason = RereadReason::other_tokens;
  else if (report.n_tokens < n_saved || !first_damage_.empty())
    report = {.reason = RereadReason::damaged,
              .n_tokens = report.n_tokens,
              .bytes_read = bytes_read_,
              .detail = first_damage_};
  if (report.n_tokens > 0) SATCHEL_TRY(cache_.edit().truncate(report.n_tokens));
  return report;
}

}  // namespace

RereadReason refusal_of(const CacheState& cache, const Manifest& manifest,
                        const SnapshotIdentity& identity) {
  if (manifest.model != identity.model || manifest.shape != shape_bytes(cache.layout.shape))
    return RereadReason::other_model;
  if (manifest.recipe != identity.recipe) return RereadReason::other_recipe;
  if (manifest.layouts != layout_bytes(cache.layout, identity.numerics))
    return RereadReason::other_format;
  return RereadReason::none;
}

std::size_t Snapshot::n_saved(std::span<const std::int32_t> tokens) const {
  std::size_t n = common_prefix(state_->stored.tokens, tokens);
  for (const EarlierText& earlier : state_->stored.earlier)
    n = std::max(n, common_prefix(earlier.tokens, tokens));
  return n;
}

Result<RestoreReport> Snapshot::restore(const SnapshotIdentity& identity,
                                        std::span<const Snapshot* const> beside) {
  State& s = *state_;
  SATCHEL_ASSERT(s.lanes.text.n_tokens == 0 && !s.lanes.step_open && s.lanes.prefill == nullptr);
  s.stored = {};
  std::vector<SavedBeside> others;
  for (const Snapshot* const other : beside)
    if (other != this) others.push_back({&other->state_->lanes, &other->state_->stored});
  return Restore(s.cache, s.lanes, s.store, s.key, identity, others).run(s.stored);
}

}  // namespace satchel::kvcache
