// Contract suites: what every stage of a kind must do, walked over the registry.
#include "kvcache/stages/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "kernels/base/rng.h"
#include "kvcache/stages/apportion.h"
#include "kvcache/stages/share.h"
#include "unit/kvcache/noted_pages.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

// Values of which some are equal.
std::vector<float> some_scores(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> scores(n);
  for (float& score : scores) score = static_cast<float>(rng.next() % 50) / 64;
  return scores;
}

class EveryStage : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryStage, has_a_name_a_source_and_defaults_and_refuses_unknown_keys) {
  EXPECT_FALSE(GetParam()->name.empty());
  EXPECT_FALSE(GetParam()->source.empty());
  const JsonNode none = parse_json("{}", "r.json").value();
  Params defaults(none, "r.json");
  const auto made = GetParam()->make(defaults);
  EXPECT_TRUE(made.ok()) << made.error().message;
  const JsonNode node = parse_json("{ \"use\": \"x\",\n \"no_such_key\": 1 }", "r.json").value();
  Params params(node, "r.json");
  (void)GetParam()->make(params).ok();
  const Result<void> known = params.check_all_known();
  ASSERT_FALSE(known.ok());
  EXPECT_THAT(known.error().message, HasSubstr("r.json line 2: unknown parameter \"no_such_key\""));
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryStage,
                         testing::ValuesIn(all_stages().begin(), all_stages().end()), by_name);

TEST(Stages, have_each_name_once_per_kind) {
  std::set<std::pair<StageKind, std::string_view>> names;
  for (const StageEntry* entry : all_stages())
    EXPECT_TRUE(names.emplace(entry->kind, entry->name).second) << entry->name;
  EXPECT_EQ(names.size(), all_stages().size());
}

class EveryTrigger : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryTrigger, leaves_an_empty_text_alone_and_fires_at_some_occasion_or_never) {
  const auto trigger = make<Trigger>(*GetParam());
  bool any = false;
  for (const TriggerEvent event :
       {TriggerEvent::span_read, TriggerEvent::turn_ended, TriggerEvent::steps,
        TriggerEvent::over_limit, TriggerEvent::idle, TriggerEvent::asked}) {
    EXPECT_FALSE(trigger->fires(event, 0));
    any = any || trigger->fires(event, 1u << 30);
  }
  EXPECT_EQ(any, trigger->ever_fires());
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryTrigger, testing::ValuesIn(stages_of(StageKind::trigger)),
                         by_name);

class EveryScorer : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryScorer, gives_the_same_finite_scores_for_any_chunking) {
  std::vector<KnownMap::Row> rows(61);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].assign(rows.size(), 0);
    double sum = 0;
    for (std::size_t j = 0; j <= i; ++j) sum += rows[i][j] = 1.0 + double((i * 7 + j * 13) % 11);
    for (double& p : rows[i]) p /= sum;
  }
  const KnownMap map = KnownMap::square(rows);
  const auto backend = test::open_reference();
  const auto scorer = make<Scorer>(*GetParam());
  const ScorerRequirements requirements = scorer->requirements(nullptr);
  // One that wants nothing at all scores when all has been read.
  if (requirements.exact_kv && !requirements.prefill && !requirements.decoding &&
      !requirements.probe)
    GTEST_SKIP() << "It scores keys or values alone: there is nothing to chunk.";
  const Purpose purpose = requirements.prefill ? Purpose::prefill
                          : requirements.probe ? Purpose::probe
                                               : Purpose::decoding;
  const std::vector<float> whole = map.scores(*scorer, *backend, purpose, 61);
  EXPECT_GT(*std::max_element(whole.begin(), whole.end()), 0);
  for (const float s : whole) EXPECT_TRUE(std::isfinite(s));
  for (const std::size_t chunk : {1u, 2u, 5u, 60u}) {
    const std::vector<float> parts = map.scores(*scorer, *backend, purpose, chunk);
    for (std::size_t j = 0; j < whole.size(); ++j) EXPECT_NEAR(parts[j], whole[j], 1e-5);
  }
}
TEST_P(EveryScorer, wants_only_blocks_and_keys_before_rope_by_what_is_known_of_the_lanes) {
  const auto scorer = make<Scorer>(*GetParam());
  const ScorerRequirements nothing = scorer->requirements(nullptr);
  HeadBudgets known{.model = "", .name = "", .source = "", .rows = {{.keep = 0.5, .shares = {1}}}};
  for (const bool knows_worth : {false, true}) {
    if (knows_worth) known.importance = KeyImportance{.agreement = 1, .lanes = {{0, 1, 1}}};
    const ScorerRequirements requirements = scorer->requirements(&known);
    EXPECT_EQ(requirements.prefill, nothing.prefill);
    EXPECT_EQ(requirements.decoding, nothing.decoding);
    EXPECT_EQ(requirements.newest_step, nothing.newest_step);
    EXPECT_EQ(requirements.probe, nothing.probe);
    EXPECT_EQ(requirements.exact_kv, nothing.exact_kv);
    EXPECT_EQ(requirements.hidden, nothing.hidden);
  }
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryScorer, testing::ValuesIn(stages_of(StageKind::scorer)),
                         by_name);

