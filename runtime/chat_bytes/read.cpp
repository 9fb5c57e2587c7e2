#include <algorithm>
#include <cstring>

#include "kernels/base/bytes.h"
#include "kvcache/base/hash.h"
#include "runtime/chat_bytes/chat_bytes.h"
#include "runtime/chat_bytes/sections.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kKeyMax = 4096;  // bytes of a key's name

Error bytes_damaged(const char* what) {
  return {ErrorKind::corrupt, "CHAT_DAMAGED",
          std::string("These bytes are not a whole chat: ") + what + ". Nothing was opened."};
}

Error read_only() {
  return {ErrorKind::internal, "INTERNAL", "A chat's bytes are only read."};
}

std::string_view next_text(ByteReader& reader) {
  return reader.text(reader.left());
}

// How many items of at least so many bytes follow; none where there cannot be that many.
std::size_t next_count(ByteReader& reader, std::size_t item_bytes) {
  const std::size_t n = reader.number<std::uint32_t>();
  if (n <= reader.left() / item_bytes) return n;
  (void)reader.bytes(reader.left() + 1);  // no longer ok
  return 0;
}

bool read_message(ByteReader& reader, StoredMessage& message) {
  const auto role = reader.number<std::uint8_t>(), state = reader.number<std::uint8_t>();
  const auto kind = reader.number<std::uint8_t>(), zero = reader.number<std::uint8_t>();
  message.role = static_cast<Role>(role);
  message.state = static_cast<MessageState>(state);
  message.kind = static_cast<MessageKind>(kind);
  message.title = next_text(reader);
  message.text = next_text(reader);
  message.tokens.resize(next_count(reader, sizeof(std::int32_t)));
  for (std::int32_t& token : message.tokens) token = reader.number<std::int32_t>();
  return role <= static_cast<std::uint8_t>(Role::assistant) &&
         (message.state == MessageState::complete || message.state == MessageState::interrupted) &&
         kind <= static_cast<std::uint8_t>(MessageKind::document) && zero == 0;
}

bool read_words(ByteReader& reader, ChatCopy& copy) {
  copy.setup.model_fingerprint = next_text(reader);
  copy.setup.recipe_json = next_text(reader);
  copy.setup.budget_bytes = reader.number<std::uint64_t>();
  const auto has_system = reader.number<std::uint8_t>();
  const std::string_view system = next_text(reader);
  if (has_system == 1) copy.setup.system = system;
  for (std::size_t n = next_count(reader, 8); n > 0 && reader.ok(); --n) {
    const std::string name(next_text(reader));
    copy.notes[name] = next_text(reader);
  }
  bool is_known = has_system <= 1;
  for (std::size_t n = next_count(reader, 16); n > 0 && reader.ok() && is_known; --n)
    is_known = read_message(reader, copy.messages.emplace_back());
  return is_known && !copy.messages.empty();
}

}  // namespace

Result<std::unique_ptr<ChatBytesReader>> ChatBytesReader::open(std::span<const std::byte> bytes) {
  std::unique_ptr<ChatBytesReader> reader(new ChatBytesReader);
  SATCHEL_TRY(reader->read(bytes));
  return reader;
}

Result<void> ChatBytesReader::read(Bytes bytes) {
  ByteReader reader(bytes);
  const Bytes magic = reader.bytes(kChatMagic.size());
  if (!std::ranges::equal(magic, std::as_bytes(std::span(kChatMagic))))
    return bytes_damaged("they do not begin as one");
  const auto version = reader.number<std::uint16_t>(), zero = reader.number<std::uint16_t>();
  if (version > kChatBytesVersion)
    return Error{ErrorKind::unsupported, "CHAT_VERSION",
                 "These bytes are a chat of version " + std::to_string(version) +
                     "; this library knows versions up to " + std::to_string(kChatBytesVersion) +
                     ". Use a newer one."};
  if (reader.number<std::uint64_t>() != bytes.size() || !reader.ok() ||
      bytes.size() < kChatHeadBytes + kChatHashBytes)
    return bytes_damaged("some are missing, or too many");
  const Bytes hashed = bytes.first(bytes.size() - kChatHashBytes);
  if (version == 0 || zero != 0 ||
      !std::ranges::equal(kvcache::hash_bytes(hashed), bytes.last(kChatHashBytes)))
    return bytes_damaged("their checksum is another one");
  while (reader.left() > kChatHashBytes) {
    const auto kind = reader.number<std::uint32_t>();
    const auto size = reader.number<std::uint64_t>();
    if (!reader.ok() || reader.left() < kChatHashBytes || size > reader.left() - kChatHashBytes ||
        !read_section(kind, reader.bytes(static_cast<std::size_t>(size))))
      return bytes_damaged("a section is not what it says");
  }
  if (!has_copy_) return bytes_damaged("there are no messages");
  return {};
}

bool ChatBytesReader::read_section(std::uint32_t kind, Bytes section) {
  ByteReader reader(section);
  if (kind == kWordsSection) {
    const bool is_known = !std::exchange(has_copy_, true) && read_words(reader, copy_);
    return is_known && reader.ok() && reader.left() == 0;
  }
  const std::string key(reader.text(kKeyMax));
  const auto number = reader.number<std::uint64_t>();
  if (!reader.ok()) return false;
  const Bytes bytes = reader.bytes(reader.left());
  if (kind == kManifestSection) return manifests_.try_emplace(key, Saved{number, bytes}).second;
  return kind == kRecordSection && records_.try_emplace({key, number}, bytes).second;
}

Result<std::optional<kvcache::SavedManifest>> ChatBytesReader::newest_manifest(
    const kvcache::CacheKey& key) {
  const auto found = manifests_.find(key.name);
  if (found == manifests_.end()) return std::optional<kvcache::SavedManifest>();
  const Saved& saved = found->second;
  return std::optional(kvcache::SavedManifest{
      .generation = saved.generation, .bytes = {saved.manifest.begin(), saved.manifest.end()}});
}

Result<std::vector<std::byte>> ChatBytesReader::record(const kvcache::CacheKey& key,
                                                       kvcache::RecordId id) {
  const auto found = records_.find({key.name, id});
  if (found == records_.end())
    return Error{ErrorKind::not_found, "RECORD_NOT_FOUND", "These bytes lack a record."};
  return std::vector<std::byte>(found->second.begin(), found->second.end());
}

Result<void> ChatBytesReader::put_record(const kvcache::CacheKey&, kvcache::RecordId,
                                         std::span<const std::byte>) {
  return read_only();
}

Result<void> ChatBytesReader::commit(const kvcache::CacheKey&, const kvcache::SavedCommit&) {
  return read_only();
}

Result<void> ChatBytesReader::drop(const kvcache::CacheKey&) {
  return read_only();
}

}  // namespace satchel::runtime
