#include "kvcache/snapshot/manifest.h"

#include <algorithm>
#include <limits>

namespace satchel::kvcache {
namespace {

constexpr std::string_view kMagic = "SATCHELM";
constexpr std::size_t kTextMax = 4096;
constexpr std::size_t kSizeAt = 12;  // of the field that holds the manifest's size
constexpr std::size_t kSpanBytes = 28, kLaneBytes = 16, kPageBytes = 40, kEntryBytes = 32;
constexpr std::size_t kNeededBytes = 12;
constexpr std::size_t kReachPartBytes = 20, kExactStateBytes = 16, kStateBytes = 17;
constexpr std::uint64_t kSerialMax = std::uint64_t{1} << 62;  // many more than can ever be made

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

void write_bytes(ByteWriter& writer, std::span<const std::byte> bytes) {
  writer.number(static_cast<std::uint32_t>(bytes.size())).bytes(bytes);
}

template <class List>
void write_count(ByteWriter& writer, const List& list) {
  writer.number(static_cast<std::uint32_t>(list.size()));
}

void write_page(ByteWriter& writer, const StoredPage& page) {
  writer.number(page.serial).number(page.live.words[0]).number(page.live.words[1]);
  writer.number(page.shift).number(page.first_position).number(page.last_position);
  writer.number(page.n_tokens).number(page.tier).number(std::uint8_t{0});
}

bool has_episodes(const Manifest& manifest) {
  const auto is_episode = [](const TextSegment& segment) {
    return segment.kind == SegmentKind::episode;
  };
  return !manifest.reach.is_all() || std::ranges::any_of(manifest.segments, is_episode);
}

std::uint16_t version_of(const Manifest& manifest) {
  if (std::ranges::any_of(manifest.segments, &TextSegment::is_placed)) return kSnapshotVersion;
  if (std::ranges::any_of(manifest.records, &RecordEntry::is_thin))
    return kSnapshotVersionNonePlaced;
  if (!manifest.earlier.empty()) return kSnapshotVersionNoThin;
  if (manifest.has_states) return kSnapshotVersionNoEarlier;
  return has_episodes(manifest) ? kSnapshotVersionNoStates : kSnapshotVersionNoEpisodes;
}

void write_reach(ByteWriter& writer, const Reach& reach) {
  writer.number(std::uint64_t{reach.near_first});
  write_count(writer, reach.parts);
  for (const Reach::Part& part : reach.parts)
    writer.number(std::uint64_t{part.first})
        .number(std::uint64_t{part.n_tokens})
        .number(part.moved);
}

void write_needed(ByteWriter& writer, const std::vector<EarlierText::Record>& records) {
  write_count(writer, records);
  for (const EarlierText::Record& record : records) writer.number(record.id).number(record.n_bytes);
}

// Of its tokens only those that are not as the text's.
void write_earlier(ByteWriter& writer, const EarlierText& earlier,
                   const std::vector<std::int32_t>& text) {
  const auto differs = std::ranges::mismatch(earlier.tokens, text).in1;
  writer.number(static_cast<std::uint64_t>(differs - earlier.tokens.begin()));
  writer.number(static_cast<std::uint32_t>(earlier.tokens.end() - differs));
  for (auto token = differs; token != earlier.tokens.end(); ++token) writer.number(*token);
  write_needed(writer, earlier.manifest);
  write_needed(writer, earlier.records);
}

// Reads a manifest part by part; each part checks what it says against what stood before.
class ManifestReader {
 public:
  explicit ManifestReader(std::span<const std::byte> bytes) : bytes_(bytes), reader_(bytes) {}

  Result<Manifest> read() {
    SATCHEL_TRY(read_head());
    SATCHEL_TRY(read_text());
    SATCHEL_TRY(read_segments());
    if (version_ > kSnapshotVersionNoEpisodes) SATCHEL_TRY(read_reach());
    SATCHEL_TRY(read_lanes());
    SATCHEL_TRY(read_score_chunks());
    if (version_ > kSnapshotVersionNoEarlier)
      manifest_.has_states = reader_.number<std::uint8_t>() != 0;
    else
      manifest_.has_states = version_ > kSnapshotVersionNoStates;
    if (manifest_.has_states) SATCHEL_TRY(read_states());
    if (version_ > kSnapshotVersionNoEarlier) SATCHEL_TRY(read_earlier());
    SATCHEL_TRY(read_records());
    return std::move(manifest_);
  }

