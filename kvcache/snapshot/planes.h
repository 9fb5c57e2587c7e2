// Planes: where alike bytes lie in the items of a record. A cut says of what numbers an item
// consists, side by side; the bytes of alike numbers of all items go to streams of their own, a
// number's low bytes apart from its high ones, since of an fp16 number only the high byte has a
// pattern.
//   differs by codec and tier: a cut is data and is stored with the record, so that nothing but the
//           record is needed to put it together again
//   source  arXiv:2310.07240 (CacheGen: KV at rest is worth an entropy coder); Parquet's
//           BYTE_STREAM_SPLIT (bytes of equal rank side by side)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/contract/page_layout.h"
#include "kvcache/lanes/token_shape.h"

namespace satchel::kvcache {

// The numbers are written to disk (FORMAT.md).
enum class Numbers : std::uint16_t {
  bytes = 0,   // as they are
  halves = 1,  // of 2 bytes: two planes
  words = 2,   // of 4 bytes: four planes
  rising = 3,  // int32, each as what it is more than the one before: four planes
};

struct Stretch {
  std::uint16_t tag = 0;  // stretches of one tag share their streams
  Numbers numbers = Numbers::bytes;
  std::uint32_t n_bytes = 0;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};
using Cut = std::vector<Stretch>;  // of an item, without holes

// Whether mixed-bit codes share one stream, or those of each quad have streams of their own: worth
// it where the quads' codes have been made alike (thin_page.h).
enum class QuadCut { together, apart };
// A page with the reader's note behind it.
Cut cut_page(const kernels::PageLayout& layout, std::size_t note_bytes,
             QuadCut quads = QuadCut::together);
// Sinks or a tail: k, then v if the lane holds it.
Cut cut_exact(const TokenShape& token, std::size_t n_tokens);
Cut cut_scores(std::size_t n_bytes);                       // fp32
Cut cut_states(std::size_t n_bytes, std::size_t n_codes);  // of a layer: fp32, then codes
Cut cut_manifest(std::size_t n_bytes);                     // a part of one

// The streams of a record whose item i is cut as cuts[cut_of[i]]: by tag, rising; of a tag its
// planes, the lowest byte first.
class PlaneMap {
 public:
  // Nothing: a stretch is empty or no whole number of numbers, or one tag has two kinds of them, or
  // all of it is more than bytes_max. Safe on any cuts.
  static std::optional<PlaneMap> make(std::span<const Cut> cuts,
                                      std::span<const std::uint16_t> cut_of, std::size_t bytes_max);

  std::span<const std::size_t> stream_bytes() const { return stream_bytes_; }
  std::size_t total_bytes() const;
  // values: of all items, side by side. streams: one for each, as long as stream_bytes() says.
  void split(std::span<const std::byte> values, std::span<std::byte* const> streams) const;
  void join(std::span<const std::byte* const> streams, std::span<std::byte> values) const;
  class Joiner;

 private:
  struct StreamPart {
    std::size_t stream = 0;  // the first of its planes
    Numbers numbers = Numbers::bytes;
    std::size_t n = 0;  // numbers
  };
  std::vector<std::vector<StreamPart>> parts_ = {};  // of each cut
  std::vector<std::uint16_t> cut_of_ = {};
  std::vector<std::size_t> stream_bytes_ = {};
};

// Puts items together again, one after the other.
class PlaneMap::Joiner {
 public:
  // map: outlives it
  Joiner(const PlaneMap& map, std::span<const std::byte* const> streams)
      : map_(map), next_(streams.begin(), streams.end()) {}
  // `to` has room for the item. How many bytes it has.
  std::size_t next(std::byte* to);

 private:
  const PlaneMap& map_;
  std::vector<const std::byte*> next_;  // of each stream
  std::size_t item_ = 0;
};

}  // namespace satchel::kvcache