class EveryFilter : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryFilter, leaves_protected_and_absent_tokens_so_and_all_others_finite_or_out) {
  const auto filter = make<Filter>(*GetParam());
  for (const std::size_t n : {0u, 1u, 2u, 40u}) {
    std::vector<float> scores = some_scores(n, n);
    for (std::size_t t = 0; t < n; t += 7) scores[t] = kNeverEvict;
    for (std::size_t t = 3; t < n; t += 5) scores[t] = kNotThere;
    const std::vector<float> before = scores;
    filter->apply({.n_layers = 1, .n_lanes = 1, .n_tokens = n}, scores);
    for (std::size_t t = 0; t < n; ++t) {
      if (std::isinf(before[t])) {
        EXPECT_EQ(scores[t], before[t]) << t;
      } else {
        EXPECT_TRUE(std::isfinite(scores[t]) || scores[t] == kNotThere) << t;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryFilter, testing::ValuesIn(stages_of(StageKind::filter)),
                         by_name);

class EveryAllocator : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryAllocator, gives_layers_exactly_the_total_or_what_is_protected) {
  const auto allocator = make<Allocator>(*GetParam());
  for (const std::size_t n_layers : {1u, 2u, 7u, 32u})
    for (const std::size_t of_layer : {1u, 3u, 8u})
      for (const std::size_t n : {1u, 2u, 10u, 100u, 256u, 601u, 5000u})
        for (const double keep : {0.001, 0.1, 0.25, 0.5, 0.77, 0.99, 1.0})
          for (const std::size_t wanted : {std::size_t{0}, std::size_t{132}, n}) {
            const std::size_t n_lanes = n_layers * of_layer, least = std::min(n, wanted);
            const TokenSpan span{
                .n_layers = n_layers, .n_lanes = n_lanes, .n_tokens = n, .keep = keep};
            std::vector<std::size_t> totals(n_layers);
            allocator->totals(span, least, totals);
            std::size_t sum = 0;
            for (const std::size_t total : totals) {
              ASSERT_GE(total, least * of_layer);
              ASSERT_LE(total, n * of_layer);
              sum += total;
            }
            ASSERT_EQ(sum, std::max(keep_total(span), least * n_lanes))
                << n_layers << " " << of_layer << " " << n << " " << keep << " " << least;
          }
}

TEST_P(EveryAllocator, gives_lanes_exactly_the_total_within_what_each_protects_and_holds) {
  const auto allocator = make<Allocator>(*GetParam());
  Rng rng(5);
  for (std::size_t round = 0; round < 400; ++round) {
    const std::size_t n = 1 + rng.next() % 60, n_layers = 1 + rng.next() % 4;
    const std::size_t of_layer = 1 + rng.next() % 3;
    std::vector<std::vector<float>> lanes;
    std::size_t least = 0, most = 0;
    for (std::size_t i = 0; i < n_layers * of_layer; ++i) {
      std::vector<float>& lane = lanes.emplace_back(some_scores(n, round * 100 + i));
      for (float& score : lane) {
        if (rng.next() % 8 == 0) score = kNotThere;
        if (rng.next() % 9 == 0) score = kNeverEvict;
      }
      const LaneRange range = lane_range(lane);
      least += range.least;
      most += range.most;
    }
    for (const std::size_t total : {std::size_t{0}, least, (least + most) / 2, most, most + 3}) {
      const auto budgets = budgets_of(*allocator, lanes, total, n_layers);
      const auto sum = std::accumulate(budgets.begin(), budgets.end(), std::size_t{0});
      ASSERT_EQ(sum, std::min(most, std::max(total, least))) << round << " " << total;
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        ASSERT_GE(budgets[i], lane_range(lanes[i]).least);
        ASSERT_LE(budgets[i], lane_range(lanes[i]).most);
      }
    }
  }
}

// A second decision without new tokens must change nothing.
TEST_P(EveryAllocator, gives_the_same_again_when_only_what_it_kept_is_there) {
  const auto allocator = make<Allocator>(*GetParam());
  std::vector<std::vector<float>> lanes;
  for (std::size_t i = 0; i < 6; ++i) lanes.push_back(some_scores(50, i));
  const auto first = budgets_of(*allocator, lanes, 140, 3);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    std::vector<float> left(50, kNotThere);
    for (const std::size_t token : kept(lanes[i], first[i])) left[token] = lanes[i][token];
    lanes[i] = left;
  }
  EXPECT_EQ(budgets_of(*allocator, lanes, 140, 3), first);
}

