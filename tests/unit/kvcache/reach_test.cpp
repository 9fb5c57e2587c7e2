// What attention sees of a long text: parts that are moved close, and nothing of the others.
#include "kvcache/lanes/reach.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "cache_checker.h"
#include "kernels/base/rng.h"
#include "kvcache/recipes/pipeline.h"
#include "kvcache/shape/rope_pairs.h"
#include "support/lanes.h"
#include "support/open_named.h"
#include "support/sanitized.h"

namespace satchel::kvcache {
namespace {

Reach reach_of(std::vector<Reach::Part> parts, std::size_t near_first) {
  return {.parts = std::move(parts), .near_first = near_first};
}

// Of a text of 500 tokens: two parts, the second 50 positions later than it stands.
const Reach kTwo = reach_of({{0, 100, 0}, {200, 100, 50}}, 400);

TEST(Reach, tells_of_every_token_where_it_is_seen) {
  for (const std::size_t at : {0u, 99u, 200u, 299u, 400u, 499u, 500u, 100000u})
    EXPECT_EQ(kTwo.moved(at), at >= 200 && at < 300 ? 50 : 0) << at;
  for (const std::size_t at : {100u, 199u, 300u, 399u}) {
    EXPECT_FALSE(kTwo.moved(at).has_value()) << at;
    EXPECT_FALSE(kTwo.place(at).has_value()) << at;
  }
  EXPECT_EQ(kTwo.place(99), 0u);
  EXPECT_EQ(kTwo.place(200), 1u);
  EXPECT_EQ(kTwo.place(400), 2u);
  EXPECT_EQ(Reach{}.moved(0), 0);
  EXPECT_EQ(Reach{}.place(7), 0u);
}

TEST(Reach, holds_where_all_parts_are_seen_before_the_near_text) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  const std::vector<Reach> good = {
      {},
      kTwo,
      reach_of({{0, 4, 0}}, 4),
      reach_of({{0, 500, 0}}, 500),
      reach_of({{0, 4, 496}}, 500),                      // sinks just before the near text
      reach_of({{0, 100, 0}, {100, 100, 0}}, 200),       // one after the other
      reach_of({{0, 100, 0}, {200, 100, -200}}, 400),    // side by side
      reach_of({{0, 100, 300}, {200, 100, 100}}, 400)};  // both at the end
  for (std::size_t i = 0; i < good.size(); ++i) EXPECT_TRUE(good[i].holds(500, 4)) << i;
  const std::vector<Reach> bad = {
      reach_of({{0, 100, 0}}, 0),      // all is near: no parts
      reach_of({}, 400),               // no beginning
      reach_of({{0, 100, 0}}, 501),    // behind the text
      reach_of({{1, 100, 0}}, 400),    // not from the first token
      reach_of({{0, 3, 0}}, 400),      // not all sinks
      reach_of({{0, 401, 0}}, 400),    // reaches into the near text
      reach_of({{0, 100, -1}}, 400),   // seen before the text
      reach_of({{0, 100, 301}}, 400),  // seen in the near text
      reach_of({{0, 100, kMost}}, 400),
      reach_of({{0, 100, kLeast}}, 400),
      reach_of({{0, 100, 0}, {99, 100, 0}}, 400),                // overlap
      reach_of({{0, 100, 0}, {100, 0, 0}}, 400),                 // empty
      reach_of({{0, 100, 0}, {300, 50, 0}, {200, 50, 0}}, 400),  // out of order
      reach_of({{0, 100, 0}, {200, 100, -201}}, 400),
      reach_of({{0, 100, 0}, {200, 100, 101}}, 400),
      reach_of({{0, kHuge, 0}}, 400),
      reach_of({{0, 100, 0}, {200, kHuge, 0}}, 400),
      reach_of({{0, 100, 0}, {kHuge, 1, 0}}, 400),
      reach_of({{0, 100, 0}}, kHuge)};
  for (std::size_t i = 0; i < bad.size(); ++i) EXPECT_FALSE(bad[i].holds(500, 4)) << i;
  EXPECT_TRUE(Reach{}.holds(0, 4));
}

TEST(Reach, truncated_shows_what_is_left) {
  struct Case {
    std::size_t n_tokens;
    Reach left;
  };
  const std::vector<Case> cases = {
      {500, kTwo},
      {400, kTwo},
      {399, reach_of({{0, 100, 0}, {200, 100, 50}}, 399)},  // the part still ends before it
      {320, reach_of({{0, 100, 0}, {200, 100, 20}}, 320)},  // closer, so that it does
      {300, reach_of({{0, 100, 0}, {200, 100, 0}}, 300)},
      {250, reach_of({{0, 100, 0}, {200, 50, 0}}, 250)},
      {200, reach_of({{0, 100, 0}}, 200)},
      {101, reach_of({{0, 100, 0}}, 101)},
      {100, {}},  // only the beginning is left
      {1, {}},
      {0, {}}};
  for (const Case& of : cases) {
    Reach reach = kTwo;
    reach.truncate(of.n_tokens);
    EXPECT_EQ(reach, of.left) << of.n_tokens;
    EXPECT_TRUE(reach.holds(of.n_tokens, std::min<std::size_t>(of.n_tokens, kSinkTokens)));
  }
  Reach moved_sinks = reach_of({{0, 100, 300}}, 400);
  moved_sinks.truncate(150);
  EXPECT_EQ(moved_sinks, reach_of({{0, 100, 50}}, 150));
}

// A chat of 750 tokens under a recipe.
struct ChatCase {
  std::string recipe;
  std::string backend = "cpu";
  std::vector<std::size_t> windows = {};
};
std::ostream& operator<<(std::ostream& out, const ChatCase& of) {
  return out << of.recipe << " on " << of.backend << (of.windows.empty() ? "" : ", windows");
}
std::string name_of(const testing::TestParamInfo<ChatCase>& row) {
  std::string name = row.param.recipe + "_" + row.param.backend;
  if (!row.param.windows.empty()) name += "_windows";
  std::ranges::replace(name, '-', '_');
  return name;
}
// Key bases; a page selector; scores of decode steps; short tails; a second pass; merged tokens.
std::vector<ChatCase> chat_cases() {
  std::vector<ChatCase> cases = {{"full", "cpu", {0, 150}}};
  for (const char* recipe :
       {"full", "minikv", "ladder-3", "quest", "h2o", "satchel", "kvzip", "d2o"})
    cases.push_back({recipe});
  if (test::kSanitized) return cases;
  for (const char* recipe : {"full", "ladder-3", "quest"}) cases.push_back({recipe, "reference"});
  cases.push_back({"minikv", "reference", {0, 150}});
  return cases;
}

class ReachedChat : public testing::TestWithParam<ChatCase> {
 protected:
  static constexpr std::size_t kTokens = 750;
  ReachedChat()
      : driver_({.recipe = GetParam().recipe,
                 .n_layers = 2,
                 .n_heads = 4,
                 .n_kv_heads = 2,
                 .head_dim = 32,
                 .windows = GetParam().windows,
                 .backend = GetParam().backend}) {
    driver_.check_attention = false;
    const Pipeline& pipeline = driver_.recipe().pipeline();
    checker_.checks_values = !(pipeline.decides() && pipeline.merger().merges());
  }
  void SetUp() override {
    ASSERT_TRUE(driver_.read(40, {.kind = SegmentKind::pinned}).ok());
    ASSERT_TRUE(driver_.read(480).ok());
    ASSERT_TRUE(driver_.read(200, {.kind = SegmentKind::message}).ok());
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(driver_.step().ok());
    ASSERT_TRUE(edit().pin(0, 40).ok());
    check("at first");
  }
  CacheEdit edit() { return driver_.cache().edit(); }
  // All that must hold, what is seen among it; and attention is that over what is seen.
  void check(const std::string& what, const Edit& edit = {}) {
    checker_.check(driver_, edit, what);
    CacheChecker::check_arena({&driver_}, what);
    EXPECT_LE(driver_.attention_error(), 1e-3) << what;
  }
  std::vector<DecodedLane> held() {
    std::vector<DecodedLane> lanes;
    for (std::size_t layer = 0; layer < 2; ++layer)
      for (std::size_t head = 0; head < 2; ++head) lanes.push_back(driver_.held(layer, head));
    return lanes;
  }
  std::vector<float> attended() {
    std::vector<float> all;
    for (std::size_t layer = 0; layer < 2; ++layer)
      for (const float x : driver_.attended(layer, driver_.cache().n_tokens())) all.push_back(x);
    return all;
  }
  CacheDriver driver_;
  CacheChecker checker_;
};

// Sinks stay, sinks are moved, parts stand side by side, all text is in some part, tails are cut.
std::vector<Reach> reaches() {
  return {reach_of({{0, 40, 0}}, 600),
          reach_of({{0, 40, 500}, {60, 100, 440}}, 600),
          reach_of({{0, 100, 0}, {130, 90, -130}, {300, 200, -300}}, 520),
          reach_of({{0, 150, 450}, {150, 350, 0}, {500, 100, -500}}, 600),
          reach_of({{0, 40, 1}, {100, 1, 0}, {199, 128, 3}}, 700),
          reach_of({{0, 750, 0}}, 750)};
}

bool is_near(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) { return std::abs(x - y) <= 1e-4F; });
}

