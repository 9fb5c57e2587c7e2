// Snapshot::restore: verifies everything, stages it beside the empty cache, then makes it live.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "kvcache/size_text.h"
#include "kvcache/snapshot/snapshot_state.h"

namespace satchel::kvcache {
namespace {

bool all_finite(std::span<const std::byte> halves) {
  for (std::size_t i = 0; i + 1 < halves.size(); i += sizeof(Half))
    if ((std::to_integer<unsigned>(halves[i + 1]) & 0x7cu) == 0x7cu) return false;
  return true;
}

// Positions of one stretch; from file order to this machine's.
std::vector<std::int32_t> read_positions(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  std::vector<std::int32_t> positions(bytes.size() / sizeof(std::int32_t));
  for (std::int32_t& position : positions) position = reader.number<std::int32_t>();
  return positions;
}

struct StagedLane {
  std::vector<PageId> pages = {};
  std::vector<kernels::PageView> views = {};
  std::int32_t last_position = kSinkTokens - 1;  // of what has been staged behind the sinks
  std::size_t n_sinks = 0;
  std::vector<std::int32_t> tail = {};  // positions
  bool has_exact = false;
};

// One restore on its way: takes pages of the pool, which it gives back unless make_live() was
// reached.
class Restorer {
 public:
  Restorer(CacheState& cache, const SnapshotIdentity& identity, const Manifest& manifest)
      : cache_(cache),
        identity_(identity),
        manifest_(manifest),
        identity_hash_(hash_identity(identity.model, identity.recipe)),
        lanes_(cache.lanes.size()) {}
  ~Restorer() {
    for (auto page = taken_.rbegin(); page != taken_.rend(); ++page) cache_.pool.give_page(*page);
  }
  Restorer(Restorer&&) = delete;

  // corrupt: what is wrong with the block. Others: the backend's.
  Result<void> add(const BlockEntry& entry, std::span<const std::byte> bytes);
  Result<void> check_whole() const;
  Result<void> make_live();
  StoredSnapshot stored() && { return std::move(stored_); }

 private:
  Result<void> check_header(const BlockHeader& header, const BlockEntry& entry);
  Result<void> add_pages(const BlockView& block, const BlockEntry& entry);
  Result<void> add_page(std::size_t lane, std::span<const std::byte> bytes);
  Result<void> add_exact(const BlockView& block);
  Result<void> add_exact_lane(const ExactSegment& segment, ByteReader& reader);
  Result<void> upload_exact(const ExactBlock& to, std::size_t n_tokens,
                            std::span<const std::byte> values,
                            std::span<const std::int32_t> positions);
  Result<void> check_rising(std::size_t lane, std::span<const std::int32_t> positions);

