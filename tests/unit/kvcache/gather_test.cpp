// Text gathered as an episode: as it is held, or as a fork holds it that has read it once more.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "cache_checker.h"
#include "kvcache/recipes/pipeline.h"
#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

using test::MemoryRecordStore;

constexpr std::size_t kFirst = 100, kLength = 400;  // of the episode

struct Case {
  std::string recipe;
  std::vector<std::size_t> windows = {};
};
std::ostream& operator<<(std::ostream& out, const Case& of) {
  return out << of.recipe << (of.windows.empty() ? "" : ", windows");
}
std::string name_of(const testing::TestParamInfo<Case>& row) {
  std::string name = row.param.recipe + (row.param.windows.empty() ? "" : "_windows");
  std::ranges::replace(name, '-', '_');
  return name;
}

// A chat of three texts and an answer, and a fork of it in which the episode was read again, alone.
class Gathered : public testing::TestWithParam<Case> {
 protected:
  Gathered() : chat_(store_, setup()) {
    const Pipeline& pipeline = driver().recipe().pipeline();
    checker_.checks_values = !(pipeline.decides() && pipeline.merger().merges());
  }
  static CacheDriver::Setup setup() {
    CacheDriver::Setup setup = small(GetParam().recipe);
    setup.head_dim = 32;
    setup.windows = GetParam().windows;
    setup.backend = "cpu";
    return setup;
  }
  void SetUp() override {
    ASSERT_TRUE(driver().read(40, {.kind = SegmentKind::pinned}).ok());
    ASSERT_TRUE(driver().read(260).ok());
    ASSERT_TRUE(driver().read(240).ok());
    ASSERT_TRUE(driver().read(60, {.kind = SegmentKind::message}).ok());
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(driver().step().ok());
    settle(driver());
    ASSERT_TRUE(chat_.save().ok());
  }
  CacheDriver& driver() { return chat_.driver; }
  static void settle(CacheDriver& of) {
    ASSERT_TRUE(of.cache().compactor().end_turn().ok());
    ASSERT_TRUE(of.probe_all(200).ok());
    ASSERT_TRUE(of.cache().compactor().compact(TriggerEvent::idle).ok());
  }
  CacheDriver read_again(std::size_t first = kFirst, std::size_t n = kLength) {
    CacheDriver twin = driver().fork().value();
    EXPECT_TRUE(twin.truncate(first).ok());
    EXPECT_TRUE(twin.read(n).ok());
    settle(twin);
    return twin;
  }
  // What lanes without a window hold in [first, end).
  static std::vector<SeenLane> held(CacheDriver& of, std::size_t first, std::size_t end) {
    std::vector<SeenLane> lanes;
    for (std::size_t layer = 0; layer < of.shape().n_layers(); ++layer) {
      if (of.shape().layers[layer].window > 0) continue;
      SeenLane& lane = lanes.emplace_back();
      for (auto& [position, token] : of.held(layer, 0))
        if (const auto at = static_cast<std::size_t>(position); at >= first && at < end)
          lane.emplace(position, token);
    }
    return lanes;
  }
  static std::vector<SeenLane> held_before(std::vector<SeenLane> lanes, std::size_t end) {
    for (SeenLane& lane : lanes) lane.erase(lane.lower_bound(static_cast<int>(end)), lane.end());
    return lanes;
  }
  static void expect_same(const std::vector<SeenLane>& a, const std::vector<SeenLane>& b,
                          const std::string& what) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(difference(a[i], b[i]), "") << what << ", lane " << i;
  }
  // Pages are told apart by their serials, their bytes by the serials of these.
  void expect_serials_unique() {
    std::set<std::uint64_t> serials;
    std::map<std::uint64_t, ExtentId> bytes;
    for (const kvcache::Lane& lane : driver().cache().state().lanes)
      for (const PageRecord& page : lane.pages()) {
        EXPECT_TRUE(serials.insert(page.serial).second) << page.serial;
        EXPECT_EQ(bytes.emplace(page.bytes_serial, page.extent).first->second, page.extent);
        EXPECT_LT(page.serial, driver().cache().state().next_serial);
      }
  }
  void expect_saved() {
    ASSERT_TRUE(chat_.save().ok());
    Saved again(store_, setup());
    ASSERT_EQ(again.restore(driver().cache().n_tokens())->reason, RereadReason::none);
    EXPECT_TRUE(again.driver.bytes() == driver().bytes());
    EXPECT_EQ(again.driver.cache().stats().bytes, driver().cache().stats().bytes);
    EXPECT_TRUE(std::ranges::equal(again.driver.cache().segments(), driver().cache().segments()));
  }
  // After an episode has joined that `edit` may have changed, and its fork has gone.
  void expect_whole(const Edit& edit = {.first = kFirst, .end = kFirst + kLength}) {
    checker_.check(driver(), edit, "gathered");
    CacheChecker::check_arena({&driver()}, "gathered");
    EXPECT_LE(driver().attention_error(), 1e-3);
    expect_serials_unique();
    expect_saved();
  }
  MemoryRecordStore store_;
  Saved chat_;
  CacheChecker checker_;
};

