// Lanes for tests of merging: in main memory, made by hand or read from fixtures, and how scorers
// see them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "support/source_dir.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {

// The lanes of a layer whose whole text is seen at once; one query head each.
struct SeenLayer {
  LayerShape layer;
  std::size_t n_tokens = 0, first_position = 0;
  double keep = 0.5;
  std::vector<std::vector<Half>> k;  // of each lane
  std::vector<float> q, lse;
  std::vector<std::vector<float>> scores;  // of each lane, before and after

  void observe(const Scorer& scorer) {
    std::vector<std::int32_t> positions(n_tokens);
    std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(first_position));
    std::vector<kernels::ExactRun> runs;
    for (const std::vector<Half>& keys : k)
      runs.push_back({.k = keys.data(),
                      .v = keys.data(),
                      .positions = positions.data(),
                      .n_tokens = n_tokens});
    std::vector<ObservedLane> lanes;
    for (std::size_t i = 0; i < k.size(); ++i)
      lanes.push_back({.keys = {.runs = {&runs[i], 1}, .pages = {}},
                       .first_head = i,
                       .scores = scores[i].data()});
    std::vector<float> state(scorer.state_floats(layer, n_tokens));
    const Observation seen{.layer = layer,
                           .batch = {.positions = positions.data(),
                                     .n_tokens = n_tokens,
                                     .position_min = positions.front(),
                                     .position_max = positions.back()},
                           .positions = positions,
                           .q = q.data(),
                           .lse = lse.data(),
                           .span_first = first_position,
                           .span_end = first_position + n_tokens,
                           .keep = keep,
                           .state = state.data()};
    EXPECT_TRUE(scorer.observe(*test::open_reference(), seen, lanes).ok());
  }
};

// A lane in main memory, which is the reference backend's memory.
struct MergedLane {
  LayerShape layer{.n_heads = 1, .n_kv_heads = 1, .attention_scale = 1};
  std::size_t head_dim = 8, first_position = 0;
  std::vector<Half> k, v;
  std::vector<std::uint8_t> tiers;
  std::vector<float> scores, unfiltered, counts;
  std::size_t n_sinks = 0, n_tail = 0;
  std::vector<float> queries = {}, lse = {};  // reference queries, where a merger wants some
  std::vector<std::int32_t> query_positions = {};
  FitCounts fits = {};
  SelectorSet selectors = {};  // of one layer

  void add(const std::vector<float>& key, const std::vector<float>& value, float score,
           std::uint8_t tier) {
    for (std::size_t c = 0; c < head_dim; ++c) {
      k.push_back(float_to_half(c < key.size() ? key[c] : 0));
      v.push_back(float_to_half(c < value.size() ? value[c] : 0));
    }
    scores.push_back(score);
    tiers.push_back(tier);
  }
  struct Token {
    std::vector<float> k = {}, v = {};
    float score = 1;
    bool kept = true, is_protected = false;
  };
  void add(const Token& token) {
    add(token.k, token.v, token.is_protected ? kNeverEvict : token.score, token.kept ? 0 : kGone);
    unfiltered.push_back(token.score);
  }
  void merge(std::string_view merger, const std::string& params = "{}") {
    const auto backend = test::open_reference();
    unfiltered.resize(tiers.size(), 1);
    counts.assign(tiers.size(), 1);
    layer.head_dim = head_dim;
    std::vector<std::int32_t> positions(tiers.size());
    std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(first_position));
    std::vector<float> turned = queries;
    const auto stage = make<Merger>(StageKind::merger, merger, params);
    std::vector<float> work(stage->work_floats(tiers.size(), head_dim));
    const MergeLane lane{.k = k.data(),
                         .v = v.data(),
                         .positions = positions.data(),
                         .n_tokens = tiers.size(),
                         .head_dim = head_dim,
                         .first_position = first_position,
                         .layer = &layer,
                         .tiers = tiers,
                         .scores = scores,
                         .unfiltered = unfiltered,
                         .counts = counts,
                         .n_sinks = n_sinks,
                         .n_tail = n_tail,
                         .references = {.q = turned.data(),
                                        .positions = query_positions,
                                        .lse = lse.data(),
                                        .work = work.data()},
                         .selectors = LayerSelectors(selectors, 0),
                         .fits = &fits};
    EXPECT_TRUE(stage->merge(*backend, lane).ok());
  }
  float key(std::size_t t, std::size_t c) const { return half_to_float(k[t * head_dim + c]); }
  float value(std::size_t t, std::size_t c = 0) const { return half_to_float(v[t * head_dim + c]); }
  // The first two of a key's or a value's numbers.
  std::vector<float> key_pair(std::size_t t) const { return {key(t, 0), key(t, 1)}; }
  std::vector<float> value_pair(std::size_t t) const { return {value(t), value(t, 1)}; }
};

