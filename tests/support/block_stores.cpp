#include "support/block_stores.h"

#include <algorithm>
#include <string>

namespace satchel::test {

using kvcache::BlockId;
using kvcache::CacheKey;
using kvcache::SavedCommit;
using kvcache::SavedManifest;

Result<std::optional<SavedManifest>> MemoryBlockStore::newest_manifest(const CacheKey& key) {
  return caches[key].manifest;
}

Result<std::vector<std::byte>> MemoryBlockStore::block(const CacheKey& key, BlockId id) {
  const auto found = caches[key].blocks.find(id);
  if (found == caches[key].blocks.end())
    return Error{ErrorKind::not_found, "BLOCK_NOT_FOUND", "no block " + std::to_string(id)};
  return found->second;
}

Result<void> MemoryBlockStore::put_block(const CacheKey& key, BlockId id,
                                         std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() > kvcache::kBlockBytesMax)
    return Error{ErrorKind::invalid, "BLOCK_SIZE", std::to_string(bytes.size()) + " bytes"};
  caches[key].blocks[id].assign(bytes.begin(), bytes.end());
  return {};
}

Result<void> MemoryBlockStore::commit(const CacheKey& key, const SavedCommit& saved) {
  Rows& rows = caches[key];
  if (rows.manifest && saved.generation <= rows.manifest->generation)
    return Error{ErrorKind::invalid, "GENERATION",
                 "generation " + std::to_string(saved.generation)};
  for (const BlockId id : saved.live)
    if (!rows.blocks.contains(id))
      return Error{ErrorKind::not_found, "BLOCK_NOT_FOUND", "no block " + std::to_string(id)};
  rows.manifest = SavedManifest{saved.generation, {saved.manifest.begin(), saved.manifest.end()}};
  std::erase_if(rows.blocks, [&](const auto& row) {
    return std::ranges::find(saved.live, row.first) == saved.live.end();
  });
  return {};
}

Result<void> MemoryBlockStore::drop(const CacheKey& key) {
  caches.erase(key);
  return {};
}

Result<void> FailingBlockStore::count() {
  const std::size_t call = n_calls_++;
  const bool fails = then_ == Then::once ? call == fail_at_ : call >= fail_at_;
  if (!fails) return {};
  return Error{ErrorKind::storage, "DISK_FULL", "call " + std::to_string(call) + " fails"};
}

Result<std::optional<SavedManifest>> FailingBlockStore::newest_manifest(const CacheKey& key) {
  SATCHEL_TRY(count());
  return inner_.newest_manifest(key);
}
Result<std::vector<std::byte>> FailingBlockStore::block(const CacheKey& key, BlockId id) {
  SATCHEL_TRY(count());
  return inner_.block(key, id);
}
Result<void> FailingBlockStore::put_block(const CacheKey& key, BlockId id,
                                          std::span<const std::byte> bytes) {
  SATCHEL_TRY(count());
  return inner_.put_block(key, id, bytes);
}
Result<void> FailingBlockStore::commit(const CacheKey& key, const SavedCommit& saved) {
  SATCHEL_TRY(count());
  return inner_.commit(key, saved);
}
Result<void> FailingBlockStore::drop(const CacheKey& key) {
  SATCHEL_TRY(count());
  return inner_.drop(key);
}

}  // namespace satchel::test
