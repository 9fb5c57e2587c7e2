#include "runtime/tokenizer/piece_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>

#include "kernels/base/assert.h"

namespace satchel::runtime {
namespace {

constexpr std::uint32_t kEmpty = 0xFFFFFFFF;
constexpr std::uint32_t kIdMask = Vocabulary::kPiecesMax - 1;
static_assert(std::has_single_bit(Vocabulary::kPiecesMax));

std::uint64_t hash_of(std::string_view spelling) {
  return XXH3_64bits(spelling.data(), spelling.size());
}

// Of the upper half of the hash, whose lower half chooses the place; never all ones, so that no
// slot in use looks empty.
std::uint32_t tag_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 33) & ~kIdMask;
}

}  // namespace

PieceIndex::PieceIndex(std::size_t n_most)
    : slots_(std::bit_ceil(n_most + n_most / 2 + 1), kEmpty) {
  SATCHEL_ASSERT(n_most <= Vocabulary::kPiecesMax);
}

std::size_t PieceIndex::place_of(const PieceList& pieces, std::string_view spelling,
                                 std::uint64_t hash) const {
  const std::uint32_t tag = tag_of(hash);
  const std::size_t last = slots_.size() - 1;
  for (std::size_t at = hash & last;; at = (at + 1) & last) {
    const std::uint32_t slot = slots_[at];
    if (slot == kEmpty) return at;
    if ((slot & ~kIdMask) == tag && pieces[slot & kIdMask] == spelling) return at;
  }
}

std::optional<TokenId> PieceIndex::add(const PieceList& pieces, TokenId piece) {
  const std::string_view spelling = pieces[static_cast<std::size_t>(piece)];
  const std::uint64_t hash = hash_of(spelling);
  std::uint32_t& slot = slots_[place_of(pieces, spelling, hash)];
  if (slot != kEmpty) return static_cast<TokenId>(slot & kIdMask);
  slot = tag_of(hash) | static_cast<std::uint32_t>(piece);
  return std::nullopt;
}

std::optional<TokenId> PieceIndex::find(const PieceList& pieces, std::string_view spelling) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t slot = slots_[place_of(pieces, spelling, hash_of(spelling))];
  if (slot == kEmpty) return std::nullopt;
  return static_cast<TokenId>(slot & kIdMask);
}

}  // namespace satchel::runtime
