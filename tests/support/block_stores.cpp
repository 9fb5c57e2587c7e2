#include "support/block_stores.h"

#include <algorithm>
#include <string>

namespace satchel::test {

using kvcache::BlockId;
using kvcache::ChatId;
using kvcache::SavedManifest;

Result<std::optional<SavedManifest>> MemoryBlockStore::newest_manifest(ChatId chat) {
  return chats[chat].manifest;
}

Result<std::vector<std::byte>> MemoryBlockStore::block(ChatId chat, BlockId id) {
  const auto found = chats[chat].blocks.find(id);
  if (found == chats[chat].blocks.end())
    return Error{ErrorKind::not_found, "BLOCK_NOT_FOUND", "no block " + std::to_string(id)};
  return found->second;
}

Result<void> MemoryBlockStore::put_block(ChatId chat, BlockId id,
                                         std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() > kvcache::kBlockBytesMax)
    return Error{ErrorKind::invalid, "BLOCK_SIZE", std::to_string(bytes.size()) + " bytes"};
  chats[chat].blocks[id].assign(bytes.begin(), bytes.end());
  return {};
}

Result<void> MemoryBlockStore::commit(ChatId chat, std::uint64_t generation,
                                      std::span<const std::byte> manifest,
                                      std::span<const BlockId> live) {
  Chat& rows = chats[chat];
  if (rows.manifest && generation <= rows.manifest->generation)
    return Error{ErrorKind::invalid, "GENERATION", "generation " + std::to_string(generation)};
  for (const BlockId id : live)
    if (!rows.blocks.contains(id))
      return Error{ErrorKind::not_found, "BLOCK_NOT_FOUND", "no block " + std::to_string(id)};
  rows.manifest = SavedManifest{generation, {manifest.begin(), manifest.end()}};
  std::erase_if(rows.blocks, [&](const auto& row) {
    return std::find(live.begin(), live.end(), row.first) == live.end();
  });
  return {};
}

Result<void> MemoryBlockStore::drop(ChatId chat) {
  chats.erase(chat);
  return {};
}

Result<void> FailingBlockStore::count() {
  const std::size_t call = n_calls_++;
  const bool fails = then_ == Then::once ? call == fail_at_ : call >= fail_at_;
  if (!fails) return {};
  return Error{ErrorKind::storage, "DISK_FULL", "call " + std::to_string(call) + " fails"};
}

Result<std::optional<SavedManifest>> FailingBlockStore::newest_manifest(ChatId chat) {
  SATCHEL_TRY(count());
  return inner_.newest_manifest(chat);
}
Result<std::vector<std::byte>> FailingBlockStore::block(ChatId chat, BlockId id) {
  SATCHEL_TRY(count());
  return inner_.block(chat, id);
}
Result<void> FailingBlockStore::put_block(ChatId chat, BlockId id,
                                          std::span<const std::byte> bytes) {
  SATCHEL_TRY(count());
  return inner_.put_block(chat, id, bytes);
}
Result<void> FailingBlockStore::commit(ChatId chat, std::uint64_t generation,
                                       std::span<const std::byte> manifest,
                                       std::span<const BlockId> live) {
  SATCHEL_TRY(count());
  return inner_.commit(chat, generation, manifest, live);
}
Result<void> FailingBlockStore::drop(ChatId chat) {
  SATCHEL_TRY(count());
  return inner_.drop(chat);
}

}  // namespace satchel::test
