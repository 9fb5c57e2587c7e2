// Snapshot::save: appends what is new, then points.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "kvcache/snapshot/snapshot_state.h"

namespace satchel::kvcache {
namespace {

// A block ends once it has this much: large enough to read quickly, small enough to verify in
// pieces. Chosen, not measured.
constexpr std::size_t kBlockBytesAim = 1u << 20;

// One save on its way. What it builds replaces Snapshot::State::stored only after the commit.
class Saver {
 public:
  Saver(CacheState& cache, BlockStore& store, const CacheKey& key)
      : cache_(cache), store_(store), key_(key) {}

  Result<SaveReport> save(StoredSnapshot& stored, const SnapshotIdentity& identity);

 private:
  Result<void> start_from(const StoredSnapshot& stored);
  bool is_referenced(const StoredBlock& block) const;
  Result<void> put_pages();
  Result<void> put_sinks();
  Result<void> put_tails();
  Result<void> put_scores();
  // Where the values of one more item go; puts what has gathered if that makes the block too large.
  Result<ByteWriter*> room_for(BlockKind kind, const BlockItem& item, Cut cut);
  Result<void> put(BlockKind kind);
  Result<void> add_exact(BlockKind kind, std::size_t lane, const ExactBlock& block, std::size_t n);
  Result<void> download(ByteWriter& to, const void* from, std::size_t n_bytes) const;
  Manifest manifest(const SnapshotIdentity& identity) const;

  CacheState& cache_;
  BlockStore& store_;
  const CacheKey& key_;
  std::unordered_set<std::uint64_t> referenced_ = {};  // serials
  std::vector<StoredBlock> old_exact_ = {};            // stored, not pages
  StoredSnapshot next_ = {};
  std::vector<BlockItem> items_ = {};  // of the block that gathers …
  std::vector<Cut> cuts_ = {};         // … and how they may be cut
  ByteWriter values_ = {};
  SaveReport report_ = {};
};

bool Saver::is_referenced(const StoredBlock& block) const {
  return std::ranges::any_of(block.serials,
                             [&](std::uint64_t serial) { return referenced_.contains(serial); });
}

// Builds on what is stored if that is still what the store has; else writes everything. Blocks none
// of whose pages a lane still sees are left out.
Result<void> Saver::start_from(const StoredSnapshot& stored) {
  for (const Lane& lane : cache_.lanes)
    for (const PageRecord& page : lane.pages()) referenced_.insert(page.bytes_serial);
  SATCHEL_TRY_ASSIGN(const std::optional<SavedManifest> newest, store_.newest_manifest(key_));
  const std::uint64_t generation = newest ? newest->generation : 0;
  if (newest && stored.generation == generation) {
    next_.next_block = stored.next_block;
    for (const StoredBlock& block : stored.blocks) {
      if (block.entry.kind != BlockKind::pages) old_exact_.push_back(block);
      if (is_referenced(block)) next_.blocks.push_back(block);
    }
  } else if (newest) {
    const Result<Manifest> manifest = decode_manifest(newest->bytes);
    if (manifest.ok()) next_.next_block = manifest->next_block;
    // Without its table nobody knows which ids were used: begin anew.
    if (!manifest.ok()) SATCHEL_TRY(store_.drop(key_));
  }
  next_.generation = generation + 1;
  return {};
}

Result<void> Saver::put_pages() {
  std::unordered_set<std::uint64_t> stored;
  for (const StoredBlock& block : next_.blocks)
    stored.insert(block.serials.begin(), block.serials.end());
  const auto is_new = [&](std::uint64_t serial) { return !stored.contains(serial); };
  if (std::ranges::none_of(referenced_, is_new)) return {};
  // The pages of a block below the least size are written again with the new ones.
  if (!next_.blocks.empty() && next_.blocks.back().entry.n_bytes < kBlockBytesMin) {
    for (const std::uint64_t serial : next_.blocks.back().serials) stored.erase(serial);
    next_.blocks.pop_back();
  }
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i) {
    const Lane& lane = cache_.lanes[i];
    for (const PageRecord& page : lane.pages()) {
      if (!stored.insert(page.bytes_serial).second)
        continue;  // or the second part of a page in two
      const std::size_t n_note = cache_.note_bytes(lane.head_dim());
      const std::size_t n_bytes = page.layout->bytes + n_note;
      SATCHEL_TRY_ASSIGN(ByteWriter* const to,
                         room_for(BlockKind::pages,
                                  {.number = page.bytes_serial,
                                   .lane = static_cast<std::uint32_t>(i),
                                   .n_bytes = static_cast<std::uint32_t>(n_bytes)},
                                  cut_page(*page.layout, n_note)));
      SATCHEL_TRY(download(*to, cache_.arena.at(page.extent), n_bytes));
    }
  }
  return put(BlockKind::pages);
}

Result<void> Saver::put_sinks() {
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i)
    SATCHEL_TRY(add_exact(BlockKind::sinks, i, cache_.lanes[i].sinks(), cache_.lanes[i].n_sinks()));
  return put(BlockKind::sinks);
}

