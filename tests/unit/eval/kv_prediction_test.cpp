// Keys and values predicted from a part of the model: the regression against numpy and plain loops,
// the file of the maps, the rows that the maps make, and what a prompt loses.
#include "app/eval/calibration/kv_prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/eval/calibration/prediction_calibration.h"
#include "app/eval/calibration/ridge_fit.h"
#include "app/eval/measure/predicted_rows.h"
#include "app/eval/measure/prediction_meter.h"
#include "kernels/base/half.h"
#include "kernels/base/rng.h"
#include "kvcache/base/hash.h"
#include "support/lanes.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::eval {
namespace {

using namespace runtime;  // what tests share
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using Ids = std::vector<std::int32_t>;
using Input = KvPrediction::Input;

TEST(RidgeFit, is_what_numpy_finds) {
  test::GoldenFile file("prediction/ridge.bin");
  const auto sizes = file.take<std::uint32_t>(3);
  const std::size_t rows = sizes[0], n_in = sizes[1], n_out = sizes[2];
  const double ridge = file.take<double>(1)[0];
  const auto x = file.take<float>(rows * n_in), y = file.take<float>(rows * n_out);
  const auto matrix = file.take<double>(n_out * n_in), bias = file.take<double>(n_out);
  const double explained = file.take<double>(1)[0];
  EXPECT_EQ(file.n_left(), 0u);
  RidgeFit fit(n_in, {n_out});
  for (const std::size_t from : {std::size_t{0}, rows / 4}) {  // two texts
    const std::size_t n = from == 0 ? rows / 4 : rows - from;
    const auto some = std::span(x).subspan(from * n_in, n * n_in);
    fit.add_inputs(some);
    fit.add_outputs(0, some, std::span(y).subspan(from * n_out, n * n_out));
  }
  const auto solved = fit.solve(ridge);
  ASSERT_EQ(solved.size(), 1u);
  EXPECT_THAT(solved[0].map.matrix, Pointwise(testing::DoubleNear(1e-5), matrix));
  EXPECT_THAT(solved[0].map.bias, Pointwise(testing::DoubleNear(1e-5), bias));
  EXPECT_NEAR(solved[0].explained, explained, 1e-9);
}

// One input, by hand: x 0, 1, 2; y 1, 2, 6. Deviations -1, 0, 1 and -2, -1, 3: products 5, squares
// 2, so with a ridge of 1/2 the slope is 5 / (2 + 1/2 · 2).
TEST(RidgeFit, of_one_input_is_a_slope_towards_zero) {
  RidgeFit fit(1, {1, 2});
  const std::vector<float> x = {0, 1, 2}, y = {1, 2, 6}, two = {1, 4, 2, 4, 6, 4};
  fit.add_inputs(x);
  fit.add_outputs(0, x, y);
  fit.add_outputs(1, x, two);
  const auto solved = fit.solve(0.5);
  EXPECT_NEAR(solved[0].map.matrix[0], 5.0 / 3, 1e-6);
  EXPECT_NEAR(solved[0].map.bias[0], 3 - 5.0 / 3, 1e-6);
  EXPECT_NEAR(solved[1].map.matrix[0], 5.0 / 3, 1e-6);
  EXPECT_EQ(solved[1].map.matrix[1], 0);
  EXPECT_NEAR(solved[1].map.bias[1], 4, 1e-6);
}

TEST(RidgeFit, of_inputs_that_are_all_equal_is_the_mean) {
  RidgeFit fit(2, {1});
  const std::vector<float> x = {3, 3, 3, 3}, y = {1, 4};
  fit.add_inputs(x);
  fit.add_outputs(0, x, y);
  const LinearMap map = fit.solve(1e-3)[0].map;
  EXPECT_THAT(map.matrix, Pointwise(FloatNear(1e-9f), {0.0f, 0.0f}));
  EXPECT_NEAR(map.bias[0], 2.5, 1e-6);
}

LinearMap some_map(std::size_t n_out, std::size_t n_in, std::uint64_t seed) {
  Rng rng(seed);
  LinearMap map{.n_out = n_out, .n_in = n_in, .matrix = {}, .bias = {}};
  for (std::size_t i = 0; i < n_out * n_in; ++i)
    map.matrix.push_back(static_cast<float>(rng.uniform() - 0.5));
  for (std::size_t i = 0; i < n_out; ++i) map.bias.push_back(static_cast<float>(rng.uniform()));
  return map;
}

// Layers: exact, skipped, run and made again, skipped.
KvPrediction some_prediction() {
  KvPrediction of{.model = "print", .name = "a model", .source = "some texts", .layers = {}};
  for (std::size_t i = 0; i < 4; ++i) {
    of.layers.push_back({.runs = i % 2 == 0});
    if (i == 0) continue;
    of.layers[i].k = some_map(3, 2, 10 + i);
    of.layers[i].v = some_map(3, 2, 20 + i);
  }
  return value_of(KvPrediction::make(std::move(of)));
}

TEST(KvPrediction, is_the_same_behind_its_file) {
  const KvPrediction made = some_prediction();
  const KvPrediction read = value_of(KvPrediction::parse(made.bytes(), "maps"));
  EXPECT_EQ(read.bytes(), made.bytes());
  EXPECT_EQ(read.name, "a model");
  EXPECT_EQ(read.n_run(), 2u);
  EXPECT_EQ(read.source_of(1), 0u);
  EXPECT_EQ(read.source_of(2), 2u);
  EXPECT_EQ(read.source_of(3), 2u);
  EXPECT_FALSE(read.layers[0].is_made());
  EXPECT_EQ(read.layers[2].k.matrix, made.layers[2].k.matrix);
  EXPECT_EQ(read.layers[3].v.bias, made.layers[3].v.bias);
}

std::string flaw(const std::string& bytes) {
  const Result<KvPrediction> read = KvPrediction::parse(bytes, "maps");
  EXPECT_FALSE(read.ok());
  if (read.ok()) return {};
  EXPECT_EQ(read.error().kind, ErrorKind::corrupt);
  EXPECT_EQ(read.error().code, "KV_PREDICTION");
  return read.error().message;
}

TEST(KvPrediction, whose_file_is_damaged_anywhere_is_refused) {
  const std::string bytes = some_prediction().bytes();
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_NE(flaw(bytes.substr(0, n)), "") << n;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 4);
    EXPECT_THAT(flaw(other), HasSubstr("\"maps\" ")) << i;
  }
  EXPECT_THAT(flaw("SATCHELK" + bytes.substr(8)), HasSubstr("is not a file of KV Prediction"));
}

