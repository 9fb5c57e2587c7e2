#include "cache_driver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/base/rng.h"
#include "kvcache/recipes/pipeline.h"
#include "support/key_bases.h"
#include "support/lanes.h"
#include "support/open_named.h"
#include "support/selector.h"
#include "support/staged_backend.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kLatentRotated = 16;

// What of a head's result means something.
std::size_t first_value(const LayerShape& layer) {
  return layer.is_latent ? layer.n_rotated() : 0;
}

// Keys that are worth more the larger some of their values are.
KeyImportance key_worth_of(const CacheShape& shape) {
  KeyImportance importance{.agreement = 0.5, .lanes = {}};
  for (const LayerShape& layer : shape.layers)
    for (std::size_t head = 0; layer.window == 0 && head < layer.n_kv_heads; ++head) {
      std::vector<float>& weights = importance.lanes.emplace_back(1 + 2 * layer.head_dim);
      weights[1 + head] = 1;
      weights.back() = 0.5f;
    }
  return importance;
}

// A table in which the first lane remembers most. "satchel-band" and "headkv" go without one here.
std::shared_ptr<const HeadBudgets> lane_shares_of(const CacheShape& shape, bool knows_worth) {
  auto table = std::make_shared<HeadBudgets>();
  table->rows = {{.keep = 0.25, .shares = {}}, {.keep = 0.5, .shares = {}}};
  for (const LayerShape& layer : shape.layers)
    for (std::size_t head = 0; layer.window == 0 && head < layer.n_kv_heads; ++head) {
      const bool is_first = table->rows[0].shares.empty();
      table->rows[0].shares.push_back(is_first ? 0.9 : 0.1);
      table->rows[1].shares.push_back(is_first ? 1.0 : 0.3);
    }
  if (knows_worth) table->importance = key_worth_of(shape);
  return table->n_lanes() == 0 ? nullptr : table;
}

Recipe recipe_of(const CacheDriver::Setup& setup) {
  Result<Recipe> recipe =
      setup.recipe.starts_with('{') ? Recipe::parse(setup.recipe) : Recipe::builtin(setup.recipe);
  if (recipe.ok() && setup.keep > 0) recipe = recipe->with_keep(setup.keep);
  if (!recipe.ok()) ADD_FAILURE() << recipe.error().message;
  return std::move(recipe).value();
}

CacheShape shape_of(const CacheDriver::Setup& setup) {
  CacheShape shape{.layers = setup.layers, .states = setup.states};
  for (std::size_t i = 0; setup.layers.empty() && i < setup.n_layers; ++i)
    shape.layers.push_back({.n_heads = setup.n_heads,
                            .n_kv_heads = setup.n_kv_heads,
                            .head_dim = setup.head_dim,
                            .is_latent = setup.is_latent,
                            .attention_scale = 1.0f / std::sqrt(static_cast<float>(setup.head_dim)),
                            .window = setup.windows.empty() ? 0 : setup.windows[i],
                            .inverse_frequency = test::rope_frequencies(
                                setup.is_latent ? kLatentRotated : setup.head_dim)});
  const std::array with_table = {"satchel", "satchel-refit", "kvzap", "duoattention",
                                 "razorattention"};
  const std::string& name = setup.varies.empty() ? setup.recipe : setup.varies;
  if (std::ranges::find(with_table, name) != with_table.end())
    shape.head_budgets = lane_shares_of(shape, name == "kvzap");
  if (recipe_of(setup).json().find("klt") != std::string::npos && setup.basis_fall > 0)
    shape.key_bases = test::key_bases_of(shape, setup.basis_fall, setup.basis_form);
  if (!recipe_of(setup).pipeline().check(shape).ok())  // it needs weights
    shape.selectors = test::open_selectors_of(shape);
  if (setup.selectors) shape.selectors = *setup.selectors;
  return shape;
}

std::shared_ptr<Arena> arena_of(const CacheDriver::Setup& setup) {
  if (setup.arena != nullptr) return setup.arena;
  return Arena::open(test::open_in_main_memory(setup.backend), setup.arena_bytes).value();
}

