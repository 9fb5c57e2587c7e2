// Documents that wait until the turn about them has ended: all of the text is there for the answer,
// and afterwards the same stays as if it had been decided when it was read.
#include <gtest/gtest.h>

#include <string>

#include "unit/kvcache/snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kText = 300;
constexpr std::string_view kAtOnce = "end_of_prompt", kLater = "end_of_turn";

// A built-in recipe with another trigger.
CacheDriver driver_of(const std::string& recipe, std::string_view trigger) {
  std::string json = Recipe::builtin(recipe).value().json();
  const std::size_t at = json.find(kAtOnce);
  EXPECT_NE(at, std::string::npos);
  json.replace(at, kAtOnce.size(), trigger);
  CacheDriver driver({.recipe = json,
                      .varies = recipe,
                      .n_layers = 2,
                      .n_heads = 4,
                      .head_dim = 32,
                      .backend = "cpu"});
  driver.check_attention = false;
  return driver;
}

// Lanes with equal budgets, lanes that compete, lanes by the model's profile.
class EndOfTurn : public testing::TestWithParam<std::string> {};

TEST_P(EndOfTurn, all_of_a_document_is_there_until_the_turn_has_ended) {
  CacheDriver driver = driver_of(GetParam(), kLater);
  ASSERT_TRUE(driver.read(kText).ok());
  ASSERT_TRUE(driver.read(40, {.kind = SegmentKind::message}).ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(driver.step().ok());
  EXPECT_EQ(driver.cache().stats().n_evicted, 0u);
  EXPECT_EQ(driver.cache().stats().n_pending, kText);
  const auto ended = driver.cache().compactor().end_turn();
  ASSERT_TRUE(ended.ok());
  EXPECT_GT(ended->n_evicted, 0u);
  EXPECT_EQ(driver.cache().stats().n_pending, 0u);
}

TEST_P(EndOfTurn, the_same_stays_as_of_a_text_that_was_decided_when_it_was_read) {
  for (const std::size_t chunk : {kText, std::size_t{77}}) {
    CacheDriver later = driver_of(GetParam(), kLater), at_once = driver_of(GetParam(), kAtOnce);
    for (CacheDriver* driver : {&later, &at_once}) {
      ASSERT_TRUE(driver->read(kText, {.chunk = chunk}).ok());
      ASSERT_TRUE(driver->cache().compactor().end_turn().ok());
    }
    EXPECT_GT(at_once.cache().stats().n_evicted, 0u);
    EXPECT_EQ(later.all_kept(), at_once.all_kept());
  }
}

TEST_P(EndOfTurn, where_memory_is_short_or_nobody_asks_it_is_decided_before) {
  for (const TriggerEvent event : {TriggerEvent::idle, TriggerEvent::over_limit}) {
    CacheDriver driver = driver_of(GetParam(), kLater);
    ASSERT_TRUE(driver.read(kText).ok());
    const auto decided = driver.cache().compactor().compact(event);
    ASSERT_TRUE(decided.ok());
    EXPECT_GT(decided->n_evicted, 0u);
  }
}

TEST_P(EndOfTurn, a_text_that_was_saved_while_it_waited_is_decided_alike) {
  test::MemoryRecordStore store;
  Saved chat(store, driver_of(GetParam(), kLater));
  ASSERT_TRUE(chat.driver.read(kText).ok());
  ASSERT_TRUE(chat.save().ok());
  const auto twin = restored_twin(store, chat);
  EXPECT_EQ(twin->driver.cache().stats().n_pending, kText);
  for (CacheDriver* driver : {&chat.driver, &twin->driver})
    ASSERT_TRUE(driver->cache().compactor().end_turn().ok());
  EXPECT_GT(chat.driver.cache().stats().n_evicted, 0u);
  EXPECT_EQ(twin->driver.all_kept(), chat.driver.all_kept());
}

INSTANTIATE_TEST_SUITE_P(Recipes, EndOfTurn, testing::Values("snapkv", "ada-kv", "satchel"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace satchel::kvcache
