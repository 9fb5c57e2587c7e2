// Block: one row of a snapshot: pages, sinks, tails or scores of some lanes, as they lie in memory
// or, where that is worth it, tight: cut into planes and coded. FORMAT.md has the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/result.h"
#include "kvcache/hash.h"
#include "kvcache/snapshot/manifest.h"
#include "kvcache/snapshot/planes.h"
#include "kvcache/snapshot/stream_coder.h"

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
// The same block tight; empty where that does not save enough to be worth its decoding.
//   block   what encode_block() gave
//   cuts    of its items, in their order
std::vector<std::byte> tighten_block(std::span<const std::byte> block, std::span<const Cut> cuts,
                                     const StreamCoder& coder);
// Puts the right payload size and checksum into block bytes (tests forge with it); with the coder, the
// hash of what a tight block decodes to as well.
void sign_block(std::span<std::byte> bytes);
void sign_block(std::span<std::byte> bytes, const StreamCoder& coder);
Hash128 block_checksum(std::span<const std::byte> bytes);      // the field
Hash128 block_payload_hash(std::span<const std::byte> bytes);  // of items and values, not tight
bool is_tight(std::span<const std::byte> bytes);               // of any bytes

// Where the values of a tight block come to lie; used again for the next, it takes no new memory.
struct BlockRoom {
  std::vector<std::byte> planes = {}, values = {};
};

struct Block {
  BlockKind kind = BlockKind::pages;
  BlockId id = 0;
  Hash128 checksum = {};
  std::vector<BlockItem> items = {};
  std::span<const std::byte> item_bytes = {};  // as they are stored
  std::span<const std::byte> values = {};      // of all items, in order; no byte more
  Hash128 payload_hash_stored = {};            // of a tight one: what payload_hash() must be

  Hash128 payload_hash() const { return hash_bytes(item_bytes, values); }
};
// Any bytes; checks magic, version, sizes and checksums. Fails with corrupt.
//   bytes, room  must outlive the block
//   coder        null: tight blocks are refused
Result<Block> decode_block(std::span<const std::byte> bytes, const StreamCoder* coder,
                           BlockRoom& room);

}  // namespace satchel::kvcache
