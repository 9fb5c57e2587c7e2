#include "kvcache/snapshot/planes.h"

#include <array>
#include <cstring>
#include <map>
#include <numeric>

#include "kernels/base/assert.h"
#include "kernels/contract/mixed_bit.h"

namespace satchel::kvcache {
namespace {

enum class Owner : unsigned { page = 0, k = 1, v = 2, quads = 3 };
// Tags of what is no plane of K or V.
enum class Part : unsigned {
  rest = 0,
  positions = 1,
  log_counts = 2,
  note = 3,
  scores = 4,
  states = 5,
  state_codes = 6
};

constexpr std::uint16_t tag_of(Owner owner, unsigned kind, unsigned bits) {
  return static_cast<std::uint16_t>((static_cast<unsigned>(owner) << 12) | (kind << 6) | bits);
}
Stretch part(Part part, Numbers numbers, std::size_t n_bytes) {
  return {.tag = tag_of(Owner::page, static_cast<unsigned>(part), 0),
          .numbers = numbers,
          .n_bytes = static_cast<std::uint32_t>(n_bytes)};
}
Stretch plane(Owner owner, kernels::PlaneKind kind, unsigned bits, std::size_t n_bytes) {
  return {.tag = tag_of(owner, static_cast<unsigned>(kind), bits),
          .numbers = bits == 16 ? Numbers::halves : Numbers::bytes,
          .n_bytes = static_cast<std::uint32_t>(n_bytes)};
}

// The parts of a mixed-bit plane by their place in the page.
void cut_quads(const kernels::PageLayout& layout, const kernels::Plane& codes,
               std::map<std::size_t, Stretch>& at) {
  kernels::for_each_part(
      layout.k, layout.head_dim, layout.capacity,
      [&](std::size_t channel, unsigned below, unsigned bits, std::size_t offset) {
        const auto part = static_cast<unsigned>(channel / kernels::kQuad) * 8 + below;
        const std::size_t n_bytes = kernels::part_bytes(layout.capacity, bits);
        at[codes.at + offset] = {.tag = tag_of(Owner::quads, 0, part),
                                 .numbers = Numbers::bytes,
                                 .n_bytes = static_cast<std::uint32_t>(n_bytes)};
      });
}

std::size_t planes_of(Numbers numbers) {
  constexpr std::array<std::size_t, 4> kPlanes = {1, 2, 4, 4};
  return kPlanes[static_cast<std::size_t>(numbers)];
}

// n numbers of 2 or 4 bytes to their planes and back. The planes are named one by one, and apart
// from each other, so that the compiler can take many numbers at once.
void split_halves(const std::byte* __restrict from, std::size_t n, std::byte* __restrict low,
                  std::byte* __restrict high) {
  for (std::size_t i = 0; i < n; ++i) {
    low[i] = from[2 * i];
    high[i] = from[2 * i + 1];
  }
}
void join_halves(const std::byte* __restrict low, const std::byte* __restrict high, std::size_t n,
                 std::byte* __restrict to) {
  for (std::size_t i = 0; i < n; ++i) {
    to[2 * i] = low[i];
    to[2 * i + 1] = high[i];
  }
}
void split_words(const std::byte* from, std::size_t n, std::byte* const* to) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t byte = 0; byte < 4; ++byte) to[byte][i] = from[4 * i + byte];
}
void join_words(const std::byte* const* from, std::size_t n, std::byte* to) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t byte = 0; byte < 4; ++byte) to[4 * i + byte] = from[byte][i];
}

std::uint32_t read_word(const std::byte* from) {
  std::uint32_t word = 0;
  for (unsigned byte = 0; byte < 4; ++byte)
    word |= std::to_integer<std::uint32_t>(from[byte]) << (8 * byte);
  return word;
}
std::byte byte_of(std::uint32_t word, unsigned byte) {
  return static_cast<std::byte>((word >> (8 * byte)) & 0xffu);
}

