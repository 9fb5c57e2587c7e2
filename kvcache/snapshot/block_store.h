// BlockStore: where snapshots of caches lie, as opaque rows. Storage implements it over kvcache.db;
// what is inside a row is this folder's business (FORMAT.md) and is verified here, so a store may
// return any bytes without harm.
//   order   put_block … put_block -> commit: append, then point. A reader takes the newest
//           manifest, so a crash between leaves the old snapshot whole and some rows that the next
//           commit sweeps away; such a row may be put again.
//   errors  storage; after an error the newest manifest is still the old one
//   threads one call at a time
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/result.h"
#include "kvcache/snapshot/journal.h"

namespace satchel::kvcache {

using BlockId = std::uint64_t;  // chosen by the writer, rises inside a chat, never used twice
inline constexpr std::size_t kBlockBytesMin = 64u << 10,
                             kBlockBytesMax = 8u << 20;  // the last block may be smaller

struct SavedManifest {
  std::uint64_t generation = 0;
  std::vector<std::byte> bytes;
};

class BlockStore {
 public:
  virtual ~BlockStore() = default;
  // Nothing there is not an error.
  virtual Result<std::optional<SavedManifest>> newest_manifest(ChatId chat) = 0;
  // A missing block is not_found.
  virtual Result<std::vector<std::byte>> block(ChatId chat, BlockId id) = 0;
  virtual Result<void> put_block(ChatId chat, BlockId id, std::span<const std::byte> bytes) = 0;
  // One transaction: the manifest becomes the newest, blocks that are not in `live` go. generation
  // must exceed the newest.
  virtual Result<void> commit(ChatId chat, std::uint64_t generation,
                              std::span<const std::byte> manifest,
                              std::span<const BlockId> live) = 0;
  virtual Result<void> drop(ChatId chat) = 0;
};

}  // namespace satchel::kvcache
