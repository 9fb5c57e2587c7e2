// A stop ends a long save; what was saved before stays.
#include <gtest/gtest.h>

#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

using test::MemoryRecordStore;

// 16 KiB a token.
CacheDriver::Setup large() {
  return {.recipe = "full",
          .n_layers = 8,
          .n_heads = 4,
          .n_kv_heads = 4,
          .head_dim = 128,
          .arena_bytes = 64u << 20};
}
constexpr std::size_t kSomeTokens = 320;  // more than are saved anyway

Result<SaveReport> save_stopped(Saved& cache) {
  std::stop_source stop;
  stop.request_stop();
  const std::vector<std::int32_t> ids = token_ids(cache.driver.cache().n_tokens());
  return cache.snapshot.save(cache.identity(ids), stop.get_token());
}
std::size_t record_bytes(const MemoryRecordStore& store) {
  std::size_t n = 0;
  for (const auto& [id, bytes] : store.caches.at(kChat).records) n += bytes.size();
  return n;
}

TEST(SnapshotStop, ends_a_long_save_and_leaves_the_old_one_whole) {
  MemoryRecordStore store;
  Saved cache(store, large());
  ASSERT_TRUE(cache.driver.read(kSomeTokens).ok());
  ASSERT_TRUE(cache.save().ok());
  const std::size_t n_before = record_bytes(store);
  ASSERT_TRUE(cache.driver.read(kSomeTokens).ok());
  const auto saved = save_stopped(cache);
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(saved.error().code, "STOPPED");
  EXPECT_LE(record_bytes(store) - n_before, kSavedAnyway + kRecordBytesAim);
  {
    Saved reader(store, large());
    const auto old = reader.restore(2 * kSomeTokens);
    ASSERT_TRUE(old.ok());
    EXPECT_EQ(old->reason, RereadReason::none) << old->detail;
    EXPECT_EQ(old->n_tokens, kSomeTokens);
  }
  ASSERT_TRUE(cache.save().ok());
  Saved reader(store, large());
  EXPECT_EQ(reader.restore(2 * kSomeTokens)->n_tokens, 2 * kSomeTokens);
  EXPECT_EQ(reader.driver.bytes(), cache.driver.bytes());
}

TEST(SnapshotStop, lets_a_short_save_end) {
  MemoryRecordStore store;
  Saved cache(store);
  ASSERT_TRUE(cache.driver.read(700).ok());
  EXPECT_TRUE(save_stopped(cache).ok());
  Saved reader(store);
  EXPECT_EQ(reader.restore(700)->n_tokens, 700u);
}

}  // namespace
}  // namespace satchel::kvcache
