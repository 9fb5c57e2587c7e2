#include "cache_driver.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/base/rng.h"

namespace satchel::kvcache {
namespace {

Recipe recipe_of(const CacheDriver::Setup& setup) {
  Result<Recipe> recipe =
      setup.recipe.starts_with('{') ? Recipe::parse(setup.recipe) : Recipe::builtin(setup.recipe);
  if (recipe.ok() && setup.keep > 0) recipe = recipe->with_keep(setup.keep);
  if (!recipe.ok()) ADD_FAILURE() << recipe.error().message;
  return std::move(recipe).value();
}

float as_stored(float x) {
  return half_to_float(float_to_half(x));
}

}  // namespace

CacheDriver::CacheDriver(const Setup& setup)
    : setup_(setup),
      backend_(kernels::open_backend("reference", {}).value()),
      shape_{.n_layers = setup.n_layers,
             .n_heads = setup.n_heads,
             .n_kv_heads = setup.n_kv_heads,
             .head_dim = setup.head_dim,
             .attention_scale = 1.0f / std::sqrt(static_cast<float>(setup.head_dim))},
      recipe_(recipe_of(setup)) {
  Result<std::unique_ptr<Cache>> cache = Cache::open(*backend_, shape_, recipe_, setup.pool_bytes);
  if (!cache.ok()) ADD_FAILURE() << cache.error().message;
  cache_ = std::move(cache).value();
}

std::vector<float> CacheDriver::made_up(std::uint64_t kind, std::size_t layer, std::size_t position,
                                        std::size_t n) const {
  Rng rng(((setup_.seed * 131 + kind) * 1009 + layer) * 1000003 + position);
  std::vector<float> values(n);
  for (float& value : values) {  // roughly normal: a sum of four uniforms
    double sum = -2;
    for (int i = 0; i < 4; ++i) sum += rng.uniform();
    value = static_cast<float>(sum * 1.7);
  }
  return values;
}

std::vector<float> CacheDriver::q(std::size_t layer, std::size_t position) const {
  return made_up(1, layer, position, shape_.n_heads * shape_.head_dim);
}
std::vector<float> CacheDriver::k(std::size_t layer, std::size_t position) const {
  return made_up(2, layer, position, shape_.n_kv_heads * shape_.head_dim);
}
std::vector<float> CacheDriver::v(std::size_t layer, std::size_t position) const {
  return made_up(3, layer, position, shape_.n_kv_heads * shape_.head_dim);
}

DecodedLane CacheDriver::decode(const kernels::LaneView& lane) {
  DecodedLane decoded;
  const std::size_t d = shape_.head_dim;
  const auto put = [&](std::int32_t position, DecodedToken token) {
    const bool fresh = decoded.emplace(position, std::move(token)).second;
    EXPECT_TRUE(fresh) << "position " << position << " stands twice";
  };
  for (const kernels::ExactRun& run : lane.runs)
    for (std::size_t t = 0; t < run.n_tokens; ++t) {
      DecodedToken token;
      for (std::size_t c = 0; c < d; ++c) {
        token.k.push_back(half_to_float(run.k[t * d + c]));
        token.v.push_back(half_to_float(run.v[t * d + c]));
      }
      put(run.positions[t], std::move(token));
    }
  for (const kernels::PageView& page : lane.pages) {
    std::vector<float> k_rows(kernels::kPageTokens * d), v_rows(kernels::kPageTokens * d);
    EXPECT_TRUE(backend_->decode_page(*page.layout, page.bytes, k_rows.data(), v_rows.data()).ok());
    std::vector<std::int32_t> positions(kernels::kPageTokens);
    std::memcpy(positions.data(), page.bytes + page.layout->positions_at,
                positions.size() * sizeof(std::int32_t));
    EXPECT_EQ(positions.front(), page.first_position);
    EXPECT_EQ(positions.back(), page.last_position);
    EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
    for (std::size_t t = 0; t < kernels::kPageTokens; ++t) {
      const auto at = static_cast<std::ptrdiff_t>(t * d);
      const auto end = at + static_cast<std::ptrdiff_t>(d);
      put(positions[t], {{k_rows.begin() + at, k_rows.begin() + end},
                         {v_rows.begin() + at, v_rows.begin() + end}});
    }
  }
  return decoded;
}

DecodedLane CacheDriver::decode(std::size_t layer, std::size_t head) {
  return decode(cache_->lanes(layer)[head]);
}

std::vector<std::int32_t> CacheDriver::kept(std::size_t layer, std::size_t head) {
  std::vector<std::int32_t> positions;
  for (const auto& [position, token] : decode(layer, head)) positions.push_back(position);
  return positions;
}

std::vector<std::byte> CacheDriver::bytes() {
  std::vector<std::byte> all;
  const auto add = [&](const void* from, std::size_t n) {
    const auto* bytes = static_cast<const std::byte*>(from);
    all.insert(all.end(), bytes, bytes + n);
  };
  const std::size_t n_tokens = cache_->n_tokens();
  add(&n_tokens, sizeof n_tokens);
  for (std::size_t layer = 0; layer < shape_.n_layers; ++layer)
    for (const kernels::LaneView& lane : cache_->lanes(layer)) {
      for (const kernels::ExactRun& run : lane.runs) {
        add(&run.n_tokens, sizeof run.n_tokens);
        add(run.k, run.n_tokens * shape_.head_dim * sizeof(Half));
        add(run.v, run.n_tokens * shape_.head_dim * sizeof(Half));
        add(run.positions, run.n_tokens * sizeof(std::int32_t));
      }
      for (const kernels::PageView& page : lane.pages) add(page.bytes, page.layout->bytes);
    }
  return all;
}

DecodedLane CacheDriver::masked(std::size_t layer, std::size_t head,
                                const std::vector<std::int32_t>& kept) const {
  DecodedLane lane;
  const std::size_t d = shape_.head_dim;
  for (const std::int32_t position : kept) {
    const std::vector<float> all_k = k(layer, static_cast<std::size_t>(position));
    const std::vector<float> all_v = v(layer, static_cast<std::size_t>(position));
    DecodedToken token;
    for (std::size_t c = 0; c < d; ++c) {
      token.k.push_back(as_stored(all_k[head * d + c]));
      token.v.push_back(as_stored(all_v[head * d + c]));
    }
    lane.emplace(position, std::move(token));
  }
  return lane;
}

Attended attend_plainly(const float* q, std::size_t head_dim, double scale,
                        std::int32_t query_position, const DecodedLane& lane) {
  Attended result;
  result.out.resize(head_dim);
  double sum = 0, top = -std::numeric_limits<double>::infinity();
  std::map<std::int32_t, double> logits;
  for (const auto& [position, token] : lane) {
    if (position > query_position) continue;
    double dot = 0;
    for (std::size_t c = 0; c < head_dim; ++c) dot += double{q[c]} * double{token.k[c]};
    logits[position] = dot * scale;
    top = std::max(top, dot * scale);
  }
  for (const auto& [position, logit] : logits) sum += std::exp(logit - top);
  result.lse = top + std::log(sum);
  for (const auto& [position, logit] : logits) {
    const double weight = std::exp(logit - result.lse);
    result.weights[position] = weight;
    const DecodedToken& token = lane.at(position);
    for (std::size_t c = 0; c < head_dim; ++c) result.out[c] += weight * double{token.v[c]};
  }
  return result;
}

double CacheDriver::attention_error(std::size_t layer, std::size_t position, const Oracle& oracle) {
  const std::vector<float> queries = q(layer, position);
  const auto query_position = static_cast<std::int32_t>(position);
  std::vector<float> out(queries.size()), lse(shape_.n_heads);
  EXPECT_TRUE(backend_
                  ->attend({.q = queries.data(),
                            .n_tokens = 1,
                            .n_heads = shape_.n_heads,
                            .head_dim = shape_.head_dim,
                            .positions = std::span(&query_position, 1),
                            .lanes = cache_->lanes(layer),
                            .scale = shape_.attention_scale,
                            .out = out.data(),
                            .lse = lse.data()})
                  .ok());
  double worst = 0;
  const std::size_t group = shape_.n_heads / shape_.n_kv_heads;
  for (std::size_t head = 0; head < shape_.n_heads; ++head) {
    const Attended expected =
        attend_plainly(queries.data() + head * shape_.head_dim, shape_.head_dim,
                       double{shape_.attention_scale}, query_position, oracle(head / group));
    for (std::size_t c = 0; c < shape_.head_dim; ++c)
      worst = std::max(worst, std::abs(expected.out[c] - double{out[head * shape_.head_dim + c]}));
    worst = std::max(worst, std::abs(expected.lse - double{lse[head]}));
  }
  return worst;
}

Result<void> CacheDriver::attend_chunk(PromptReading& reading, std::size_t layer, std::size_t first,
                                       std::size_t n) {
  if (!check_attention && !reading.wants_queries()) return {};
  const std::size_t d = shape_.head_dim;
  std::vector<float> queries, out(n * shape_.n_heads * d), lse(n * shape_.n_heads);
  std::vector<std::int32_t> positions;
  for (std::size_t t = first; t < first + n; ++t) {
    const std::vector<float> row = q(layer, t);
    queries.insert(queries.end(), row.begin(), row.end());
    positions.push_back(static_cast<std::int32_t>(t));
  }
  SATCHEL_TRY(backend_->attend({.q = queries.data(),
                                .n_tokens = n,
                                .n_heads = shape_.n_heads,
                                .head_dim = d,
                                .positions = positions,
                                .lanes = reading.lanes(),
                                .scale = shape_.attention_scale,
                                .out = out.data(),
                                .lse = lse.data()}));
  if (check_attention) {
    const std::size_t group = shape_.n_heads / shape_.n_kv_heads;
    for (std::size_t head = 0; head < shape_.n_kv_heads; ++head) {
      const DecodedLane lane = decode(reading.lanes()[head]);
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t g = head * group; g < (head + 1) * group; ++g) {
          const std::size_t row = t * shape_.n_heads + g;
          const Attended expected = attend_plainly(
              queries.data() + row * d, d, double{shape_.attention_scale}, positions[t], lane);
          for (std::size_t c = 0; c < d; ++c)
            worst_error =
                std::max(worst_error, std::abs(expected.out[c] - double{out[row * d + c]}));
          auto& sums = scores[layer][head];
          for (const auto& [position, weight] : expected.weights)
            if (static_cast<std::size_t>(position) >= cache_->n_tokens())
              sums[static_cast<std::size_t>(position) - cache_->n_tokens()] +=
                  weight / static_cast<double>(group);
        }
    }
  }
  return reading.observe(queries.data(), lse.data());
}