float as_stored(float x) {
  return half_to_float(float_to_half(x));
}

}  // namespace

CacheDriver::CacheDriver(const Setup& setup)
    : setup_(setup), arena_(arena_of(setup)), shape_(shape_of(setup)), recipe_(recipe_of(setup)) {
  Result<std::unique_ptr<Cache>> cache = Cache::open(arena_, shape_, recipe_);
  if (!cache.ok()) ADD_FAILURE() << cache.error().message;
  cache_ = std::move(cache).value();
}

const std::vector<float>& CacheDriver::made_up(std::uint64_t kind, std::size_t layer,
                                               std::uint64_t id, std::size_t n) const {
  std::vector<float>& values = (*made_up_)[{kind, layer, id}];
  if (!values.empty()) return values;
  Rng rng(((setup_.seed * 131 + kind) * 1009 + layer) * 1000003 + id);
  values.resize(n);
  for (float& value : values) {  // roughly normal: a sum of four uniforms
    double sum = -2;
    for (int i = 0; i < 4; ++i) sum += rng.uniform();
    value = static_cast<float>(sum * 1.7);
  }
  return values;
}

const CacheDriver::Token& CacheDriver::token(std::size_t position) {
  const auto found = text_.find(position);
  if (found != text_.end()) return found->second;
  return text_.emplace(position, Token{.id = next_id_++}).first->second;
}

std::vector<std::int32_t> CacheDriver::token_ids() const {
  std::vector<std::int32_t> ids(cache_->n_tokens());
  for (const auto& [position, token] : text_)
    if (position < ids.size()) ids[position] = static_cast<std::int32_t>(token.id + 1);
  return ids;
}

std::vector<float> CacheDriver::q(std::size_t layer, std::size_t position) const {
  const LayerShape& shape = shape_.layers[layer];
  return made_up(1, layer, position, shape.n_heads * shape.head_dim);
}
std::vector<float> CacheDriver::k(std::size_t layer, std::size_t position) {
  const LayerShape& shape = shape_.layers[layer];
  return made_up(2, layer, token(position).id, shape.n_kv_heads * shape.head_dim);
}
std::vector<float> CacheDriver::v(std::size_t layer, std::size_t position) {
  const LayerShape& shape = shape_.layers[layer];
  if (shape.is_latent) return k(layer, position);
  return made_up(3, layer, token(position).id, shape.n_kv_heads * shape.head_dim);
}

SeenLane CacheDriver::see(const kernels::LaneView& lane, std::size_t d, Values values) {
  const std::size_t n_values = values == Values::decoded ? d : 0;
  SeenLane seen;
  for (const kernels::ExactRun& run : lane.runs)
    for (std::size_t t = 0; t < run.n_tokens; ++t) {
      DecodedToken token;
      for (std::size_t c = 0; c < n_values; ++c) {
        token.k.push_back(half_to_float(run.k[t * d + c]));
        token.v.push_back(half_to_float(run.v[t * d + c]));
      }
      seen.emplace(run.positions[t], std::move(token));
    }
  for (const kernels::PageView& page : lane.pages) {
    const std::size_t n = page.n_tokens;
    std::vector<float> k_rows(n * n_values), v_rows(n * n_values);
    const kernels::DecodeArgs args{.layout = page.layout,
                                   .page = page.bytes,
                                   .n_tokens = n,
                                   .k = k_rows.data(),
                                   .v = v_rows.data()};
    if (n_values > 0) {
      EXPECT_TRUE(backend().decode_pages({&args, 1}).ok());
    }
    std::vector<std::int32_t> positions(n);
    std::memcpy(positions.data(), page.bytes + page.layout->positions_at, n * sizeof(std::int32_t));
    EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
    std::int32_t first = std::numeric_limits<std::int32_t>::max(), last = -1;
    for (std::size_t t = 0; t < n; ++t) {
      if (!page.live.has(t)) continue;
      const auto at = static_cast<std::ptrdiff_t>(t * n_values);
      const auto end = at + static_cast<std::ptrdiff_t>(n_values);
      DecodedToken token{{k_rows.begin() + at, k_rows.begin() + end},
                         {v_rows.begin() + at, v_rows.begin() + end},
                         page.shift,
                         0,
                         page.layout};
      if (page.layout->log_counts_at > 0) {
        float count = 0;
        std::memcpy(&count, page.bytes + page.layout->log_counts_at + t * sizeof count,
                    sizeof count);
        token.log_count = static_cast<double>(count);
      }
      first = std::min(first, positions[t] + page.shift);
      last = std::max(last, positions[t] + page.shift);
      seen.emplace(positions[t] + page.shift, std::move(token));
    }
    EXPECT_GT(page.live.count(), 0u) << "a page that holds nothing";
    EXPECT_EQ(page.first_position, first);
    EXPECT_EQ(page.last_position, last);
  }
  return seen;
}

