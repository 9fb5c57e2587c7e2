// A cache to a store and back.
#include "kvcache/snapshot/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache_driver.h"
#include "kvcache/snapshot/block.h"
#include "support/block_stores.h"

namespace satchel::kvcache {
namespace {

using test::FailingBlockStore;
using test::MemoryBlockStore;
using testing::HasSubstr;

constexpr ChatId kChat{7};

std::vector<std::int32_t> token_ids(std::size_t n) {
  std::vector<std::int32_t> ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>((i * 7919) % 5000);
  return ids;
}

// A driver with its snapshot over a store.
struct Saved {
  explicit Saved(BlockStore& store, const CacheDriver::Setup& setup = {})
      : driver(setup), snapshot(driver.cache(), store, kChat) {
    driver.check_attention = false;
  }
  Result<SaveReport> save() {
    const std::vector<std::int32_t> ids = token_ids(driver.cache().n_tokens());
    return snapshot.save({.model = model, .recipe = driver.recipe().hash(), .tokens = ids});
  }
  Result<RestoreReport> restore(std::size_t n_tokens) {
    const std::vector<std::int32_t> ids = token_ids(n_tokens);
    return snapshot.restore({.model = model, .recipe = driver.recipe().hash(), .tokens = ids});
  }
  CacheDriver driver;
  Snapshot snapshot;
  std::string model = "model-a";
};

CacheDriver::Setup small(std::string_view recipe = "minikv") {
  return {.recipe = recipe,
          .n_layers = 2,
          .n_heads = 2,
          .n_kv_heads = 1,
          .head_dim = 64,
          .pool_bytes = 4u << 20};
}

class EveryRecipe : public testing::TestWithParam<const char*> {};

TEST_P(EveryRecipe, restores_the_same_bytes_and_goes_on_with_the_same_bytes) {
  for (const std::size_t n : {1u, 3u, 4u, 5u, 127u, 128u, 132u, 259u, 260u, 700u}) {
    MemoryBlockStore store;
    Saved first(store, small(GetParam()));
    ASSERT_TRUE(first.driver.prompt(n).ok());
    const auto saved = first.save();
    ASSERT_TRUE(saved.ok()) << saved.error().message;
    EXPECT_EQ(saved->n_tokens, n);

    Saved second(store, small(GetParam()));
    const auto report = second.restore(n);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->outcome, RestoreOutcome::restored) << report->message;
    EXPECT_EQ(report->n_tokens, n);
    EXPECT_EQ(report->bytes_read, saved->bytes_total);
    EXPECT_TRUE(report->message.empty());
    ASSERT_EQ(second.driver.bytes(), first.driver.bytes());
    for (CacheDriver* driver : {&first.driver, &second.driver}) {
      for (int i = 0; i < 140; ++i) ASSERT_TRUE(driver->step().ok());
      ASSERT_TRUE(driver->prompt(300).ok());
    }
    ASSERT_EQ(second.driver.bytes(), first.driver.bytes());
  }
}
INSTANTIATE_TEST_SUITE_P(Builtin, EveryRecipe, testing::Values("full", "minikv", "minikv-g32"));

TEST(Snapshot, an_empty_store_has_nothing_saved) {
  MemoryBlockStore store;
  Saved cache(store, small());
  const auto report = cache.restore(5);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->outcome, RestoreOutcome::nothing_saved);
}

TEST(Snapshot, a_second_save_writes_only_new_pages) {
  MemoryBlockStore store;
  Saved cache(store, small("full"));  // a page of `full` has 33 KB
  ASSERT_TRUE(cache.driver.prompt(600).ok());
  const auto first = cache.save();
  ASSERT_TRUE(first.ok());
  const std::size_t old_blocks = store.chats[kChat].blocks.size();
  const auto old = store.chats[kChat].blocks;

  const auto again = cache.save();  // nothing new: exact parts and the table
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->n_blocks_written, 1u);
  EXPECT_EQ(store.chats[kChat].blocks.size(), old_blocks);

  for (int i = 0; i < 128; ++i) ASSERT_TRUE(cache.driver.step().ok());
  const auto more = cache.save();
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->n_blocks_written, 2u);
  std::size_t n_kept = 0;
  for (const auto& [id, bytes] : old)
    if (store.chats[kChat].blocks.contains(id)) {
      ++n_kept;
      EXPECT_EQ(store.chats[kChat].blocks[id], bytes);
    }
  EXPECT_EQ(n_kept, old_blocks - 1);  // all but the exact parts

  Saved second(store, small("full"));
  ASSERT_EQ(second.restore(728)->outcome, RestoreOutcome::restored);
  EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
}

