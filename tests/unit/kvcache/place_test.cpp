// Texts that were read apart, each behind the same head, and stand side by side in another order.
#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "cache_checker.h"
#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

using test::MemoryRecordStore;

constexpr std::size_t kHead = 40, kFirst = 300, kSecond = 170;  // tokens

class Placed : public testing::TestWithParam<std::string> {
 protected:
  Placed() : chat_(store_, setup()) {}
  static CacheDriver::Setup setup() {
    CacheDriver::Setup setup = small(GetParam());
    setup.head_dim = 32;
    setup.backend = "cpu";
    return setup;
  }
  void SetUp() override { ASSERT_TRUE(driver().read(kHead, {.kind = SegmentKind::pinned}).ok()); }
  CacheDriver& driver() { return chat_.driver; }
  CacheDriver read_apart(std::size_t n) {
    CacheDriver other = driver().fork().value();
    EXPECT_TRUE(other.read(n).ok());
    EXPECT_TRUE(other.probe_all(200).ok());
    EXPECT_TRUE(other.cache().compactor().compact(TriggerEvent::idle).ok());
    return other;
  }
  void expect_held_as(CacheDriver& other, std::size_t n, std::size_t at) {
    for (std::size_t layer = 0; layer < driver().shape().n_layers(); ++layer) {
      const DecodedLane ours = driver().held(layer, 0), theirs = other.held(layer, 0);
      std::size_t n_held = 0;
      for (const auto& [position, token] : theirs) {
        if (position < std::int32_t{kHead} || position >= std::int32_t(kHead + n)) continue;
        const auto found = ours.find(position + std::int32_t(at) - std::int32_t(kHead));
        ASSERT_NE(found, ours.end()) << position;
        EXPECT_EQ(found->second.v, token.v) << position;
        ++n_held;
      }
      EXPECT_GT(n_held, 0u);
    }
  }
  void expect_saved() {
    ASSERT_TRUE(chat_.save().ok());
    Saved again(store_, setup());
    ASSERT_EQ(again.restore(driver().cache().n_tokens())->reason, RereadReason::none);
    EXPECT_TRUE(again.driver.bytes() == driver().bytes());
    EXPECT_TRUE(std::ranges::equal(again.driver.cache().segments(), driver().cache().segments()));
  }
  MemoryRecordStore store_;
  Saved chat_;
  CacheChecker checker_;
};

TEST_P(Placed, texts_stand_in_another_order_as_they_were_read) {
  CacheDriver first = read_apart(kFirst), second = read_apart(kSecond);
  ASSERT_TRUE(driver().place(kHead, kSecond, second).ok());
  const std::vector<std::byte> bytes = second.bytes();
  ASSERT_TRUE(driver().place(kHead, kFirst, first).ok());
  EXPECT_EQ(driver().cache().n_tokens(), kHead + kSecond + kFirst);
  expect_held_as(second, kSecond, kHead);
  expect_held_as(first, kFirst, kHead + kSecond);
  EXPECT_TRUE(second.bytes() == bytes);
  EXPECT_LE(driver().attention_error(), 1e-3);
  checker_.check(driver(), "placed");
  CacheChecker::check_arena({&driver(), &first, &second}, "placed");
  expect_saved();
  first.close();
  second.close();
  go_on(driver());
  EXPECT_LE(driver().attention_error(), 1e-3);
  checker_.check(driver(), "gone on");
  expect_saved();
}

TEST_P(Placed, one_text_twice) {
  CacheDriver first = read_apart(kFirst);
  ASSERT_TRUE(driver().place(kHead, kFirst, first).ok());
  // Not all of it, and across its pages.
  ASSERT_TRUE(driver().place(kHead + 33, kFirst - 50, first).ok());
  first.close();
  EXPECT_LE(driver().attention_error(), 1e-3);
  const Edit all{.first = kHead, .end = driver().cache().n_tokens()};  // it ends without a tail
  checker_.check(driver(), all, "twice");
  expect_saved();
  ASSERT_TRUE(driver().truncate(kHead + kFirst + 20).ok());
  checker_.check(driver(), all, "cut");
  EXPECT_LE(driver().attention_error(), 1e-3);
}

