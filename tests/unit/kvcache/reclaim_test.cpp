// Where memory is short: what a recipe's steps take, in which order, and what they leave alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "kvcache/recipes/pipeline.h"
#include "kvcache/shape/rope_pairs.h"
#include "support/staged_backend.h"
#include "unit/kvcache/cache_driver.h"

namespace satchel::kvcache {
namespace {

using testing::HasSubstr;

constexpr std::size_t kDim = 32, kEverything = ~std::size_t{0} / 2;
constexpr std::uint8_t kFour = kTierRecipe, kThree = kTierRecipe + 1, kTwo = kTierRecipe + 2;

CacheDriver ladder(const char* recipe = "ladder-4") {
  CacheDriver driver({.recipe = recipe, .n_layers = 2, .n_heads = 4, .head_dim = kDim});
  driver.check_attention = false;
  return driver;
}

std::vector<std::size_t> tokens_by_tier(CacheDriver& driver) {
  std::vector<std::size_t> tokens;
  for (const TierStats& tier : driver.cache().stats().tiers) tokens.push_back(tier.n_tokens);
  return tokens;
}

// Bits of a key's value, without metadata, at which the token is held in the first lane; 0: gone.
std::size_t bits_at(CacheDriver& driver, std::int32_t position) {
  const DecodedLane lane = driver.decode(0, 0);
  const auto found = lane.find(position);
  if (found == lane.end()) return 0;
  const kernels::PageLayout* layout = found->second.layout;
  if (layout == nullptr) return 16;
  return layout->k.bytes() * 8 / (layout->capacity * kDim);
}

// Another copy of them would free nothing.
TEST(Reclaim, leaves_pages_that_another_cache_holds_as_well) {
  CacheDriver driver = ladder();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(driver.read(512).ok());
  CacheDriver fork = driver.fork().value();
  ASSERT_TRUE(driver.read(512).ok());
  const std::vector<std::byte> held = fork.bytes();
  const std::size_t used = driver.arena().used_bytes();
  ASSERT_TRUE(driver.cache().compactor().reclaim(kEverything).ok());
  EXPECT_LT(driver.arena().used_bytes(), used);
  EXPECT_EQ(bits_at(driver, 10), 4u);
  EXPECT_LT(bits_at(driver, 1200), 4u) << "its own";
  EXPECT_EQ(fork.bytes(), held);
  fork.close();
  ASSERT_TRUE(driver.cache().compactor().reclaim(kEverything).ok());
  EXPECT_LT(bits_at(driver, 10), 4u) << "nobody else holds it now";
}

TEST(Reclaim, takes_of_the_oldest_text_and_no_more_than_is_wanted) {
  CacheDriver driver = ladder();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(driver.read(512).ok());
  const std::size_t used = driver.arena().used_bytes(), free = driver.arena().free_bytes();
  constexpr std::size_t kWanted = 10'000;
  const auto made = driver.cache().compactor().reclaim(free + kWanted);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_GT(made->n_lowered, 0u);
  EXPECT_EQ(made->n_evicted, 0u);
  const std::size_t freed = used - driver.arena().used_bytes();
  EXPECT_GE(freed, kWanted);
  EXPECT_LE(freed, kWanted + 4096) << "about a page more";
  EXPECT_EQ(bits_at(driver, 10), 3u);
  EXPECT_EQ(bits_at(driver, 600), 4u);
  EXPECT_EQ(bits_at(driver, 1200), 4u);
}

TEST(Reclaim, takes_all_text_to_a_step_before_any_goes_to_the_next) {
  CacheDriver driver = ladder();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(driver.read(300).ok());
  std::size_t n_states = 0;
  for (bool goes_on = true; goes_on; ++n_states) {
    const auto made = driver.cache().compactor().reclaim(driver.arena().free_bytes() + 2048);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const std::vector<std::size_t> tokens = tokens_by_tier(driver);
    EXPECT_TRUE(tokens[kFour] == 0 || tokens[kTwo] == 0) << n_states;
    goes_on = made->n_lowered > 0;
  }
  const std::vector<std::size_t> tokens = tokens_by_tier(driver);
  EXPECT_EQ(tokens[kFour] + tokens[kThree], 0u);
  EXPECT_GT(n_states, 6u) << "it went in small steps";
  EXPECT_EQ(driver.kept(0, 0).size(), 900u) << "nothing went";
}

TEST(Reclaim, leaves_alone_what_is_pinned_open_or_exact) {
  CacheDriver driver = ladder();
  ASSERT_TRUE(driver.read(200, {.kind = SegmentKind::pinned}).ok());
  ASSERT_TRUE(driver.read(300).ok());
  ASSERT_TRUE(driver.read(100).ok());
  ASSERT_TRUE(driver.cache().edit().pin(500, 100).ok());
  ASSERT_TRUE(driver.read(300, {.kind = SegmentKind::message}).ok());
  std::vector<std::size_t> before;
  for (const std::int32_t at : {2, 100, 550, 650, 890}) before.push_back(bits_at(driver, at));
  ASSERT_TRUE(driver.cache().compactor().reclaim(kEverything).ok());
  std::vector<std::size_t> after;
  for (const std::int32_t at : {2, 100, 550, 650, 890}) after.push_back(bits_at(driver, at));
  EXPECT_EQ(after, before);
  EXPECT_EQ(bits_at(driver, 300), 2u) << "of the document";
  const auto again = driver.cache().compactor().reclaim(kEverything);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->n_lowered + again->n_evicted, 0u) << "at the floor nothing more is to be had";
}

TEST(Reclaim, of_a_recipe_that_allows_none_does_nothing) {
  CacheDriver driver = ladder("kivi-4");
  ASSERT_TRUE(driver.read(600).ok());
  const std::vector<std::byte> before = driver.bytes();
  ASSERT_TRUE(driver.cache().compactor().reclaim(kEverything).ok());
  EXPECT_EQ(driver.bytes(), before);
}

TEST(Reclaim, a_cache_shrinks_to_what_it_may_take) {
  CacheDriver driver = ladder("full");
  ASSERT_TRUE(driver.read(1000).ok());
  for (const double share : {0.9, 0.6, 0.4}) {
    const CacheStats now = driver.cache().stats();
    const auto bytes = static_cast<std::size_t>(share * static_cast<double>(now.body_bytes)) +
                       now.bytes - now.body_bytes;
    ASSERT_TRUE(driver.cache().compactor().shrink_to(bytes).ok());
    EXPECT_LE(driver.cache().stats().bytes, bytes) << share;
    EXPECT_GE(driver.cache().stats().bytes, bytes - 8192) << share << ": not much less";
  }
}

// As keys alone say, of half of the tokens half: what reading at a quarter would have kept.
constexpr const char* kThins =
    R"({ "recipe": 1, "name": "thins", "source": "a test", "differs": "in nothing", "keep": 0.5,
         "trigger": { "use": "end_of_prompt", "min_tokens": 64 }, "scorer": { "use": "key_worth" },
         "filter": [ { "use": "protect", "sinks": 4, "tail": 128 } ],
         "allocator": { "use": "lane_table" }, "assigner": { "use": "top_k" },
         "merger": { "use": "none" }, "codec": { "k": "exact", "v": "exact" },
         "reader": { "use": "all" }, "room": [ { "share": 0.5 } ] })";