TEST(Snapshot, short_turns_do_not_leave_many_small_blocks) {
  MemoryBlockStore store;
  Saved cache(store, small());
  for (int turn = 0; turn < 30; ++turn) {
    ASSERT_TRUE(cache.driver.prompt(130).ok());
    ASSERT_TRUE(cache.save().ok());
  }
  const std::size_t page_bytes = 8704 * 2 * 29;  // of both layers
  EXPECT_LE(store.chats[kChat].blocks.size(), 1 + page_bytes / kBlockBytesMin + 1);
  Saved second(store, small());
  ASSERT_EQ(second.restore(30 * 130)->outcome, RestoreOutcome::restored);
  EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
}

TEST(Snapshot, goes_on_appending_after_a_restore) {
  MemoryBlockStore store;
  Saved first(store, small("full"));
  ASSERT_TRUE(first.driver.prompt(900).ok());
  ASSERT_TRUE(first.save().ok());
  Saved second(store, small("full"));
  ASSERT_EQ(second.restore(900)->outcome, RestoreOutcome::restored);
  ASSERT_TRUE(second.driver.prompt(128).ok());
  const auto report = second.save();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->n_blocks_written, 2u);
  Saved third(store, small("full"));
  ASSERT_EQ(third.restore(1028)->outcome, RestoreOutcome::restored);
  EXPECT_EQ(third.driver.bytes(), second.driver.bytes());
}

TEST(Snapshot, a_cleared_cache_is_written_anew) {
  MemoryBlockStore store;
  Saved cache(store, small());
  ASSERT_TRUE(cache.driver.prompt(700).ok());
  ASSERT_TRUE(cache.save().ok());
  cache.driver.cache().clear();
  ASSERT_TRUE(cache.driver.prompt(500).ok());
  ASSERT_TRUE(cache.save().ok());
  Saved second(store, small());
  ASSERT_EQ(second.restore(500)->outcome, RestoreOutcome::restored);
  EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
}

TEST(Snapshot, what_the_store_lost_is_written_anew) {
  MemoryBlockStore store;
  Saved cache(store, small());
  ASSERT_TRUE(cache.driver.prompt(700).ok());
  ASSERT_TRUE(cache.save().ok());
  ASSERT_TRUE(store.drop(kChat).ok());
  ASSERT_TRUE(cache.save().ok());
  Saved second(store, small());
  ASSERT_EQ(second.restore(700)->outcome, RestoreOutcome::restored);
  EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
}

// One snapshot in a store, and what a cache made otherwise says about it.
class Refusal : public testing::Test {
 protected:
  void SetUp() override {
    Saved cache(store_, small());
    ASSERT_TRUE(cache.driver.prompt(700).ok());
    ASSERT_TRUE(cache.save().ok());
  }
  void expect(Saved& cache, std::size_t n_tokens, RestoreOutcome outcome, const char* text) {
    const auto report = cache.restore(n_tokens);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->outcome, outcome);
    EXPECT_THAT(report->message, HasSubstr(text));
    EXPECT_EQ(report->n_tokens, 0u);
    EXPECT_EQ(cache.driver.cache().n_tokens(), 0u);
    EXPECT_EQ(cache.driver.cache().stats().body_bytes, 0u);
    EXPECT_TRUE(cache.driver.prompt(300).ok());  // usable
  }
  MemoryBlockStore store_;
};

