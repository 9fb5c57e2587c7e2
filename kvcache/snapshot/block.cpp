#include "kvcache/snapshot/block.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "kvcache/snapshot/tight_block.h"

namespace satchel::kvcache {
namespace {

constexpr std::string_view kMagic = "SATCHELB";
constexpr std::uint16_t kPlainVersion = 2, kTightVersion = 3;
constexpr std::size_t kVersionAt = 8, kKindAt = 10, kPayloadSizeAt = 24, kChecksumAt = 32;

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Hash128 checksum_of(std::span<const std::byte> bytes) {
  return hash_bytes(bytes.first(kChecksumAt), bytes.subspan(kBlockHeaderBytes));
}

std::uint16_t version_of(std::span<const std::byte> bytes) {
  return ByteReader(bytes.subspan(kVersionAt)).number<std::uint16_t>();
}

// All but magic, version and checksums has been checked then.
Result<Block> read_block(std::span<const std::byte> bytes, const StreamCoder* coder,
                         BlockRoom& room) {
  ByteReader reader(bytes.subspan(kKindAt));
  Block block;
  block.checksum = block_checksum(bytes);
  block.kind = static_cast<BlockKind>(reader.number<std::uint16_t>());
  const std::size_t n_items = reader.number<std::uint32_t>();
  block.id = reader.number<std::uint64_t>();
  const auto n_payload = reader.number<std::uint64_t>();
  reader = ByteReader(bytes.subspan(kBlockHeaderBytes));
  if (n_payload != reader.left() || n_items > reader.left() / kBlockItemBytes)
    return damaged("it has fewer bytes than it says");
  block.item_bytes = bytes.subspan(kBlockHeaderBytes, n_items * kBlockItemBytes);
  block.items.reserve(n_items);
  std::uint64_t n_values = 0;  // below 2^32 times 2^19 items: no overflow
  for (std::size_t i = 0; i < n_items; ++i) {
    BlockItem item;
    item.number = reader.number<std::uint64_t>();
    item.lane = reader.number<std::uint32_t>();
    item.n_bytes = reader.number<std::uint32_t>();
    n_values += item.n_bytes;
    block.items.push_back(item);
  }
  if (is_tight(bytes)) {
    SATCHEL_TRY(read_tight(reader, block, coder, room));
    return block;
  }
  if (n_values != reader.left()) return damaged("its items are not as long as they say");
  block.values = reader.bytes(reader.left());
  return block;
}

}  // namespace

std::vector<std::byte> encode_block(BlockKind kind, BlockId id, std::span<const BlockItem> items,
                                    std::span<const std::byte> values) {
  ByteWriter writer;
  writer.buffer().reserve(kBlockHeaderBytes + items.size() * kBlockItemBytes + values.size());
  writer.bytes(as_bytes(kMagic)).number(kPlainVersion);
  writer.number(static_cast<std::uint16_t>(kind)).number(static_cast<std::uint32_t>(items.size()));
  writer.number(id);
  writer.room(kBlockHeaderBytes - kPayloadSizeAt);
  for (const BlockItem& item : items)
    writer.number(item.number).number(item.lane).number(item.n_bytes);
  writer.bytes(values);
  sign_block(writer.buffer());
  return std::move(writer.buffer());
}

std::vector<std::byte> tighten_block(std::span<const std::byte> block, std::span<const Cut> cuts,
                                     const StreamCoder& coder) {
  const std::size_t head_bytes = kBlockHeaderBytes + cuts.size() * kBlockItemBytes;
  SATCHEL_ASSERT(version_of(block) == kPlainVersion && block.size() >= head_bytes);
  const std::size_t n_bytes_max = block.size() - block.size() / kTightSavesAtLeast;
  ByteWriter writer;
  writer.bytes(block.first(kVersionAt)).number(kTightVersion);
  writer.bytes(block.first(head_bytes).subspan(writer.size()));
  write_tight(writer, block_payload_hash(block), cuts, block.subspan(head_bytes), coder);
  if (writer.size() > n_bytes_max) return {};
  sign_block(writer.buffer());
  return std::move(writer.buffer());
}

void sign_block(std::span<std::byte> bytes) {
  if (bytes.size() < kBlockHeaderBytes) return;
  ByteWriter size;
  size.number(static_cast<std::uint64_t>(bytes.size() - kBlockHeaderBytes));
  std::ranges::copy(size.buffer(), bytes.begin() + kPayloadSizeAt);
  const Hash128 hash = checksum_of(bytes);
  std::ranges::copy(hash, bytes.begin() + kChecksumAt);
}

void sign_block(std::span<std::byte> bytes, const StreamCoder& coder) {
  sign_block(bytes);
  if (!is_tight(bytes)) return;
  BlockRoom room;
  const Result<Block> block = read_block(bytes, &coder, room);
  if (!block.ok()) return;
  const std::size_t at = kBlockHeaderBytes + block->item_bytes.size();
  std::ranges::copy(block->payload_hash(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  sign_block(bytes);
}

Hash128 block_checksum(std::span<const std::byte> bytes) {
  Hash128 hash{};
  std::ranges::copy(bytes.subspan(kChecksumAt, hash.size()), hash.begin());
  return hash;
}

Hash128 block_payload_hash(std::span<const std::byte> bytes) {
  return hash_bytes(bytes.subspan(kBlockHeaderBytes));
}

bool is_tight(std::span<const std::byte> bytes) {
  return bytes.size() >= kBlockHeaderBytes && version_of(bytes) == kTightVersion;
}

Result<Block> decode_block(std::span<const std::byte> bytes, const StreamCoder* coder,
                           BlockRoom& room) {
  if (bytes.size() < kBlockHeaderBytes || bytes.size() > kBlockBytesMax)
    return damaged("it has " + std::to_string(bytes.size()) + " bytes");
  if (!std::ranges::equal(bytes.first(kMagic.size()), as_bytes(kMagic)))
    return damaged("it does not begin like a block");
  if (version_of(bytes) != kPlainVersion && version_of(bytes) != kTightVersion)
    return damaged("it is of another version than its table");
  if (block_checksum(bytes) != checksum_of(bytes)) return damaged("its checksum is wrong");
  SATCHEL_TRY_ASSIGN(Block block, read_block(bytes, coder, room));
  if (is_tight(bytes) && block.payload_hash() != block.payload_hash_stored)
    return damaged("its checksum is wrong once it is decoded");
  return block;
}

}  // namespace satchel::kvcache
