// Record: a row of a snapshot, with pages, sinks, tails or scores of some lanes. Values are stored
// as in memory or, if it saves enough, tight: divided into planes and compressed. FORMAT.md
// has the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

// The values of a tight record, apart in planes.
struct PlaneStreams {
  PlaneMap map;
  std::vector<const std::byte*> streams;
  Hash128 payload_hash;  // what they must have when they are put together
};

struct Record {
  RecordKind kind = RecordKind::pages;
  RecordId id = 0;
  Hash128 checksum = {};
  std::vector<RecordItem> items = {};
  std::span<const std::byte> item_bytes = {};  // as they are stored
  std::span<const std::byte> values = {};      // of all items, in order; no byte more
  std::optional<PlaneStreams> planes = {};     // of one that was opened tight: it has no `values`

  Hash128 payload_hash() const {
    return planes ? planes->payload_hash : hash_bytes(item_bytes, values);
  }
};
// Safe for arbitrary bytes: checks magic, version, sizes and checksums. Fails with corrupt.
//   bytes, capacity  must outlive the record
//   coder            null: tight records are refused
Result<Record> decode_record(std::span<const std::byte> bytes, const StreamCoder* coder,
                             RecordCapacity& capacity);
// The same, but that a tight record stays in planes, for ItemValues: each item is put together
// where it is used, and no byte goes through main memory in between.
Result<Record> open_record(std::span<const std::byte> bytes, const StreamCoder* coder,
                           RecordCapacity& capacity);

// The values of an opened record, item by item.
class ItemValues {
 public:
  // record, scratch: outlive it; scratch is for one item
  ItemValues(const Record& record, Scratch& scratch);
  // Those of the next of its items, valid until the following call.
  std::span<const std::byte> next();
  // Whether they were what was saved, after the last. Fails with corrupt.
  Result<void> check() const;

 private:
  const Record& record_;
  Scratch& scratch_;
  std::optional<PlaneMap::Joiner> joiner_;
  Hasher hasher_;
  std::size_t item_ = 0, at_ = 0;
};

}  // namespace satchel::kvcache