DecodedLane CacheDriver::decode(const kernels::LaneView& lane, std::size_t d, Values values) {
  DecodedLane decoded;
  for (auto& [position, token] : see(lane, d, values)) {
    const bool fresh = decoded.emplace(position, std::move(token)).second;
    EXPECT_TRUE(fresh) << "position " << position << " stands twice";
  }
  return decoded;
}

const kernels::LaneView& CacheDriver::view(std::size_t layer, std::size_t head) {
  EXPECT_TRUE(cache_->refresh_lanes().ok());  // another cache's step may have moved them
  const kernels::Sequence lanes = cache_->lanes(layer);
  return test::shown_lane(*lanes.lanes, lanes.first_lane + head);
}

DecodedLane CacheDriver::decode(std::size_t layer, std::size_t head) {
  return decode(view(layer, head), shape_.layers[layer].head_dim);
}
SeenLane CacheDriver::see(std::size_t layer, std::size_t head, Values values) {
  return see(view(layer, head), shape_.layers[layer].head_dim, values);
}

const Lane& CacheDriver::lane(std::size_t layer, std::size_t head) {
  const CacheState& state = cache_->state();
  return state.lanes[state.layout.first_lane[layer] + head];
}

DecodedLane CacheDriver::held(std::size_t layer, std::size_t head, Values values) {
  const Lane& of = lane(layer, head);
  const std::array runs = {of.sinks().run(of.n_sinks()), of.tail().run(of.n_tail())};
  std::vector<kernels::PageView> pages;
  for (const PageRecord& page : of.pages())
    pages.push_back({.bytes = arena_->at(page.extent),
                     .layout = page.layout,
                     .n_tokens = page.n_tokens,
                     .live = page.live,
                     .shift = page.shift,
                     .first_position = page.first_position,
                     .last_position = page.last_position});
  return decode({.runs = runs, .pages = pages}, of.head_dim(), values);
}

std::vector<std::int32_t> CacheDriver::kept(std::size_t layer, std::size_t head) {
  std::vector<std::int32_t> positions;
  for (const auto& [position, token] : decode(layer, head)) positions.push_back(position);
  return positions;
}

std::vector<std::vector<std::int32_t>> CacheDriver::all_kept() {
  std::vector<std::vector<std::int32_t>> lanes;
  for (std::size_t layer = 0; layer < shape_.n_layers(); ++layer)
    for (std::size_t head = 0; head < shape_.layers[layer].n_kv_heads; ++head)
      lanes.push_back(kept(layer, head));
  return lanes;
}

