// Record stores without a disk: one in memory, and one that fails at a chosen call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "kvcache/snapshot/record_store.h"

namespace satchel::test {

class MemoryRecordStore final : public kvcache::RecordStore {
 public:
  struct Rows {
    std::optional<kvcache::SavedManifest> manifest = {};
    std::map<kvcache::RecordId, std::vector<std::byte>> records = {};
    kvcache::SavedCache listed = {};
  };

  Result<std::optional<kvcache::SavedManifest>> newest_manifest(
      const kvcache::CacheKey& key) override;
  Result<std::vector<std::byte>> record(const kvcache::CacheKey& key,
                                        kvcache::RecordId id) override;
  Result<void> put_record(const kvcache::CacheKey& key, kvcache::RecordId id,
                          std::span<const std::byte> bytes) override;
  // As the contract says, checked: generation rises, records are there, others go.
  Result<void> commit(const kvcache::CacheKey& key, const kvcache::SavedCommit& saved) override;
  Result<void> drop(const kvcache::CacheKey& key) override;
  Result<std::vector<kvcache::SavedCache>> list() override;
  const kvcache::StreamCoder* coder() const override { return stream_coder; }

  const kvcache::StreamCoder* stream_coder = nullptr;  // not owned
  std::map<kvcache::CacheKey, Rows> caches;            // tests look at it, and damage it
};

// Passes calls on to `inner`, but call number fail_at (0, 1, …) fails, and with `always` each one
// after it too.
class FailingRecordStore final : public kvcache::RecordStore {
 public:
  enum class Then { once, always };
  FailingRecordStore(kvcache::RecordStore& inner, std::size_t fail_at, Then then)
      : inner_(inner), fail_at_(fail_at), then_(then) {}

  Result<std::optional<kvcache::SavedManifest>> newest_manifest(
      const kvcache::CacheKey& key) override;
  Result<std::vector<std::byte>> record(const kvcache::CacheKey& key,
                                        kvcache::RecordId id) override;
  Result<void> put_record(const kvcache::CacheKey& key, kvcache::RecordId id,
                          std::span<const std::byte> bytes) override;
  Result<void> commit(const kvcache::CacheKey& key, const kvcache::SavedCommit& saved) override;
  Result<void> drop(const kvcache::CacheKey& key) override;
  Result<std::vector<kvcache::SavedCache>> list() override;
  const kvcache::StreamCoder* coder() const override { return inner_.coder(); }

  std::size_t n_calls() const { return n_calls_; }

 private:
  Result<void> count();

  kvcache::RecordStore& inner_;
  std::size_t fail_at_;
  Then then_;
  std::size_t n_calls_ = 0;
};

}  // namespace satchel::test