TEST_P(Gathered, what_is_held_stays_and_is_one_segment) {
  checker_.check(driver(), "before");
  const std::vector<SeenLane> before = held(driver(), 0, 1000);
  ASSERT_TRUE(driver().cache().edit().gather(kFirst, kLength).ok());
  expect_same(held(driver(), 0, 1000), before, "all");
  const TextSegment episode{.first = kFirst,
                            .n_tokens = kLength,
                            .kind = SegmentKind::episode,
                            .state = SegmentState::done};
  EXPECT_EQ(std::ranges::count(driver().cache().segments(), episode), 1);
  expect_whole();
  go_on(driver());
  checker_.check(driver(), "went on");
  expect_saved();
}

TEST_P(Gathered, an_episode_is_held_as_the_fork_holds_it) {
  checker_.check(driver(), "before");
  // Since the fork both make pages, of the same numbers.
  CacheDriver twin = read_again();
  for (int i = 0; i < 140; ++i) ASSERT_TRUE(driver().step().ok());
  ASSERT_TRUE(chat_.save().ok());
  const std::size_t n = driver().cache().n_tokens();
  const std::vector<SeenLane> before = held(driver(), 0, kFirst),
                              behind = held(driver(), kFirst + kLength, n);
  ASSERT_TRUE(driver().gather(kFirst, kLength, twin).ok());
  expect_same(held(driver(), 0, kFirst), before, "before the episode");
  expect_same(held(driver(), kFirst + kLength, n), behind, "behind the episode");
  expect_same(held(driver(), kFirst, kFirst + kLength), held(twin, kFirst, kFirst + kLength),
              "the episode");
  // A lane with a window has not got the text behind the episode back.
  EXPECT_EQ(driver().cache().edit().truncation_point(kFirst + kLength + 20),
            GetParam().windows.empty() ? kFirst + kLength + 20 : 0);
  CacheChecker::check_arena({&driver(), &twin}, "both");
  twin.close();
  expect_whole();
  go_on(driver());
  checker_.check(driver(), "went on");
  expect_saved();
}

TEST_P(Gathered, all_that_the_chat_has_may_be_an_episode) {
  const std::size_t n = driver().cache().n_tokens();
  {
    CacheDriver twin = read_again(40, n - 40);
    ASSERT_TRUE(driver().gather(40, n - 40, twin).ok());
    expect_same(held(driver(), 0, n), held(twin, 0, n), "all");
  }
  for (const kvcache::Lane& lane : driver().cache().state().lanes) EXPECT_EQ(lane.n_tail(), 0u);
  for (const SeenLane& lane : held(driver(), 40, n))
    for (const auto& [position, token] : lane)
      EXPECT_TRUE(token.bits() < 16 || driver().cache().state().layout.recipe_is_exact)
          << "the fork's tail is held as the rest, at " << position;
  expect_whole({.first = 40, .end = n});
  go_on(driver());
  checker_.check(driver(), "went on");
}

// Most of the chat is out of reach, and the episode lies over the borders of what is not.
TEST_P(Gathered, borders_of_the_reach_cut_the_episode) {
  const Reach reach{.parts = {{0, 40, 300}, {150, 100, 50}, {300, 10, 0}}, .near_first = 350};
  CacheDriver twin = read_again();
  ASSERT_TRUE(driver().cache().edit().set_reach(reach).ok());
  ASSERT_TRUE(driver().gather(kFirst, kLength, twin).ok());
  twin.close();
  expect_whole();
  ASSERT_TRUE(driver().cache().edit().set_reach({}).ok());
  expect_whole({});
}