TEST_P(EveryAllocator, gives_equal_lanes_the_same_and_what_is_left_over_to_the_lower) {
  const auto allocator = make<Allocator>(*GetParam());
  const std::vector<std::vector<float>> lanes(3, {9, 8, 7, 6, 5, 4});
  EXPECT_THAT(budgets_of(*allocator, lanes, 11, 1), ElementsAreArray({4, 4, 3}));
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryAllocator,
                         testing::ValuesIn(stages_of(StageKind::allocator)), by_name);

class EveryAssigner : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryAssigner, keeps_exactly_the_budget_the_largest_first_ties_to_the_lower) {
  // Representatives are not the largest, by design: their own test has them.
  const bool stands_for_others = GetParam()->name == "representatives";
  const auto assigner = make<Assigner>(*GetParam(), stands_for_others ? R"({ "share": 0 })" : "{}");
  for (const std::size_t n : {0u, 1u, 33u})
    for (std::size_t budget = 0; budget <= n; ++budget) {
      std::vector<float> scores = some_scores(n, 3);
      if (n > 20) scores[4] = kNeverEvict, scores[9] = std::numeric_limits<float>::quiet_NaN();
      std::vector<std::size_t> order(n);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const auto rank = [&](std::size_t t) { return std::isnan(scores[t]) ? -1 : scores[t]; };
        return rank(a) > rank(b);
      });
      order.resize(budget);
      std::vector<std::uint8_t> tiers(n, 77);
      assigner->assign(scores, budget, tiers);
      for (std::size_t t = 0; t < n; ++t) {
        const bool is_best = std::find(order.begin(), order.end(), t) != order.end();
        EXPECT_EQ(tiers[t] != kGone, is_best) << n << " " << budget << " " << t;
        EXPECT_TRUE(tiers[t] == kGone || tiers[t] < 2);
      }
      for (std::size_t i = 1; i < budget; ++i)  // a better one is not coarser
        EXPECT_LE(tiers[order[i - 1]], tiers[order[i]]);
    }
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryAssigner, testing::ValuesIn(stages_of(StageKind::assigner)),
                         by_name);