// As a text is edited: what stands behind the edit moves, and is not read again.
TEST_P(Placed, behind_another_middle) {
  CacheDriver before = read_apart(kFirst);
  ASSERT_TRUE(driver().place(kHead, 100, before).ok());
  ASSERT_TRUE(driver().read(37).ok());
  ASSERT_TRUE(driver().probe_all(200).ok());
  ASSERT_TRUE(driver().cache().compactor().compact(TriggerEvent::idle).ok());
  ASSERT_TRUE(driver().place(kHead + 120, kFirst - 120, before).ok());
  before.close();
  EXPECT_EQ(driver().cache().n_tokens(), kHead + kFirst - 20 + 37);
  const TextSegments text{
      .segments = {driver().cache().segments().begin(), driver().cache().segments().end()}};
  EXPECT_FALSE(text.at(kHead - 1)->is_placed);
  EXPECT_TRUE(text.at(kHead)->is_placed);
  EXPECT_FALSE(text.at(kHead + 100)->is_placed);
  EXPECT_TRUE(text.at(kHead + 137)->is_placed);
  EXPECT_LE(driver().attention_error(), 1e-3);
  checker_.check(driver(), "edited");
  expect_saved();
}

INSTANTIATE_TEST_SUITE_P(Recipes, Placed,
                         testing::Values("full", "minikv", "ladder-3", "quest", "h2o", "satchel",
                                         "kvzip"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Place, refuses_what_cannot_stand_there_and_changes_nothing) {
  CacheDriver driver(small("kvzip"));
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(kHead, {.kind = SegmentKind::pinned}).ok());
  CacheDriver other = driver.fork().value();
  ASSERT_TRUE(other.read(200).ok());
  const std::vector<std::byte> before = driver.bytes();
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  const std::vector<std::pair<std::size_t, std::size_t>> ranges = {
      {0, 20}, {3, 20}, {100, 141}, {kHuge, 1}, {100, kHuge}, {50, 20}};  // the last is pending
  for (const auto& [first, n] : ranges) {
    const Result<void> placed = driver.place(first, n, other);
    ASSERT_FALSE(placed.ok()) << first << "+" << n;
    EXPECT_EQ(placed.error().code, "CACHE_RANGE");
    EXPECT_TRUE(driver.bytes() == before);
  }
  EXPECT_TRUE(driver.place(20, 20, other).ok());
}

TEST(Place, refuses_a_text_of_which_a_part_is_out_of_reach) {
  CacheDriver driver(small("full"));
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(kHead, {.kind = SegmentKind::pinned}).ok());
  CacheDriver other = driver.fork().value();
  ASSERT_TRUE(other.read(400).ok());
  ASSERT_TRUE(other.cache().edit().set_reach({.parts = {{0, 90, 210}}, .near_first = 300}).ok());
  EXPECT_EQ(driver.place(kHead, 150, other).error().code, "CACHE_RANGE");
  ASSERT_TRUE(other.cache().edit().set_reach({}).ok());
  EXPECT_TRUE(driver.place(kHead, 150, other).ok());
}

TEST(Place, refuses_models_that_read_in_order) {
  CacheDriver::Setup setup = small("full");
  setup.windows = {0, 100};
  CacheDriver driver(setup);
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(kHead).ok());
  CacheDriver other = driver.fork().value();
  ASSERT_TRUE(other.read(50).ok());
  EXPECT_EQ(driver.place(kHead, 50, other).error().code, "CACHE_RANGE");
}

// Tails have to go to pages: it fails before anything has changed here, until what is free is
// enough.
TEST(Place, where_memory_is_full_nothing_has_changed) {
  CacheDriver driver(small());
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(60).ok());
  CacheDriver other = driver.fork().value();
  ASSERT_TRUE(other.read(280).ok());
  const std::vector<std::byte> before = driver.bytes();
  std::size_t n_full = 0;
  for (; n_full < 400; ++n_full) {
    const auto lease =
        driver.arena().take_scratch(driver.arena().free_bytes() - n_full * std::size_t{256});
    ASSERT_TRUE(lease.ok());
    const Result<void> placed = driver.place(60, 280, other);
    if (placed.ok()) break;
    EXPECT_EQ(placed.error().code, "CACHE_FULL");
    EXPECT_TRUE(driver.bytes() == before) << n_full;
  }
  EXPECT_GT(n_full, 4u);
  other.close();
  CacheChecker().check(driver, "once there was enough");
  CacheChecker::check_arena({&driver}, "once there was enough");
}

}  // namespace
}  // namespace satchel::kvcache
