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
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "kvcache/snapshot/journal.h"
#include "kvcache/snapshot/stream_coder.h"

namespace satchel::kvcache {

// What a saved cache is known by. A chat has one under its own name; a cache that is no chat's (a
// document that several chats read) has a name of its own.
struct CacheKey {
  std::string name;            // unique in a store
  std::optional<ChatId> chat;  // goes when this chat goes

  static CacheKey of_chat(ChatId chat) {
    return {.name = "chat " + std::to_string(chat.value), .chat = chat};
  }
  static CacheKey named(std::string_view name) {
    return {.name = std::string(name), .chat = std::nullopt};
  }
  friend auto operator<=>(const CacheKey&, const CacheKey&) = default;
};

using BlockId = std::uint64_t;  // chosen by the writer, rises inside a cache, never used twice
inline constexpr std::size_t kBlockBytesMin = 64u << 10,
                             kBlockBytesMax = 8u << 20;  // the last block may be smaller

struct SavedManifest {
  std::uint64_t generation = 0;
  std::vector<std::byte> bytes;
};

// What a commit makes the newest. Model, recipe and n_tokens are for listing only.
struct SavedCommit {
  std::uint64_t generation = 0;  // must exceed the newest
  std::span<const std::byte> manifest = {};
  std::span<const BlockId> live = {};
  std::string_view model = {}, recipe = {};
  std::uint64_t n_tokens = 0;
};

class BlockStore {
 public:
  virtual ~BlockStore() = default;
  // Nothing there is not an error.
  virtual Result<std::optional<SavedManifest>> newest_manifest(const CacheKey& key) = 0;
  // A missing block is not_found.
  virtual Result<std::vector<std::byte>> block(const CacheKey& key, BlockId id) = 0;
  virtual Result<void> put_block(const CacheKey& key, BlockId id,
                                 std::span<const std::byte> bytes) = 0;
  // One transaction: the manifest becomes the newest, blocks that are not in `live` go.
  virtual Result<void> commit(const CacheKey& key, const SavedCommit& saved) = 0;
  virtual Result<void> drop(const CacheKey& key) = 0;
  // What blocks are made tight with, and read; nullptr: they lie as they are. As long as the store.
  virtual const StreamCoder* coder() const { return nullptr; }
};

}  // namespace satchel::kvcache