// A file whose checksum is right, with these bytes at `at`.
std::string forged(std::string bytes, std::size_t at, std::string_view to, std::size_t n_cut = 0) {
  bytes.resize(bytes.size() - sizeof(kvcache::Hash128) - n_cut);
  bytes.replace(at, to.size(), to);
  const kvcache::Hash128 hash = kvcache::hash_bytes(std::as_bytes(std::span(bytes)));
  return bytes + std::string(reinterpret_cast<const char*>(hash.data()), hash.size());
}

TEST(KvPrediction, whose_file_is_whole_but_wrong_is_refused_by_name) {
  using std::string_view_literals::operator""sv;
  const std::string bytes = some_prediction().bytes();
  const std::size_t texts = 20 + 4 + 5 + 4 + 7 + 4 + 10;  // magic, version, layers, input, texts
  const std::size_t map = texts + 2;                      // layer 0 runs; layer 1 does not
  EXPECT_TRUE(KvPrediction::parse(forged(bytes, 8, "\1\0\0\0"sv), "maps").ok());
  EXPECT_THAT(flaw(forged(bytes, 8, "\2\0\0\0"sv)), HasSubstr("another version"));
  EXPECT_THAT(flaw(forged(bytes, 12, "\0\0\0\0"sv)), HasSubstr("no layers"));
  EXPECT_THAT(flaw(forged(bytes, 12, "\0\0\1\0"sv)), HasSubstr("too many"));
  EXPECT_THAT(flaw(forged(bytes, 12, "\3\0\0\0"sv)), HasSubstr("extra bytes"));
  EXPECT_THAT(flaw(forged(bytes, 12, "\5\0\0\0"sv)), HasSubstr("truncated"));
  EXPECT_THAT(flaw(forged(bytes, 16, "\2\0\0\0"sv)), HasSubstr("unknown kind of input"));
  EXPECT_THAT(flaw(forged(bytes, 20, "\377\377\0\0"sv)), HasSubstr("has a text"));
  EXPECT_THAT(flaw(forged(bytes, 24, "\033"sv)), HasSubstr("unprintable"));
  EXPECT_THAT(flaw(forged(bytes, texts, "\0"sv)), HasSubstr("which layers run"));
  EXPECT_THAT(flaw(forged(bytes, texts, "\2"sv)), HasSubstr("which layers run"));
  EXPECT_THAT(flaw(forged(bytes, map, "\0\0\0\0"sv)), HasSubstr("impossible size"));
  EXPECT_THAT(flaw(forged(bytes, map, "\0\0\2\0"sv)), HasSubstr("impossible size"));
  EXPECT_THAT(flaw(forged(bytes, map, "\0\0\1\0\0\0\1\0"sv)), HasSubstr("truncated"));
  EXPECT_THAT(flaw(forged(bytes, map + 8, "\0\176"sv)), HasSubstr("no number"));
  EXPECT_THAT(flaw(forged(bytes, map, "\3"sv, 2)), HasSubstr("truncated"));
}