// The fork has its pages in two parts, each of which the cache shares.
TEST_P(Gathered, pages_that_a_fork_has_split_are_one_in_memory) {
  CacheDriver twin = read_again();
  ASSERT_TRUE(twin.cache()
                  .edit()
                  .set_reach({.parts = {{0, 150, 0}, {200, 33, 0}}, .near_first = 270})
                  .ok());
  ASSERT_TRUE(driver().gather(kFirst, kLength, twin).ok());
  twin.close();
  expect_whole();
}

// A fork that was thinned only, so that both have the same pages.
TEST_P(Gathered, pages_that_both_have_are_one_in_memory) {
  const std::size_t used = driver().cache().stats().bytes;
  CacheDriver twin = driver().fork().value();
  ASSERT_TRUE(twin.cache().edit().forget(250, 20).ok());
  ASSERT_TRUE(driver().gather(200, 100, twin).ok());
  expect_same(held(driver(), 200, 300), held(twin, 200, 300), "the episode");
  twin.close();
  EXPECT_LE(driver().cache().stats().bytes, used + 60000) << "exact tails are pages now";
  expect_whole({.first = 200, .end = 300});
}

TEST_P(Gathered, cut_off_again_it_leaves_nothing_behind) {
  checker_.check(driver(), "before");
  CacheDriver twin = read_again();
  ASSERT_TRUE(driver().gather(kFirst, kLength, twin).ok());
  twin.close();
  // Where windows have passed over its beginning, less of it goes.
  for (const std::size_t n : {kFirst + kLength - 10, kFirst + 50, kFirst}) {
    if (!GetParam().windows.empty() && n < kFirst + kLength - 10) break;
    ASSERT_TRUE(driver().truncate(n).ok());
    expect_whole({.first = kFirst, .end = 1000});
  }
}

// Out of reach, and kept by a second cache where the chat begins.
TEST_P(Gathered, an_episode_rests_elsewhere_and_comes_back_as_it_was) {
  Cache& cache = driver().cache();
  ASSERT_TRUE(cache.edit().gather(kFirst, kLength).ok());
  ASSERT_TRUE(cache.edit().set_reach({.parts = {{0, 40, 300}}, .near_first = 500}).ok());
  const std::vector<SeenLane> before = held(driver(), 0, 1000);
  const CacheStats all = cache.stats();
  std::unique_ptr<Cache> elsewhere = cache.fork().value();
  ASSERT_TRUE(elsewhere->edit().set_reach({}).ok());
  ASSERT_TRUE(elsewhere->edit().truncate(kFirst + kLength).ok());
  ASSERT_TRUE(elsewhere->edit().move_text(kFirst, -60).ok());

  ASSERT_TRUE(cache.edit().rest(kFirst, kLength).ok());
  const CacheStats rests = cache.stats();
  if (GetParam().windows.empty()) {
    EXPECT_EQ(rests.n_kept + rests.n_resting, all.n_kept);
  }
  EXPECT_GT(rests.n_resting, 0u);
  EXPECT_EQ(rests.n_evicted, all.n_evicted);
  expect_same(held(driver(), kFirst, kFirst + kLength), std::vector<SeenLane>(before.size()),
              "gone");
  EXPECT_EQ(cache.edit().set_reach({}).error().code, "CACHE_REACH");
  EXPECT_EQ(
      cache.edit().set_reach({.parts = {{0, 40, 0}, {499, 1, 0}}, .near_first = 500}).error().code,
      "CACHE_REACH");
  EXPECT_EQ(cache.edit().gather(kFirst, kLength).error().code, "CACHE_RANGE");
  EXPECT_EQ(cache.edit().rest(kFirst, kLength).error().code, "CACHE_RANGE");
  EXPECT_EQ(cache.edit().forget(kFirst + 10, 5).error().code, "CACHE_RANGE");
  EXPECT_EQ(cache.edit().pin(kFirst - 5, 10).error().code, "CACHE_RANGE");
  checker_.check(driver(), {.first = kFirst, .end = kFirst + kLength}, "rests");
  expect_saved();
  go_on(driver());

  ASSERT_TRUE(elsewhere->edit().move_text(40, 60).ok());
  EXPECT_EQ(cache.edit().gather(kFirst, kLength - 1, elsewhere->state()).error().code,
            "CACHE_RANGE");
  ASSERT_TRUE(cache.edit().gather(kFirst, kLength, elsewhere->state()).ok());
  elsewhere.reset();
  expect_same(held(driver(), 0, 500), held_before(before, 500), "back");
  EXPECT_EQ(cache.stats().n_resting, 0u);
  ASSERT_TRUE(cache.edit().set_reach({}).ok());
  expect_whole();
}