std::shared_ptr<HeadBudgets> table() {
  auto known = std::make_shared<HeadBudgets>();
  known->rows = {{.keep = 0.25, .shares = {0.25, 0.25, 0.25, 0.25}},
                 {.keep = 0.5, .shares = {0.5, 0.5, 0.5, 0.5}}};
  known->importance = KeyImportance{.agreement = 1, .lanes = {}};
  for (std::size_t lane = 0; lane < 4; ++lane) {
    std::vector<float>& weights = known->importance->lanes.emplace_back(1 + 2 * kDim);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = 0.1f * static_cast<float>((i * 7 + lane * 3) % 11) - 0.5f;
  }
  return known;
}

// The logarithm, of a key as it is held, rotated back from where it was encoded.
double importance_of(CacheDriver& driver, std::size_t lane, std::size_t t, std::size_t moved = 0) {
  const std::vector<float> keys = driver.k(lane / 2, t);
  std::vector<double> key(keys.begin() + static_cast<std::ptrdiff_t>(lane % 2 * kDim),
                          keys.begin() + static_cast<std::ptrdiff_t>((lane % 2 + 1) * kDim));
  rope_pairs(driver.shape().layers[lane / 2], -static_cast<double>(t - moved), std::span(key));
  const std::vector<float> weights = table()->importance->lanes[lane];
  double sum = weights[0];
  for (std::size_t c = 0; c < kDim; ++c)
    sum += key[c] * (weights[1 + c] + weights[1 + kDim + c] * key[c]);
  return sum;
}