TEST_P(ReachedChat, only_parts_in_reach_are_seen_where_they_were_moved) {
  const std::vector<DecodedLane> before = held();
  for (const Reach& reach : reaches()) {
    const std::string what = "reach before " + std::to_string(reach.near_first);
    ASSERT_TRUE(edit().set_reach(reach).ok()) << what;
    EXPECT_EQ(driver_.cache().reach(), reach);
    check(what);
    for (std::size_t lane = 0; lane < before.size(); ++lane) {
      const DecodedLane now = driver_.held(lane / 2, lane % 2);
      ASSERT_EQ(difference({now.begin(), now.end()}, {before[lane].begin(), before[lane].end()}),
                "")
          << what << ": what is held has changed in lane " << lane;
    }
    if (HasFailure()) return;
  }
}

// P1 of episodes.md.
TEST_P(ReachedChat, where_all_is_in_reach_again_attention_is_as_before) {
  const std::vector<float> before = attended();
  const std::size_t bytes = driver_.cache().stats().bytes;
  ASSERT_TRUE(edit().set_reach(reach_of({{0, 40, 500}, {300, 128, 0}}, 600)).ok());
  EXPECT_FALSE(is_near(attended(), before)) << "parts were out of reach";
  EXPECT_GT(driver_.cache().stats().bytes, bytes) << "sinks were moved";
  ASSERT_TRUE(edit().set_reach({}).ok());
  EXPECT_TRUE(is_near(attended(), before));
  check("all again");
  // One part that does not move is all text too.
  ASSERT_TRUE(edit().set_reach(reach_of({{0, 600, 0}}, 600)).ok());
  EXPECT_TRUE(is_near(attended(), before));
  for (std::size_t head = 0; head < 2; ++head)
    EXPECT_FALSE(driver_.lane(0, head).has_moved_sinks());
}

