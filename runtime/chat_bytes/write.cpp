#include <cstring>

#include "kernels/base/assert.h"
#include "kernels/base/bytes.h"
#include "kvcache/base/hash.h"
#include "runtime/chat_bytes/chat_bytes.h"
#include "runtime/chat_bytes/sections.h"

namespace satchel::runtime {
namespace {

using Bytes = std::span<const std::byte>;

void append(std::string& to, Bytes bytes) {
  to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// head: what stands before the bytes in the section
void append_section(std::string& to, ChatSection kind, ByteWriter& head, Bytes bytes = {}) {
  ByteWriter size;
  size.number(static_cast<std::uint32_t>(kind));
  size.number(std::uint64_t{head.size() + bytes.size()});
  append(to, size.buffer());
  append(to, head.buffer());
  append(to, bytes);
}

void write_message(ByteWriter& to, const StoredMessage& message) {
  to.number(static_cast<std::uint8_t>(message.role));
  to.number(static_cast<std::uint8_t>(message.state));
  to.number(static_cast<std::uint8_t>(message.kind)).number(std::uint8_t{0});
  to.text(message.title).text(message.text);
  to.number(static_cast<std::uint32_t>(message.tokens.size()));
  for (const std::int32_t token : message.tokens) to.number(token);
}

ByteWriter words_of(const ChatCopy& copy) {
  ByteWriter out;
  out.text(copy.setup.model_fingerprint).text(copy.setup.recipe_json);
  out.number(copy.setup.budget_bytes);
  out.number(static_cast<std::uint8_t>(copy.setup.system.has_value()));
  out.text(copy.setup.system.value_or(""));
  out.number(static_cast<std::uint32_t>(copy.notes.size()));
  for (const auto& [name, text] : copy.notes) out.text(name).text(text);
  out.number(static_cast<std::uint32_t>(copy.messages.size()));
  for (const StoredMessage& message : copy.messages) write_message(out, message);
  return out;
}

}  // namespace

ChatBytesWriter::ChatBytesWriter() {
  ByteWriter head;
  head.bytes(std::as_bytes(std::span(kChatMagic)));
  head.number(kChatBytesVersion).number(std::uint16_t{0}).number(std::uint64_t{0});
  SATCHEL_ASSERT(head.size() == kChatHeadBytes);
  append(bytes_, head.buffer());
}

Result<std::optional<kvcache::SavedManifest>> ChatBytesWriter::newest_manifest(
    const kvcache::CacheKey&) {
  return std::optional<kvcache::SavedManifest>();
}

Result<std::vector<std::byte>> ChatBytesWriter::record(const kvcache::CacheKey&,
                                                       kvcache::RecordId) {
  return Error{ErrorKind::not_found, "RECORD_NOT_FOUND", "Nothing is read while it is written."};
}

Result<void> ChatBytesWriter::put_record(const kvcache::CacheKey& key, kvcache::RecordId id,
                                         std::span<const std::byte> bytes) {
  ByteWriter head;
  head.text(key.name).number(id);
  append_section(bytes_, kRecordSection, head, bytes);
  return {};
}

Result<void> ChatBytesWriter::commit(const kvcache::CacheKey& key,
                                     const kvcache::SavedCommit& saved) {
  ByteWriter head;
  head.text(key.name).number(saved.generation);
  append_section(bytes_, kManifestSection, head, saved.manifest);
  return {};
}

Result<void> ChatBytesWriter::drop(const kvcache::CacheKey&) {
  return {};
}

std::string ChatBytesWriter::finish(const ChatCopy& copy) {
  ByteWriter words = words_of(copy);
  append_section(bytes_, kWordsSection, words);
  ByteWriter size;
  size.number(std::uint64_t{bytes_.size() + kChatHashBytes});
  std::memcpy(bytes_.data() + kChatSizeAt, size.buffer().data(), size.size());
  append(bytes_, kvcache::hash_bytes(std::as_bytes(std::span(bytes_))));
  return std::move(bytes_);
}

}  // namespace satchel::runtime
