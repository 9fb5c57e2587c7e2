// Contract suites over every registered stage, and golden cases through the stage interfaces.
#include "kvcache/stages/stage.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kvcache/stages/apportion.h"
#include "support/backends.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

template <class T>
std::unique_ptr<T> make(const StageEntry& entry, const std::string& params = "{}") {
  const JsonNode node = parse_json(params, "test").value();
  Params read(node, "test");
  Result<std::unique_ptr<Stage>> stage = entry.make(read);
  if (!stage.ok()) ADD_FAILURE() << stage.error().message;
  return std::unique_ptr<T>(static_cast<T*>(std::move(stage).value().release()));
}

template <class T>
std::unique_ptr<T> make(StageKind kind, std::string_view name, const std::string& params = "{}") {
  for (const StageEntry* entry : all_stages())
    if (entry->kind == kind && entry->name == name) return make<T>(*entry, params);
  ADD_FAILURE() << "no stage " << name;
  return nullptr;
}

std::vector<const StageEntry*> stages_of(StageKind kind) {
  std::vector<const StageEntry*> entries;
  for (const StageEntry* entry : all_stages())
    if (entry->kind == kind) entries.push_back(entry);
  return entries;
}

std::string by_name(const testing::TestParamInfo<const StageEntry*>& info) {
  return std::string(to_text(info.param->kind)) + "_" + std::string(info.param->name);
}

class EveryStage : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryStage, has_a_name_a_source_and_defaults_and_refuses_unknown_keys) {
  EXPECT_FALSE(GetParam()->name.empty());
  EXPECT_FALSE(GetParam()->source.empty());
  EXPECT_NE(make<Stage>(*GetParam()), nullptr);
  const JsonNode node = parse_json("{ \"use\": \"x\",\n \"no_such_key\": 1 }", "r.json").value();
  Params params(node, "r.json");
  (void)GetParam()->make(params).ok();
  const Result<void> known = params.check_all_known();
  ASSERT_FALSE(known.ok());
  EXPECT_THAT(known.error().message, HasSubstr("r.json line 2: \"no_such_key\""));
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryStage,
                         testing::ValuesIn(all_stages().begin(), all_stages().end()), by_name);

TEST(Stages, have_each_name_once_per_kind) {
  std::set<std::pair<StageKind, std::string_view>> names;
  for (const StageEntry* entry : all_stages())
    EXPECT_TRUE(names.emplace(entry->kind, entry->name).second) << entry->name;
  EXPECT_EQ(names.size(), all_stages().size());
}

class EveryAllocator : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryAllocator, gives_exactly_the_total_within_floors_and_caps) {
  const auto allocator = make<Allocator>(*GetParam());
  for (const std::size_t n_layers : {1u, 2u, 7u, 32u})
    for (const std::size_t n_kv_heads : {1u, 3u, 8u})
      for (const std::size_t n : {1u, 2u, 10u, 100u, 256u, 601u, 5000u})
        for (const double keep : {0.001, 0.1, 0.25, 0.5, 0.77, 0.99, 1.0})
          for (const std::size_t n_protected : {std::size_t{0}, std::size_t{132}, n}) {
            const TokenSpan span{
                .n_layers = n_layers, .n_kv_heads = n_kv_heads, .n_tokens = n, .keep = keep};
            std::vector<std::size_t> budgets(n_layers * n_kv_heads);
            const std::size_t least = std::min(n, n_protected);
            allocator->allocate(span, least, budgets);
            std::size_t sum = 0;
            for (const std::size_t budget : budgets) {
              ASSERT_GE(budget, least);
              ASSERT_LE(budget, n);
              sum += budget;
            }
            ASSERT_EQ(sum, std::max(keep_total(span), least * budgets.size()))
                << n_layers << " " << n_kv_heads << " " << n << " " << keep << " " << least;
          }
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryAllocator,
                         testing::ValuesIn(stages_of(StageKind::allocator)), by_name);

// A lane whose attention map is known: key j is the unit vector j, query i the logarithms of its
// row, so that softmax gives back the row.
struct KnownMap {
  static constexpr std::size_t kDim = 64;
  std::size_t n = 0;
  std::vector<Half> k;
  std::vector<float> q, lse;
  std::vector<std::int32_t> positions;