std::vector<std::byte> CacheDriver::bytes() {
  std::vector<std::byte> all;
  const auto add = [&](const void* from, std::size_t n) {
    const auto* bytes = static_cast<const std::byte*>(from);
    all.insert(all.end(), bytes, bytes + n);
  };
  const std::size_t n_tokens = cache_->n_tokens();
  add(&n_tokens, sizeof n_tokens);
  for (std::size_t layer = 0; layer < shape_.n_layers(); ++layer) {
    const std::size_t row_bytes = shape_.layers[layer].head_dim * sizeof(Half);
    EXPECT_TRUE(cache_->fetch_lanes(layer).ok());
    for (std::size_t head = 0; head < shape_.layers[layer].n_kv_heads; ++head) {
      const kernels::LaneView& lane = view(layer, head);
      for (const kernels::ExactRun& run : lane.runs) {
        add(&run.n_tokens, sizeof run.n_tokens);
        add(run.k, run.n_tokens * row_bytes);
        add(run.v, run.n_tokens * row_bytes);
        add(run.positions, run.n_tokens * sizeof(std::int32_t));
      }
      const Lane& held = this->lane(layer, head);
      add(held.sinks().k, held.n_sinks() * row_bytes);
      for (const PageRecord& page : held.pages()) {
        add(page.live.words.data(), sizeof page.live.words);
        add(&page.shift, sizeof page.shift);
        add(arena_->at(page.extent), page.layout->bytes);
      }
    }
  }
  add(&cache_->reach().near_first, sizeof cache_->reach().near_first);
  for (const Reach::Part& part : cache_->reach().parts) {
    add(&part.first, sizeof part.first);
    add(&part.n_tokens, sizeof part.n_tokens);
    add(&part.moved, sizeof part.moved);
  }
  const auto states = cache_->states().saved(cache_->state().next_serial);
  for (std::size_t layer = 0; !states.empty() && layer < shape_.states.size(); ++layer) {
    std::vector<std::byte> state(cache_->states().layer_bytes(layer, false));
    EXPECT_TRUE(cache_->states().download(states.back().serial, layer, state).ok());
    add(state.data(), state.size());
  }
  return all;
}

Result<void> CacheDriver::carry(std::size_t first, std::size_t n_tokens) {
  RecurrentStates& states = cache_->states();
  for (std::size_t layer = 0; layer < shape_.states.size(); ++layer)
    for (std::size_t done = 0, n = 0; done < n_tokens; done += n) {
      n = std::min({std::size_t{50}, n_tokens - done, states.n_to_checkpoint(layer)});
      const kernels::StateSequence carried = states.carry(layer, n);
      for (std::size_t i = 0; i < shape_.states[layer].n_values; ++i) {
        float sum = carried.before == nullptr ? 0 : carried.before[i];
        for (std::size_t t = first + done; t < first + done + n; ++t)
          sum = sum / 2 + static_cast<float>((token(t).id * 31 + i * 7) % 23);
        carried.behind[i] = sum;
      }
      SATCHEL_TRY(states.keep(layer));
    }
  return {};
}

DecodedLane CacheDriver::masked(std::size_t layer, std::size_t head,
                                const std::vector<std::int32_t>& kept) {
  DecodedLane lane;
  const std::size_t d = shape_.layers[layer].head_dim;
  for (const std::int32_t position : kept) {
    const auto at = static_cast<std::size_t>(position);
    const std::vector<float> all_k = k(layer, at), all_v = v(layer, at);
    DecodedToken exact{.shift = token(at).shift};
    for (std::size_t c = 0; c < d; ++c) {
      exact.k.push_back(as_stored(all_k[head * d + c]));
      exact.v.push_back(as_stored(all_v[head * d + c]));
    }
    lane.emplace(position, std::move(exact));
  }
  return lane;
}

Result<void> CacheDriver::attend(std::size_t layer, const kernels::Sequence& sequence,
                                 std::span<const std::int32_t> positions,
                                 const std::vector<float>& queries, std::vector<float>& out,
                                 std::vector<float>& lse) {
  const LayerShape& shape = shape_.layers[layer];
  out.resize(queries.size());
  lse.resize(positions.size() * shape.n_heads);
  return backend().attend({.q = queries.data(),
                           .n_heads = shape.n_heads,
                           .n_kv_heads = shape.n_kv_heads,
                           .head_dim = shape.head_dim,
                           .batch = {.positions = positions.data(),
                                     .n_tokens = positions.size(),
                                     .position_min = positions.front(),
                                     .position_max = positions.back()},
                           .sequences = {&sequence, 1},
                           .scale = shape.attention_scale,
                           .soft_cap = shape.soft_cap,
                           .window = shape.window,
                           .rope = shape.rope(),
                           .out = out.data(),
                           .lse = lse.data()});
}