class EveryMerger : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryMerger, changes_no_dropped_token_stays_finite_and_does_nothing_without_dropped_ones) {
  const auto merger = make<Merger>(*GetParam());
  const auto backend = test::open_reference();
  constexpr std::size_t kTokens = 40, kDim = 64;
  const LayerShape layer{.n_heads = 1,
                         .n_kv_heads = 1,
                         .head_dim = kDim,
                         .attention_scale = 1,
                         .inverse_frequency = {1, 0.5}};
  Rng rng(9);
  std::vector<Half> k(kTokens * kDim), v(kTokens * kDim);
  for (auto* side : {&k, &v})
    for (Half& x : *side) x = float_to_half(static_cast<float>(rng.next() % 2001) / 100 - 10);
  std::fill_n(k.begin() + 5 * kDim, kDim, float_to_half(0));  // a key without a direction
  std::fill_n(k.begin() + 6 * kDim, kDim, float_to_half(65504));
  std::copy_n(k.begin() + 11 * kDim, kDim - 1, k.begin() + 10 * kDim);  // nearly a twin
  std::vector<float> scores = some_scores(kTokens, 1), counts(kTokens, 1);
  scores[8] = kNotThere;
  std::vector<std::uint8_t> tiers(kTokens, 0);
  const std::vector<Half> k_before = k, v_before = v;
  const SelectorSet taught = test::selectors_of({.layers = {layer}});
  std::vector<float> q(kTokens * kDim);  // that do not look at the largest key
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = i % kDim < 4 ? 0 : i % 2 == 0 ? 0.01f : -0.01f;
  const std::vector<float> lse(kTokens);
  std::vector<float> turned = q, work(merger->work_floats(kTokens, kDim));
  std::vector<std::int32_t> positions(kTokens);
  std::iota(positions.begin(), positions.end(), 0);
  const auto merge = [&] {
    turned = q;
    return merger
        ->merge(*backend, {.k = k.data(),
                           .v = v.data(),
                           .positions = positions.data(),
                           .n_tokens = kTokens,
                           .head_dim = kDim,
                           .layer = &layer,
                           .tiers = tiers,
                           .scores = scores,
                           .unfiltered = scores,
                           .counts = counts,
                           .references = {.q = turned.data(),
                                          .positions = positions,
                                          .lse = lse.data(),
                                          .work = work.data()},
                           .selectors = LayerSelectors(taught, 0)})
        .ok();
  };
  ASSERT_TRUE(merge());
  EXPECT_EQ(k, k_before);
  for (std::size_t t = 0; t < kTokens; t += 1 + t % 3) tiers[t] = kGone;
  tiers[8] = kGone;
  ASSERT_TRUE(merge());
  for (std::size_t i = 0; i < k.size(); ++i) {
    EXPECT_TRUE(std::isfinite(half_to_float(k[i])) && std::isfinite(half_to_float(v[i])));
    if (tiers[i / kDim] != kGone) continue;
    EXPECT_EQ(k[i], k_before[i]);
    EXPECT_EQ(v[i], v_before[i]);
  }
  EXPECT_EQ(k != k_before || v != v_before, merger->merges());
  std::fill(tiers.begin(), tiers.end(), kGone);  // nobody left to carry
  EXPECT_TRUE(merge());
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryMerger, testing::ValuesIn(stages_of(StageKind::merger)),
                         by_name);

class EveryReader : public testing::TestWithParam<const StageEntry*> {
 protected:
  static constexpr std::size_t kDim = 32;
  const std::unique_ptr<Reader> reader_ = make<Reader>(*GetParam());
  Rng rng_{11};

  std::vector<float> numbers(std::size_t n) {
    std::vector<float> out(n);
    for (float& x : out) x = static_cast<float>(rng_.next() % 2001) / 1000 - 1;
    return out;
  }
  // Twenty pages of 1 to 128 random keys.
  NotedPages some_pages() {
    std::vector<std::vector<float>> keys;
    for (std::size_t i = 0; i < 20; ++i)
      keys.push_back(numbers((i % 3 == 0 ? 128 : i == 1 ? 1 : 17 + i) * kDim));
    return NotedPages(*reader_, keys, kDim);
  }
  static void expect_rising(const std::vector<std::size_t>& chosen, std::size_t n_pages) {
    EXPECT_FALSE(chosen.empty());
    EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
    EXPECT_EQ(std::set(chosen.begin(), chosen.end()).size(), chosen.size());
    EXPECT_LT(chosen.back(), n_pages);
  }
};