TEST_P(Gathered, an_episode_that_rests_may_be_cut) {
  ASSERT_TRUE(driver().cache().edit().gather(kFirst, kLength).ok());
  ASSERT_TRUE(driver().cache().edit().rest(kFirst, kLength).error().code == "CACHE_RANGE");
  ASSERT_TRUE(driver().cache().edit().set_reach({.parts = {{0, 40, 0}}, .near_first = 500}).ok());
  ASSERT_TRUE(driver().cache().edit().rest(kFirst, kLength).ok());
  const std::size_t n_resting = driver().cache().stats().n_resting;
  ASSERT_TRUE(driver().truncate(kFirst + kLength / 4).ok());
  EXPECT_EQ(driver().cache().stats().n_resting, n_resting - n_resting * 3 / 4);
  ASSERT_TRUE(driver().truncate(kFirst).ok());
  EXPECT_EQ(driver().cache().stats().n_resting, 0u);
  expect_saved();
}

// Text that nothing has read yet: it counts neither as gone nor as resting, and comes back from a
// fork as what was read in order is held.
TEST_P(Gathered, text_is_left_unread_and_read_later_by_a_fork) {
  Cache& cache = driver().cache();
  const std::size_t begin = cache.n_tokens(), end = begin + kLength;
  const auto head_at = [](std::size_t near) {
    return Reach{.parts = {{0, 40, static_cast<std::int32_t>(near - 40)}}, .near_first = near};
  };
  const CacheStats before = cache.stats();
  const std::vector<SeenLane> all = held(driver(), 0, begin);
  EXPECT_EQ(cache.edit().skip(0, head_at(begin)).error().code, "CACHE_RANGE");
  if (!GetParam().windows.empty()) {
    EXPECT_EQ(cache.edit().skip(kLength, head_at(end)).error().code, "CACHE_RANGE");
    return;
  }
  EXPECT_EQ(cache.edit().skip(kLength, head_at(end + 1)).error().code, "CACHE_REACH");
  EXPECT_EQ(cache.edit().skip(kLength, head_at(end - 1)).error().code, "CACHE_REACH");
  EXPECT_EQ(cache.n_tokens(), begin);
  ASSERT_TRUE(cache.edit().skip(kLength, head_at(end)).ok());
  EXPECT_EQ(cache.n_tokens(), end);
  const CacheStats left = cache.stats();
  EXPECT_EQ(left.n_unread, kLength);
  EXPECT_EQ(left.n_resting, 0u);
  EXPECT_EQ(left.n_evicted, before.n_evicted);
  EXPECT_EQ(left.fp16_bytes, before.fp16_bytes);
  EXPECT_EQ(cache.edit().set_reach({}).error().code, "CACHE_REACH");
  checker_.check(driver(), {.first = begin, .end = end}, "left");
  expect_saved();

  CacheDriver twin = driver().fork().value();
  ASSERT_TRUE(twin.truncate(begin).ok());
  ASSERT_TRUE(twin.cache().edit().set_reach(head_at(begin)).ok());
  ASSERT_TRUE(twin.read(kLength).ok());
  settle(twin);
  ASSERT_TRUE(driver().gather(begin, kLength, twin).ok());
  expect_same(held(driver(), begin, end), held(twin, begin, end), "read later");
  twin.close();
  EXPECT_EQ(cache.stats().n_unread, 0u);
  expect_same(held(driver(), 0, begin), all, "before it");
  expect_whole({.first = begin, .end = end});
}

TEST_P(Gathered, text_left_unread_may_be_cut_and_gone_on_behind) {
  if (!GetParam().windows.empty()) return;
  const std::size_t begin = driver().cache().n_tokens(), end = begin + kLength;
  const Reach head{.parts = {{0, 40, 0}}, .near_first = end};
  ASSERT_TRUE(driver().cache().edit().skip(kLength, head).ok());
  go_on(driver());
  checker_.check(driver(), {.first = begin, .end = end}, "gone on");
  ASSERT_TRUE(driver().truncate(begin + kLength / 4).ok());
  EXPECT_EQ(driver().cache().stats().n_unread, kLength / 4);
  expect_saved();
  ASSERT_TRUE(driver().truncate(begin).ok());
  EXPECT_EQ(driver().cache().stats().n_unread, 0u);
  expect_whole({.first = begin, .end = end});
}