 private:
  // How many items of so many bytes follow; more than there can be: not ok.
  std::size_t count(std::size_t item_bytes) {
    const std::size_t n = reader_.number<std::uint32_t>();
    if (n <= reader_.left() / item_bytes) return n;
    is_whole_ = false;
    return 0;
  }
  std::vector<std::byte> blob() {
    const std::span<const std::byte> from = reader_.bytes(count(1));
    return {from.begin(), from.end()};
  }
  Result<void> check(bool fits, const char* what) const {
    if (fits && is_whole_ && reader_.ok()) return {};
    return damaged(std::string("its manifest is inconsistent: ") + what + " before byte " +
                   std::to_string(reader_.at()));
  }

  Result<void> read_head();
  Result<void> read_text();
  Result<void> read_segments();
  Result<void> read_reach();
  Result<void> read_lanes();
  Result<void> read_page(const StoredLane& lane, StoredPage& page);
  Result<void> read_score_chunks();
  Result<void> read_states();
  std::vector<EarlierText::Record> read_needed();
  Result<void> read_earlier();
  Result<void> read_records();

  std::span<const std::byte> bytes_;
  ByteReader reader_;
  Manifest manifest_ = {};
  std::uint16_t version_ = 0;
  bool is_whole_ = true;
};

Result<void> ManifestReader::read_head() {
  const std::span<const std::byte> magic = reader_.bytes(kMagic.size());
  const std::uint16_t version = version_ = reader_.number<std::uint16_t>();
  if (!reader_.ok() || !std::ranges::equal(magic, as_bytes(kMagic)))
    return damaged("its manifest has a wrong magic number");
  if (version < kSnapshotVersionOldest || version > kSnapshotVersion)
    return Error{ErrorKind::unsupported, "CACHE_VERSION",
                 "format " + std::to_string(version) + "; this version reads " +
                     std::to_string(kSnapshotVersionOldest) + " to " +
                     std::to_string(kSnapshotVersion)};
  const std::size_t body = bytes_.size() - std::min(bytes_.size(), sizeof(Hash128));
  if (!std::ranges::equal(hash_bytes(bytes_.first(body)), bytes_.subspan(body)))
    return damaged("the checksum of its manifest is wrong");
  const auto zero = reader_.number<std::uint16_t>();
  const auto size = reader_.number<std::uint32_t>();
  manifest_.generation = reader_.number<std::uint64_t>();
  manifest_.next_record = reader_.number<std::uint64_t>();
  manifest_.model = reader_.text(kTextMax);
  manifest_.recipe = reader_.text(kTextMax);
  manifest_.shape = blob();
  manifest_.layouts = blob();
  const bool goes_on = manifest_.generation < std::numeric_limits<std::int64_t>::max();
  return check(zero == 0 && size == bytes_.size() && goes_on, "head");
}

Result<void> ManifestReader::read_text() {
  manifest_.since_flush = reader_.number<std::uint32_t>();
  manifest_.next_serial = reader_.number<std::uint64_t>();
  const std::size_t n = count(sizeof(std::int32_t));
  manifest_.tokens.reserve(n);
  for (std::size_t i = 0; i < n; ++i) manifest_.tokens.push_back(reader_.number<std::int32_t>());
  const bool fits = n > 0 && n <= std::size_t{std::numeric_limits<std::int32_t>::max()} &&
                    manifest_.since_flush < kFlushTokens && manifest_.next_serial > 0 &&
                    manifest_.next_serial <= kSerialMax;
  return check(fits, "tokens");
}

// Spans lie side by side and cover all tokens.
Result<void> ManifestReader::read_segments() {
  const std::size_t n = count(kSpanBytes);
  const SegmentKind last_kind =
      version_ <= kSnapshotVersionNoEpisodes ? SegmentKind::answer : SegmentKind::episode;
  std::size_t end = 0;
  bool fits = true;
  for (std::size_t i = 0; i < n && fits; ++i) {
    TextSegment segment;
    segment.first = reader_.number<std::uint64_t>();
    segment.n_tokens = reader_.number<std::uint64_t>();
    const std::uint64_t n_some = reader_.number<std::uint64_t>();
    const auto kind = reader_.number<std::uint8_t>(), state = reader_.number<std::uint8_t>();
    segment.kind = static_cast<SegmentKind>(kind);
    segment.state = static_cast<SegmentState>(state);
    const bool rests = segment.state == SegmentState::resting;
    (rests ? segment.n_resting : segment.n_probed) = n_some;
    const auto placed = reader_.number<std::uint16_t>();
    segment.is_placed = placed != 0;
    fits = placed <= (version_ > kSnapshotVersionNonePlaced ? 1 : 0) && segment.first == end &&
           segment.n_tokens > 0 && segment.n_tokens <= manifest_.n_tokens() - end &&
           segment.n_probed <= segment.n_tokens && kind <= static_cast<std::uint8_t>(last_kind) &&
           state <= static_cast<std::uint8_t>(SegmentState::resting) &&
           (!rests || segment.kind == SegmentKind::episode);
    end += fits ? segment.n_tokens : 0;
    manifest_.segments.push_back(segment);
  }
  return check(fits && end == manifest_.n_tokens(), "segments");
}

Result<void> ManifestReader::read_reach() {
  manifest_.reach.near_first = reader_.number<std::uint64_t>();
  const std::size_t n = count(kReachPartBytes);
  for (std::size_t i = 0; i < n; ++i) {
    Reach::Part part;
    part.first = reader_.number<std::uint64_t>();
    part.n_tokens = reader_.number<std::uint64_t>();
    part.moved = reader_.number<std::int32_t>();
    manifest_.reach.parts.push_back(part);
  }
  const auto fits = [&](const TextSegment& segment) {
    return segment.state != SegmentState::resting ||
           !manifest_.reach.sees(segment.first, segment.end());
  };
  return check(manifest_.reach.holds(manifest_.n_tokens(), kSinkTokens) &&
                   std::ranges::all_of(manifest_.segments, fits),
               "reach");
}

Result<void> ManifestReader::read_lanes() {
  const std::size_t n_lanes = count(kLaneBytes);
  const std::size_t n_tokens = manifest_.n_tokens();
  for (std::size_t i = 0; i < n_lanes; ++i) {
    StoredLane lane;
    lane.n_sinks = reader_.number<std::uint32_t>();
    lane.n_tail = reader_.number<std::uint32_t>();
    lane.tail_kept = reader_.number<std::uint32_t>();
    const std::size_t n_pages = count(kPageBytes);
    const bool fits = lane.n_sinks == std::min(n_tokens, kSinkTokens) &&
                      lane.n_tail <= n_tokens - lane.n_sinks && lane.tail_kept <= kTailTokens &&
                      lane.n_tail <= lane.tail_kept + manifest_.since_flush &&
                      manifest_.reach.near_first <= n_tokens - lane.n_tail;
    SATCHEL_TRY(check(fits, "lanes"));
    lane.pages.resize(n_pages);
    for (StoredPage& page : lane.pages) SATCHEL_TRY(read_page(lane, page));
    manifest_.lanes.push_back(std::move(lane));
  }
  const auto fits = [&](const TextSegment& segment) {
    return segment.n_resting / segment.n_tokens <= n_lanes;
  };
  return check(std::ranges::all_of(manifest_.segments, fits), "lanes");
}

// A page stands between sinks and tail, sees only slots that are filled, and is seen in one place.
Result<void> ManifestReader::read_page(const StoredLane& lane, StoredPage& page) {
  page.serial = reader_.number<std::uint64_t>();
  for (std::uint64_t& word : page.live.words) word = reader_.number<std::uint64_t>();
  page.shift = reader_.number<std::int32_t>();
  page.first_position = reader_.number<std::int32_t>();
  page.last_position = reader_.number<std::int32_t>();
  page.n_tokens = reader_.number<std::uint16_t>();
  page.tier = reader_.number<std::uint8_t>();
  const auto zero = reader_.number<std::uint8_t>();
  if (page.n_tokens == 0 || page.n_tokens > kernels::kPageTokens) return check(false, "pages");
  const kernels::LiveMask filled = kernels::LiveMask::first(page.n_tokens);
  bool fits = zero == 0 && page.live.count() > 0 && page.serial > 0 &&
              page.serial < manifest_.next_serial &&
              page.first_position >= static_cast<std::int32_t>(kSinkTokens) &&
              page.first_position <= page.last_position &&
              static_cast<std::size_t>(page.last_position) < manifest_.n_tokens() - lane.n_tail;
  for (std::size_t i = 0; i < filled.words.size(); ++i)
    fits = fits && (page.live.words[i] & ~filled.words[i]) == 0;
  fits = fits && manifest_.reach.place(static_cast<std::size_t>(page.first_position)) ==
                     manifest_.reach.place(static_cast<std::size_t>(page.last_position));
  return check(fits, "pages");
}

Result<void> ManifestReader::read_score_chunks() {
  const std::size_t n = count(sizeof(std::uint64_t));
  bool fits = true;
  for (std::size_t i = 0; i < n && fits; ++i) {
    const auto first = reader_.number<std::uint64_t>();
    fits = first % ScoreStore::kChunk == 0 && first < manifest_.n_tokens() &&
           (i == 0 || first > manifest_.score_chunks.back());
    manifest_.score_chunks.push_back(first);
  }
  return check(fits, "scores");
}

Result<void> ManifestReader::read_states() {
  const bool has_forms = version_ > kSnapshotVersionExactStates;
  const std::size_t n = count(has_forms ? kStateBytes : kExactStateBytes);
  const std::size_t n_tokens = manifest_.n_tokens();
  bool fits = true;
  for (std::size_t i = 0; i < n && fits; ++i) {
    SavedState state;
    state.position = reader_.number<std::uint64_t>();
    state.serial = reader_.number<std::uint64_t>();
    const auto form = has_forms ? reader_.number<std::uint8_t>() : std::uint8_t{0};
    state.is_packed = form != 0;
    const std::size_t before = i == 0 ? 0 : manifest_.states.back().position;
    fits = state.position > before && state.position <= n_tokens && state.serial > 0 &&
           state.serial < manifest_.next_serial && form <= 1;
    manifest_.states.push_back(state);
  }
  const bool ends = n == 0 || (manifest_.states.back().position == n_tokens &&
                               !manifest_.states.back().is_packed);
  return check(fits && ends, "states");
}

std::vector<EarlierText::Record> ManifestReader::read_needed() {
  std::vector<EarlierText::Record> records(count(kNeededBytes));
  for (EarlierText::Record& record : records) {
    record.id = reader_.number<std::uint64_t>();
    record.n_bytes = reader_.number<std::uint32_t>();
  }
  return records;
}

// Each ends in tokens of its own: else it would be part of this text, or this text of it.
Result<void> ManifestReader::read_earlier() {
  const std::size_t n = reader_.number<std::uint32_t>();
  const std::size_t n_least = version_ > kSnapshotVersionNoThin ? 0 : 1;
  SATCHEL_TRY(check(n >= n_least && n <= kEarlierTextsMax, "earlier texts"));
  const auto is_given = [this](const EarlierText::Record& record) {
    return record.id < manifest_.next_record;
  };
  for (std::size_t i = 0; i < n; ++i) {
    EarlierText earlier;
    const auto n_common = reader_.number<std::uint64_t>();
    const std::size_t n_own = count(sizeof(std::int32_t));
    SATCHEL_TRY(check(n_common <= manifest_.n_tokens() && n_own > 0, "earlier texts"));
    const auto common = std::span(manifest_.tokens).first(n_common);
    earlier.tokens.assign(common.begin(), common.end());
    for (std::size_t own = 0; own < n_own; ++own)
      earlier.tokens.push_back(reader_.number<std::int32_t>());
    earlier.manifest = read_needed();
    earlier.records = read_needed();
    SATCHEL_TRY(check(!earlier.manifest.empty() &&
                          std::ranges::all_of(earlier.manifest, is_given) &&
                          std::ranges::all_of(earlier.records, is_given),
                      "earlier texts"));
    manifest_.earlier.push_back(std::move(earlier));
  }
  return {};
}

Result<void> ManifestReader::read_records() {
  const std::size_t n = count(kEntryBytes);
  for (std::size_t i = 0; i < n; ++i) {
    RecordEntry record;
    record.id = reader_.number<std::uint64_t>();
    const auto kind = reader_.number<std::uint16_t>();
    record.kind = static_cast<RecordKind>(kind);
    const auto thin = reader_.number<std::uint16_t>();
    record.is_thin = thin != 0;
    record.n_bytes = reader_.number<std::uint32_t>();
    record.checksum = reader_.array<sizeof(Hash128)>();
    const bool fits = thin <= (version_ > kSnapshotVersionNoThin ? 1 : 0) &&
                      record.id < manifest_.next_record &&
                      kind >= static_cast<std::uint16_t>(RecordKind::pages) &&
                      kind <= static_cast<std::uint16_t>(manifest_.has_states ? RecordKind::states
                                                                              : RecordKind::scores);
    SATCHEL_TRY(check(fits, "records"));
    manifest_.records.push_back(record);
  }
  return check(reader_.left() == sizeof(Hash128), "records");
}

}  // namespace

Error damaged(const std::string& what) {
  return Error{ErrorKind::corrupt, "CACHE_PARTIAL", what};
}

std::vector<std::byte> encode_manifest(const Manifest& manifest) {
  ByteWriter writer;
  const std::uint16_t version = version_of(manifest);
  writer.bytes(as_bytes(kMagic)).number(version).number(std::uint16_t{0});
  writer.number(std::uint32_t{0});  // the size, below
  writer.number(manifest.generation).number(manifest.next_record);
  writer.text(manifest.model).text(manifest.recipe);
  write_bytes(writer, manifest.shape);
  write_bytes(writer, manifest.layouts);
  writer.number(manifest.since_flush).number(manifest.next_serial);
  write_count(writer, manifest.tokens);
  for (const std::int32_t token : manifest.tokens) writer.number(token);
  write_count(writer, manifest.segments);
  for (const TextSegment& segment : manifest.segments) {
    const bool rests = segment.state == SegmentState::resting;
    for (const std::size_t value :
         {segment.first, segment.n_tokens, rests ? segment.n_resting : segment.n_probed})
      writer.number(std::uint64_t{value});
    writer.number(static_cast<std::uint8_t>(segment.kind));
    writer.number(static_cast<std::uint8_t>(segment.state));
    writer.number(std::uint16_t{segment.is_placed});
  }
  if (version > kSnapshotVersionNoEpisodes) write_reach(writer, manifest.reach);
  write_count(writer, manifest.lanes);
  for (const StoredLane& lane : manifest.lanes) {
    writer.number(lane.n_sinks).number(lane.n_tail).number(lane.tail_kept);
    write_count(writer, lane.pages);
    for (const StoredPage& page : lane.pages) write_page(writer, page);
  }
  write_count(writer, manifest.score_chunks);
  for (const std::uint64_t first : manifest.score_chunks) writer.number(first);
  if (version > kSnapshotVersionNoEarlier) writer.number(std::uint8_t{manifest.has_states});
  if (manifest.has_states) write_count(writer, manifest.states);
  for (const SavedState& state : manifest.states)
    writer.number(std::uint64_t{state.position})
        .number(state.serial)
        .number(std::uint8_t{state.is_packed});
  if (version >= kSnapshotVersionNoThin) write_count(writer, manifest.earlier);
  for (const EarlierText& earlier : manifest.earlier)
    write_earlier(writer, earlier, manifest.tokens);
  write_count(writer, manifest.records);
  for (const RecordEntry& record : manifest.records)
    writer.number(record.id)
        .number(static_cast<std::uint16_t>(record.kind))
        .number(std::uint16_t{record.is_thin})
        .number(record.n_bytes)
        .bytes(record.checksum);
  writer.extend(sizeof(Hash128));
  ByteWriter size;
  size.number(static_cast<std::uint32_t>(writer.size()));
  std::ranges::copy(size.buffer(), writer.buffer().begin() + kSizeAt);
  sign_manifest(writer.buffer());
  return std::move(writer.buffer());
}

void sign_manifest(std::span<std::byte> bytes) {
  if (bytes.size() < sizeof(Hash128)) return;
  const Hash128 hash = hash_bytes(bytes.first(bytes.size() - sizeof(Hash128)));
  std::ranges::copy(hash, bytes.end() - sizeof(Hash128));
}

Result<Manifest> decode_manifest(std::span<const std::byte> bytes) {
  return ManifestReader(bytes).read();
}

}  // namespace satchel::kvcache