void split_rising(const std::byte* from, std::size_t n, std::byte* const* to) {
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t word = read_word(from + 4 * i);
    for (unsigned byte = 0; byte < 4; ++byte) to[byte][i] = byte_of(word - before, byte);
    before = word;
  }
}
void join_rising(const std::byte* const* from, std::size_t n, std::byte* to) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::array<std::byte, 4> more = {from[0][i], from[1][i], from[2][i], from[3][i]};
    word += read_word(more.data());
    for (unsigned byte = 0; byte < 4; ++byte) to[4 * i + byte] = byte_of(word, byte);
  }
}

bool is_whole(const Stretch& stretch) {
  return stretch.numbers <= Numbers::rising && stretch.n_bytes > 0 &&
         stretch.n_bytes % planes_of(stretch.numbers) == 0;
}

}  // namespace

Cut cut_page(const kernels::PageLayout& layout, std::size_t note_bytes, QuadCut quads) {
  std::map<std::size_t, Stretch> at;  // by place in the page
  at[layout.positions_at] = part(Part::positions, Numbers::rising, 4u * layout.capacity);
  if (layout.log_counts_at != 0)
    at[layout.log_counts_at] = part(Part::log_counts, Numbers::words, 4u * layout.capacity);
  for (const Owner owner : {Owner::k, Owner::v})
    for (const kernels::Plane& p : (owner == Owner::k ? layout.k : layout.v).all())
      if (p.bytes > 0 && p.kind == kernels::PlaneKind::mixed_bit_codes && quads == QuadCut::apart)
        cut_quads(layout, p, at);
      else if (p.bytes > 0)
        at[p.at] = plane(owner, p.kind, p.bits, p.bytes);
  Cut cut;
  std::size_t end = 0;
  for (const auto& [place, stretch] : at) {
    SATCHEL_ASSERT(place >= end && is_whole(stretch));
    if (place > end) cut.push_back(part(Part::rest, Numbers::bytes, place - end));
    cut.push_back(stretch);
    end = place + stretch.n_bytes;
  }
  SATCHEL_ASSERT(end <= layout.bytes);
  if (end < layout.bytes) cut.push_back(part(Part::rest, Numbers::bytes, layout.bytes - end));
  // What a note is, its reader knows; most are fp16.
  if (note_bytes % 2 != 0) cut.push_back(part(Part::rest, Numbers::bytes, note_bytes));
  if (note_bytes > 0 && note_bytes % 2 == 0)
    cut.push_back(part(Part::note, Numbers::halves, note_bytes));
  return cut;
}

Cut cut_exact(const TokenShape& token, std::size_t n_tokens) {
  const std::size_t n_bytes = n_tokens * token.head_dim * sizeof(Half);
  Cut cut = {plane(Owner::k, kernels::PlaneKind::exact16, 16, n_bytes)};
  if (!token.is_latent) cut.push_back(plane(Owner::v, kernels::PlaneKind::exact16, 16, n_bytes));
  return cut;
}

Cut cut_scores(std::size_t n_bytes) {
  return {part(Part::scores, Numbers::words, n_bytes)};
}

Cut cut_states(std::size_t n_bytes, std::size_t n_codes) {
  Cut cut;
  if (n_bytes > n_codes) cut.push_back(part(Part::states, Numbers::words, n_bytes - n_codes));
  if (n_codes > 0) cut.push_back(part(Part::state_codes, Numbers::bytes, n_codes));
  return cut;
}

Cut cut_manifest(std::size_t n_bytes) {
  return {part(Part::rest, Numbers::bytes, n_bytes)};
}