INSTANTIATE_TEST_SUITE_P(Recipes, Gathered,
                         testing::Values(Case{"full"}, Case{"minikv"}, Case{"ladder-3"},
                                         Case{"quest"}, Case{"h2o"}, Case{"satchel"}, Case{"kvzip"},
                                         Case{"full", {0, 150}}, Case{"minikv", {0, 150}}),
                         name_of);

TEST(Gather, takes_what_was_pinned_once_it_is_unpinned) {
  CacheDriver driver(small("minikv"));
  ASSERT_TRUE(driver.read(300).ok());
  ASSERT_TRUE(driver.read(200).ok());
  CacheEdit edit = driver.cache().edit();
  ASSERT_TRUE(edit.pin(350, 50).ok());
  EXPECT_EQ(edit.gather(300, 200).error().code, "CACHE_RANGE");
  EXPECT_EQ(edit.unpin(350, 400, SegmentKind::document).error().code, "CACHE_RANGE");
  ASSERT_TRUE(edit.unpin(340, 100, SegmentKind::document).ok());
  EXPECT_TRUE(edit.gather(300, 200).ok());
}

// What must stay as it is, and what has not been decided.
TEST(Gather, refuses_text_that_is_not_done_and_changes_nothing) {
  CacheDriver driver(small("kvzip"));
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(50, {.kind = SegmentKind::pinned}).ok());
  ASSERT_TRUE(driver.read(200).ok());
  ASSERT_TRUE(driver.probe_all(200).ok());
  ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::idle).ok());
  ASSERT_TRUE(driver.read(100).ok());                                 // 250: pending
  ASSERT_TRUE(driver.read(50, {.kind = SegmentKind::message}).ok());  // 350: open
  CacheDriver twin = driver.fork().value();
  const std::vector<std::byte> before = driver.bytes();
  const std::vector<TextSegment> segments(driver.cache().segments().begin(),
                                          driver.cache().segments().end());
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  const std::vector<std::pair<std::size_t, std::size_t>> ranges = {
      {49, 10}, {0, 10},   {100, 151},  {249, 2},   {260, 20},      {340, 20}, {399, 1},
      {60, 0},  {60, 341}, {60, kHuge}, {kHuge, 1}, {kHuge, kHuge}, {401, 1}};
  for (const auto& [first, n] : ranges) {
    for (const auto& result : {driver.cache().edit().gather(first, n),
                               driver.cache().edit().gather(first, n, twin.cache().state())}) {
      ASSERT_FALSE(result.ok()) << first << "+" << n;
      EXPECT_EQ(result.error().code, "CACHE_RANGE");
    }
    EXPECT_TRUE(driver.bytes() == before);
    EXPECT_TRUE(std::ranges::equal(driver.cache().segments(), segments));
  }
  // The fork has read it again, and not decided yet; or has not come to its end.
  ASSERT_TRUE(twin.truncate(100).ok());
  ASSERT_TRUE(twin.read(100).ok());
  for (const std::size_t n : {100u, 101u}) {
    const auto result = driver.cache().edit().gather(100, n, twin.cache().state());
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, "CACHE_RANGE");
  }
  EXPECT_TRUE(driver.bytes() == before);
  EXPECT_TRUE(driver.cache().edit().gather(50, 200).ok());
}

// Tails of both caches have to go to pages: it fails before anything has changed here, until what
// is free is enough.
TEST(Gather, where_memory_is_full_nothing_has_changed) {
  CacheDriver driver(small());
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(300).ok());
  CacheDriver twin = driver.fork().value();
  ASSERT_TRUE(twin.truncate(20).ok());
  ASSERT_TRUE(twin.read(280).ok());
  const std::vector<std::byte> before = driver.bytes();
  std::size_t n_full = 0;
  for (; n_full < 400; ++n_full) {
    const auto lease =
        driver.arena().take_scratch(driver.arena().free_bytes() - n_full * std::size_t{256});
    ASSERT_TRUE(lease.ok());
    const Result<void> gathered = driver.gather(20, 280, twin);
    if (gathered.ok()) break;
    EXPECT_EQ(gathered.error().code, "CACHE_FULL");
    EXPECT_TRUE(driver.bytes() == before) << n_full;
  }
  EXPECT_GT(n_full, 4u);
  EXPECT_EQ(driver.cache().segments().back().kind, SegmentKind::episode);
  twin.close();
  CacheChecker().check(driver, "once there was enough");
  CacheChecker::check_arena({&driver}, "once there was enough");
}

}  // namespace
}  // namespace satchel::kvcache
