// Record: a row of a snapshot, with pages, sinks, tails or scores of some lanes. Values are stored
// as in memory or, if it saves enough, tight: divided into planes and compressed. FORMAT.md
// has the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/result.h"
#include "kvcache/base/hash.h"
#include "kvcache/snapshot/manifest.h"
#include "kvcache/snapshot/planes.h"
#include "kvcache/snapshot/record_store.h"

namespace satchel::kvcache {

inline constexpr std::size_t kRecordHeaderBytes = 48;
inline constexpr std::size_t kRecordItemBytes = 16;

// A page, the sinks or the tail of a lane, or its scores for one chunk of positions.
struct RecordItem {
  std::uint64_t number = 0;  // a page's serial; a chunk's first position; else 0
  std::uint32_t lane = 0;
  std::uint32_t n_bytes = 0;
};

// Concatenates header, items and values, and signs them.
std::vector<std::byte> encode_record(RecordKind kind, RecordId id,
                                     std::span<const RecordItem> items,
                                     std::span<const std::byte> values);
// A stream is coded where that saves one part in so many. Codes of few bits save less than a
// quarter, and are most of what would be decoded (docs/reliability.md, Records at rest); of a
// thinned record all is worth it that pays at all.
inline constexpr std::size_t kStreamSavesAtLeast = 4, kThinStreamSavesAtLeast = 32;
// Compresses a record; empty if that saves too little to be worth decoding.
//   record  from encode_record()
//   cuts    of its items, in order
std::vector<std::byte> tighten_record(std::span<const std::byte> record, std::span<const Cut> cuts,
                                      const StreamCoder& coder,
                                      std::size_t stream_saves = kStreamSavesAtLeast);
// Writes the correct payload size and checksum into record bytes (tests forge records with it).
// With the coder, also the hash of a tight record's decoded content.
void sign_record(std::span<std::byte> bytes);
void sign_record(std::span<std::byte> bytes, const StreamCoder& coder);
Hash128 record_checksum(std::span<const std::byte> bytes);      // the field
Hash128 record_payload_hash(std::span<const std::byte> bytes);  // of items and values, not tight
bool is_tight(std::span<const std::byte> bytes);                // of any bytes

// Memory that is used again, and not touched before it is written.
class Scratch {
 public:
  // At least n bytes, undefined; valid until the next call.
  std::byte* at_least(std::size_t n) {
    if (n > n_bytes_) {
      n_bytes_ = std::max(n, kRecordBytesAim);
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(n_bytes_);
    }
    return bytes_.get();
  }
  std::size_t n_bytes() const { return n_bytes_; }

 private:
  std::size_t n_bytes_ = 0;
  std::unique_ptr<std::byte[]> bytes_ = {};
};

// The buffers of a decoded tight record; reuse them for the next to avoid allocations.
struct RecordCapacity {
  Scratch planes = {}, values = {};
};

struct Record {
  RecordKind kind = RecordKind::pages;
  RecordId id = 0;
  Hash128 checksum = {};
  std::vector<RecordItem> items = {};
  std::span<const std::byte> item_bytes = {};  // as they are stored
  std::span<const std::byte> values = {};      // of all items, in order; no byte more
  Hash128 payload_hash_stored = {};            // of a tight one: what payload_hash() must be

  Hash128 payload_hash() const { return hash_bytes(item_bytes, values); }
};
// Safe for arbitrary bytes: checks magic, version, sizes and checksums. Fails with corrupt.
//   bytes, capacity  must outlive the record
//   coder            null: tight records are refused
Result<Record> decode_record(std::span<const std::byte> bytes, const StreamCoder* coder,
                             RecordCapacity& capacity);

}  // namespace satchel::kvcache