  CacheState& cache_;
  const SnapshotIdentity& identity_;
  const Manifest& manifest_;
  Hash128 identity_hash_;
  std::vector<StagedLane> lanes_;
  std::vector<PageId> taken_ = {};
  StoredSnapshot stored_ = {};
  std::uint64_t prefix_known_ = 0;  // the last prefix hashed: blocks of one save share it
  Hash128 prefix_hash_ = hash_tokens({});
};

Result<void> Restorer::check_header(const BlockHeader& header, const BlockEntry& entry) {
  if (header.id != entry.id || header.kind != entry.kind ||
      header.generation > manifest_.generation)
    return damaged("it is not the block the table names");
  if (header.layout != stored_layout(cache_.layout))
    return damaged("its pages are laid out otherwise");
  if (header.identity != identity_hash_) return damaged("it belongs to another model or recipe");
  if (header.n_tokens > manifest_.n_tokens) return damaged("it is longer than its table says");
  if (header.n_tokens != prefix_known_) {
    prefix_known_ = header.n_tokens;
    prefix_hash_ = hash_tokens(identity_.tokens.first(static_cast<std::size_t>(prefix_known_)));
  }
  if (header.token_hash != prefix_hash_) return damaged("it was made from other tokens");
  return {};
}

Result<void> Restorer::add(const BlockEntry& entry, std::span<const std::byte> bytes) {
  if (bytes.size() != entry.n_bytes)
    return damaged("it has " + std::to_string(bytes.size()) + " of " +
                   std::to_string(entry.n_bytes) + " bytes");
  SATCHEL_TRY_ASSIGN(const BlockView block, decode_block(bytes));
  if (block_checksum(bytes) != entry.checksum)
    return damaged("it is not the block the table names");
  SATCHEL_TRY(check_header(block.header, entry));
  return entry.kind == BlockKind::pages ? add_pages(block, entry) : add_exact(block);
}

Result<void> Restorer::add_pages(const BlockView& block, const BlockEntry& entry) {
  SATCHEL_TRY_ASSIGN(PagePayload payload, decode_pages(block, lanes_.size()));
  std::size_t at = 0;
  for (const PageSegment& segment : payload.segments) {
    StagedLane& lane = lanes_[segment.lane];
    const std::size_t left = manifest_.n_pages[segment.lane] - lane.pages.size();
    if (segment.first_page != lane.pages.size() || segment.n_pages > left)
      return damaged("pages of lane " + std::to_string(segment.lane) + " are missing or too many");
    for (std::uint32_t i = 0; i < segment.n_pages; ++i, at += cache_.layout.bytes)
      SATCHEL_TRY(add_page(segment.lane, payload.pages.subspan(at, cache_.layout.bytes)));
  }
  stored_.pages.push_back({entry, std::move(payload.segments)});
  return {};
}

Result<void> Restorer::add_page(std::size_t lane, std::span<const std::byte> bytes) {
  const kernels::PageLayout& layout = cache_.layout;
  const std::vector<std::int32_t> positions = read_positions(
      bytes.subspan(layout.positions_at, kernels::kPageTokens * sizeof(std::int32_t)));
  SATCHEL_TRY(check_rising(lane, positions));
  // In both forms everything between the positions and the first codes is fp16, and in exact16 the
  // codes are.
  const bool exact = layout.form == kernels::PageForm::exact16;
  const std::size_t begin = exact ? layout.k_codes_at : layout.k_scale_at;
  const std::size_t end =
      exact ? layout.v_codes_at + kernels::kPageTokens * layout.head_dim * sizeof(Half)
            : layout.k_codes_at;
  if (!all_finite(bytes.subspan(begin, end - begin)))
    return damaged("a page of lane " + std::to_string(lane) + " holds values that are no numbers");
  SATCHEL_TRY_ASSIGN(const PageId page, cache_.pool.take_page());
  taken_.push_back(page);
  SATCHEL_TRY(cache_.backend.upload(cache_.pool.page(page), bytes));
  lanes_[lane].pages.push_back(page);
  lanes_[lane].views.push_back({.bytes = cache_.pool.page(page),
                                .layout = &layout,
                                .first_position = positions.front(),
                                .last_position = positions.back()});
  return {};
}

// Rises from where the lane's pages ended, and stays below the token count.
Result<void> Restorer::check_rising(std::size_t lane, std::span<const std::int32_t> positions) {
  std::int32_t& last = lanes_[lane].last_position;
  for (const std::int32_t position : positions) {
    if (position <= last || static_cast<std::uint64_t>(position) >= manifest_.n_tokens)
      return damaged("positions of lane " + std::to_string(lane) + " do not rise");
    last = position;
  }
  return {};
}

Result<void> Restorer::add_exact(const BlockView& block) {
  SATCHEL_TRY_ASSIGN(const ExactPayload payload, decode_exact(block, lanes_.size()));
  ByteReader reader(payload.values);
  for (const ExactSegment& segment : payload.segments) SATCHEL_TRY(add_exact_lane(segment, reader));
  return {};
}

Result<void> Restorer::add_exact_lane(const ExactSegment& segment, ByteReader& reader) {
  StagedLane& lane = lanes_[segment.lane];
  const auto n_sinks = std::min<std::uint64_t>(kSinkTokens, manifest_.n_tokens);
  const bool fits = !lane.has_exact && segment.n_sinks == n_sinks &&
                    segment.n_pages == manifest_.n_pages[segment.lane] &&
                    lane.pages.size() == segment.n_pages &&
                    (segment.n_pages == 0 || segment.n_tail >= kTailTokens) &&
                    (segment.n_tail == 0 || n_sinks == kSinkTokens);
  if (!fits)
    return damaged("the lengths of lane " + std::to_string(segment.lane) + " are impossible");
  lane.has_exact = true;
  lane.n_sinks = segment.n_sinks;
  const std::size_t token_bytes = 2 * cache_.shape.head_dim * sizeof(Half);
  const auto sink_values = reader.bytes(segment.n_sinks * token_bytes);
  const auto sinks = read_positions(reader.bytes(segment.n_sinks * sizeof(std::int32_t)));
  const auto tail_values = reader.bytes(segment.n_tail * token_bytes);
  lane.tail = read_positions(reader.bytes(segment.n_tail * sizeof(std::int32_t)));
  for (std::size_t i = 0; i < sinks.size(); ++i)
    if (sinks[i] != static_cast<std::int32_t>(i))
      return damaged("the sinks of lane " + std::to_string(segment.lane) +
                     " are not the first tokens");
  SATCHEL_TRY(check_rising(segment.lane, lane.tail));
  if (!all_finite(sink_values) || !all_finite(tail_values))
    return damaged("lane " + std::to_string(segment.lane) + " holds values that are no numbers");
  const Lane& target = cache_.lanes[segment.lane];  // empty, so what is written is not seen yet
  SATCHEL_TRY(upload_exact(target.sinks(), segment.n_sinks, sink_values, sinks));
  return upload_exact(target.tail(), segment.n_tail, tail_values, lane.tail);
}

Result<void> Restorer::upload_exact(const ExactBlock& to, std::size_t n_tokens,
                                    std::span<const std::byte> values,
                                    std::span<const std::int32_t> positions) {
  const std::size_t half = n_tokens * cache_.shape.head_dim * sizeof(Half);
  SATCHEL_TRY(cache_.backend.upload(reinterpret_cast<std::byte*>(to.k), values.first(half)));
  SATCHEL_TRY(cache_.backend.upload(reinterpret_cast<std::byte*>(to.v), values.subspan(half)));
  return cache_.backend.upload(reinterpret_cast<std::byte*>(to.positions),
                               std::as_bytes(positions));
}

Result<void> Restorer::check_whole() const {
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (!lanes_[i].has_exact || lanes_[i].pages.size() != manifest_.n_pages[i])
      return damaged("lane " + std::to_string(i) + " is not complete");
  return {};
}

Result<void> Restorer::make_live() {
  std::vector<std::size_t> n_pages;
  for (const StagedLane& lane : lanes_) n_pages.push_back(lane.pages.size());
  cache_.reserve_pages(n_pages);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = cache_.lanes[i];
    for (std::size_t page = 0; page < lanes_[i].pages.size(); ++page)
      lane.add_page(lanes_[i].pages[page], lanes_[i].views[page]);
    for (std::size_t slot = 0; slot < lanes_[i].tail.size(); ++slot)
      lane.set_tail_position(slot, lanes_[i].tail[slot]);
    lane.set_lengths(lanes_[i].n_sinks, lanes_[i].tail.size());
    cache_.refresh(i);
  }
  cache_.n_tokens = static_cast<std::size_t>(manifest_.n_tokens);
  taken_.clear();
  stored_.generation = manifest_.generation;
  stored_.next_block = manifest_.next_block;
  stored_.n_clears = cache_.n_clears;
  stored_.n_pages = manifest_.n_pages;
  return {};
}

std::string tokens_text(std::size_t n) {
  return "reading the chat's " + count_text(n) + " tokens again.";
}

RestoreReport refused(RestoreOutcome outcome, std::string why, const SnapshotIdentity& identity) {
  return {.outcome = outcome,
          .message = std::move(why) + "; " + tokens_text(identity.tokens.size())};
}

RestoreReport damaged_report(const Error& error, const std::string& where,
                             const SnapshotIdentity& identity) {
  return refused(RestoreOutcome::damaged,
                 "The saved cache is damaged (" + where + error.message + ")", identity);
}

// What the manifest alone can tell; nothing: go on.
std::optional<RestoreReport> refuse(const CacheState& cache, const Manifest& manifest,
                                    const SnapshotIdentity& identity) {
  const auto no = [&](RestoreOutcome outcome, std::string why) {
    return refused(outcome, std::move(why), identity);
  };
  const bool same_shape = manifest.n_layers == cache.shape.n_layers &&
                          manifest.n_kv_heads == cache.shape.n_kv_heads &&
                          manifest.head_dim == cache.shape.head_dim;
  if (manifest.model != identity.model || !same_shape)
    return no(RestoreOutcome::other_model, "Saved with another model");
  if (manifest.recipe != identity.recipe)
    return no(RestoreOutcome::other_recipe, "Saved with another recipe");
  if (manifest.layout != stored_layout(cache.layout))
    return no(RestoreOutcome::other_format, "Saved with another layout of pages");
  if (manifest.n_tokens > identity.tokens.size() ||
      hash_tokens(identity.tokens.first(static_cast<std::size_t>(manifest.n_tokens))) !=
          manifest.token_hash)
    return no(RestoreOutcome::other_tokens, "The chat was changed since it was saved");
  std::size_t n_pages = 0;
  for (const std::uint32_t n : manifest.n_pages) n_pages += n;
  if (n_pages > cache.pool.free_pages())
    return no(RestoreOutcome::other_format,
              "The saved cache takes " + size_text(n_pages * cache.layout.bytes) +
                  " beside sinks and tails, more than the memory limit leaves");
  return std::nullopt;
}

}  // namespace