Result<void> CacheDriver::prompt(std::size_t n_tokens, std::size_t chunk, int stop_after_layer) {
  SATCHEL_TRY_ASSIGN(PromptReading reading, cache_->begin_prompt(n_tokens));
  const std::size_t begin = cache_->n_tokens();
  scores.assign(shape_.n_layers,
                std::vector<std::vector<double>>(shape_.n_kv_heads, std::vector<double>(n_tokens)));
  for (std::size_t layer = 0; layer < shape_.n_layers; ++layer) {
    if (stop_after_layer == static_cast<int>(layer)) return {};
    SATCHEL_TRY(reading.begin_layer(layer));
    for (std::size_t done = 0; done < n_tokens; done += chunk) {
      const std::size_t n = std::min(chunk, n_tokens - done);
      std::vector<float> keys, values;
      for (std::size_t t = begin + done; t < begin + done + n; ++t) {
        const std::vector<float> k_row = k(layer, t), v_row = v(layer, t);
        keys.insert(keys.end(), k_row.begin(), k_row.end());
        values.insert(values.end(), v_row.begin(), v_row.end());
      }
      SATCHEL_TRY(reading.add_chunk(keys.data(), values.data(), n));
      SATCHEL_TRY(attend_chunk(reading, layer, begin + done, n));
    }
    SATCHEL_TRY(reading.end_layer());
  }
  if (stop_after_layer >= 0) return {};
  return reading.commit();
}

Result<void> CacheDriver::step() {
  SATCHEL_TRY(cache_->begin_step());
  const std::size_t position = cache_->n_tokens();
  for (std::size_t layer = 0; layer < shape_.n_layers; ++layer)
    SATCHEL_TRY(cache_->append(layer, k(layer, position).data(), v(layer, position).data()));
  return cache_->end_step();
}

}  // namespace satchel::kvcache
