#include "support/record_stores.h"

#include <algorithm>
#include <string>

namespace satchel::test {

using kvcache::CacheKey;
using kvcache::RecordId;
using kvcache::SavedCommit;
using kvcache::SavedManifest;

Result<std::optional<SavedManifest>> MemoryRecordStore::newest_manifest(const CacheKey& key) {
  return caches[key].manifest;
}

Result<std::vector<std::byte>> MemoryRecordStore::record(const CacheKey& key, RecordId id) {
  const auto found = caches[key].records.find(id);
  if (found == caches[key].records.end())
    return Error{ErrorKind::not_found, "BLOCK_NOT_FOUND", "no record " + std::to_string(id)};
  return found->second;
}

Result<void> MemoryRecordStore::put_record(const CacheKey& key, RecordId id,
                                           std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() > kvcache::kRecordBytesMax)
    return Error{ErrorKind::invalid, "BLOCK_SIZE", std::to_string(bytes.size()) + " bytes"};
  caches[key].records[id].assign(bytes.begin(), bytes.end());
  return {};
}

Result<void> MemoryRecordStore::commit(const CacheKey& key, const SavedCommit& saved) {
  Rows& rows = caches[key];
  if (rows.manifest && saved.generation <= rows.manifest->generation)
    return Error{ErrorKind::invalid, "GENERATION",
                 "generation " + std::to_string(saved.generation)};
  for (const RecordId id : saved.live)
    if (!rows.records.contains(id))
      return Error{ErrorKind::not_found, "BLOCK_NOT_FOUND", "no record " + std::to_string(id)};
  rows.manifest = SavedManifest{
      saved.generation, {saved.manifest.begin(), saved.manifest.end()}, std::string(saved.note)};
  rows.listed = {.key = key,
                 .model = std::string(saved.model),
                 .recipe = std::string(saved.recipe),
                 .n_tokens = saved.n_tokens,
                 .note = std::string(saved.note)};
  std::erase_if(rows.records, [&](const auto& row) {
    return std::ranges::find(saved.live, row.first) == saved.live.end();
  });
  return {};
}

Result<void> MemoryRecordStore::drop(const CacheKey& key) {
  caches.erase(key);
  return {};
}

Result<std::vector<kvcache::SavedCache>> MemoryRecordStore::list() {
  std::vector<kvcache::SavedCache> all;
  for (const auto& [key, rows] : caches)
    if (rows.manifest) all.push_back(rows.listed);
  return all;
}

Result<void> FailingRecordStore::count() {
  const std::size_t call = n_calls_++;
  const bool fails = then_ == Then::once ? call == fail_at_ : call >= fail_at_;
  if (!fails) return {};
  return Error{ErrorKind::storage, "DISK_FULL", "call " + std::to_string(call) + " fails"};
}

Result<std::optional<SavedManifest>> FailingRecordStore::newest_manifest(const CacheKey& key) {
  SATCHEL_TRY(count());
  return inner_.newest_manifest(key);
}
Result<std::vector<std::byte>> FailingRecordStore::record(const CacheKey& key, RecordId id) {
  SATCHEL_TRY(count());
  return inner_.record(key, id);
}
Result<void> FailingRecordStore::put_record(const CacheKey& key, RecordId id,
                                            std::span<const std::byte> bytes) {
  SATCHEL_TRY(count());
  return inner_.put_record(key, id, bytes);
}
Result<void> FailingRecordStore::commit(const CacheKey& key, const SavedCommit& saved) {
  SATCHEL_TRY(count());
  return inner_.commit(key, saved);
}
Result<void> FailingRecordStore::drop(const CacheKey& key) {
  SATCHEL_TRY(count());
  return inner_.drop(key);
}
Result<std::vector<kvcache::SavedCache>> FailingRecordStore::list() {
  SATCHEL_TRY(count());
  return inner_.list();
}

}  // namespace satchel::test
