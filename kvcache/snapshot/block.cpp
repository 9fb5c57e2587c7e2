#include "kvcache/snapshot/block.h"

#include <algorithm>
#include <string>

#include "kvcache/cache.h"

namespace satchel::kvcache {
namespace {

constexpr std::string_view kMagic = "SATCHELB";
constexpr std::size_t kPayloadSizeAt = 104;
constexpr std::size_t kChecksumAt = 112;

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Hash128 checksum_of(std::span<const std::byte> bytes) {
  return hash_bytes(bytes.first(kChecksumAt), bytes.subspan(kBlockHeaderBytes));
}

// Lanes rise, are in range, and are those the header names.
struct LaneOrder {
  const BlockHeader& header;
  std::size_t n_lanes;
  std::uint32_t last = 0;
  bool any = false, ok = true;

  void next(std::uint32_t lane) {
    if (lane >= n_lanes || (any && lane <= last) || (!any && lane != header.first_lane)) ok = false;
    last = lane;
    any = true;
  }
  bool whole() const { return ok && any && last == header.last_lane; }
};

}  // namespace

Hash128 hash_identity(std::string_view model, std::string_view recipe) {
  ByteWriter writer;
  writer.bytes(as_bytes(model)).number(std::uint8_t{0}).bytes(as_bytes(recipe));
  return hash_bytes(writer.buffer());
}

std::vector<std::byte> encode_block(const BlockHeader& header, std::span<const std::byte> payload) {
  ByteWriter writer;
  writer.buffer().reserve(kBlockHeaderBytes + payload.size());
  writer.bytes(as_bytes(kMagic)).number(kSnapshotVersion);
  writer.number(static_cast<std::uint16_t>(header.kind));
  write_layout(writer, header.layout);
  writer.number(header.n_segments).number(header.generation).number(header.id);
  writer.number(header.first_lane).number(header.last_lane);
  writer.number(header.first_position).number(header.last_position);
  writer.bytes(header.identity).bytes(header.token_hash).number(header.n_tokens);
  writer.room(kBlockHeaderBytes - kPayloadSizeAt);
  SATCHEL_ASSERT(writer.size() == kBlockHeaderBytes);
  writer.bytes(payload);
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

Hash128 block_checksum(std::span<const std::byte> bytes) {
  Hash128 hash{};
  std::ranges::copy(bytes.subspan(kChecksumAt, hash.size()), hash.begin());
  return hash;
}

Result<BlockView> decode_block(std::span<const std::byte> bytes) {
  if (bytes.size() < kBlockHeaderBytes || bytes.size() > kBlockBytesMax)
    return damaged("it has " + std::to_string(bytes.size()) + " bytes");
  ByteReader reader(bytes);
  BlockView block;
  BlockHeader& header = block.header;
  if (!std::ranges::equal(reader.bytes(kMagic.size()), as_bytes(kMagic)))
    return damaged("it does not begin like a block");
  if (reader.number<std::uint16_t>() != kSnapshotVersion)
    return damaged("it is of another version than its table");
  if (block_checksum(bytes) != checksum_of(bytes)) return damaged("its checksum is wrong");
  header.kind = static_cast<BlockKind>(reader.number<std::uint16_t>());
  header.layout = read_layout(reader);
  header.n_segments = reader.number<std::uint32_t>();
  header.generation = reader.number<std::uint64_t>();
  header.id = reader.number<std::uint64_t>();
  header.first_lane = reader.number<std::uint32_t>();
  header.last_lane = reader.number<std::uint32_t>();
  header.first_position = reader.number<std::int32_t>();
  header.last_position = reader.number<std::int32_t>();
  header.identity = reader.array<sizeof(Hash128)>();
  header.token_hash = reader.array<sizeof(Hash128)>();
  header.n_tokens = reader.number<std::uint64_t>();
  block.payload = bytes.subspan(kBlockHeaderBytes);
  if (reader.number<std::uint64_t>() != block.payload.size())
    return damaged("its payload has another size than it says");
  if (header.n_segments > block.payload.size() / kSegmentBytes)
    return damaged("it has fewer segments than it says");
  return block;
}

Result<PagePayload> decode_pages(const BlockView& block, std::size_t n_lanes) {
  ByteReader reader(block.payload);
  PagePayload payload;
  LaneOrder order{block.header, n_lanes};
  std::uint64_t n_pages = 0;
  for (std::uint32_t i = 0; i < block.header.n_segments; ++i) {
    PageSegment segment;
    segment.lane = reader.number<std::uint32_t>();
    segment.first_page = reader.number<std::uint32_t>();
    segment.n_pages = reader.number<std::uint32_t>();
    if (reader.number<std::uint32_t>() != 0) order.ok = false;
    order.next(segment.lane);
    n_pages += segment.n_pages;  // below 2^32 times 2^19 segments: no overflow
    payload.segments.push_back(segment);
  }
  payload.pages = block.payload.subspan(reader.at());
  const std::uint64_t page_bytes = block.header.layout.page_bytes;
  if (block.header.kind != BlockKind::pages || !order.whole() || page_bytes == 0 ||
      payload.pages.size() % page_bytes != 0 || payload.pages.size() / page_bytes != n_pages)
    return damaged("its segments are impossible");
  return payload;
}

Result<ExactPayload> decode_exact(const BlockView& block, std::size_t n_lanes) {
  ByteReader reader(block.payload);
  ExactPayload payload;
  LaneOrder order{block.header, n_lanes};
  std::uint64_t n_tokens = 0;
  for (std::uint32_t i = 0; i < block.header.n_segments; ++i) {
    ExactSegment segment;
    segment.lane = reader.number<std::uint32_t>();
    segment.n_sinks = reader.number<std::uint32_t>();
    segment.n_tail = reader.number<std::uint32_t>();
    segment.n_pages = reader.number<std::uint32_t>();
    if (segment.n_sinks > kSinkTokens || segment.n_tail >= kTailCapacity) order.ok = false;
    order.next(segment.lane);
    n_tokens += segment.n_sinks + segment.n_tail;
    payload.segments.push_back(segment);
  }
  payload.values = block.payload.subspan(reader.at());
  const std::uint64_t token_bytes =
      2 * sizeof(Half) * std::uint64_t{block.header.layout.head_dim} + sizeof(std::int32_t);
  if (block.header.kind != BlockKind::exact || !order.whole() ||
      payload.values.size() != n_tokens * token_bytes)
    return damaged("its segments are impossible");
  return payload;
}

}  // namespace satchel::kvcache
