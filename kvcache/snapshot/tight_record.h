// What a tight record has behind its items: how they are cut, and the streams of their planes, each
// coded or, where that saves little, as it is. FORMAT.md has the bytes.
//   source  RocksDB (a compression type with each record, plain where it does not pay, the checksum
//           over the stored bytes); arXiv:2310.07240 (entropy coding of KV at rest)
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/bytes.h"
#include "kvcache/snapshot/record.h"

namespace satchel::kvcache {

// A record is stored tight where that saves one part in so many.
inline constexpr std::size_t kTightSavesAtLeast = 10;

struct StreamCoding {
  const StreamCoder& coder;
  std::size_t saves_at_least = kStreamSavesAtLeast;  // one part in so many, of each stream
};
// values: of the items, as encode_record() has them.
void write_tight(ByteWriter& writer, const Hash128& payload_hash, std::span<const Cut> cuts,
                 std::span<const std::byte> values, const StreamCoding& coding);
// Into the record's planes; it has its items already. Fails with corrupt. Before anything is
// allocated its size is known to be no more than a plain record may have.
Result<void> read_tight(ByteReader& reader, Record& record, const StreamCoder* coder,
                        RecordCapacity& capacity);

}  // namespace satchel::kvcache
