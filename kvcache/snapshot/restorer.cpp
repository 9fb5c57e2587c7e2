#include "kvcache/snapshot/restorer.h"

#include <algorithm>
#include <string>

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

}  // namespace

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

}  // namespace satchel::kvcache