  explicit KnownMap(const std::vector<std::vector<double>>& rows) : n(rows.size()) {
    k.resize(n * kDim);
    q.resize(n * kDim);
    lse.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      k[i * kDim + i] = float_to_half(1);
      positions.push_back(static_cast<std::int32_t>(i));
      for (std::size_t j = 0; j <= i; ++j)
        q[i * kDim + j] = static_cast<float>(std::log(rows[i][j]));
    }
  }
  SpanLane lane() const {
    return {.keys = {k.data(), k.data(), positions.data(), n},
            .n_heads = 1,
            .head_dim = kDim,
            .scale = 1};
  }
  QueryChunk chunk(std::size_t first, std::size_t count) const {
    return {.q = q.data() + first * kDim,
            .lse = lse.data() + first,
            .positions = std::span(positions).subspan(first, count)};
  }
};

std::vector<float> score(const Scorer& scorer, kernels::Backend& backend, const KnownMap& map,
                         std::size_t chunk) {
  std::vector<float> scores(map.n);
  for (std::size_t first = 0; first < map.n && scorer.wants_queries(); first += chunk) {
    SpanLane lane = map.lane();
    const std::size_t count = std::min(chunk, map.n - first);
    lane.keys.n_tokens = first + count;  // what has been read so far
    EXPECT_TRUE(scorer.observe(backend, lane, map.chunk(first, count), scores.data()).ok());
  }
  EXPECT_TRUE(scorer.finish(backend, map.lane(), scores.data()).ok());
  return scores;
}

class EveryScorer : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryScorer, gives_the_same_finite_scores_for_any_chunking) {
  std::vector<std::vector<double>> rows(61);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].assign(rows.size(), 0);
    double sum = 0;
    for (std::size_t j = 0; j <= i; ++j) sum += rows[i][j] = 1.0 + double((i * 7 + j * 13) % 11);
    for (double& p : rows[i]) p /= sum;
  }
  const KnownMap map(rows);
  const auto backend = test::open_reference();
  const auto scorer = make<Scorer>(*GetParam());
  const std::vector<float> whole = score(*scorer, *backend, map, 61);
  for (const float s : whole) EXPECT_TRUE(std::isfinite(s));
  for (const std::size_t chunk : {1u, 2u, 5u, 60u}) {
    const std::vector<float> parts = score(*scorer, *backend, map, chunk);
    for (std::size_t j = 0; j < whole.size(); ++j) EXPECT_NEAR(parts[j], whole[j], 1e-5);
  }
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryScorer, testing::ValuesIn(stages_of(StageKind::scorer)),
                         by_name);

class EveryCodec : public testing::TestWithParam<const StageEntry*> {};
TEST_P(EveryCodec, names_a_plane_that_page_layouts_have) {
  const PagePlane plane = make<Codec>(*GetParam())->plane();
  if (plane.form == kernels::PageForm::exact16) return;
  const auto layout = kernels::affine_layout({.head_dim = 128,
                                              .k_bits = plane.bits,
                                              .v_bits = plane.bits,
                                              .k_group = plane.group,
                                              .v_group = plane.group});
  EXPECT_TRUE(layout.ok()) << layout.error().message;
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryCodec, testing::ValuesIn(stages_of(StageKind::codec)),
                         by_name);

struct F5 {
  std::vector<std::vector<double>> rows;
  std::vector<double> sums;
  struct Kept {
    std::size_t heavy = 0, recent = 0;
    std::vector<std::int32_t> positions;
  };
  std::vector<Kept> kept;
};
F5 load_f5() {
  std::ifstream file(SATCHEL_SOURCE_DIR "/tests/golden/selection/f5.txt");
  F5 f5;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (line.starts_with("sums")) {
      words >> word;
      for (double value; words >> value;) f5.sums.push_back(value);
    } else if (line.starts_with("kept")) {
      F5::Kept kept;
      words >> word >> kept.heavy >> kept.recent >> word;
      for (std::int32_t position; words >> position;) kept.positions.push_back(position);
      f5.kept.push_back(kept);
    } else {
      f5.rows.emplace_back();
      for (double value; words >> value;) f5.rows.back().push_back(value);
    }
  }
  return f5;
}