// Part of the text is hidden while all the rest of life goes on.
TEST_P(ReachedChat, goes_on_with_a_reach_as_without) {
  ASSERT_TRUE(edit().set_reach(reach_of({{0, 40, 500}, {100, 128, 300}}, 600)).ok());
  driver_.check_attention = true;
  ASSERT_TRUE(driver_.read(40, {.kind = SegmentKind::message}).ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(driver_.step().ok());
  EXPECT_LE(driver_.worst_error, 1e-3);
  check("read");
  driver_.check_attention = false;
  for (int i = 0; i < 130; ++i) ASSERT_TRUE(driver_.step().ok());
  check("steps, and a flush");
  ASSERT_TRUE(driver_.cache().compactor().end_turn().ok());
  check("end_turn");
  ASSERT_TRUE(driver_.probe_all(100).ok());
  check("probe");
  ASSERT_TRUE(driver_.cache().compactor().compact(TriggerEvent::idle).ok());
  check("idle");
  ASSERT_TRUE(edit().pin(620, 20).ok());
  ASSERT_TRUE(edit().forget(110, 50).ok());
  check("forget", {.first = 110, .end = 160});
  ASSERT_TRUE(driver_.cache().compactor().reclaim(driver_.arena().bytes()).ok());
  check("reclaim");
  ASSERT_TRUE(edit().set_reach({}).ok());
  check("all again");
}

TEST_P(ReachedChat, truncated_shows_what_is_left) {
  const Reach reach = reach_of({{0, 40, 450}, {100, 150, 200}, {400, 50, 100}}, 600);
  // Into the near text, at its border, hidden text, a part, between parts, the first part, sinks.
  for (const std::size_t n : {700u, 600u, 550u, 430u, 300u, 200u, 60u, 40u, 20u, 3u, 0u}) {
    CacheDriver twin = driver_.fork().value();
    std::swap(twin, driver_);
    const std::string what = "truncated to " + std::to_string(n);
    ASSERT_TRUE(edit().set_reach(reach).ok());
    if (edit().truncation_point(n) == n) {
      ASSERT_TRUE(driver_.truncate(n).ok());
      Reach left = reach;
      left.truncate(n);
      EXPECT_EQ(driver_.cache().reach(), left);
      CacheChecker after = checker_;
      after.check(driver_, {.first = n, .end = kTokens}, what);
      CacheChecker::check_arena({&driver_, &twin}, what);
      EXPECT_LE(driver_.attention_error(), 1e-3) << what;
      ASSERT_TRUE(driver_.read(30).ok());
      after.check(driver_, {.first = n, .end = kTokens}, what + ", and went on");
    }
    std::swap(twin, driver_);
    if (HasFailure()) return;
  }
}

TEST_P(ReachedChat, a_fork_holds_the_same_bytes_in_the_same_order) {
  ASSERT_TRUE(edit().set_reach(reach_of({{0, 40, 500}, {100, 128, 300}}, 600)).ok());
  CacheDriver twin = driver_.fork().value();
  EXPECT_EQ(twin.cache().reach(), driver_.cache().reach());
  EXPECT_TRUE(twin.bytes() == driver_.bytes());
  twin.reads_on_as(driver_);
  for (CacheDriver* each : {&twin, &driver_}) {
    for (int i = 0; i < 130; ++i) ASSERT_TRUE(each->step().ok());
    ASSERT_TRUE(each->cache().edit().set_reach(kTwo).ok());
  }
  EXPECT_TRUE(twin.bytes() == driver_.bytes());
  CacheChecker::check_arena({&driver_, &twin}, "fork");
  twin.close();
  check("the fork is gone");
}

TEST_P(ReachedChat, cleared_holds_nothing) {
  ASSERT_TRUE(edit().set_reach(reach_of({{0, 40, 500}}, 600)).ok());
  driver_.clear();
  EXPECT_TRUE(driver_.cache().reach().is_all());
  CacheChecker::check_arena({&driver_}, "clear");
  for (std::size_t head = 0; head < 2; ++head)
    EXPECT_FALSE(driver_.lane(0, head).has_moved_sinks());
  ASSERT_TRUE(driver_.read(100).ok());
  EXPECT_LE(driver_.attention_error(), 1e-3);
}

TEST_P(ReachedChat, what_is_refused_changes_nothing) {
  ASSERT_TRUE(edit().set_reach(reach_of({{0, 40, 500}, {100, 128, 300}}, 600)).ok());
  const std::vector<std::byte> before = driver_.bytes();
  const std::size_t used = driver_.arena().used_bytes();
  const auto expect_refused = [&](const Result<void>& result, const std::string& code) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, code);
    EXPECT_TRUE(driver_.bytes() == before) << code;
    EXPECT_EQ(driver_.arena().used_bytes(), used) << code;
  };
  expect_refused(edit().set_reach(reach_of({{0, 40, 0}}, 751)), "CACHE_REACH");
  expect_refused(edit().set_reach(reach_of({{0, 3, 0}}, 600)), "CACHE_REACH");
  expect_refused(edit().set_reach(reach_of({{0, 40, 0}, {39, 10, 0}}, 600)), "CACHE_REACH");
  expect_refused(driver_.move_text(700, 10), "CACHE_RANGE");
  expect_refused(edit().gather(2, 100), "CACHE_RANGE");
  check("refused");
}

