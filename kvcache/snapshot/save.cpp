// Snapshot::save: appends what is new, then points.
#include <algorithm>
#include <limits>

#include "kvcache/snapshot/snapshot_state.h"

namespace satchel::kvcache {
namespace {

// A block ends once it has this much: large enough to read quickly, small enough to verify in
// pieces (../shared/methods/codecs.md 11). Chosen, not measured.
constexpr std::size_t kBlockBytesAim = 1u << 20;

// One save on its way. What it builds replaces Snapshot::State::stored only after the commit.
class Saver {
 public:
  Saver(CacheState& cache, BlockStore& store, ChatId chat, const SnapshotIdentity& identity)
      : cache_(cache),
        store_(store),
        chat_(chat),
        identity_hash_(hash_identity(identity.model, identity.recipe)),
        token_hash_(hash_tokens(identity.tokens)),
        n_tokens_(identity.tokens.size()) {}

  Result<SaveReport> save(StoredSnapshot& stored, const SnapshotIdentity& identity);

 private:
  Result<void> start_from(const StoredSnapshot& stored);
  void reopen_small_block();
  Result<void> put_pages();
  Result<void> put_exact();
  Result<void> put_page_block(std::vector<PageSegment> segments);
  Result<void> put_exact_block(std::size_t first_lane, std::size_t end_lane);
  Result<BlockEntry> put(BlockHeader header, std::span<const std::byte> payload);
  Result<void> download(ByteWriter& to, const void* from, std::size_t n_bytes) const;
  Result<void> download_exact(ByteWriter& to, const ExactBlock& block, std::size_t n_tokens) const;
  Manifest manifest(const SnapshotIdentity& identity) const;

