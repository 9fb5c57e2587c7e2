// Manifest: what a saved cache consists of, and what it is bound to. FORMAT.md has the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/bytes.h"
#include "kernels/base/result.h"
#include "kvcache/base/hash.h"
#include "kvcache/snapshot/record_store.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {

// The newest; those from the oldest on are read. Since 3 records may be tight; 4 is written only
// where there are episodes, or not all text is in reach; 6 of models with recurrent layers, whose
// states were all exact in 5; 7 where there are earlier texts; 8 where records are thinned; 9 where
// text is placed.
inline constexpr std::uint16_t kSnapshotVersion = 9, kSnapshotVersionOldest = 2;
inline constexpr std::uint16_t kSnapshotVersionNoEpisodes = 3, kSnapshotVersionNoStates = 4,
                               kSnapshotVersionExactStates = 5, kSnapshotVersionNoEarlier = 6,
                               kSnapshotVersionNoThin = 7, kSnapshotVersionNonePlaced = 8;

enum class RecordKind : std::uint16_t {
  pages = 1,
  sinks = 2,
  tails = 3,
  scores = 4,
  states = 5,
  manifest = 6,  // of an earlier text; in no manifest's list of records
};

struct RecordEntry {
  RecordId id = 0;
  RecordKind kind = RecordKind::pages;
  std::uint32_t n_bytes = 0;
  Hash128 checksum = {};
  bool is_thin = false;  // thin.h: stored coarser than the cache held it
};

// What a lane sees of a page: a PageRecord without its memory.
struct StoredPage {
  std::uint64_t serial = 0;  // PageRecord::bytes_serial
  std::uint8_t tier = 0;
  std::uint16_t n_tokens = 0;
  kernels::LiveMask live = {};
  std::int32_t shift = 0;
  std::int32_t first_position = 0, last_position = 0;  // of live slots, shift included
};
struct StoredLane {
  std::uint32_t n_sinks = 0, n_tail = 0, tail_kept = 0;
  std::vector<StoredPage> pages = {};  // in the lane's order
};

// What the cache held before its text was cut: kept, so that going back reads nothing again.
struct EarlierText {
  struct Record {
    RecordId id = 0;
    std::uint32_t n_bytes = 0;
    friend bool operator==(const Record&, const Record&) = default;
  };
  std::vector<std::int32_t> tokens = {};  // all that the cache had seen
  std::vector<Record> manifest = {};      // that hold its manifest, in order
  std::vector<Record> records = {};       // that its manifest lists

  friend bool operator==(const EarlierText&, const EarlierText&) = default;
};
// Chosen: as many answers as somebody asks for once more. The oldest go first.
inline constexpr std::size_t kEarlierTextsMax = 8;
// What they may take beside the text, where that takes less itself: for all that, other chats'
// caches give way. Chosen: a minute of typing at the front of a long chat costs no more.
inline constexpr std::size_t kEarlierBytes = 64u << 20;

struct Manifest {
  std::uint64_t generation = 0;
  RecordId next_record = 1;
  std::string model = {}, recipe = {};
  std::vector<std::byte> shape = {}, layouts = {};  // shape_bytes(), layout_bytes()
  std::uint32_t since_flush = 0;
  std::uint64_t next_serial = 1;
  std::vector<std::int32_t> tokens = {};  // all that the cache has seen
  std::vector<TextSegment> segments = {};
  Reach reach = {};
  std::vector<StoredLane> lanes = {};
  std::vector<std::uint64_t> score_chunks = {};  // first positions, rising
  bool has_states = false;                       // of recurrent layers
  std::vector<SavedState> states =
      {};  // positions rise to n_tokens(); none: what is held was cut out
  std::vector<EarlierText> earlier = {};  // oldest first; this text goes on from none of them
  std::vector<RecordEntry> records = {};

  std::size_t n_tokens() const { return tokens.size(); }
};

std::vector<std::byte> encode_manifest(const Manifest& manifest);
// Any bytes; what comes out holds together, as far as it can be judged without a cache. Fails with
// corrupt (CACHE_PARTIAL), or unsupported (CACHE_VERSION) for another version.
Result<Manifest> decode_manifest(std::span<const std::byte> bytes);
// Puts the right checksum at the end of manifest bytes (tests forge with it).
void sign_manifest(std::span<std::byte> bytes);

// How pages are decoded, by the name of their code ("": exact, affine and mixed-bit planes and
// their transforms). A version is raised where the same bytes come to stand for other numbers,
// which the test GoldenDecode tells; codes that are not listed have 1.
struct CodeVersion {
  std::string_view code;
  std::uint16_t version = 1;
};
inline constexpr std::array kCodeVersions = {CodeVersion{.code = "", .version = 1}};

// What a cache's lanes are, and how its pages are laid out and decoded, to be compared byte for
// byte. numerics: SnapshotIdentity::numerics.
std::vector<std::byte> shape_bytes(const CacheShape& shape);
std::vector<std::byte> layout_bytes(const CacheLayout& layout, std::uint16_t numerics,
                                    std::span<const CodeVersion> codes = kCodeVersions);

// What shape_bytes() and layout_bytes() say, without a cache.
class StoredLayouts {
 public:
  // Safe on any bytes: a layout's planes lie side by side in its page. Codes that only a codec's
  // own loops know are left out of it.
  static Result<StoredLayouts> read(std::span<const std::byte> shape,
                                    std::span<const std::byte> layouts);

  struct Page {
    kernels::PageLayout layout;
    std::uint32_t note_bytes = 0;
  };
  // Of a page that has n_bytes with the note behind it (0: whatever it has); null: there is none.
  const Page* find(std::size_t lane, std::uint8_t tier, std::size_t n_tokens,
                   std::size_t n_bytes) const;

 private:
  struct Place {
    std::uint8_t tier;
    std::size_t n_tokens_max;
    Page page;
  };
  std::vector<std::size_t> head_dims_ = {};  // [lanes]
  std::vector<Place> pages_ = {};
};

Error damaged(const std::string& what);  // corrupt, CACHE_PARTIAL

}  // namespace satchel::kvcache