INSTANTIATE_TEST_SUITE_P(Recipes, ReachedChat, testing::ValuesIn(chat_cases()), name_of);

// A second pass over text that it can't see would find that nothing of it matters.
TEST(SetReach, text_that_waits_for_a_second_pass_waits_until_it_is_in_reach) {
  CacheDriver driver(
      {.recipe = "kvzip", .keep = 0.3, .n_layers = 2, .head_dim = 32, .backend = "cpu"});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(40, {.kind = SegmentKind::pinned}).ok());
  ASSERT_TRUE(driver.read(400).ok());
  ASSERT_TRUE(driver.read(160, {.kind = SegmentKind::pinned}).ok());
  CacheDriver seen = driver.fork().value();
  seen.reads_on_as(driver);
  ASSERT_TRUE(driver.cache().edit().set_reach(reach_of({{0, 40, 300}}, 450)).ok());
  EXPECT_EQ(driver.probe_all(100).value(), 0u);
  ASSERT_TRUE(driver.cache().edit().set_reach(reach_of({{0, 140, 300}, {300, 9, 0}}, 450)).ok());
  EXPECT_EQ(driver.cache().next_probe(150)->n_tokens, 100u) << "to the end of the part";
  ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::idle).ok());
  EXPECT_EQ(driver.cache().stats().n_pending, 400u);
  // So that both have the same tails, which a second pass sees.
  ASSERT_TRUE(seen.cache().edit().set_reach(driver.cache().reach()).ok());
  for (CacheDriver* each : {&driver, &seen}) {
    ASSERT_TRUE(each->cache().edit().set_reach({}).ok());
    EXPECT_EQ(each->probe_all(100).value(), 4u);
    ASSERT_TRUE(each->cache().compactor().compact(TriggerEvent::idle).ok());
    EXPECT_EQ(each->cache().stats().n_pending, 0u);
  }
  EXPECT_EQ(driver.all_kept(), seen.all_kept());
}

