// What tests of stages share: stages by name, and lanes whose attention map is known.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/half.h"
#include "kvcache/stages/registry.h"
#include "support/backends.h"
#include "support/selector.h"

namespace satchel::kvcache {

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

inline std::vector<const StageEntry*> stages_of(StageKind kind) {
  std::vector<const StageEntry*> entries;
  for (const StageEntry* entry : all_stages())
    if (entry->kind == kind) entries.push_back(entry);
  return entries;
}

inline std::string by_name(const testing::TestParamInfo<const StageEntry*>& info) {
  std::string name = std::string(to_text(info.param->kind)) + "_" + std::string(info.param->name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// One lane whose attention map is known: the key at position j is the unit vector j, a query holds
// the logarithms of its row, so that with LSE 0 its probabilities are the row. rows [query][head].
struct KnownMap {
  static constexpr std::size_t kDim = 64;
  using Row = std::vector<double>;  // over all keys
  LayerShape layer{.n_heads = 1, .n_kv_heads = 1, .head_dim = kDim, .attention_scale = 1};
  std::vector<Half> k;
  std::vector<float> q, lse;
  std::vector<std::int32_t> key_positions, query_positions;
  std::size_t n_sinks = 0;  // of the keys, beside a block and not scored

  // Queries stand at first_query, first_query + 1 …
  KnownMap(const std::vector<std::vector<Row>>& rows, std::vector<std::int32_t> keys,
           std::int32_t first_query)
      : key_positions(std::move(keys)) {
    layer.n_heads = rows.front().size();
    k.resize(key_positions.size() * kDim);
    for (std::size_t j = 0; j < key_positions.size(); ++j)
      k[j * kDim + static_cast<std::size_t>(key_positions[j])] = float_to_half(1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      query_positions.push_back(first_query + static_cast<std::int32_t>(i));
      for (const Row& row : rows[i]) {
        q.resize(q.size() + kDim);
        for (std::size_t j = 0; j < row.size(); ++j)
          q[q.size() - kDim + j] = row[j] > 0 ? static_cast<float>(std::log(row[j])) : -80.0f;
        lse.push_back(0);
      }
    }
  }
  // A square map of one head: row i over tokens 0 … i.
  static KnownMap square(const std::vector<Row>& rows) {
    std::vector<std::vector<Row>> heads;
    std::vector<std::int32_t> keys;
    for (const Row& row : rows) {
      heads.push_back({row});
      keys.push_back(static_cast<std::int32_t>(keys.size()));
    }
    return KnownMap(heads, keys, 0);
  }

  // Lets the scorer see queries first … first + count - 1 and the first n_keys keys.
  void observe(const Scorer& scorer, kernels::Backend& backend, Purpose purpose, std::size_t first,
               std::size_t count, std::size_t n_keys, float* scores, float* state = nullptr) const {
    const kernels::ExactRun run = keys(n_sinks, n_keys - n_sinks), sinks = keys(0, n_sinks);
    const ObservedLane lane{.keys = {.runs = {&run, 1}, .pages = {}},
                            .sinks = {&sinks, n_sinks > 0 ? 1u : 0u},
                            .n_group = layer.n_heads,
                            .scores = scores};
    const auto positions = std::span(query_positions).subspan(first, count);
    Observation seen{.purpose = purpose,
                     .layer = layer,
                     .batch = {.positions = positions.data(),
                               .n_tokens = count,
                               .position_min = positions.front(),
                               .position_max = positions.back()},
                     .positions = positions,
                     .q = q.data() + first * layer.n_heads * kDim,
                     .lse = lse.data() + first * layer.n_heads,
                     .span_first = static_cast<std::size_t>(query_positions.front()),
                     .span_end = static_cast<std::size_t>(query_positions.back()) + 1,
                     .keep = 0.5,
                     .state = state};
    std::vector<float> chunk_k;  // nothing is rotated here: the same before RoPE
    for (std::size_t i = (n_keys - std::min(n_keys, count)) * kDim; i < n_keys * kDim; ++i)
      chunk_k.push_back(half_to_float(k[i]));
    seen.pre_rope_q = seen.q;
    seen.pre_rope_k = chunk_k.data();
    std::vector<float> block_q(seen.q, seen.q + count * layer.n_heads * kDim);
    std::vector<float> block_lse(seen.lse, seen.lse + count * layer.n_heads), work(kBlockWork);
    if (scorer.requirements(nullptr).block_tokens > 0) {
      seen.q = seen.block_q = block_q.data();
      seen.lse = seen.block_lse = block_lse.data();
      seen.work = work.data();
    }
    const kernels::ExactRun chunk = keys(n_keys - std::min(n_keys, count), count);
    const SelectorSet taught = test::selectors_of({.layers = {layer}});
    seen.chunk = {&chunk, 1};
    seen.selectors = LayerSelectors(taught, 0);
    const Result<void> done = scorer.observe(backend, seen, {&lane, 1});
    EXPECT_TRUE(done.ok());
  }
  kernels::ExactRun keys(std::size_t first, std::size_t n) const {
    return {.k = k.data() + first * kDim,
            .v = k.data() + first * kDim,
            .positions = key_positions.data() + first,
            .n_tokens = n};
  }
  void finish(const Scorer& scorer, kernels::Backend& backend, std::span<float> scores) const {
    const ScoredLane lane{.scores = scores};
    const TokenSpan span{.n_layers = 1, .n_lanes = 1, .n_tokens = scores.size()};
    EXPECT_TRUE(scorer.finish(backend, layer, span, {&lane, 1}).ok());
  }
  // All queries in chunks, or in one block where the scorer wants blocks; a reading's keys come
  // with them.
  std::vector<float> scores(const Scorer& scorer, kernels::Backend& backend, Purpose purpose,
                            std::size_t chunk) const {
    std::vector<float> scores(key_positions.size() - n_sinks);
    std::vector<float> state(scorer.state_floats(layer, query_positions.size()));
    const std::size_t n = query_positions.size();
    if (scorer.requirements(nullptr).block_tokens > 0) chunk = n;
    for (std::size_t first = 0; first < n; first += chunk) {
      const std::size_t count = std::min(chunk, n - first);
      const std::size_t n_keys =
          purpose == Purpose::prefill ? n_sinks + first + count : key_positions.size();
      observe(scorer, backend, purpose, first, count, n_keys, scores.data(), state.data());
    }
    finish(scorer, backend, scores);
    return scores;
  }
};

// A text behind another of which a lane still holds one entry: queries at 3 and 4 see two and
// three.
struct LaterText {
  std::unique_ptr<kernels::Backend> backend = test::open_reference();
  KnownMap map = KnownMap({{{0.2, 0, 0, 0.8, 0}}, {{0.4, 0, 0, 0.28, 0.32}}}, {0, 3, 4}, 3);

  std::vector<float> scores(const Scorer& scorer) {
    const kernels::ExactRun before = map.keys(0, 1), own = map.keys(1, 2);
    std::vector<float> scores(2), state(scorer.state_floats(map.layer, scores.size()));
    const ObservedLane lane{.keys = {.runs = {&own, 1}, .pages = {}},
                            .held = {.runs = {&before, 1}, .pages = {}},
                            .scores = scores.data()};
    const Observation seen{.layer = map.layer,
                           .batch = {.positions = map.query_positions.data(),
                                     .n_tokens = 2,
                                     .position_min = 3,
                                     .position_max = 4},
                           .positions = map.query_positions,
                           .q = map.q.data(),
                           .lse = map.lse.data(),
                           .span_first = 3,
                           .span_end = 5,
                           .state = state.data()};
    EXPECT_TRUE(scorer.observe(*backend, seen, {&lane, 1}).ok());
    map.finish(scorer, *backend, scores);
    return scores;
  }
};

// Which tokens an assigner keeps.
inline std::vector<std::size_t> kept(std::span<const float> scores, std::size_t budget,
                                     std::string_view assigner = "top_k") {
  std::vector<std::uint8_t> tiers(scores.size());
  make<Assigner>(StageKind::assigner, assigner)->assign(scores, budget, tiers);
  std::vector<std::size_t> tokens;
  for (std::size_t t = 0; t < tiers.size(); ++t)
    if (tiers[t] != kGone) tokens.push_back(t);
  return tokens;
}

inline std::vector<std::size_t> budgets_of(const Allocator& allocator,
                                           const std::vector<std::vector<float>>& scores,
                                           std::size_t total, std::size_t n_layers = 1) {
  std::vector<LaneScores> lanes;
  for (const auto& lane : scores) lanes.push_back(lane);
  const TokenSpan span{
      .n_layers = n_layers, .n_lanes = lanes.size(), .n_tokens = scores.front().size()};
  std::vector<std::size_t> budgets(lanes.size());
  allocator.lanes(span, lanes, total, budgets);
  return budgets;
}

}  // namespace satchel::kvcache