TEST(Reclaim, of_thinned_text_those_stay_whose_keys_are_worth_most) {
  constexpr std::size_t kText = 1000;
  CacheDriver driver({.recipe = kThins, .n_layers = 2, .n_heads = 4, .head_dim = kDim});
  driver.check_attention = false;
  driver.cache().set_head_budgets(table());
  ASSERT_TRUE(driver.read(kText).ok());
  const auto before = driver.all_kept();
  const std::size_t used = driver.arena().used_bytes();
  const auto made = driver.cache().compactor().reclaim(kEverything);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->n_evicted, 4 * kText / 4);
  EXPECT_LT(driver.arena().used_bytes(), used);
  const auto after = driver.all_kept();
  for (std::size_t lane = 0; lane < after.size(); ++lane) {
    std::vector<std::int32_t> free;
    for (const std::int32_t t : before[lane])
      if (t >= static_cast<std::int32_t>(kSinkTokens) &&
          t < static_cast<std::int32_t>(kText - kTailTokens))
        free.push_back(t);
    std::sort(free.begin(), free.end(), [&](std::int32_t a, std::int32_t b) {
      return importance_of(driver, lane, static_cast<std::size_t>(a)) >
             importance_of(driver, lane, static_cast<std::size_t>(b));
    });
    free.resize(kText / 4 - kSinkTokens - kTailTokens);
    std::set<std::int32_t> expected(free.begin(), free.end());
    for (std::size_t t = 0; t < kSinkTokens; ++t) expected.insert(static_cast<std::int32_t>(t));
    for (std::size_t t = kText - kTailTokens; t < kText; ++t)
      expected.insert(static_cast<std::int32_t>(t));
    EXPECT_EQ(std::set(after[lane].begin(), after[lane].end()), expected) << lane;
  }
  EXPECT_EQ(driver.cache().compactor().reclaim(kEverything)->n_evicted, 0u) << "only once";
}

// Moving cuts the text in two, and of each half those stay whose keys are worth most.
TEST(Reclaim, of_thinned_text_that_moved_goes_by_the_same_keys) {
  constexpr std::size_t kText = 1000, kFrom = 300, kBy = 5;
  CacheDriver driver({.recipe = kThins, .n_layers = 2, .n_heads = 4, .head_dim = kDim});
  driver.check_attention = false;
  driver.cache().set_head_budgets(table());
  ASSERT_TRUE(driver.read(kText).ok());
  ASSERT_TRUE(driver.move_text(kFrom, kBy).ok());
  const auto before = driver.all_kept();
  ASSERT_GT(driver.cache().compactor().reclaim(kEverything)->n_evicted, 0u);
  const auto after = driver.all_kept();
  for (std::size_t lane = 0; lane < after.size(); ++lane) {
    const std::set<std::int32_t> kept(after[lane].begin(), after[lane].end());
    std::array<double, 2> least = {INFINITY, INFINITY}, most_gone = {-INFINITY, -INFINITY};
    for (const std::int32_t position : before[lane]) {
      const auto t = static_cast<std::size_t>(position);
      if (t < kSinkTokens || t >= kText + kBy - kTailTokens) continue;
      const std::size_t half = t < kFrom ? 0 : 1;
      const double importance = importance_of(driver, lane, t, half * kBy);
      if (kept.contains(position))
        least[half] = std::min(least[half], importance);
      else
        most_gone[half] = std::max(most_gone[half], importance);
    }
    for (const std::size_t half : {0u, 1u}) {
      EXPECT_GT(most_gone[half], -INFINITY) << lane << ", " << half;
      EXPECT_GT(least[half], most_gone[half]) << lane << ", " << half;
    }
  }
}

CacheDriver thinning(std::size_t n_texts) {
  CacheDriver driver({.recipe = kThins, .n_layers = 2, .n_heads = 4, .head_dim = kDim});
  driver.check_attention = false;
  driver.cache().set_head_budgets(table());
  for (std::size_t i = 0; i < n_texts; ++i) EXPECT_TRUE(driver.read(1000).ok());
  return driver;
}

TEST(Reclaim, no_more_texts_are_thinned_than_have_to_be) {
  CacheDriver driver = thinning(3);
  const auto before = driver.all_kept();
  const std::size_t bytes = driver.cache().stats().bytes - 20'000;
  ASSERT_TRUE(driver.cache().compactor().shrink_to(bytes).ok());
  EXPECT_LE(driver.cache().stats().bytes, bytes);
  const auto after = driver.all_kept();
  const auto behind = [](const std::vector<std::int32_t>& kept, std::int32_t first) {
    return std::vector(std::lower_bound(kept.begin(), kept.end(), first), kept.end());
  };
  for (std::size_t lane = 0; lane < after.size(); ++lane) {
    EXPECT_LT(after[lane].size(), before[lane].size());
    EXPECT_EQ(behind(after[lane], 1000), behind(before[lane], 1000)) << "later texts";
  }
}