double CacheDriver::attention_error(std::size_t layer, std::size_t position,
                                    const Attends& expected_of) {
  const LayerShape& shape = shape_.layers[layer];
  const std::vector<float> queries = q(layer, position);
  const auto query_position = static_cast<std::int32_t>(position);
  std::vector<float> out, lse;
  EXPECT_TRUE(
      attend(layer, cache_->lanes(layer), std::span(&query_position, 1), queries, out, lse).ok());
  double worst = 0;
  for (std::size_t head = 0; head < shape.n_heads; ++head) {
    const Attended expected = expected_of(head, queries.data() + head * shape.head_dim);
    for (std::size_t c = first_value(shape); c < shape.head_dim; ++c)
      worst = std::max(worst, std::abs(expected.out[c] - double{out[head * shape.head_dim + c]}));
    if (!expected.weights.empty())
      worst = std::max(worst, std::abs(expected.lse - double{lse[head]}));
  }
  return worst;
}

double CacheDriver::attention_error(std::size_t layer, std::size_t position, const Oracle& oracle) {
  const LayerShape& shape = shape_.layers[layer];
  const Attends over_oracle = [&](std::size_t head, const float* q) {
    return attend_plainly(q, shape, static_cast<std::int32_t>(position),
                          oracle(head / shape.n_group()));
  };
  return attention_error(layer, position, over_oracle);
}

double CacheDriver::attention_error() {
  double worst = 0;
  for (std::size_t layer = 0; layer < shape_.n_layers(); ++layer) {
    const LayerShape& shape = shape_.layers[layer];
    const Attends over_seen = [&](std::size_t head, const float* q) {
      return attend_plainly(q, shape, static_cast<std::int32_t>(cache_->n_tokens()),
                            see(layer, head / shape.n_group()));
    };
    worst = std::max(worst, attention_error(layer, cache_->n_tokens(), over_seen));
  }
  return worst;
}

std::vector<float> CacheDriver::attended(std::size_t layer, std::size_t position) {
  const std::array at = {static_cast<std::int32_t>(position)};
  std::vector<float> out, lse;
  EXPECT_TRUE(cache_->refresh_lanes().ok() && cache_->fetch_lanes(layer).ok());
  EXPECT_TRUE(attend(layer, cache_->lanes(layer), at, q(layer, position), out, lse).ok());
  return out;
}

Result<void> CacheDriver::attend_chunk(Prefill& reading, std::size_t layer, std::size_t first,
                                       std::size_t n) {
  const ScorerRequirements requirements = reading.requirements();
  const bool is_wanted = requirements.prefill || requirements.probe;
  if (!check_attention && !is_wanted) return {};
  const LayerShape& shape = shape_.layers[layer];
  const std::size_t d = shape.head_dim;
  std::vector<float> queries, keys, out, lse;
  std::vector<std::int32_t> positions;
  for (std::size_t t = first; t < first + n; ++t) {
    const std::vector<float> row = q(layer, t), k_row = k(layer, t);
    queries.insert(queries.end(), row.begin(), row.end());
    keys.insert(keys.end(), k_row.begin(), k_row.end());
    positions.push_back(static_cast<std::int32_t>(t));
  }
  const kernels::Sequence sequence = reading.lanes();
  SATCHEL_TRY(attend(layer, sequence, positions, queries, out, lse));
  for (std::size_t head = 0; check_attention && head < shape.n_kv_heads; ++head) {
    const SeenLane lane = see(test::shown_lane(*sequence.lanes, sequence.first_lane + head), d);
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t g = head * shape.n_group(); g < (head + 1) * shape.n_group(); ++g) {
        const std::size_t row = t * shape.n_heads + g;
        const Attended expected =
            attend_plainly(queries.data() + row * d, shape, positions[t], lane);
        for (std::size_t c = first_value(shape); c < d; ++c)
          worst_error = std::max(worst_error, std::abs(expected.out[c] - double{out[row * d + c]}));
        auto& sums = scores[layer][head];
        const std::size_t begin = cache_->n_tokens();
        for (const auto& [position, weight] : expected.weights)
          if (const auto at = static_cast<std::size_t>(position);
              at >= begin && at - begin < sums.size())
            sums[at - begin] += weight / static_cast<double>(shape.n_group());
      }
  }
  return reading.observe({.q = queries.data(),
                          .lse = lse.data(),
                          .pre_rope_q = queries.data(),
                          .pre_rope_k = keys.data()});
}