// A page holds tokens of one part only: where the text is cut, two parts that were moved alike are
// moved differently.
TEST(SetReach, keeps_parts_apart_that_are_moved_alike) {
  CacheDriver driver({.recipe = "ladder-4",
                      .n_layers = 1,
                      .n_heads = 1,
                      .n_kv_heads = 1,
                      .head_dim = 32,
                      .backend = "cpu"});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(700).ok());
  ASSERT_TRUE(driver.cache().edit().set_reach(reach_of({{0, 90, 50}, {200, 90, 50}}, 500)).ok());
  ASSERT_TRUE(driver.cache().compactor().reclaim(driver.arena().bytes()).ok());
  ASSERT_TRUE(driver.truncate(310).ok());
  EXPECT_EQ(driver.cache().reach(), reach_of({{0, 90, 50}, {200, 90, 20}}, 310));
  CacheChecker().check(driver, "truncated");
}

// It fails before anything has changed, until what is free is enough.
TEST(SetReach, where_memory_is_full_nothing_has_changed) {
  CacheDriver driver(
      {.recipe = "minikv", .n_layers = 2, .n_heads = 2, .n_kv_heads = 2, .head_dim = 32});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(300).ok());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(driver.step().ok());
  const std::vector<std::byte> before = driver.bytes();
  const std::size_t used = driver.arena().used_bytes();
  std::size_t n_full = 0;
  for (; n_full < 200; ++n_full) {
    const auto lease =
        driver.arena().take_scratch(driver.arena().free_bytes() - n_full * std::size_t{256});
    ASSERT_TRUE(lease.ok());
    const Result<void> set = driver.cache().edit().set_reach(reach_of({{0, 4, 300}}, 350));
    if (set.ok()) break;
    EXPECT_EQ(set.error().code, "CACHE_FULL");
    EXPECT_TRUE(driver.bytes() == before) << n_full;
    EXPECT_EQ(driver.arena().used_bytes() - lease->size(), used) << n_full;
  }
  EXPECT_GT(n_full, 4u);
  EXPECT_FALSE(driver.cache().reach().is_all());
  CacheChecker().check(driver, "once there was enough");
}