TEST(Reclaim, what_is_foretold_of_the_floor_is_enough) {
  CacheDriver exact = thinning(2), packed = ladder();
  ASSERT_TRUE(packed.read(700).ok());
  for (CacheDriver* driver : {&exact, &packed}) {
    const std::size_t foretold = driver->cache().compactor().floor_bytes();
    EXPECT_LT(foretold, driver->cache().stats().bytes);
    ASSERT_TRUE(driver->cache().compactor().reclaim(kEverything).ok());
    const std::size_t bytes = driver->cache().stats().bytes;
    EXPECT_LE(static_cast<double>(bytes), 1.1 * static_cast<double>(foretold));
    EXPECT_EQ(driver->cache().compactor().floor_bytes(), bytes) << "nothing more is to be had";
  }
}

TEST(Reclaim, an_answer_is_not_thinned_as_nobody_scored_it) {
  CacheDriver driver = thinning(1);
  const std::size_t n_before = driver.cache().n_tokens();
  ASSERT_TRUE(driver.read(300, {.kind = SegmentKind::answer}).ok());
  ASSERT_TRUE(driver.cache().compactor().end_turn().ok());
  ASSERT_TRUE(driver.read(200).ok());
  ASSERT_TRUE(driver.cache().compactor().reclaim(kEverything).ok());
  for (const std::vector<std::int32_t>& kept : driver.all_kept()) {
    const auto first = static_cast<std::int32_t>(n_before);
    EXPECT_EQ(std::count_if(kept.begin(), kept.end(),
                            [&](std::int32_t t) { return t >= first && t < first + 300; }),
              300);
  }
}

TEST(Reclaim, text_whose_keys_nobody_knows_the_worth_of_is_not_thinned) {
  CacheDriver driver({.recipe = kThins, .n_layers = 2, .n_heads = 4, .head_dim = kDim});
  ASSERT_TRUE(driver.read(600).ok());
  const auto kept = driver.all_kept();
  ASSERT_TRUE(driver.cache().compactor().reclaim(kEverything).ok());
  EXPECT_EQ(driver.all_kept(), kept);
}

// --- another recipe for what is there ------------------------------------------------------------

// Of the second layer.
const kernels::LaneView& lane_of(const Cache& cache, std::size_t head) {
  const kernels::Sequence lanes = cache.lanes(1);
  return test::shown_lane(*lanes.lanes, lanes.first_lane + head);
}

TEST(FollowsARecipe, as_if_it_had_been_read_under_it) {
  CacheDriver full = ladder("full"), read = ladder();
  for (CacheDriver* driver : {&full, &read}) ASSERT_TRUE(driver->read(700).ok());
  const std::vector<std::byte> before = full.bytes();
  auto copy = full.cache().fork(read.recipe());
  ASSERT_TRUE(copy.ok()) << copy.error().message;
  const auto followed = (*copy)->compactor().follow_recipe();
  ASSERT_TRUE(followed.ok());
  EXPECT_GT(followed->n_lowered, 0u);
  EXPECT_EQ((*copy)->stats().bytes, read.cache().stats().bytes);
  for (std::size_t head = 0; head < 2; ++head) {
    const DecodedLane now = full.decode(lane_of(**copy, head), kDim);
    const DecodedLane then = read.decode(1, head);
    ASSERT_EQ(now.size(), then.size());
    for (const auto& [position, token] : then) {
      ASSERT_EQ(now.at(position).k, token.k) << position;
      ASSERT_EQ(now.at(position).v, token.v) << position;
    }
  }
  EXPECT_EQ(full.bytes(), before) << "the chat itself is as it was";
}

TEST(FollowsARecipe, only_where_that_has_a_tier_for_what_is_held) {
  CacheDriver driver = ladder("kivi-4");
  ASSERT_TRUE(driver.read(600).ok());
  const std::size_t used = driver.arena().used_bytes();
  const auto copy = driver.cache().fork(Recipe::builtin("ladder-4").value());
  ASSERT_FALSE(copy.ok());
  EXPECT_EQ(copy.error().code, "CACHE_RECIPE");
  EXPECT_THAT(copy.error().message, HasSubstr("kivi 4 bits"));
  EXPECT_EQ(driver.arena().used_bytes(), used);
}