TEST_F(Refusal, of_another_model) {
  Saved cache(store_, small());
  cache.model = "model-b";
  expect(cache, 700, RestoreOutcome::other_model, "another model; reading the chat's 700 tokens");
}
TEST_F(Refusal, of_another_shape) {
  CacheDriver::Setup setup = small();
  setup.n_layers = 3;
  Saved cache(store_, setup);
  expect(cache, 700, RestoreOutcome::other_model, "another model");
}
TEST_F(Refusal, of_another_recipe) {
  Saved cache(store_, small("minikv-g32"));
  expect(cache, 700, RestoreOutcome::other_recipe, "another recipe");
}
TEST_F(Refusal, of_the_same_recipe_with_another_keep) {
  CacheDriver::Setup setup = small();
  setup.keep = 0.25;
  Saved cache(store_, setup);
  expect(cache, 700, RestoreOutcome::other_recipe, "another recipe");
}
TEST_F(Refusal, of_a_shorter_chat) {
  Saved cache(store_, small());
  expect(cache, 699, RestoreOutcome::other_tokens, "changed");
}
TEST_F(Refusal, of_a_pool_that_is_too_full) {
  Saved cache(store_, small());
  Pool& pool = cache.driver.cache().pool();
  const auto lease = pool.take_scratch(pool.free_bytes() - 8704);  // it has 2 pages
  ASSERT_TRUE(lease.ok());
  const auto report = cache.restore(700);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->outcome, RestoreOutcome::other_format);
  EXPECT_THAT(report->message, HasSubstr("memory limit"));
}
TEST_F(Refusal, of_an_edited_chat) {
  Saved cache(store_, small());
  std::vector<std::int32_t> ids = token_ids(800);
  ids[650] += 1;
  const auto report = cache.snapshot.restore(
      {.model = cache.model, .recipe = cache.driver.recipe().hash(), .tokens = ids});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->outcome, RestoreOutcome::other_tokens);
}
TEST_F(Refusal, not_of_a_longer_chat) {
  Saved cache(store_, small());
  const auto report = cache.restore(900);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->outcome, RestoreOutcome::restored);
  EXPECT_EQ(report->n_tokens, 700u);
}
TEST_F(Refusal, of_another_version) {
  auto& bytes = store_.chats[kChat].manifest->bytes;
  bytes[8] = std::byte{2};
  sign_manifest(bytes);
  Saved cache(store_, small());
  expect(cache, 700, RestoreOutcome::other_format, "format 2");
}
TEST_F(Refusal, of_a_missing_block) {
  store_.chats[kChat].blocks.erase(store_.chats[kChat].blocks.begin());
  Saved cache(store_, small());
  expect(cache, 700, RestoreOutcome::damaged, "missing");
  ASSERT_TRUE(cache.driver.prompt(400).ok());
  EXPECT_TRUE(cache.save().ok());
}

TEST(Snapshot, any_failed_call_leaves_the_old_or_the_new_one_whole) {
  for (const auto then : {FailingBlockStore::Then::once, FailingBlockStore::Then::always}) {
    bool walked = false;
    for (std::size_t n = 0; n < 40 && !walked; ++n) {
      MemoryBlockStore inner;
      Saved old(inner, small());
      ASSERT_TRUE(old.driver.prompt(700).ok());
      ASSERT_TRUE(old.save().ok());

      FailingBlockStore store(inner, n, then);
      Saved cache(store, small());
      ASSERT_TRUE(cache.driver.prompt(700).ok());
      ASSERT_TRUE(cache.driver.prompt(300).ok());
      walked = cache.save().ok();
      Saved reader(inner, small());
      const auto report = reader.restore(1000);
      ASSERT_TRUE(report.ok());
      ASSERT_EQ(report->outcome, RestoreOutcome::restored) << report->message;
      EXPECT_EQ(report->n_tokens, walked ? 1000u : 700u) << "call " << n;
      if (then == FailingBlockStore::Then::once && !walked) {
        EXPECT_TRUE(cache.save().ok());
      }
    }
    EXPECT_TRUE(walked);
  }
}

TEST(Snapshot, any_failed_call_of_a_restore_is_an_error_and_leaves_the_cache_empty) {
  MemoryBlockStore inner;
  Saved old(inner, small());
  ASSERT_TRUE(old.driver.prompt(700).ok());
  ASSERT_TRUE(old.save().ok());
  for (std::size_t n = 0;; ++n) {
    ASSERT_LT(n, 40u);
    FailingBlockStore store(inner, n, FailingBlockStore::Then::once);
    Saved cache(store, small());
    if (cache.restore(700).ok()) break;
    EXPECT_EQ(cache.driver.cache().n_tokens(), 0u);
    ASSERT_EQ(cache.restore(700)->outcome, RestoreOutcome::restored);
    EXPECT_EQ(cache.driver.bytes(), old.driver.bytes());
  }
}

}  // namespace
}  // namespace satchel::kvcache
