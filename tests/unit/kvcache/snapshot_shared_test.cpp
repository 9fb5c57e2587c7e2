// A cache that is restored beside one that holds the same pages: they lie in memory once, and are
// not read from the store.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

const CacheKey kOther = {.name = "chat 8", .owner = 8};

class SharedPages : public testing::Test {
 protected:
  void begin(const std::string& recipe, std::size_t n_document = 500) {
    first_ = std::make_unique<Saved>(store_, small(recipe));
    read_chat(first_->driver, n_document);
    ids_ = token_ids(first_->driver.cache().n_tokens());
    ASSERT_TRUE(first_->save().ok());
    ASSERT_TRUE(copy_saved({store_, kChat}, {store_, kOther}).value());
  }
  // Of the same arena, for what the store has under the other key.
  std::unique_ptr<Saved> empty_twin() {
    auto twin = std::make_unique<Saved>(store_, first_->driver.fork().value(), kOther);
    twin->driver.reads_on_as(first_->driver);
    twin->driver.cache().clear();
    return twin;
  }
  Result<RestoreReport> restore(Saved& into) {
    const Snapshot* const beside[] = {&first_->snapshot, &into.snapshot};
    return into.snapshot.restore(into.identity(ids_), beside);
  }
  void lose_pages() {
    const auto manifest = decode_manifest(store_.caches.at(kOther).manifest->bytes).value();
    for (const RecordEntry& entry : manifest.records)
      if (entry.kind == RecordKind::pages) store_.caches.at(kOther).records.erase(entry.id);
  }

  test::MemoryRecordStore store_;
  std::unique_ptr<Saved> first_;
  std::vector<std::int32_t> ids_;
};

class SharedPagesOf : public SharedPages, public testing::WithParamInterface<std::string> {};

TEST_P(SharedPagesOf, are_taken_from_the_cache_that_holds_them) {
  begin(GetParam());
  lose_pages();
  const auto twin = empty_twin();
  const std::size_t used = twin->driver.arena().used_bytes();
  const std::size_t bytes = twin->driver.cache().stats().bytes;
  const RestoreReport report = restore(*twin).value();
  EXPECT_EQ(report.reason, RereadReason::none) << report.detail;
  EXPECT_EQ(report.n_tokens, ids_.size());
  const CacheStats stats = twin->driver.cache().stats();
  EXPECT_EQ(report.bytes_shared, stats.body_bytes);
  EXPECT_EQ(twin->driver.arena().used_bytes() - used, stats.bytes - bytes - stats.body_bytes);
  const std::vector<std::byte> held = first_->driver.bytes();
  EXPECT_EQ(twin->driver.bytes(), held);
  first_.reset();
  EXPECT_EQ(twin->driver.bytes(), held) << "the one that held them is closed";
  twin->driver.arena().check_invariants();
}

TEST_P(SharedPagesOf, change_for_neither_when_the_other_goes_on) {
  begin(GetParam());
  const auto twin = empty_twin();
  ASSERT_GT(restore(*twin)->bytes_shared, 0u);
  const std::vector<std::byte> held = first_->driver.bytes();
  go_on(twin->driver);
  EXPECT_EQ(first_->driver.bytes(), held);
  // What was not read counts as stored all the same.
  const auto ids = token_ids(twin->driver.cache().n_tokens());
  ASSERT_TRUE(twin->save(ids).ok());
  Saved third(store_, twin->driver.fork().value(), kOther);
  third.driver.cache().clear();
  EXPECT_EQ(third.restore(ids)->reason, RereadReason::none);
  EXPECT_EQ(third.driver.bytes(), twin->driver.bytes());
}

INSTANTIATE_TEST_SUITE_P(Builtin, SharedPagesOf, testing::ValuesIn(recipes_of_every_stage()),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_F(SharedPages, that_the_other_has_made_anew_are_read) {
  begin("ladder-4");
  const std::vector<std::byte> held = first_->driver.bytes();
  const std::size_t body = first_->driver.cache().stats().body_bytes;
  ASSERT_TRUE(first_->driver.cache().compactor().shrink_to(0).ok());
  ASSERT_LT(first_->driver.cache().stats().body_bytes, body);
  const auto twin = empty_twin();
  const RestoreReport report = restore(*twin).value();
  EXPECT_EQ(report.reason, RereadReason::none) << report.detail;
  EXPECT_LT(report.bytes_shared, body);
  EXPECT_EQ(twin->driver.bytes(), held);
}

TEST_F(SharedPages, are_not_those_of_another_text_under_the_same_numbers) {
  begin("minikv");
  CacheDriver::Setup setup = small("minikv");
  setup.arena = first_->driver.shared_arena();
  setup.seed = 2;
  Saved other(store_, setup, kOther);
  read_chat(other.driver);
  ASSERT_TRUE(store_.drop(kOther).ok());
  ASSERT_TRUE(other.save().ok());
  const std::vector<std::byte> held = other.driver.bytes();
  ASSERT_NE(held, first_->driver.bytes());
  other.driver.cache().clear();
  const RestoreReport report = restore(other).value();
  EXPECT_EQ(report.reason, RereadReason::none);
  EXPECT_EQ(report.bytes_shared, 0u);
  EXPECT_EQ(other.driver.bytes(), held);
}

TEST_F(SharedPages, of_a_cache_in_another_arena_are_read) {
  begin("minikv");
  Saved other(store_, small("minikv"), kOther);
  const RestoreReport report = restore(other).value();
  EXPECT_EQ(report.reason, RereadReason::none);
  EXPECT_EQ(report.bytes_shared, 0u);
  EXPECT_EQ(other.driver.bytes(), first_->driver.bytes());
}

TEST_F(SharedPages, are_given_back_where_the_store_fails) {
  begin("minikv");
  const auto twin = empty_twin();
  const std::size_t used = twin->driver.arena().used_bytes();
  for (std::size_t call = 0;; ++call) {
    test::FailingRecordStore failing(store_, call, test::FailingRecordStore::Then::always);
    Snapshot snapshot(twin->driver.cache(), failing, kOther);
    const Snapshot* const beside[] = {&first_->snapshot};
    const auto restored = snapshot.restore(twin->identity(ids_), beside);
    if (restored.ok() && restored->reason == RereadReason::none) {
      EXPECT_GT(call, 1u);
      return;
    }
    EXPECT_EQ(twin->driver.arena().used_bytes(), used) << call;
    EXPECT_EQ(twin->driver.cache().n_tokens(), 0u) << call;
  }
}

// A limit that holds one document holds all chats that begin with it.
TEST_F(SharedPages, count_once_under_the_limit) {
  begin("full", 1500);
  const auto twin = empty_twin();
  Arena& arena = twin->driver.arena();
  const CacheStats stats = first_->driver.cache().stats();
  const std::size_t own = stats.bytes - stats.body_bytes;
  ASSERT_TRUE(arena.set_limit(arena.used_bytes() + own).ok());
  ASSERT_GT(stats.body_bytes, own) << "else it says nothing";
  EXPECT_EQ(restore(*twin)->reason, RereadReason::none);
  twin->driver.cache().clear();
  EXPECT_EQ(twin->restore(ids_)->reason, RereadReason::over_limit) << "read by itself";
}

}  // namespace
}  // namespace satchel::kvcache