std::optional<PlaneMap> PlaneMap::make(std::span<const Cut> cuts,
                                       std::span<const std::uint16_t> cut_of,
                                       std::size_t bytes_max) {
  struct Group {
    Numbers numbers = Numbers::bytes;
    std::size_t n = 0, stream = 0;
  };
  std::map<std::uint16_t, Group> groups;
  for (const Cut& cut : cuts)
    for (const Stretch& stretch : cut)
      if (!is_whole(stretch) || groups.try_emplace(stretch.tag, Group{.numbers = stretch.numbers})
                                        .first->second.numbers != stretch.numbers)
        return std::nullopt;
  std::size_t left = bytes_max;  // each stretch takes some of it, so that the loop ends soon
  for (const std::uint16_t which : cut_of) {
    if (which >= cuts.size()) return std::nullopt;
    for (const Stretch& stretch : cuts[which]) {
      if (stretch.n_bytes > left) return std::nullopt;
      left -= stretch.n_bytes;
      groups[stretch.tag].n += stretch.n_bytes / planes_of(stretch.numbers);
    }
  }
  PlaneMap map;
  map.cut_of_.assign(cut_of.begin(), cut_of.end());
  for (auto& [tag, group] : groups) {
    group.stream = map.stream_bytes_.size();
    map.stream_bytes_.insert(map.stream_bytes_.end(), planes_of(group.numbers), group.n);
  }
  for (const Cut& cut : cuts) {
    std::vector<StreamPart>& parts = map.parts_.emplace_back();
    for (const Stretch& stretch : cut)
      parts.push_back({.stream = groups[stretch.tag].stream,
                       .numbers = stretch.numbers,
                       .n = stretch.n_bytes / planes_of(stretch.numbers)});
  }
  return map;
}

std::size_t PlaneMap::total_bytes() const {
  return std::accumulate(stream_bytes_.begin(), stream_bytes_.end(), std::size_t{0});
}

void PlaneMap::split(std::span<const std::byte> values, std::span<std::byte* const> streams) const {
  SATCHEL_ASSERT(values.size() == total_bytes() && streams.size() == stream_bytes_.size());
  std::vector<std::byte*> next(streams.begin(), streams.end());
  const std::byte* from = values.data();
  for (const std::uint16_t which : cut_of_)
    for (const StreamPart& part : parts_[which]) {
      std::byte** const to = &next[part.stream];
      if (part.numbers == Numbers::bytes) std::memcpy(*to, from, part.n);
      if (part.numbers == Numbers::halves) split_halves(from, part.n, to[0], to[1]);
      if (part.numbers == Numbers::words) split_words(from, part.n, to);
      if (part.numbers == Numbers::rising) split_rising(from, part.n, to);
      for (std::size_t plane = 0; plane < planes_of(part.numbers); ++plane) to[plane] += part.n;
      from += part.n * planes_of(part.numbers);
    }
}

void PlaneMap::join(std::span<const std::byte* const> streams, std::span<std::byte> values) const {
  SATCHEL_ASSERT(values.size() == total_bytes() && streams.size() == stream_bytes_.size());
  Joiner joiner(*this, streams);
  std::byte* to = values.data();
  for (std::size_t i = 0; i < cut_of_.size(); ++i) to += joiner.next(to);
}

std::size_t PlaneMap::Joiner::next(std::byte* to) {
  const std::byte* const begin = to;
  for (const StreamPart& part : map_.parts_[map_.cut_of_[item_]]) {
    const std::byte** const from = &next_[part.stream];
    if (part.numbers == Numbers::bytes) std::memcpy(to, *from, part.n);
    if (part.numbers == Numbers::halves) join_halves(from[0], from[1], part.n, to);
    if (part.numbers == Numbers::words) join_words(from, part.n, to);
    if (part.numbers == Numbers::rising) join_rising(from, part.n, to);
    for (std::size_t plane = 0; plane < planes_of(part.numbers); ++plane) from[plane] += part.n;
    to += part.n * planes_of(part.numbers);
  }
  ++item_;
  return static_cast<std::size_t>(to - begin);
}

}  // namespace satchel::kvcache