struct FixtureLane {
  MergedLane lane;
  std::string params;
  std::size_t n = 0;
  std::vector<std::size_t> is_protected, kept;
  std::vector<float> numbers, counts;  // scores or sums; of kept tokens
  std::vector<Half> k, v;              // of kept tokens
};

inline std::vector<float> read_row(std::istream& in, std::size_t n) {
  std::string name;
  in >> name;
  std::vector<float> row(n);
  for (float& x : row) in >> x;
  return row;
}
inline std::vector<std::size_t> read_tokens(std::istream& in) {
  std::string name;
  std::size_t n = 0;
  in >> name >> n;
  std::vector<std::size_t> tokens(n);
  for (std::size_t& t : tokens) in >> t;
  return tokens;
}
inline std::vector<std::vector<float>> read_rows(std::istream& in, std::size_t n, std::size_t d) {
  std::vector<std::vector<float>> rows;
  while (rows.size() < n) rows.push_back(read_row(in, d));
  return rows;
}
inline std::vector<Half> halves(const std::vector<std::vector<float>>& rows) {
  std::vector<Half> all;
  for (const auto& row : rows)
    for (const float x : row) all.push_back(float_to_half(x));
  return all;
}

// name: of a file merge_NAME.txt, whose format tests/oracle/make_merge_fixtures.py says.
inline std::vector<FixtureLane> read_lanes(const std::string& name) {
  std::ifstream in(test::source_dir() + "/tests/golden/selection/merge_" + name + ".txt");
  std::vector<FixtureLane> lanes;
  for (std::string word, pairs; in >> word;) {
    EXPECT_EQ(word, "lane");
    FixtureLane& made = lanes.emplace_back();
    MergedLane& lane = made.lane;
    double base = 0;
    in >> made.n >> lane.head_dim >> lane.first_position >> pairs >> base;
    std::getline(in, made.params);
    lane.layer.head_dim = lane.head_dim;
    lane.layer.rope_pairs =
        pairs == "halves" ? kernels::RopePairs::halves : kernels::RopePairs::adjacent;
    for (std::size_t i = 0; i < lane.head_dim; i += 2)
      lane.layer.inverse_frequency.push_back(
          std::pow(base, -static_cast<double>(i) / static_cast<double>(lane.head_dim)));
    made.is_protected = read_tokens(in);
    made.numbers = read_row(in, made.n);
    made.kept = read_tokens(in);
    lane.k = halves(read_rows(in, made.n, lane.head_dim));
    lane.v = halves(read_rows(in, made.n, lane.head_dim));
    made.counts = read_row(in, made.kept.size());
    made.k = halves(read_rows(in, made.kept.size(), lane.head_dim));
    made.v = halves(read_rows(in, made.kept.size(), lane.head_dim));
    lane.tiers.assign(made.n, kGone);
    for (const std::size_t t : made.kept) lane.tiers[t] = 0;
  }
  return lanes;
}

inline void expect_merged(const FixtureLane& want) {
  const std::size_t d = want.lane.head_dim;
  for (std::size_t i = 0; i < want.kept.size(); ++i) {
    const std::size_t t = want.kept[i];
    EXPECT_EQ(want.lane.counts[t], want.counts[i]) << t;
    for (std::size_t c = 0; c < d; ++c) {  // by a step of fp16, where a sum lies between two
      const auto alike = [](Half got, Half expected) {
        const float x = half_to_float(expected);
        return std::abs(half_to_float(got) - x) <= 1e-3f * std::abs(x) + 1e-5f;
      };
      EXPECT_TRUE(alike(want.lane.k[t * d + c], want.k[i * d + c])) << t << " " << c;
      EXPECT_TRUE(alike(want.lane.v[t * d + c], want.v[i * d + c])) << t << " " << c;
    }
  }
}

}  // namespace satchel::kvcache
