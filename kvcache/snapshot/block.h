// Block: one row of a snapshot: pages, sinks, tails or scores of some lanes. FORMAT.md has the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/result.h"
#include "kvcache/hash.h"
#include "kvcache/snapshot/manifest.h"

namespace satchel::kvcache {

inline constexpr std::size_t kBlockHeaderBytes = 48;
inline constexpr std::size_t kBlockItemBytes = 16;

// A page, the sinks or the tail of a lane, or its scores of one chunk of positions.
struct BlockItem {
  std::uint64_t number = 0;  // a page's serial; a chunk's first position; else 0
  std::uint32_t lane = 0;
  std::uint32_t n_bytes = 0;
};

// Header, items and their values side by side, signed.
std::vector<std::byte> encode_block(BlockKind kind, BlockId id, std::span<const BlockItem> items,
                                    std::span<const std::byte> values);
// Puts the right payload size and checksum into block bytes (tests forge with it).
void sign_block(std::span<std::byte> bytes);
Hash128 block_checksum(std::span<const std::byte> bytes);      // the field
Hash128 block_payload_hash(std::span<const std::byte> bytes);  // of items and values, without id

struct BlockView {
  BlockKind kind = BlockKind::pages;
  BlockId id = 0;
  std::vector<BlockItem> items;
  std::span<const std::byte> values;  // of all items, in order; no byte more
};
// Any bytes; checks magic, version, sizes and checksum. Fails with corrupt.
Result<BlockView> decode_block(std::span<const std::byte> bytes);

}  // namespace satchel::kvcache
