// A text of one lane for scorers that look at keys and values: given row by row as they are before
// RoPE, read in chunks like a prompt.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "kvcache/shape/rope_pairs.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {

struct ReadText {
  using Matrix = std::vector<std::vector<float>>;
  Matrix keys = {}, values = {};  // [n_tokens][head_dim]; no values: all alike
  Matrix queries = {};            // [n_tokens][n_group * head_dim]; none: zeros
  std::size_t n_group = 1;
  std::size_t first_position = 0;
  std::vector<double> inverse_frequency = {};
  kernels::RopePairs pairs = kernels::RopePairs::adjacent;
  double keep = 0.5;

  std::size_t n() const { return keys.size(); }
  std::size_t head_dim() const { return keys.front().size(); }
  LayerShape layer() const {
    return {.n_heads = n_group,
            .n_kv_heads = 1,
            .head_dim = head_dim(),
            .attention_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim()))),
            .rope_pairs = pairs,
            .inverse_frequency = inverse_frequency};
  }
  std::vector<float> scores(std::string_view scorer, const std::string& params = "{}",
                            std::size_t chunk = 1u << 20) const {
    return scores(*make<Scorer>(StageKind::scorer, scorer, params), chunk);
  }
  std::vector<float> scores(const Scorer& scorer, std::size_t chunk) const {
    const LayerShape shape = layer();
    const auto backend = test::open_reference();
    const std::vector<Half> k = halves(rotated(keys)), v = halves(values);
    const std::vector<float> q = flat(rotated(queries)), before_q = flat(queries);
    const std::vector<float> before_k = flat(keys), lse(n() * n_group);
    std::vector<std::int32_t> positions;
    for (std::size_t t = 0; t < n(); ++t)
      positions.push_back(static_cast<std::int32_t>(first_position + t));
    std::vector<float> state(scorer.state_floats(shape, n())), scores(n());
    for (std::size_t first = 0; first < n(); first += chunk) {
      const std::size_t count = std::min(chunk, n() - first), d = head_dim();
      const kernels::ExactRun run{
          .k = k.data(), .v = v.data(), .positions = positions.data(), .n_tokens = first + count};
      const ObservedLane lane{
          .keys = {.runs = {&run, 1}, .pages = {}}, .n_group = n_group, .scores = scores.data()};
      const Observation seen{.layer = shape,
                             .batch = {.positions = positions.data() + first,
                                       .n_tokens = count,
                                       .position_min = positions[first],
                                       .position_max = positions[first + count - 1]},
                             .positions = std::span(positions).subspan(first, count),
                             .q = q.data() + first * n_group * d,
                             .lse = lse.data() + first * n_group,
                             .pre_rope_q = before_q.data() + first * n_group * d,
                             .pre_rope_k = before_k.data() + first * d,
                             .span_first = first_position,
                             .span_end = first_position + n(),
                             .keep = keep,
                             .state = state.data()};
      EXPECT_TRUE(scorer.observe(*backend, seen, {&lane, 1}).ok());
    }
    return scores;
  }

 private:
  Matrix rotated(Matrix rows) const {
    for (std::size_t t = 0; t < rows.size(); ++t)
      for (std::size_t at = 0; at < rows[t].size(); at += head_dim())
        rope_pairs(layer(), static_cast<double>(first_position + t),
                   std::span(rows[t]).subspan(at, head_dim()));
    return rows;
  }
  std::vector<float> flat(const Matrix& rows) const {
    std::vector<float> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    all.resize(n() * n_group * head_dim());
    return all;
  }
  std::vector<Half> halves(const Matrix& rows) const {
    std::vector<Half> all(n() * head_dim(), float_to_half(1));
    for (std::size_t t = 0; t < rows.size(); ++t)
      for (std::size_t c = 0; c < head_dim(); ++c)
        all[t * head_dim() + c] = float_to_half(rows[t][c]);
    return all;
  }
};

}  // namespace satchel::kvcache
