// A chat as one stretch of bytes: its words with their token ids, its settings and its cache, which
// a program keeps in a place of its own, or sends to another one. README.md has the format.
//   write   ChatBytesWriter writer; copy = session.copy_to(writer); bytes = writer.finish(copy)
//   read    ChatBytesReader::open(bytes); session.resume_copy(reader->copy(), *reader, …)
//   errors  CHAT_DAMAGED: not such bytes, or not as they were written; CHAT_VERSION: of a newer
//           version. Readers are safe on any bytes, and take memory in proportion to their size;
//           xxh3 finds accidents, not attackers
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kvcache/snapshot/record_store.h"
#include "runtime/contract/chat_copy.h"

namespace satchel::runtime {

inline constexpr std::uint16_t kChatBytesVersion = 1;

// A store that is written to once, each key in one commit, and has nothing to read.
class ChatBytesWriter final : public kvcache::RecordStore {
 public:
  ChatBytesWriter();
  Result<std::optional<kvcache::SavedManifest>> newest_manifest(
      const kvcache::CacheKey& key) override;
  Result<std::vector<std::byte>> record(const kvcache::CacheKey& key,
                                        kvcache::RecordId id) override;
  Result<void> put_record(const kvcache::CacheKey& key, kvcache::RecordId id,
                          std::span<const std::byte> bytes) override;
  Result<void> commit(const kvcache::CacheKey& key, const kvcache::SavedCommit& saved) override;
  Result<void> drop(const kvcache::CacheKey& key) override;

  // The last call.
  std::string finish(const ChatCopy& copy);

 private:
  std::string bytes_;
};

// A store that is read only.
class ChatBytesReader final : public kvcache::RecordStore {
 public:
  // bytes  must outlive it
  static Result<std::unique_ptr<ChatBytesReader>> open(std::span<const std::byte> bytes);
  const ChatCopy& copy() const { return copy_; }

  Result<std::optional<kvcache::SavedManifest>> newest_manifest(
      const kvcache::CacheKey& key) override;
  Result<std::vector<std::byte>> record(const kvcache::CacheKey& key,
                                        kvcache::RecordId id) override;
  Result<void> put_record(const kvcache::CacheKey& key, kvcache::RecordId id,
                          std::span<const std::byte> bytes) override;
  Result<void> commit(const kvcache::CacheKey& key, const kvcache::SavedCommit& saved) override;
  Result<void> drop(const kvcache::CacheKey& key) override;

 private:
  using Bytes = std::span<const std::byte>;
  struct Saved {
    std::uint64_t generation = 0;
    Bytes manifest;
  };
  ChatBytesReader() = default;
  Result<void> read(Bytes bytes);
  bool read_section(std::uint32_t kind, Bytes section);

  ChatCopy copy_;
  bool has_copy_ = false;
  std::map<std::string, Saved, std::less<>> manifests_;
  std::map<std::pair<std::string, kvcache::RecordId>, Bytes> records_;
};

}  // namespace satchel::runtime