TEST(FollowsARecipe, only_where_its_scorer_needs_no_queries) {
  CacheDriver driver = ladder("full");
  ASSERT_TRUE(driver.read(600).ok());
  for (const char* name : {"snapkv", "zipcache-2t", "satchel"}) {  // the last without a table
    auto copy = driver.cache().fork(Recipe::builtin(name).value());
    ASSERT_TRUE(copy.ok()) << name << copy.error().message;
    const auto followed = (*copy)->compactor().follow_recipe();
    ASSERT_FALSE(followed.ok()) << name;
    EXPECT_EQ(followed.error().code, "CACHE_RECIPE") << name;
  }
}

TEST(FollowsARecipe, not_while_a_turn_is_open_that_it_would_decide) {
  CacheDriver driver = ladder("full");
  ASSERT_TRUE(driver.read(300, {.kind = SegmentKind::message}).ok());
  EXPECT_EQ(driver.cache().fork(Recipe::builtin("satchel").value()).error().code, "CACHE_RECIPE");
  EXPECT_TRUE(driver.cache().fork(Recipe::builtin("ladder-4").value()).ok());
}

// --- the recipe's own words ----------------------------------------------------------------------

Result<Recipe> with_reclaim_steps(const std::string& steps, const std::string& trigger = "never") {
  return Recipe::parse(R"({ "recipe": 1, "name": "r", "source": "a test", "differs": "in nothing",
      "trigger": { "use": ")" +
                           trigger + R"(" }, "codec": { "k": "exact", "v": "exact" },
      "reader": { "use": "all" }, "room": )" +
                           steps + " }",
                       "r.json");
}

TEST(ReclaimStepsOfARecipe, says_what_is_wrong_with_it) {
  constexpr const char* kCodec = R"({ "codec": { "k": "exact", "v": "exact" } })";
  const auto message = [](const std::string& steps) {
    const Result<Recipe> made = with_reclaim_steps(steps);
    EXPECT_FALSE(made.ok()) << steps;
    return made.ok() ? std::string() : made.error().message;
  };
  EXPECT_THAT(message("3"), HasSubstr("must be a list"));
  EXPECT_THAT(message("[ {} ]"), HasSubstr("a step of \"room\""));
  EXPECT_THAT(message(R"([ { "share": 1 } ])"), HasSubstr("below 1"));
  EXPECT_THAT(message(R"([ { "share": 0.5 }, { "share": 0.5 } ])"),
              HasSubstr("the share before it"));
  EXPECT_THAT(message(R"([ { "share": 0.5 } ])"), HasSubstr("scorer"));
  const auto klt = [](const char* bits) {
    const std::string one = R"({ "use": "klt", "bits": )" + std::string(bits) + " }";
    return R"({ "codec": { "k": )" + one + R"(, "v": )" + one + " } }";
  };
  EXPECT_THAT(
      message("[ " + klt("3") + ",\n" + klt("4") + " ]"),
      testing::AllOf(HasSubstr("r.json line 4"), HasSubstr("\"codec\" of \"room\""),
                     HasSubstr("not be finer than the one before"),
                     HasSubstr("klt 4 bits takes 4.31 bits"), HasSubstr("klt 3 bits only 3.31")));
  EXPECT_TRUE(with_reclaim_steps("[ " + klt("4") + ", " + klt("3") + " ]").ok());
  std::string many = kCodec;
  for (std::size_t i = 0; i < kCodecsMax; ++i) many += std::string(", ") + kCodec;
  EXPECT_THAT(message("[ " + many + " ]"), HasSubstr("at most 6 tiers"));
}

TEST(ReclaimStepsOfARecipe, ends_at_the_floor) {
  std::string without_keep = kThins;
  without_keep.replace(without_keep.find("\"keep\": 0.5,"), 12, "");
  EXPECT_EQ(Recipe::parse(without_keep)->at_floor()->keep(), 0.5) << "half of all";
  const Recipe floor = Recipe::builtin("satchel")->at_floor().value();
  EXPECT_EQ(floor.keep(), 0.25);
  ASSERT_EQ(floor.pipeline().codecs().size(), 1u);
  EXPECT_EQ(floor.pipeline().codecs()[0].name, "klt 2 bits");
  EXPECT_TRUE(floor.pipeline().reclaim_steps().empty());
  EXPECT_EQ(Recipe::builtin("kivi-4")->at_floor()->hash(), Recipe::builtin("kivi-4")->hash());
}

}  // namespace
}  // namespace satchel::kvcache