Result<void> CacheDriver::feed(Prefill& reading, std::size_t layer, std::size_t n_tokens,
                               std::size_t chunk, std::size_t first) {
  SATCHEL_TRY(reading.begin_layer(layer));
  for (std::size_t done = 0; done < n_tokens; done += chunk) {
    const std::size_t n = std::min(chunk, n_tokens - done);
    std::vector<float> keys, values;
    for (std::size_t t = first + done; t < first + done + n; ++t) {
      const std::vector<float> k_row = k(layer, t), v_row = v(layer, t);
      keys.insert(keys.end(), k_row.begin(), k_row.end());
      values.insert(values.end(), v_row.begin(), v_row.end());
    }
    SATCHEL_TRY(reading.add_chunk(keys.data(), values.data(), n));
    SATCHEL_TRY(attend_chunk(reading, layer, first + done, n));
  }
  return reading.end_layer();
}

Result<CompactionReport> CacheDriver::read(std::size_t n_tokens, const ReadOptions& options) {
  SATCHEL_TRY_ASSIGN(Prefill reading, cache_->begin_prefill({.n_tokens = n_tokens,
                                                             .kind = options.kind,
                                                             .goes_on = options.goes_on,
                                                             .finest = options.finest}));
  if (!options.ids.empty()) reading.tell_ids(options.ids);
  const std::size_t begin = cache_->n_tokens();
  scores.clear();
  for (const LayerShape& layer : shape_.layers)
    scores.emplace_back(layer.n_kv_heads, std::vector<double>(n_tokens));
  for (std::size_t layer = 0; layer < shape_.n_layers(); ++layer) {
    if (options.stop_after_layer == static_cast<int>(layer)) return CompactionReport{};
    SATCHEL_TRY(feed(reading, layer, n_tokens, options.chunk, begin));
  }
  if (options.stop_after_layer >= 0) return CompactionReport{};
  SATCHEL_TRY(carry(begin, n_tokens));
  return reading.commit();
}

Result<void> CacheDriver::probe(const ProbeJob& job, int stop_after_layer, std::size_t n_extra) {
  const std::size_t begin = cache_->n_tokens(), n = n_extra + job.n_tokens;
  SATCHEL_TRY_ASSIGN(Prefill reading, cache_->begin_probe(job, n, begin));
  const auto text = text_;  // what the pass says is no part of it
  const std::uint64_t next_id = next_id_;
  Result<void> fed;
  for (std::size_t layer = 0; layer < shape_.n_layers() && fed.ok(); ++layer) {
    if (stop_after_layer == static_cast<int>(layer)) break;
    fed = feed(reading, layer, n, 100, begin);
  }
  if (fed.ok()) fed = carry(begin, n);
  text_ = text;
  next_id_ = next_id;
  SATCHEL_TRY(fed);
  if (stop_after_layer >= 0) return {};
  const Result<CompactionReport> done = reading.commit();
  return done.ok() ? Result<void>() : Result<void>(done.error());
}

Result<std::size_t> CacheDriver::probe_all(std::size_t chunk) {
  std::size_t n = 0;
  while (const std::optional<ProbeJob> job = cache_->next_probe(chunk)) {
    SATCHEL_TRY(probe(*job));
    ++n;
  }
  return n;
}