Result<RestoreReport> Snapshot::restore(const SnapshotIdentity& identity) {
  State& s = *state_;
  SATCHEL_ASSERT(s.cache.n_tokens == 0 && !s.cache.step_open && !s.cache.reading);
  s.stored = {};
  SATCHEL_TRY_ASSIGN(const std::optional<SavedManifest> saved, s.store.newest_manifest(s.chat));
  if (!saved)
    return RestoreReport{.outcome = RestoreOutcome::nothing_saved,
                         .message = "No saved cache; " + tokens_text(identity.tokens.size())};
  const Result<Manifest> decoded = decode_manifest(saved->bytes);
  if (!decoded.ok() && decoded.error().kind == ErrorKind::unsupported)
    return refused(RestoreOutcome::other_format, "Saved in " + decoded.error().message, identity);
  if (!decoded.ok()) return damaged_report(decoded.error(), "", identity);
  const Manifest& manifest = decoded.value();
  if (manifest.generation != saved->generation || manifest.n_tokens == 0)
    return damaged_report(damaged("its table is of another save"), "", identity);
  if (std::optional<RestoreReport> no = refuse(s.cache, manifest, identity)) return *no;

  Restorer restorer(s.cache, identity, manifest);
  RestoreReport report;
  report.outcome = RestoreOutcome::restored;
  report.bytes_read = saved->bytes.size();
  for (const BlockEntry& entry : manifest.blocks) {
    const Result<std::vector<std::byte>> bytes = s.store.block(s.chat, entry.id);
    if (!bytes.ok() && bytes.error().kind != ErrorKind::not_found) return bytes.error();
    const Result<void> added =
        bytes.ok() ? restorer.add(entry, bytes.value()) : damaged("it is missing");
    if (!added.ok() && added.error().kind != ErrorKind::corrupt) return added.error();
    if (!added.ok())
      return damaged_report(added.error(), "block " + std::to_string(entry.id) + ": ", identity);
    report.bytes_read += bytes->size();
  }
  const Result<void> whole = restorer.check_whole();
  if (!whole.ok()) return damaged_report(whole.error(), "", identity);
  SATCHEL_TRY(restorer.make_live());
  s.stored = std::move(restorer).stored();
  report.n_tokens = s.cache.n_tokens;
  return report;
}

}  // namespace satchel::kvcache