Result<void> Saver::put_tails() {
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i)
    SATCHEL_TRY(add_exact(BlockKind::tails, i, cache_.lanes[i].tail(), cache_.lanes[i].n_tail()));
  return put(BlockKind::tails);
}

// Positions need not be stored: sinks are the first tokens, a tail the newest.
Result<void> Saver::add_exact(BlockKind kind, std::size_t lane, const ExactBlock& block,
                              std::size_t n) {
  if (n == 0) return {};
  const std::size_t row_bytes = n * cache_.lanes[lane].head_dim() * sizeof(Half);
  SATCHEL_TRY_ASSIGN(ByteWriter* const to,
                     room_for(kind,
                              {.lane = static_cast<std::uint32_t>(lane),
                               .n_bytes = static_cast<std::uint32_t>(2 * row_bytes)},
                              cut_exact(2 * row_bytes)));
  SATCHEL_TRY(download(*to, block.k, row_bytes));
  return download(*to, block.v, row_bytes);
}

Result<void> Saver::put_scores() {
  std::vector<float> row(ScoreStore::kChunk);
  for (const std::size_t first : cache_.scores.chunks()) {
    if (first >= cache_.n_tokens) continue;  // of a token that has not come
    for (std::size_t lane = 0; lane < cache_.lanes.size(); ++lane) {
      SATCHEL_TRY(cache_.scores.read(lane, first, row));
      SATCHEL_TRY_ASSIGN(
          ByteWriter* const to,
          room_for(BlockKind::scores,
                   {.number = first,
                    .lane = static_cast<std::uint32_t>(lane),
                    .n_bytes = static_cast<std::uint32_t>(row.size() * sizeof(float))},
                   cut_scores(row.size() * sizeof(float))));
      to->bytes(std::as_bytes(std::span(row)));
    }
  }
  return put(BlockKind::scores);
}

Result<ByteWriter*> Saver::room_for(BlockKind kind, const BlockItem& item, Cut cut) {
  const std::size_t n_bytes =
      kBlockHeaderBytes + (items_.size() + 1) * kBlockItemBytes + values_.size() + item.n_bytes;
  if (!items_.empty() && n_bytes > kBlockBytesAim) SATCHEL_TRY(put(kind));
  items_.push_back(item);
  cuts_.push_back(std::move(cut));
  return &values_;
}

// What gathered becomes a block, unless the very same is stored.
Result<void> Saver::put(BlockKind kind) {
  if (items_.empty()) return {};
  const BlockId id = next_.next_block;
  std::vector<std::byte> bytes = encode_block(kind, id, items_, values_.buffer());
  SATCHEL_ASSERT(bytes.size() <= kBlockBytesMax);
  StoredBlock block;
  if (kind == BlockKind::pages) {
    for (const BlockItem& item : items_) block.serials.push_back(item.number);
  } else {
    block.payload_hash = block_payload_hash(bytes);
  }
  const std::vector<Cut> cuts = std::exchange(cuts_, {});
  items_.clear();
  values_.buffer().clear();
  const auto same = std::ranges::find_if(old_exact_, [&](const StoredBlock& old) {
    return old.entry.kind == kind && old.payload_hash == block.payload_hash;
  });
  if (kind != BlockKind::pages && same != old_exact_.end()) {
    next_.blocks.push_back(*same);
    return {};
  }
  if (store_.coder() != nullptr) {
    std::vector<std::byte> tight = tighten_block(bytes, cuts, *store_.coder());
    if (!tight.empty()) bytes = std::move(tight);
  }
  block.entry = {.id = id,
                 .kind = kind,
                 .n_bytes = static_cast<std::uint32_t>(bytes.size()),
                 .checksum = block_checksum(bytes)};
  SATCHEL_TRY(store_.put_block(key_, id, bytes));
  ++next_.next_block;
  report_.bytes_written += bytes.size();
  ++report_.n_blocks_written;
  next_.blocks.push_back(std::move(block));
  return {};
}