  CacheState& cache_;
  BlockStore& store_;
  ChatId chat_;
  Hash128 identity_hash_, token_hash_;
  std::uint64_t n_tokens_;
  StoredSnapshot next_ = {};
  std::vector<BlockEntry> exact_ = {};
  SaveReport report_ = {};
};

// Builds on what is stored if that is still what the store has and what the cache grew from; else
// writes everything.
Result<void> Saver::start_from(const StoredSnapshot& stored) {
  SATCHEL_TRY_ASSIGN(const std::optional<SavedManifest> newest, store_.newest_manifest(chat_));
  const std::uint64_t generation = newest ? newest->generation : 0;
  if (newest && stored.generation == generation && stored.n_clears == cache_.n_clears) {
    next_ = stored;
  } else {
    if (newest) {
      const Result<Manifest> manifest = decode_manifest(newest->bytes);
      if (manifest.ok()) next_.next_block = manifest->next_block;
      // Without its table nobody knows which ids were used: begin anew.
      if (!manifest.ok()) SATCHEL_TRY(store_.drop(chat_));
    }
    next_.n_pages.assign(cache_.lanes.size(), 0);
  }
  next_.generation = generation + 1;
  next_.n_clears = cache_.n_clears;
  return {};
}

// The pages of a block below the least size are written again with the new ones.
void Saver::reopen_small_block() {
  if (next_.pages.empty() || next_.pages.back().entry.n_bytes >= kBlockBytesMin) return;
  for (const PageSegment& segment : next_.pages.back().segments)
    next_.n_pages[segment.lane] = segment.first_page;
  next_.pages.pop_back();
}

Result<void> Saver::put_pages() {
  bool any = false;
  for (std::size_t lane = 0; lane < cache_.lanes.size(); ++lane)
    any = any || cache_.lanes[lane].pages().size() > next_.n_pages[lane];
  if (!any) return {};
  reopen_small_block();
  const std::size_t n_max = std::max<std::size_t>(
      1, (kBlockBytesAim - kBlockHeaderBytes) / (cache_.layout.bytes + kSegmentBytes));
  std::vector<PageSegment> segments;
  std::size_t n = 0;
  for (std::size_t lane = 0; lane < cache_.lanes.size(); ++lane) {
    const std::size_t n_pages = cache_.lanes[lane].pages().size();
    for (std::size_t first = next_.n_pages[lane]; first < n_pages;) {
      const std::size_t part = std::min(n_pages - first, n_max - n);
      segments.push_back({.lane = static_cast<std::uint32_t>(lane),
                          .first_page = static_cast<std::uint32_t>(first),
                          .n_pages = static_cast<std::uint32_t>(part)});
      first += part;
      n += part;
      if (n < n_max) continue;
      SATCHEL_TRY(put_page_block(std::move(segments)));
      segments.clear();
      n = 0;
    }
  }
  return segments.empty() ? Result<void>() : put_page_block(std::move(segments));
}

Result<void> Saver::put_page_block(std::vector<PageSegment> segments) {
  BlockHeader header{.kind = BlockKind::pages,
                     .n_segments = static_cast<std::uint32_t>(segments.size()),
                     .first_lane = segments.front().lane,
                     .last_lane = segments.back().lane,
                     .first_position = std::numeric_limits<std::int32_t>::max()};
  ByteWriter payload;
  for (const PageSegment& segment : segments)
    payload.number(segment.lane)
        .number(segment.first_page)
        .number(segment.n_pages)
        .number(std::uint32_t{0});
  for (const PageSegment& segment : segments) {
    const Lane& lane = cache_.lanes[segment.lane];
    for (std::size_t i = segment.first_page; i < segment.first_page + segment.n_pages; ++i) {
      const kernels::PageView& page = lane.page_views()[i];
      SATCHEL_TRY(download(payload, page.bytes, cache_.layout.bytes));
      header.first_position = std::min(header.first_position, page.first_position);
      header.last_position = std::max(header.last_position, page.last_position);
    }
    next_.n_pages[segment.lane] = segment.first_page + segment.n_pages;
  }
  SATCHEL_TRY_ASSIGN(const BlockEntry entry, put(header, payload.buffer()));
  next_.pages.push_back({entry, std::move(segments)});
  return {};
}

Result<void> Saver::put_exact() {
  std::size_t first = 0, n_bytes = 0;
  for (std::size_t lane = 0; lane < cache_.lanes.size(); ++lane) {
    n_bytes += lane_fixed_bytes(cache_.shape.head_dim);
    if (n_bytes < kBlockBytesAim && lane + 1 < cache_.lanes.size()) continue;
    SATCHEL_TRY(put_exact_block(first, lane + 1));
    first = lane + 1;
    n_bytes = 0;
  }
  return {};
}

Result<void> Saver::put_exact_block(std::size_t first_lane, std::size_t end_lane) {
  BlockHeader header{.kind = BlockKind::exact,
                     .n_segments = static_cast<std::uint32_t>(end_lane - first_lane),
                     .first_lane = static_cast<std::uint32_t>(first_lane),
                     .last_lane = static_cast<std::uint32_t>(end_lane - 1),
                     .last_position = static_cast<std::int32_t>(n_tokens_) - 1};
  ByteWriter payload;
  for (std::size_t i = first_lane; i < end_lane; ++i) {
    const Lane& lane = cache_.lanes[i];
    for (const std::size_t value : {i, lane.n_sinks(), lane.n_tail(), lane.pages().size()})
      payload.number(static_cast<std::uint32_t>(value));
  }
  for (std::size_t i = first_lane; i < end_lane; ++i) {
    const Lane& lane = cache_.lanes[i];
    SATCHEL_TRY(download_exact(payload, lane.sinks(), lane.n_sinks()));
    SATCHEL_TRY(download_exact(payload, lane.tail(), lane.n_tail()));
  }
  SATCHEL_TRY_ASSIGN(const BlockEntry entry, put(header, payload.buffer()));
  exact_.push_back(entry);
  return {};
}

Result<void> Saver::download(ByteWriter& to, const void* from, std::size_t n_bytes) const {
  return cache_.backend.download(to.room(n_bytes), static_cast<const std::byte*>(from));
}

Result<void> Saver::download_exact(ByteWriter& to, const ExactBlock& block,
                                   std::size_t n_tokens) const {
  const std::size_t row_bytes = cache_.shape.head_dim * sizeof(Half);
  SATCHEL_TRY(download(to, block.k, n_tokens * row_bytes));
  SATCHEL_TRY(download(to, block.v, n_tokens * row_bytes));
  return download(to, block.positions, n_tokens * sizeof(std::int32_t));
}

Result<BlockEntry> Saver::put(BlockHeader header, std::span<const std::byte> payload) {
  header.layout = stored_layout(cache_.layout);
  header.generation = next_.generation;
  header.id = next_.next_block++;
  header.identity = identity_hash_;
  header.token_hash = token_hash_;
  header.n_tokens = n_tokens_;
  const std::vector<std::byte> bytes = encode_block(header, payload);
  SATCHEL_ASSERT(bytes.size() <= kBlockBytesMax);
  SATCHEL_TRY(store_.put_block(chat_, header.id, bytes));
  report_.bytes_written += bytes.size();
  ++report_.n_blocks_written;
  return BlockEntry{.id = header.id,
                    .kind = header.kind,
                    .n_bytes = static_cast<std::uint32_t>(bytes.size()),
                    .checksum = block_checksum(bytes)};
}

Manifest Saver::manifest(const SnapshotIdentity& identity) const {
  Manifest manifest{.generation = next_.generation,
                    .next_block = next_.next_block,
                    .n_layers = static_cast<std::uint32_t>(cache_.shape.n_layers),
                    .n_kv_heads = static_cast<std::uint32_t>(cache_.shape.n_kv_heads),
                    .head_dim = static_cast<std::uint32_t>(cache_.shape.head_dim),
                    .layout = stored_layout(cache_.layout),
                    .n_tokens = n_tokens_,
                    .token_hash = token_hash_,
                    .model = std::string(identity.model),
                    .recipe = std::string(identity.recipe),
                    .n_pages = next_.n_pages};
  for (const StoredPages& pages : next_.pages) manifest.blocks.push_back(pages.entry);
  manifest.blocks.insert(manifest.blocks.end(), exact_.begin(), exact_.end());
  return manifest;
}

Result<SaveReport> Saver::save(StoredSnapshot& stored, const SnapshotIdentity& identity) {
  SATCHEL_TRY(start_from(stored));
  SATCHEL_TRY(put_pages());
  SATCHEL_TRY(put_exact());
  const Manifest table = manifest(identity);
  const std::vector<std::byte> bytes = encode_manifest(table);
  std::vector<BlockId> live;
  for (const BlockEntry& block : table.blocks) {
    live.push_back(block.id);
    report_.bytes_total += block.n_bytes;
  }
  SATCHEL_TRY(store_.commit(chat_, next_.generation, bytes, live));
  report_.n_tokens = n_tokens_;
  report_.bytes_written += bytes.size();
  report_.bytes_total += bytes.size();
  stored = std::move(next_);
  return report_;
}

}  // namespace

Result<SaveReport> Snapshot::save(const SnapshotIdentity& identity) {
  CacheState& cache = state_->cache;
  SATCHEL_ASSERT(!cache.reading);
  cache.undo_open_step();
  SATCHEL_TRY(cache.flush_full_tails());
  SATCHEL_ASSERT(identity.tokens.size() == cache.n_tokens);
  if (cache.n_tokens == 0) return SaveReport{};
  return Saver(cache, state_->store, state_->chat, identity).save(state_->stored, identity);
}

}  // namespace satchel::kvcache