// One lane of 250 tokens under `full`, whose second hundred repeats the first: the same keys before
// RoPE, the same values.
class Repeated : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::size_t kTokens = 250, kFirst = 20, kLength = 100;
  Repeated()
      : driver_(
            {.n_layers = 1, .n_heads = 1, .n_kv_heads = 1, .head_dim = 32, .backend = GetParam()}),
        layer_(driver_.shape().layers[0]) {}
  void SetUp() override {
    std::vector<float> keys, values;
    for (std::size_t t = 0; t < kTokens; ++t) {
      const std::size_t source =
          t >= kFirst + kLength && t < kFirst + 2 * kLength ? t - kLength : t;
      std::vector<float> k = driver_.k(0, source);
      rope_pairs(layer_, static_cast<double>(t), std::span(k));
      keys.insert(keys.end(), k.begin(), k.end());
      const std::vector<float> v = driver_.v(0, source);
      values.insert(values.end(), v.begin(), v.end());
    }
    Prefill reading = driver_.cache().begin_prefill({.n_tokens = kTokens}).value();
    ASSERT_TRUE(reading.begin_layer(0).ok());
    ASSERT_TRUE(reading.add_chunk(keys.data(), values.data(), kTokens).ok());
    ASSERT_TRUE(reading.end_layer().ok());
    ASSERT_TRUE(reading.commit().ok());
  }
  double error(const DecodedLane& lane) {
    return driver_.attention_error(0, kTokens, [&](std::size_t) { return lane; });
  }
  CacheDriver driver_;
  const LayerShape& layer_;
};

// P2 of episodes.md.
TEST_P(Repeated, two_equal_parts_side_by_side_count_as_one_twice) {
  const Reach both = reach_of({{0, kFirst, 0},
                               {kFirst, kLength, 0},
                               {kFirst + kLength, kLength, -static_cast<int>(kLength)}},
                              kFirst + 2 * kLength);
  ASSERT_TRUE(driver_.cache().edit().set_reach(both).ok());
  DecodedLane once;
  for (auto& [position, token] : driver_.held(0, 0)) {
    const auto at = static_cast<std::size_t>(position);
    if (at >= kFirst + kLength && at < kFirst + 2 * kLength) continue;
    once.emplace(position, token);
    if (at >= kFirst && at < kFirst + kLength) once[position].log_count = std::numbers::ln2;
  }
  EXPECT_LE(error(once), 1e-3);  // keys were rounded to fp16 at both places
  for (auto& [position, token] : once) token.log_count = 0;
  EXPECT_GT(error(once), 1e-2);
}

// P3 of episodes.md: the same pages from the last to the first.
TEST_P(Repeated, the_order_of_parts_does_not_matter_beyond_rounding) {
  ASSERT_TRUE(driver_.cache()
                  .edit()
                  .set_reach(reach_of({{0, kFirst, 0}, {60, 50, -40}, {120, 70, -30}}, 220))
                  .ok());
  const std::vector<float> in_order = driver_.attended(0, kTokens), q = driver_.q(0, kTokens);
  const kernels::LaneView& lane = driver_.view(0, 0);
  const std::vector<kernels::PageView> pages(lane.pages.rbegin(), lane.pages.rend());
  ASSERT_GE(pages.size(), 3u);
  const auto table = test::table_of(driver_.backend(), {{.runs = lane.runs, .pages = pages}});
  const kernels::Sequence sequence{.lanes = table.get(), .first_lane = 0, .n_tokens = 1};
  const auto position = static_cast<std::int32_t>(kTokens);
  std::vector<float> out(in_order.size()), lse(1);
  kernels::AttendArgs args = layer_.attend_args();
  args.q = q.data();
  args.batch = {
      .positions = &position, .n_tokens = 1, .position_min = position, .position_max = position};
  args.sequences = {&sequence, 1};
  args.out = out.data();
  args.lse = lse.data();
  ASSERT_TRUE(driver_.backend().attend(args).ok());
  for (std::size_t c = 0; c < out.size(); ++c) EXPECT_NEAR(out[c], in_order[c], 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Backends, Repeated, testing::Values("reference", "cpu"));

}  // namespace
}  // namespace satchel::kvcache
