// BlockStores without a disk: one in memory, and one that fails at a chosen call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "kvcache/snapshot/block_store.h"

namespace satchel::test {

class MemoryBlockStore final : public kvcache::BlockStore {
 public:
  struct Rows {
    std::optional<kvcache::SavedManifest> manifest = {};
    std::map<kvcache::BlockId, std::vector<std::byte>> blocks = {};
  };

  Result<std::optional<kvcache::SavedManifest>> newest_manifest(
      const kvcache::CacheKey& key) override;
  Result<std::vector<std::byte>> block(const kvcache::CacheKey& key, kvcache::BlockId id) override;
  Result<void> put_block(const kvcache::CacheKey& key, kvcache::BlockId id,
                         std::span<const std::byte> bytes) override;
  // As the contract says, checked: generation rises, blocks are there, others go.
  Result<void> commit(const kvcache::CacheKey& key, const kvcache::SavedCommit& saved) override;
  Result<void> drop(const kvcache::CacheKey& key) override;
  const kvcache::StreamCoder* coder() const override { return stream_coder; }

  const kvcache::StreamCoder* stream_coder = nullptr;  // not owned
  std::map<kvcache::CacheKey, Rows> caches;            // tests look at it, and damage it
};

// Passes calls on to `inner`, but call number fail_at (0, 1, …) fails, and with `always` each one
// after it too.
class FailingBlockStore final : public kvcache::BlockStore {
 public:
  enum class Then { once, always };
  FailingBlockStore(kvcache::BlockStore& inner, std::size_t fail_at, Then then)
      : inner_(inner), fail_at_(fail_at), then_(then) {}

  Result<std::optional<kvcache::SavedManifest>> newest_manifest(
      const kvcache::CacheKey& key) override;
  Result<std::vector<std::byte>> block(const kvcache::CacheKey& key, kvcache::BlockId id) override;
  Result<void> put_block(const kvcache::CacheKey& key, kvcache::BlockId id,
                         std::span<const std::byte> bytes) override;
  Result<void> commit(const kvcache::CacheKey& key, const kvcache::SavedCommit& saved) override;
  Result<void> drop(const kvcache::CacheKey& key) override;
  const kvcache::StreamCoder* coder() const override { return inner_.coder(); }

  std::size_t n_calls() const { return n_calls_; }

 private:
  Result<void> count();

  kvcache::BlockStore& inner_;
  std::size_t fail_at_;
  Then then_;
  std::size_t n_calls_ = 0;
};

}  // namespace satchel::test