Result<void> CacheDriver::observe_step(std::size_t layer) {
  const bool chooses = cache_->is_far() || !recipe_.pipeline().reader().reads_all();
  if (!check_attention && !cache_->needs_step() && !chooses) return {};
  const LayerShape& shape = shape_.layers[layer];
  const auto position = static_cast<std::int32_t>(cache_->n_tokens());
  const std::vector<float> queries = q(layer, cache_->n_tokens());
  std::vector<float> out, lse;
  SATCHEL_TRY(cache_->choose_pages(layer, queries.data()));
  SATCHEL_TRY(attend(layer, cache_->lanes(layer), std::span(&position, 1), queries, out, lse));
  for (std::size_t head = 0; check_attention && head < shape.n_heads; ++head) {
    const Attended expected = attend_plainly(queries.data() + head * shape.head_dim, shape,
                                             position, see(layer, head / shape.n_group()));
    for (std::size_t c = first_value(shape); c < shape.head_dim; ++c)
      worst_error =
          std::max(worst_error, std::abs(expected.out[c] - double{out[head * shape.head_dim + c]}));
  }
  if (!cache_->needs_step()) return {};
  return cache_->observe_step(
      layer, queries.data(), lse.data(),
      {.positions = &position, .n_tokens = 1, .position_min = position, .position_max = position});
}

Result<void> CacheDriver::step() {
  SATCHEL_TRY(cache_->begin_step());
  const std::size_t position = cache_->n_tokens();
  for (std::size_t layer = 0; layer < shape_.n_layers(); ++layer) {
    SATCHEL_TRY(cache_->append(layer, k(layer, position).data(), v(layer, position).data()));
    SATCHEL_TRY(observe_step(layer));
  }
  SATCHEL_TRY(carry(position, 1));
  return cache_->end_step();
}

Result<void> CacheDriver::truncate(std::size_t n_tokens) {
  SATCHEL_TRY(cache_->edit().truncate(n_tokens));
  text_.erase(text_.lower_bound(n_tokens), text_.end());
  return {};
}

Result<void> CacheDriver::move_text(std::size_t first, std::int32_t by) {
  text_.erase(text_.lower_bound(cache_->n_tokens()), text_.end());  // of readings that were dropped
  SATCHEL_TRY(cache_->edit().move_text(first, by));
  std::map<std::size_t, Token> now;
  for (const auto& [position, token] : text_) {
    if (position < first) {
      now.emplace(position, token);
      continue;
    }
    Token moved = token;
    moved.shift += by;
    now[static_cast<std::size_t>(static_cast<std::int64_t>(position) + by)] = moved;
  }
  text_ = std::move(now);
  return {};
}

Result<void> CacheDriver::gather(std::size_t first, std::size_t n, CacheDriver& other) {
  SATCHEL_TRY(cache_->edit().gather(first, n, other.cache_->state()));
  for (std::size_t at = first; at < first + n; ++at) text_[at] = other.token(at);
  return {};
}

Result<void> CacheDriver::place(std::size_t first, std::size_t n, CacheDriver& other) {
  const std::size_t at = cache_->n_tokens();
  SATCHEL_TRY(cache_->edit().place(first, n, other.cache_->state()));
  for (std::size_t i = 0; i < n; ++i)
    (text_[at + i] = other.token(first + i)).shift += static_cast<std::int32_t>(at - first);
  return {};
}

void CacheDriver::clear() {
  cache_->clear();
  text_.clear();
}

CacheDriver::CacheDriver(const CacheDriver& of, std::unique_ptr<Cache> twin)
    : check_attention(of.check_attention),
      setup_(of.setup_),
      arena_(of.arena_),
      shape_(of.shape_),
      recipe_(of.recipe_),
      cache_(std::move(twin)),
      text_(of.text_),
      next_id_(of.next_id_ + 1000000),  // what it reads from now on is something else
      made_up_(of.made_up_) {}

Result<CacheDriver> CacheDriver::fork() {
  SATCHEL_TRY_ASSIGN(std::unique_ptr<Cache> twin, cache_->fork());
  return CacheDriver(*this, std::move(twin));
}

}  // namespace satchel::kvcache
