#include "kvcache/snapshot/record.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "kvcache/snapshot/tight_record.h"

namespace satchel::kvcache {
namespace {

constexpr std::string_view kMagic = "SATCHELB";
constexpr std::uint16_t kPlainVersion = 2, kTightVersion = 3;
constexpr std::size_t kVersionAt = 8, kKindAt = 10, kPayloadSizeAt = 24, kChecksumAt = 32;

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Hash128 checksum_of(std::span<const std::byte> bytes) {
  return hash_bytes(bytes.first(kChecksumAt), bytes.subspan(kRecordHeaderBytes));
}

std::uint16_t version_of(std::span<const std::byte> bytes) {
  return ByteReader(bytes.subspan(kVersionAt)).number<std::uint16_t>();
}

// All but magic, version and checksums has been checked then.
Result<Record> read_record(std::span<const std::byte> bytes, const StreamCoder* coder,
                           RecordCapacity& capacity) {
  ByteReader reader(bytes.subspan(kKindAt));
  Record record;
  record.checksum = record_checksum(bytes);
  record.kind = static_cast<RecordKind>(reader.number<std::uint16_t>());
  const std::size_t n_items = reader.number<std::uint32_t>();
  record.id = reader.number<std::uint64_t>();
  const auto n_payload = reader.number<std::uint64_t>();
  reader = ByteReader(bytes.subspan(kRecordHeaderBytes));
  if (n_payload != reader.left() || n_items > reader.left() / kRecordItemBytes)
    return damaged("it is shorter than its header says");
  record.item_bytes = bytes.subspan(kRecordHeaderBytes, n_items * kRecordItemBytes);
  record.items.reserve(n_items);
  std::uint64_t n_values = 0;  // below 2^32 times 2^19 items: no overflow
  for (std::size_t i = 0; i < n_items; ++i) {
    RecordItem item;
    item.number = reader.number<std::uint64_t>();
    item.lane = reader.number<std::uint32_t>();
    item.n_bytes = reader.number<std::uint32_t>();
    n_values += item.n_bytes;
    record.items.push_back(item);
  }
  if (is_tight(bytes)) {
    SATCHEL_TRY(read_tight(reader, record, coder, capacity));
    return record;
  }
  if (n_values != reader.left()) return damaged("its items do not match their sizes");
  record.values = reader.bytes(reader.left());
  return record;
}

// A tight record's planes become its values.
void join(Record& record, RecordCapacity& capacity) {
  const PlaneStreams& planes = *record.planes;
  const std::size_t n_values = planes.map.total_bytes();
  const std::span<std::byte> values(capacity.values.at_least(n_values), n_values);
  planes.map.join(planes.streams, values);
  record.values = values;
  record.planes.reset();
}

Error after_decoding() {
  return damaged("its checksum is wrong after decoding");
}

}  // namespace

std::vector<std::byte> encode_record(RecordKind kind, RecordId id,
                                     std::span<const RecordItem> items,
                                     std::span<const std::byte> values) {
  ByteWriter writer;
  writer.buffer().reserve(kRecordHeaderBytes + items.size() * kRecordItemBytes + values.size());
  writer.bytes(as_bytes(kMagic)).number(kPlainVersion);
  writer.number(static_cast<std::uint16_t>(kind)).number(static_cast<std::uint32_t>(items.size()));
  writer.number(id);
  writer.extend(kRecordHeaderBytes - kPayloadSizeAt);
  for (const RecordItem& item : items)
    writer.number(item.number).number(item.lane).number(item.n_bytes);
  writer.bytes(values);
  sign_record(writer.buffer());
  return std::move(writer.buffer());
}

std::vector<std::byte> tighten_record(std::span<const std::byte> record, std::span<const Cut> cuts,
                                      const StreamCoder& coder, std::size_t stream_saves) {
  const std::size_t head_bytes = kRecordHeaderBytes + cuts.size() * kRecordItemBytes;
  SATCHEL_ASSERT(version_of(record) == kPlainVersion && record.size() >= head_bytes);
  const std::size_t n_bytes_max = record.size() - record.size() / kTightSavesAtLeast;
  ByteWriter writer;
  writer.bytes(record.first(kVersionAt)).number(kTightVersion);
  writer.bytes(record.first(head_bytes).subspan(writer.size()));
  write_tight(writer, record_payload_hash(record), cuts, record.subspan(head_bytes),
              {coder, stream_saves});
  if (writer.size() > n_bytes_max) return {};
  sign_record(writer.buffer());
  return std::move(writer.buffer());
}

void sign_record(std::span<std::byte> bytes) {
  if (bytes.size() < kRecordHeaderBytes) return;
  ByteWriter size;
  size.number(static_cast<std::uint64_t>(bytes.size() - kRecordHeaderBytes));
  std::ranges::copy(size.buffer(), bytes.begin() + kPayloadSizeAt);
  const Hash128 hash = checksum_of(bytes);
  std::ranges::copy(hash, bytes.begin() + kChecksumAt);
}

void sign_record(std::span<std::byte> bytes, const StreamCoder& coder) {
  sign_record(bytes);
  if (!is_tight(bytes)) return;
  RecordCapacity capacity;
  Result<Record> record = read_record(bytes, &coder, capacity);
  if (!record.ok()) return;
  join(*record, capacity);
  const std::size_t at = kRecordHeaderBytes + record->item_bytes.size();
  std::ranges::copy(record->payload_hash(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  sign_record(bytes);
}

Hash128 record_checksum(std::span<const std::byte> bytes) {
  Hash128 hash{};
  std::ranges::copy(bytes.subspan(kChecksumAt, hash.size()), hash.begin());
  return hash;
}

Hash128 record_payload_hash(std::span<const std::byte> bytes) {
  return hash_bytes(bytes.subspan(kRecordHeaderBytes));
}

bool is_tight(std::span<const std::byte> bytes) {
  return bytes.size() >= kRecordHeaderBytes && version_of(bytes) == kTightVersion;
}

Result<Record> open_record(std::span<const std::byte> bytes, const StreamCoder* coder,
                           RecordCapacity& capacity) {
  if (bytes.size() < kRecordHeaderBytes || bytes.size() > kRecordBytesMax)
    return damaged("it has " + std::to_string(bytes.size()) + " bytes");
  if (!std::ranges::equal(bytes.first(kMagic.size()), as_bytes(kMagic)))
    return damaged("its magic number is wrong");
  if (version_of(bytes) != kPlainVersion && version_of(bytes) != kTightVersion)
    return damaged("its version differs from its manifest's");
  if (record_checksum(bytes) != checksum_of(bytes)) return damaged("its checksum is wrong");
  return read_record(bytes, coder, capacity);
}

Result<Record> decode_record(std::span<const std::byte> bytes, const StreamCoder* coder,
                             RecordCapacity& capacity) {
  SATCHEL_TRY_ASSIGN(Record record, open_record(bytes, coder, capacity));
  if (!record.planes) return record;
  const Hash128 wanted = record.planes->payload_hash;
  join(record, capacity);
  if (record.payload_hash() != wanted) return after_decoding();
  return record;
}

ItemValues::ItemValues(const Record& record, Scratch& scratch)
    : record_(record), scratch_(scratch) {
  if (!record.planes) return;
  joiner_.emplace(record.planes->map, record.planes->streams);
  hasher_.add(record.item_bytes);
}

std::span<const std::byte> ItemValues::next() {
  const std::size_t n_bytes = record_.items[item_++].n_bytes;
  if (!joiner_) {
    at_ += n_bytes;
    return record_.values.subspan(at_ - n_bytes, n_bytes);
  }
  std::byte* const to = scratch_.at_least(n_bytes);
  joiner_->next(to);
  hasher_.add({to, n_bytes});
  return {to, n_bytes};
}

Result<void> ItemValues::check() const {
  SATCHEL_ASSERT(item_ == record_.items.size());
  if (joiner_ && hasher_.hash() != record_.planes->payload_hash) return after_decoding();
  return {};
}

}  // namespace satchel::kvcache