TEST(KvPrediction, with_a_value_that_is_no_number_is_not_made) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 1e6f}) {
    KvPrediction of = some_prediction();
    of.layers[2].v.bias[1] = bad;
    const Result<KvPrediction> made = KvPrediction::make(std::move(of));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, "KV_PREDICTION");
    EXPECT_THAT(made.error().message, HasSubstr("layer 2"));
  }
}

TEST(KvPrediction, runs_the_first_layers_or_such_as_the_paper_runs) {
  EXPECT_EQ(layers_that_run(6, {.n_run = 2}), (std::vector<bool>{1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(layers_that_run(6, {.n_run = 3, .are_spread = true}),
            (std::vector<bool>{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(layers_that_run(7, {.n_run = 2, .are_spread = true}),
            (std::vector<bool>{1, 0, 0, 1, 0, 0, 0}));
}

class Predicted : public testing::Test {
 protected:
  Predicted() : ids_(value_of(raw_ids(engine_.tokenizer(), held_out_notes()))) {}
  Ids part(std::size_t first, std::size_t n) const {
    const auto begin = ids_.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(n)};
  }
  const ModelConfig& config() const { return engine_.config(); }
  // Random maps of values and keys, of a size that leaves them alike.
  KvPrediction random_maps(Input input, bool are_spread) const {
    KvPrediction of{.model = engine_.fingerprint(),
                    .name = config().name,
                    .source = "none",
                    .input = input,
                    .layers = {}};
    const std::vector<bool> runs =
        layers_that_run(config().n_layers(), {.n_run = 3, .are_spread = are_spread});
    bool gap = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      of.layers.push_back({.runs = runs[i]});
      gap = gap || !runs[i];
      if (!gap) continue;
      const std::size_t n_in =
          input == Input::hidden ? config().width : config().layers[of.source_of(i)].kv_width();
      of.layers[i].k = some_map(config().layers[i].kv_width(), n_in, 100 + i);
      of.layers[i].v = some_map(config().layers[i].kv_width(), n_in, 200 + i);
    }
    return value_of(KvPrediction::make(std::move(of)));
  }
  PredictionCalibration fitted(const PredictionPlan& plan) const {
    const std::string notes = held_out_notes(1);
    const std::vector<ProfileText> texts = {{"a", notes}};
    const ProgressFn silent;
    return value_of(calibrate_prediction(
        {.engine = engine_, .texts = texts, .stop = {}, .progress = silent}, plan));
  }

  Engine& engine_ = shared_engine();
  const Ids ids_;
};

// Rows of a head as doubles, keys with RoPE taken off (sign -1) or put on (1).
std::vector<double> rows_of(const std::vector<Half>& rows, const kvcache::LayerShape& shape,
                            int sign) {
  std::vector<double> out;
  for (const Half x : rows) out.push_back(double(half_to_float(x)));
  const std::size_t d = shape.head_dim, n_pairs = shape.n_rotated() / 2;
  for (std::size_t t = 0; t * d < out.size() && sign != 0; ++t)
    for (std::size_t p = 0; p < n_pairs; ++p) {
      const bool adjacent = shape.rope_pairs == kernels::RopePairs::adjacent;
      double& a = out[t * d + (adjacent ? 2 * p : p)];
      double& b = out[t * d + (adjacent ? 2 * p + 1 : p + n_pairs)];
      const double angle = sign * double(t) * double(shape.inverse_frequency[p]);
      const double x = a;
      a = x * std::cos(angle) - b * std::sin(angle);
      b = x * std::sin(angle) + b * std::cos(angle);
    }
  return out;
}

// Plain loops over what the source's rows say, which are rounded to fp16.
TEST_F(Predicted, rows_are_the_maps_of_their_source_s_rows) {
  const KvPrediction maps = random_maps(Input::keys_values, false);
  RowText text = value_of(RowText::open(engine_, 40, {}));
  PredictedRows predicted = value_of(PredictedRows::open(engine_, maps));
  ASSERT_TRUE(text.read_partly(part(0, 40), predicted).ok());
  EXPECT_EQ(text.n_tokens(), 40u);
  const StretchRows rows = value_of(text.rows(0, 40));
  const kvcache::LayerShape& shape = config().layers[2].attention;
  const std::size_t d = shape.head_dim, n_heads = shape.n_kv_heads;
  for (const std::size_t layer : {std::size_t{3}, config().n_layers() - 1})
    for (const bool of_keys : {true, false}) {
      const auto& lanes = of_keys ? rows.k : rows.v;
      const LinearMap& map = of_keys ? maps.layers[layer].k : maps.layers[layer].v;
      double worst = 0, largest = 0;
      for (std::size_t head = 0; head < n_heads; ++head) {
        const auto got = rows_of(lanes[layer * n_heads + head], shape, of_keys ? -1 : 0);
        for (std::size_t t = 0; t < 40; ++t)
          for (std::size_t c = 0; c < d; ++c) {
            double want = double(map.bias[head * d + c]);
            for (std::size_t from = 0; from < n_heads; ++from) {
              const auto source = rows_of(lanes[2 * n_heads + from], shape, of_keys ? -1 : 0);
              for (std::size_t i = 0; i < d; ++i)
                want += double(map.matrix[(head * d + c) * n_heads * d + from * d + i]) *
                        source[t * d + i];
            }
            worst = std::max(worst, std::abs(want - got[t * d + c]));
            largest = std::max(largest, std::abs(want));
          }
      }
      EXPECT_LE(worst, 2e-3 * largest) << layer << of_keys;
    }
}

// What a layer makes is a linear function of the hidden state that it is given, so that maps from
// hidden states find the layer behind the last that runs, and no other.
TEST_F(Predicted, the_next_layer_is_a_map_of_the_hidden_state) {
  const std::size_t last = config().n_layers() - 1;
  const PredictionCalibration next = fitted({.n_run = last, .input = Input::hidden});
  EXPECT_EQ(next.prediction.source, "a");
  EXPECT_GT(next.keys_explained, 0.99);
  EXPECT_GT(next.values_explained, 0.99);
  const PredictionCalibration far = fitted({.n_run = 1, .input = Input::hidden});
  EXPECT_LT(far.keys_explained, next.keys_explained);
  EXPECT_LT(far.values_explained, next.values_explained);
  const PredictionCalibration own = fitted({.n_run = last});
  EXPECT_LT(own.values_explained, next.values_explained);
  EXPECT_GT(own.values_explained, 0);
  const std::vector<KvPrediction> maps = {next.prediction, far.prediction};
  const auto figures =
      value_of(measure_prediction(engine_, {.ids = ids_, .n_prompt = ids_.size() - 32}, maps, {}));
  ASSERT_EQ(figures.size(), 5u);
  EXPECT_EQ(figures[0].compared.n, 32u);
  EXPECT_EQ(figures[0].compared.n_same, 32);
  EXPECT_EQ(figures[0].compared.kl_sum, 0);
  EXPECT_LT(figures[1].compared.kl_sum / 32, 0.02);
  EXPECT_GT(figures[3].compared.kl_sum, figures[1].compared.kl_sum);
  for (const PredictionFigures& of : figures) EXPECT_GT(of.first_token_ms, 0);
}

TEST_F(Predicted, of_layers_that_are_spread_all_behind_the_first_gap_are_made) {
  const PredictionCalibration spread = fitted({.n_run = 3, .are_spread = true});
  const KvPrediction& maps = spread.prediction;
  EXPECT_TRUE(maps.layers[2].runs && maps.layers[2].is_made());
  EXPECT_FALSE(maps.layers[0].is_made());
  EXPECT_GT(spread.values_explained, 0.1);
  EXPECT_TRUE(maps.check(config(), engine_.fingerprint()).ok());
  const auto figures = value_of(
      measure_prediction(engine_, {.ids = ids_, .n_prompt = ids_.size() - 8}, {&maps, 1}, {}));
  EXPECT_GT(figures[1].compared.kl_sum, 0);
}

// What tokens go through is not changed by what is made of it: an exact layer's rows are reading's.
TEST_F(Predicted, layers_before_the_first_gap_are_exact) {
  const KvPrediction maps = random_maps(Input::hidden, false);
  RowText text = value_of(RowText::open(engine_, 300, {}));
  PredictedRows predicted = value_of(PredictedRows::open(engine_, maps));
  ASSERT_TRUE(text.read_partly(part(0, 300), predicted).ok());
  const StretchRows made = value_of(text.rows(0, 300));
  text.truncate(0);
  ASSERT_TRUE(text.read(part(0, 300), 0).ok());
  const StretchRows read = value_of(text.rows(0, 300));
  const std::size_t n_heads = config().layers[0].attention.n_kv_heads;
  for (std::size_t lane = 0; lane < 3 * n_heads; ++lane) {
    EXPECT_EQ(made.k[lane], read.k[lane]);
    EXPECT_EQ(made.v[lane], read.v[lane]);
  }
  EXPECT_NE(made.v[3 * n_heads], read.v[3 * n_heads]);
}

TEST_F(Predicted, maps_of_another_model_and_impossible_plans_are_refused) {
  KvPrediction maps = random_maps(Input::keys_values, false);
  EXPECT_TRUE(maps.check(config(), engine_.fingerprint()).ok());
  EXPECT_EQ(maps.check(config(), "another").error().code, "KV_PREDICTION");
  maps.layers[4].v.n_in = 7;
  EXPECT_FALSE(maps.check(config(), engine_.fingerprint()).ok());
  maps.layers.pop_back();
  const auto measured = measure_prediction(engine_, {.ids = ids_, .n_prompt = 20}, {&maps, 1}, {});
  ASSERT_FALSE(measured.ok());
  EXPECT_THAT(measured.error().message, HasSubstr("made for another model"));
  const ProgressFn silent;
  for (const std::size_t n_run : {std::size_t{0}, config().n_layers()}) {
    const auto found = calibrate_prediction(
        {.engine = engine_, .texts = {}, .stop = {}, .progress = silent}, {.n_run = n_run});
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, "PARAM");
  }
  EXPECT_EQ(measure_prediction(engine_, {.ids = ids_, .n_prompt = 5}, {}, {}).error().code,
            "PARAM");
  EXPECT_EQ(
      measure_prediction(engine_, {.ids = ids_, .n_prompt = ids_.size()}, {}, {}).error().code,
      "PARAM");
}

TEST(NormRows, have_a_mean_square_of_one) {
  std::vector<float> x = {3, 4, 0, 0, 0, 2};
  norm_rows(x, 2, 0);
  EXPECT_THAT(std::span(x).first(2),
              Pointwise(FloatNear(1e-6f), {3 / std::sqrt(12.5f), 4 / std::sqrt(12.5f)}));
  EXPECT_NEAR(x[5], std::sqrt(2.0), 1e-6);
  EXPECT_TRUE(std::isnan(x[2]));  // a row of zeros without an epsilon
}

}  // namespace
}  // namespace satchel::eval
