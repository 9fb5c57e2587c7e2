// Block: one row of a snapshot: pages, or the exact parts, of some lanes. FORMAT.md has the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/result.h"
#include "kvcache/hash.h"
#include "kvcache/snapshot/manifest.h"

namespace satchel::kvcache {

inline constexpr std::size_t kBlockHeaderBytes = 128;
inline constexpr std::size_t kSegmentBytes = 16;

// Pages first_page … of one lane.
struct PageSegment {
  std::uint32_t lane = 0, first_page = 0, n_pages = 0;
};
// Sinks and tail of one lane, and how many pages it has.
struct ExactSegment {
  std::uint32_t lane = 0, n_sinks = 0, n_tail = 0, n_pages = 0;
};

struct BlockHeader {
  BlockKind kind = BlockKind::pages;
  StoredLayout layout = {};
  std::uint32_t n_segments = 0;
  std::uint64_t generation = 0;
  BlockId id = 0;
  std::uint32_t first_lane = 0, last_lane = 0;
  std::int32_t first_position = 0, last_position = 0;
  Hash128 identity = {};    // hash_identity()
  Hash128 token_hash = {};  // of the first n_tokens
  std::uint64_t n_tokens = 0;
};

Hash128 hash_identity(std::string_view model, std::string_view recipe);

// Header and payload into one row, signed.
std::vector<std::byte> encode_block(const BlockHeader& header, std::span<const std::byte> payload);
// Puts the right payload size and checksum into block bytes (tests forge with it).
void sign_block(std::span<std::byte> bytes);
Hash128 block_checksum(std::span<const std::byte> bytes);  // the field

struct BlockView {
  BlockHeader header;
  std::span<const std::byte> payload;
};
// Any bytes; checks magic, version, sizes and checksum. Fails with corrupt.
Result<BlockView> decode_block(std::span<const std::byte> bytes);
// The segments at the head of a payload, and what follows them. Fails with corrupt unless lanes
// rise below n_lanes and match the header, and the sizes they stand for are exactly those there.
struct PagePayload {
  std::vector<PageSegment> segments;
  std::span<const std::byte> pages;
};
Result<PagePayload> decode_pages(const BlockView& block, std::size_t n_lanes);
struct ExactPayload {
  std::vector<ExactSegment> segments;
  std::span<const std::byte> values;
};
Result<ExactPayload> decode_exact(const BlockView& block, std::size_t n_lanes);

}  // namespace satchel::kvcache