TEST_P(EveryReader, chooses_rising_indices_of_pages_that_hold_something_the_same_each_time) {
  if (reader_->reads_all()) {
    EXPECT_EQ(reader_->note_bytes(64), 0u);
    return;
  }
  NotedPages noted = some_pages();
  noted.pages[7].live = {};
  const std::vector<float> q = numbers(3 * kDim);
  for (const std::size_t layer : {0u, 9u}) {
    const auto chosen = noted.choose(*reader_, q, layer, 0.2f);
    expect_rising(chosen, noted.pages.size());
    EXPECT_EQ(std::count(chosen.begin(), chosen.end(), 7u), 0);
    for (const std::size_t page : chosen) {
      EXPECT_GT(noted.read[page].count(), 0u) << page;
      for (std::size_t t = 0; t < kernels::kPageTokens; ++t)
        EXPECT_LE(noted.read[page].has(t), noted.pages[page].live.has(t)) << page << ", " << t;
    }
    EXPECT_EQ(noted.choose(*reader_, q, layer, 0.2f), chosen);
  }
  EXPECT_TRUE(NotedPages(*reader_, {}, kDim).choose(*reader_, q, 9).empty());
}

// Notes come from disk, too.
TEST_P(EveryReader, is_safe_for_any_bytes_in_notes) {
  if (reader_->reads_all()) return;
  NotedPages noted = some_pages();
  const std::vector<float> q = numbers(3 * kDim);
  for (int round = 0; round < 50; ++round) {
    for (std::vector<std::byte>& note : noted.notes)
      for (std::byte& x : note)
        x = round == 0 ? std::byte{0xff} : static_cast<std::byte>(rng_.next());
    expect_rising(noted.choose(*reader_, q, 9, 0.2f), noted.pages.size());
  }
}

// But for those that read what another layer's choice has left, whose keys they do not weigh.
TEST_P(EveryReader, reads_pages_that_were_moved) {
  if (reader_->reads_all() || reader_->n_carried() > 0) return;
  NotedPages noted = some_pages();
  const std::vector<float> q = numbers(3 * kDim);
  std::size_t n_read = 0;
  for (const std::size_t page : noted.choose(*reader_, q, 9)) n_read += noted.read[page].count();
  ASSERT_LT(n_read, noted.positions.size());
  for (std::size_t page = 0; page < noted.pages.size(); ++page) {
    NotedPages moved = noted;
    moved.pages[page].shift = -3;
    EXPECT_THAT(moved.choose(*reader_, q, 9), testing::Contains(page));
    EXPECT_EQ(moved.read[page], moved.pages[page].live) << "all of it";
  }
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryReader, testing::ValuesIn(stages_of(StageKind::reader)),
                         by_name);

TEST(Apportion, surplus_over_a_cap_goes_to_the_others_and_floors_are_taken_from_the_largest) {
  std::vector<std::size_t> budgets(3);
  std::vector<double> desired = {90, 20, 10};
  apportion(desired, {.total = 120, .n_protected = 0, .floor = 0, .cap = 60}, budgets);
  EXPECT_THAT(budgets, ElementsAreArray({60, 40, 20}));
  desired = {90, 20, 10};
  apportion(desired, {.total = 120, .n_protected = 25, .floor = 0, .cap = 100}, budgets);
  EXPECT_THAT(budgets, ElementsAreArray({70, 25, 25}));
  desired = {50, 50, 5};
  apportion(desired, {.total = 105, .n_protected = 20, .floor = 0, .cap = 100}, budgets);
  EXPECT_THAT(budgets, ElementsAreArray({43, 42, 20}));
  desired = {1, 1, 1};
  apportion(desired, {.total = 30, .n_protected = 11, .floor = 0, .cap = 100}, budgets);
  EXPECT_THAT(budgets, ElementsAreArray({11, 11, 11}));  // never truncated
}

TEST(ShareOut, gives_what_a_full_one_cannot_take_to_the_others) {
  std::vector<std::size_t> shares(3);
  share_out(std::vector<double>{2.8, 1.2, 0}, std::vector<std::size_t>{4, 4, 4}, 4, shares);
  EXPECT_THAT(shares, ElementsAreArray({3, 1, 0}));
  share_out(std::vector<double>{8, 1, 1}, std::vector<std::size_t>{3, 9, 9}, 10, shares);
  EXPECT_THAT(shares, ElementsAreArray({3, 4, 3}));
  share_out(std::vector<double>{1, 1, 1}, std::vector<std::size_t>{1, 0, 1}, 10, shares);
  EXPECT_THAT(shares, ElementsAreArray({1, 0, 1}));
}

}  // namespace
}  // namespace satchel::kvcache
