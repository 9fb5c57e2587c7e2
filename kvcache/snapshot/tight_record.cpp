#include "kvcache/snapshot/tight_record.h"

#include <algorithm>

namespace satchel::kvcache {
namespace {

constexpr std::size_t kStretchBytes = 8, kStreamBytes = 8;
enum class Coding : std::uint32_t { none = 0, coder = 1 };

// The distinct ones of many cuts, and which of them each is.
struct CutTable {
  std::vector<Cut> cuts = {};
  std::vector<std::uint16_t> cut_of = {};
};

CutTable table_of(std::span<const Cut> all) {
  CutTable table;
  for (const Cut& cut : all) {
    const auto found = std::ranges::find(table.cuts, cut);
    table.cut_of.push_back(static_cast<std::uint16_t>(found - table.cuts.begin()));
    if (found == table.cuts.end()) table.cuts.push_back(cut);
  }
  SATCHEL_ASSERT(table.cuts.size() <= 0xffff);  // as many as tiers, head_dims and capacities
  return table;
}

void write_cuts(ByteWriter& writer, const CutTable& table) {
  for (const std::uint16_t which : table.cut_of) writer.number(which);
  for (const Cut& cut : table.cuts) {
    writer.number(static_cast<std::uint16_t>(cut.size())).number(std::uint16_t{0});
    for (const Stretch& stretch : cut)
      writer.number(stretch.tag)
          .number(static_cast<std::uint16_t>(stretch.numbers))
          .number(stretch.n_bytes);
  }
}

Result<CutTable> read_cuts(ByteReader& reader, std::size_t n_cuts, std::size_t n_items) {
  CutTable table;
  if (n_items > reader.left() / sizeof(std::uint16_t)) return damaged("its cuts are incomplete");
  for (std::size_t i = 0; i < n_items; ++i) table.cut_of.push_back(reader.number<std::uint16_t>());
  for (std::size_t i = 0; i < n_cuts; ++i) {
    const std::size_t n = reader.number<std::uint16_t>();
    const auto zero = reader.number<std::uint16_t>();
    if (zero != 0 || n > reader.left() / kStretchBytes) return damaged("its cuts are incomplete");
    Cut& cut = table.cuts.emplace_back();
    for (std::size_t k = 0; k < n; ++k) {
      Stretch stretch;
      stretch.tag = reader.number<std::uint16_t>();
      stretch.numbers = static_cast<Numbers>(reader.number<std::uint16_t>());
      stretch.n_bytes = reader.number<std::uint32_t>();
      cut.push_back(stretch);
    }
  }
  if (!reader.ok()) return damaged("its cuts are incomplete");
  return table;
}

// Each item is cut into just its bytes.
bool fits(const CutTable& table, std::span<const RecordItem> items) {
  std::vector<std::uint64_t> cut_bytes;
  for (const Cut& cut : table.cuts) {
    std::uint64_t n_bytes = 0;
    for (const Stretch& stretch : cut) n_bytes += stretch.n_bytes;
    cut_bytes.push_back(n_bytes);
  }
  for (std::size_t i = 0; i < items.size(); ++i)
    if (table.cut_of[i] >= cut_bytes.size() || cut_bytes[table.cut_of[i]] != items[i].n_bytes)
      return false;
  return true;
}

// Where the streams lie that are not coded; those that are, in `decoded`.
Result<std::vector<const std::byte*>> read_streams(ByteReader& reader, const PlaneMap& map,
                                                   const StreamCoder& coder, std::byte* decoded) {
  ByteReader list(reader.bytes(map.stream_bytes().size() * kStreamBytes));
  std::vector<const std::byte*> streams;
  std::vector<CodedStream> coded;
  for (const std::size_t n_bytes : map.stream_bytes()) {
    const std::size_t n_stored = list.number<std::uint32_t>();
    const auto coding = static_cast<Coding>(list.number<std::uint32_t>());
    const std::span<const std::byte> stored = reader.bytes(n_stored);
    const bool is_plain = coding == Coding::none && n_stored == n_bytes;
    if (!reader.ok() || (!is_plain && coding != Coding::coder))
      return damaged("its streams are incomplete");
    streams.push_back(is_plain ? stored.data() : decoded);
    if (is_plain) continue;
    coded.push_back({.from = stored, .to = {decoded, n_bytes}});
    decoded += n_bytes;
  }
  if (reader.left() != 0) return damaged("it is longer than its header says");
  if (!coder.decode(coded)) return damaged("one of its streams is damaged");
  return streams;
}

}  // namespace

void write_tight(ByteWriter& writer, const Hash128& payload_hash, std::span<const Cut> cuts,
                 std::span<const std::byte> values, const StreamCoding& how) {
  const CutTable table = table_of(cuts);
  const std::optional<PlaneMap> map = PlaneMap::make(table.cuts, table.cut_of, values.size());
  SATCHEL_ASSERT(map && map->total_bytes() == values.size());
  writer.bytes(payload_hash).number(how.coder.number());
  writer.number(static_cast<std::uint16_t>(table.cuts.size()));
  write_cuts(writer, table);
  std::vector<std::byte> planes(values.size());
  std::vector<std::byte*> streams;
  std::byte* next = planes.data();
  for (const std::size_t n_bytes : map->stream_bytes()) {
    streams.push_back(next);
    next += n_bytes;
  }
  map->split(values, streams);
  ByteWriter stored;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const std::span<const std::byte> plane(streams[i], map->stream_bytes()[i]);
    const std::size_t begin = stored.size();
    std::size_t n_bytes =
        how.coder.encode(plane, stored.extend(plane.size() - plane.size() / how.saves_at_least));
    const Coding coding = n_bytes > 0 ? Coding::coder : Coding::none;
    stored.buffer().resize(begin + n_bytes);
    if (coding == Coding::none) stored.bytes(plane);
    n_bytes = stored.size() - begin;
    writer.number(static_cast<std::uint32_t>(n_bytes)).number(static_cast<std::uint32_t>(coding));
  }
  writer.bytes(stored.buffer());
}

Result<void> read_tight(ByteReader& reader, Record& record, const StreamCoder* coder,
                        RecordCapacity& capacity) {
  const Hash128 payload_hash = reader.array<sizeof(Hash128)>();
  const auto coder_number = reader.number<std::uint16_t>();
  if (coder == nullptr || coder->number() != coder_number)
    return damaged("it uses a coding that this version does not know");
  const std::size_t n_cuts = reader.number<std::uint16_t>();
  SATCHEL_TRY_ASSIGN(const CutTable table, read_cuts(reader, n_cuts, record.items.size()));
  const std::size_t n_head = kRecordHeaderBytes + record.item_bytes.size();
  std::optional<PlaneMap> map =
      PlaneMap::make(table.cuts, table.cut_of, kRecordBytesMax - std::min(n_head, kRecordBytesMax));
  if (!map || !fits(table, record.items)) return damaged("its items are cut in the wrong places");
  SATCHEL_TRY_ASSIGN(
      std::vector<const std::byte*> streams,
      read_streams(reader, *map, *coder, capacity.planes.at_least(map->total_bytes())));
  record.planes = {std::move(*map), std::move(streams), payload_hash};
  return {};
}

}  // namespace satchel::kvcache