Result<void> Saver::download(ByteWriter& to, const void* from, std::size_t n_bytes) const {
  return cache_.backend.download(to.room(n_bytes), static_cast<const std::byte*>(from));
}

Manifest Saver::manifest(const SnapshotIdentity& identity) const {
  Manifest manifest{.generation = next_.generation,
                    .next_block = next_.next_block,
                    .model = std::string(identity.model),
                    .recipe = std::string(identity.recipe),
                    .shape = shape_bytes(cache_.shape),
                    .layouts = layout_bytes(cache_),
                    .since_flush = static_cast<std::uint32_t>(cache_.since_flush),
                    .next_serial = cache_.next_serial,
                    .tokens = {identity.tokens.begin(), identity.tokens.end()},
                    .spans = cache_.spans};
  for (const Lane& lane : cache_.lanes) {
    StoredLane stored{.n_sinks = static_cast<std::uint32_t>(lane.n_sinks()),
                      .n_tail = static_cast<std::uint32_t>(lane.n_tail()),
                      .tail_kept = static_cast<std::uint32_t>(lane.tail_kept())};
    for (const PageRecord& page : lane.pages())
      stored.pages.push_back({.serial = page.bytes_serial,
                              .tier = page.tier,
                              .n_tokens = static_cast<std::uint16_t>(page.n_tokens),
                              .live = page.live,
                              .shift = page.shift,
                              .first_position = page.first_position,
                              .last_position = page.last_position});
    manifest.lanes.push_back(std::move(stored));
  }
  for (const std::size_t first : cache_.scores.chunks())
    if (first < cache_.n_tokens) manifest.score_chunks.push_back(first);
  for (const StoredBlock& block : next_.blocks) manifest.blocks.push_back(block.entry);
  return manifest;
}

Result<SaveReport> Saver::save(StoredSnapshot& stored, const SnapshotIdentity& identity) {
  SATCHEL_TRY(start_from(stored));
  SATCHEL_TRY(put_pages());
  SATCHEL_TRY(put_sinks());
  SATCHEL_TRY(put_tails());
  SATCHEL_TRY(put_scores());
  const Manifest table = manifest(identity);
  const std::vector<std::byte> bytes = encode_manifest(table);
  std::vector<BlockId> live;
  for (const BlockEntry& block : table.blocks) {
    live.push_back(block.id);
    report_.bytes_total += block.n_bytes;
  }
  SATCHEL_TRY(store_.commit(key_, {.generation = next_.generation,
                                   .manifest = bytes,
                                   .live = live,
                                   .model = identity.model,
                                   .recipe = identity.recipe,
                                   .n_tokens = table.n_tokens()}));
  report_.n_tokens = table.n_tokens();
  report_.bytes_written += bytes.size();
  report_.bytes_total += bytes.size();
  stored = std::move(next_);
  return report_;
}

}  // namespace

Result<SaveReport> Snapshot::save(const SnapshotIdentity& identity) {
  State& s = *state_;
  SATCHEL_TRY(s.lanes.make_idle());
  SATCHEL_ASSERT(identity.tokens.size() == s.lanes.n_tokens);
  if (s.lanes.n_tokens == 0) return SaveReport{};
  return Saver(s.lanes, s.store, s.key).save(s.stored, identity);
}

}  // namespace satchel::kvcache
