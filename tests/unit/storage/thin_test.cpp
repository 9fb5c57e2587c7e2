// Saved caches that are thinned: of chats unused for long, and before the quota is full.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stop_token>

#include "fixtures.h"
#include "kernels/base/rng.h"
#include "kernels/registry/registry.h"
#include "kvcache/cache/cache.h"
#include "kvcache/snapshot/snapshot.h"
#include "runtime/contract/document_cache.h"
#include "support/key_bases.h"

namespace satchel::storage {
namespace {

using kvcache::Cache;
using kvcache::CacheKey;
using kvcache::Snapshot;

constexpr std::size_t kTokens = 700;
constexpr std::int64_t kDayMs = 86'400'000;

// A cache under Balanced, as a session has one.
std::unique_ptr<Cache> open_cache() {
  kvcache::CacheShape shape;
  shape.layers.push_back({.n_heads = 1,
                          .n_kv_heads = 1,
                          .head_dim = 64,
                          .attention_scale = 0.125f,
                          .inverse_frequency = {1, 0.1}});
  shape.key_bases = test::key_bases_of(shape, 1);
  const auto arena =
      must(kvcache::Arena::open(must(kernels::open_backend("reference", {})), 4u << 20));
  return must(Cache::open(arena, shape, must(kvcache::Recipe::builtin("ladder-4"))));
}

std::vector<std::int32_t> ids() {
  std::vector<std::int32_t> all(kTokens);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
  return all;
}
kvcache::SnapshotIdentity identity(const Cache& cache, const std::vector<std::int32_t>& tokens) {
  return {.model = "m", .recipe = cache.recipe().hash(), .tokens = tokens};
}

void save_cache(Store& store, ChatId chat) {
  const auto cache = open_cache();
  Rng rng(1);
  std::vector<float> rows(kTokens * 64);
  for (float& x : rows) x = static_cast<float>(rng.uniform() + rng.uniform() - 1);
  {
    kvcache::Prefill reading = must(cache->begin_prefill({.n_tokens = kTokens}));
    must(reading.begin_layer(0));
    must(reading.add_chunk(rows.data(), rows.data(), kTokens));
    must(reading.end_layer());
    must(reading.commit());
  }
  (void)must(Snapshot(*cache, *store.kv(), key_of(chat)).save(identity(*cache, ids())));
}

std::size_t n_thinned(Store& store, ChatId chat) {
  const auto cache = open_cache();
  const auto report =
      must(Snapshot(*cache, *store.kv(), key_of(chat)).restore(identity(*cache, ids())));
  EXPECT_EQ(report.n_tokens, kTokens);
  return report.n_thinned;
}

class ThinUnused : public testing::Test {
 protected:
  std::unique_ptr<Store> open(std::uint64_t days, std::uint64_t quota = kQuotaBytes) {
    return open_store(folder_, {.clock = &clock_, .quota_bytes = quota, .thin_after_days = days});
  }
  ChatId chat(Store& store, const char* name) {
    const ChatId id = must(store.library().create_chat(named(name)));
    say(store.library(), id, "Hello.");
    save_cache(store, id);
    return id;
  }
  std::size_t thin(Store& store, std::vector<ChatId> open = {}) {
    return must(store.thin_unused(open, {}));
  }

