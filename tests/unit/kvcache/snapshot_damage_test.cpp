// Damaged and forged snapshots: every byte, every length, and fields that lie behind a valid
// checksum. Nothing may crash, and what is accepted must be what was saved.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "cache_driver.h"
#include "kvcache/snapshot/block.h"
#include "kvcache/snapshot/snapshot.h"
#include "support/block_stores.h"

namespace satchel::kvcache {
namespace {

using test::MemoryBlockStore;
using Bytes = std::vector<std::byte>;

constexpr ChatId kChat{1};
constexpr std::size_t kTokens = 262;  // 4 sinks, a page, a tail of 130

class Damage : public testing::TestWithParam<const char*> {
 protected:
  CacheDriver::Setup setup() const {
    return {
        .recipe = GetParam(), .n_layers = 1, .n_heads = 1, .n_kv_heads = 1, .pool_bytes = 1u << 20};
  }
  void SetUp() override {
    CacheDriver saved(setup());
    saved.check_attention = false;
    while (saved.cache().n_tokens() < kTokens) ASSERT_TRUE(saved.step().ok());
    Snapshot snapshot(saved.cache(), store_, kChat);
    recipe_ = saved.recipe().hash();
    ASSERT_TRUE(snapshot.save(identity()).ok());
    bytes_ = saved.bytes();
    cache_ = std::make_unique<CacheDriver>(setup());
    snapshot_ = std::make_unique<Snapshot>(cache_->cache(), store_, kChat);
  }
  SnapshotIdentity identity() const { return {.model = "m", .recipe = recipe_, .tokens = ids_}; }

  // Restores; accepts only what was saved, unless the bytes were signed anew.
  RestoreOutcome restore(bool forged = false) {
    const auto report = snapshot_->restore(identity());
    EXPECT_TRUE(report.ok());
    if (!report.ok()) return RestoreOutcome::damaged;
    if (report->outcome != RestoreOutcome::restored) {
      EXPECT_EQ(cache_->cache().n_tokens(), 0u);
      EXPECT_EQ(cache_->cache().stats().body_bytes, 0u);
      EXPECT_FALSE(report->message.empty());
      return report->outcome;
    }
    if (!forged) {
      EXPECT_EQ(cache_->bytes(), bytes_);
    }
    for (const auto& [position, token] : cache_->decode(0, 0))
      for (const float value : token.k) EXPECT_TRUE(std::isfinite(value));
    cache_->cache().clear();
    return report->outcome;
  }
  // Signs a block anew, in the table too.
  void sign(BlockId id) {
    Bytes& block = rows().blocks[id];
    sign_block(block);
    Bytes& table = rows().manifest->bytes;
    Result<Manifest> manifest = decode_manifest(table);
    ASSERT_TRUE(manifest.ok());
    for (BlockEntry& entry : manifest->blocks)
      if (entry.id == id) {
        entry.n_bytes = static_cast<std::uint32_t>(block.size());
        if (block.size() >= kBlockHeaderBytes) entry.checksum = block_checksum(block);
      }
    table = encode_manifest(*manifest);
  }
  MemoryBlockStore::Chat& rows() { return store_.chats[kChat]; }
  std::vector<Bytes*> all_rows() {
    std::vector<Bytes*> all = {&rows().manifest->bytes};
    for (auto& [id, bytes] : rows().blocks) all.push_back(&bytes);
    return all;
  }

  const std::vector<std::int32_t> ids_ = std::vector<std::int32_t>(kTokens, 3);
  std::string recipe_;
  MemoryBlockStore store_;
  Bytes bytes_;
  std::unique_ptr<CacheDriver> cache_;
  std::unique_ptr<Snapshot> snapshot_;
};

TEST_P(Damage, the_undamaged_one_is_restored) {
  EXPECT_EQ(restore(), RestoreOutcome::restored);
}

TEST_P(Damage, every_byte_with_three_other_values_is_found) {
  for (Bytes* row : all_rows())
    for (std::size_t i = 0; i < row->size(); ++i)
      for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
        const std::byte old = (*row)[i];
        (*row)[i] = old ^ std::byte{static_cast<unsigned char>(flip)};
        ASSERT_NE(restore(), RestoreOutcome::restored) << "byte " << i;
        (*row)[i] = old;
      }
}

TEST_P(Damage, every_truncation_and_bytes_behind_the_end_are_found) {
  for (Bytes* row : all_rows()) {
    const Bytes whole = *row;
    for (std::size_t n = 0; n < whole.size(); ++n) {
      row->assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      ASSERT_NE(restore(), RestoreOutcome::restored) << "cut to " << n;
    }
    *row = whole;
    row->resize(whole.size() + 1024);
    ASSERT_NE(restore(), RestoreOutcome::restored);
    *row = whole;
  }
}

TEST_P(Damage, forged_bytes_with_valid_checksums_do_no_harm) {
  for (auto& [id, bytes] : rows().blocks) {
    const Bytes whole = bytes;
    for (std::size_t i = 0; i < whole.size(); i += i < 1400 ? 1 : 37)
      for (const unsigned value : {0x00u, 0x7fu, 0x80u, 0xffu}) {
        bytes[i] = std::byte{static_cast<unsigned char>(value)};
        sign(id);
        const RestoreOutcome outcome = restore(true);
        // Only values may differ: nothing in header or segments can, but the writer's generation
        // and the range it names for people.
        if (bytes != whole && i < kBlockHeaderBytes + kSegmentBytes && (i < 32 || i >= 64) &&
            (i < 104 || i >= 128)) {
          EXPECT_NE(outcome, RestoreOutcome::restored) << "byte " << i;
        }
        bytes = whole;
      }
    sign(id);
  }
  EXPECT_EQ(restore(), RestoreOutcome::restored);
}

TEST_P(Damage, a_forged_table_with_a_valid_checksum_does_no_harm) {
  Bytes& table = rows().manifest->bytes;
  const Bytes whole = table;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const unsigned value : {0x00u, 0x01u, 0x7fu, 0xffu}) {
      table[i] = std::byte{static_cast<unsigned char>(value)};
      sign_manifest(table);
      (void)restore(true);
      table = whole;
    }
  for (std::size_t n = 0; n < whole.size(); ++n) {
    table.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    sign_manifest(table);
    EXPECT_NE(restore(true), RestoreOutcome::restored);
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, Damage, testing::Values("full", "minikv"));

}  // namespace
}  // namespace satchel::kvcache
