// What a tight block has behind its items: how they are cut, and the streams of their planes, each
// coded or, where that saves little, as it is. FORMAT.md has the bytes.
//   source  RocksDB (a compression type with each block, plain where it does not pay, the checksum
//           over the stored bytes); arXiv:2310.07240 (entropy coding of KV at rest)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kvcache/snapshot/block.h"
#include "kvcache/snapshot/bytes.h"

namespace satchel::kvcache {

// A block is stored tight where that saves one part in so many, and a stream coded where that does.
// Chosen: less is not worth the decoding (docs/reliability.md, blocks at rest).
inline constexpr std::size_t kTightSavesAtLeast = 10, kStreamSavesAtLeast = 10;

// values: of the items, as encode_block() has them.
void write_tight(ByteWriter& writer, const Hash128& payload_hash, std::span<const Cut> cuts,
                 std::span<const std::byte> values, const StreamCoder& coder);
// Into the block's values, and the hash that they must have; it has its items already. Fails with
// corrupt. Before anything is allocated its size is known to be no more than a plain block may have.
Result<void> read_tight(ByteReader& reader, Block& block, const StreamCoder* coder,
                        BlockRoom& room);

}  // namespace satchel::kvcache