  const TempFolder folder_;
  StandingClock clock_;
};

TEST_F(ThinUnused, a_chat_is_thinned_once_after_so_many_days_and_others_stay) {
  const auto store = open(30);
  const ChatId old = chat(*store, "old");
  clock_.wall += 25 * kDayMs;
  const ChatId fresh = chat(*store, "fresh");
  EXPECT_EQ(thin(*store), 0u);
  const std::uint64_t before = record_bytes(*store->kv(), key_of(old));
  clock_.wall += 6 * kDayMs;
  EXPECT_EQ(thin(*store), 1u);
  EXPECT_LT(record_bytes(*store->kv(), key_of(old)), before * 3 / 4);
  EXPECT_EQ(record_bytes(*store->kv(), key_of(fresh)), before);
  EXPECT_GT(n_thinned(*store, old), 0u);
  EXPECT_EQ(n_thinned(*store, fresh), 0u);
  EXPECT_EQ(thin(*store), 0u);
}

TEST_F(ThinUnused, nothing_is_thinned_unless_asked_for) {
  const auto store = open(0);
  const ChatId old = chat(*store, "old");
  clock_.wall += 4000 * kDayMs;
  EXPECT_EQ(thin(*store), 0u);
  EXPECT_EQ(n_thinned(*store, old), 0u);
}

TEST_F(ThinUnused, an_open_chat_is_left_alone) {
  const auto store = open(1);
  const ChatId old = chat(*store, "old");
  clock_.wall += 2 * kDayMs;
  EXPECT_EQ(thin(*store, {old}), 0u);
  EXPECT_EQ(n_thinned(*store, old), 0u);
  EXPECT_EQ(thin(*store), 1u);
}

// Least recently used first, until three quarters of the quota are free of more.
TEST_F(ThinUnused, before_the_quota_is_full_the_oldest_are_thinned) {
  std::uint64_t of_one = 0;
  {
    const auto store = open(0);
    chat(*store, "first");
    of_one = must(store->kv()->taken_bytes());
  }
  const auto store = open(1000, of_one * 7 / 2);  // three fit
  clock_.wall += kDayMs;
  const ChatId second = chat(*store, "second");
  clock_.wall += kDayMs;
  const ChatId third = chat(*store, "third");
  EXPECT_EQ(thin(*store), 1u);
  EXPECT_EQ(n_thinned(*store, second), 0u);
  EXPECT_EQ(n_thinned(*store, third), 0u);
}

// It counts as no use: what would have given way first still does.
TEST_F(ThinUnused, a_thinned_cache_gives_way_before_those_used_since) {
  std::uint64_t of_one = 0;
  {
    const auto store = open(0);
    chat(*store, "old");
    of_one = must(store->kv()->list()).front().record_bytes;
  }
  const auto store = open(1, of_one * 7 / 2);  // three fit, with their manifests
  const ChatId fresh = chat(*store, "fresh");
  clock_.wall += 2 * kDayMs;
  EXPECT_EQ(thin(*store, {fresh}), 1u);
  const ChatId third = chat(*store, "third"), fourth = chat(*store, "fourth");
  const auto left = must(store->kv()->list());
  ASSERT_EQ(left.size(), 3u);
  EXPECT_EQ(left[0].key, key_of(fresh));
  EXPECT_EQ(left[1].key, key_of(third));
  EXPECT_EQ(left[2].key, key_of(fourth));
}

// Other chats begin with them, and share their records with the chat that read them: to thin that
// chat's would take more space.
TEST_F(ThinUnused, documents_of_the_shelf_stay_as_they_are) {
  const auto store = open(1);
  const ChatId old = chat(*store, "old");
  const CacheKey document =
      runtime::document_key(std::string(runtime::kDocumentHashDigits, 'a'), "reading", old);
  ASSERT_TRUE(must(
      kvcache::copy_saved({*store->kv(), key_of(old)}, {*store->kv(), document}, "of the shelf")));
  const std::uint64_t before = record_bytes(*store->kv(), document);
  clock_.wall += 2 * kDayMs;
  EXPECT_EQ(thin(*store), 0u);
  EXPECT_EQ(record_bytes(*store->kv(), document), before);
  EXPECT_EQ(record_bytes(*store->kv(), key_of(old)), before);
  EXPECT_EQ(must(store->kv()->newest_manifest(document))->note, "of the shelf");
}

// What a caller notes of a cache stays.
TEST_F(ThinUnused, a_thinned_cache_keeps_its_note) {
  const auto store = open(1);
  const ChatId old = chat(*store, "old");
  const CacheKey copy = CacheKey::named("copy");
  ASSERT_TRUE(
      must(kvcache::copy_saved({*store->kv(), key_of(old)}, {*store->kv(), copy}, "a note")));
  must(store->kv()->drop(key_of(old)));  // what is shared is not thinned
  EXPECT_GT(must(store->kv()->thin(copy)).n_records, 0u);
  EXPECT_EQ(must(store->kv()->newest_manifest(copy))->note, "a note");
}

TEST_F(ThinUnused, a_stop_leaves_the_rest_for_another_time) {
  const auto store = open(1);
  const ChatId old = chat(*store, "old");
  clock_.wall += 2 * kDayMs;
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = store->thin_unused({}, stop.get_token());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(n_thinned(*store, old), 0u);
  EXPECT_EQ(thin(*store), 1u);
}

}  // namespace
}  // namespace satchel::storage