TEST(Selection, golden_f5_gives_the_column_sums_and_kept_sets_of_h2o_and_minikv) {
  const F5 f5 = load_f5();
  ASSERT_EQ(f5.rows.size(), 5u);
  ASSERT_EQ(f5.kept.size(), 2u);
  const KnownMap map(f5.rows);
  const auto backend = test::open_reference();
  const auto scorer = make<Scorer>(StageKind::scorer, "attention_sum");
  const std::vector<float> sums = score(*scorer, *backend, map, 5);
  for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(sums[j], f5.sums[j], 1e-5);
  for (const F5::Kept& expected : f5.kept) {
    const auto filter =
        make<Filter>(StageKind::filter, "protect",
                     "{\"sinks\": 0, \"tail\": " + std::to_string(expected.recent) + "}");
    const TokenSpan span{.n_layers = 1, .n_kv_heads = 1, .n_tokens = 5};
    std::vector<float> scores = sums;
    ASSERT_TRUE(filter->apply(*backend, span, scores.data()).ok());
    std::vector<std::int32_t> kept(expected.heavy + expected.recent);
    const auto assigner = make<Assigner>(StageKind::assigner, "top_k");
    ASSERT_TRUE(assigner->assign(*backend, scores.data(), 5, kept.size(), kept.data()).ok());
    EXPECT_THAT(kept, ElementsAreArray(expected.positions));
  }
}

TEST(Selection, golden_pyramid_budgets_by_largest_remainder) {
  std::ifstream file(SATCHEL_SOURCE_DIR "/tests/golden/selection/pyramid.txt");
  std::size_t n_cases = 0;
  for (std::string line; std::getline(file, line); ++n_cases) {
    std::istringstream words(line);
    TokenSpan span{.n_kv_heads = 1};
    double heavy = 0, recent = 0;
    char colon = 0;
    words >> span.n_layers >> span.n_tokens >> heavy >> recent >> colon;
    span.keep = heavy + recent;
    std::vector<std::size_t> budgets(span.n_layers);
    make<Allocator>(StageKind::allocator, "pyramid")->allocate(span, 0, budgets);
    for (const std::size_t budget : budgets) {
      std::size_t expected = 0;
      ASSERT_TRUE(words >> expected);
      EXPECT_EQ(budget - static_cast<std::size_t>(recent * double(span.n_tokens)), expected)
          << line;
    }
  }
  EXPECT_EQ(n_cases, 4u);
}

TEST(Selection, protected_ends_follow_the_span_and_the_share_of_recent) {
  const auto filter = make<Filter>(StageKind::filter, "protect", "{\"recent\": 0.5}");
  const auto at = [&](std::size_t first, std::size_t n, double keep) {
    const auto kept = filter->protects(
        {.n_layers = 1, .n_kv_heads = 1, .n_tokens = n, .first_position = first, .keep = keep});
    return std::pair(kept.first, kept.last);
  };
  EXPECT_EQ(at(0, 600, 0.5), std::pair(std::size_t{4}, std::size_t{150}));
  EXPECT_EQ(at(0, 300, 0.5), std::pair(std::size_t{4}, std::size_t{128}));
  EXPECT_EQ(at(3, 300, 0.5), std::pair(std::size_t{1}, std::size_t{128}));
  EXPECT_EQ(at(500, 300, 0.5), std::pair(std::size_t{0}, std::size_t{128}));
  EXPECT_EQ(at(0, 100, 0.5), std::pair(std::size_t{4}, std::size_t{100}));
  EXPECT_EQ(at(0, 2, 0.5), std::pair(std::size_t{2}, std::size_t{2}));
}

TEST(Apportion, surplus_over_a_cap_goes_to_the_others_and_floors_are_taken_from_the_largest) {
  std::vector<std::size_t> budgets(3);
  std::vector<double> wishes = {90, 20, 10};
  apportion(wishes, {.total = 120, .n_protected = 0, .floor = 0, .cap = 60}, budgets);
  EXPECT_THAT(budgets, ElementsAreArray({60, 40, 20}));
  wishes = {90, 20, 10};
  apportion(wishes, {.total = 120, .n_protected = 25, .floor = 0, .cap = 100}, budgets);
  EXPECT_THAT(budgets, ElementsAreArray({70, 25, 25}));
  wishes = {50, 50, 5};
  apportion(wishes, {.total = 105, .n_protected = 20, .floor = 0, .cap = 100}, budgets);
  EXPECT_THAT(budgets, ElementsAreArray({43, 42, 20}));
  wishes = {1, 1, 1};
  apportion(wishes, {.total = 30, .n_protected = 11, .floor = 0, .cap = 100}, budgets);
  EXPECT_THAT(budgets, ElementsAreArray({11, 11, 11}));  // never truncated
}

}  // namespace
}  // namespace satchel::kvcache
