// Trained selectors: their weights as files and as damaged ones, Locret's scores against plain
// loops, and recipes that lack what they need. Attention-Gate and LoCoCo have tests of their own.
#include "kvcache/profile/selector_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "kernels/base/half.h"
#include "kvcache/stages/registry.h"
#include "support/selector.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/lane_table_recipe.h"

namespace satchel::kvcache {
namespace {

using test::SelectorFile;
using test::SelectorMethod;
using testing::HasSubstr;

constexpr std::size_t kText = 300, kDim = 32;

CacheShape shape_of(std::size_t n_layers) {
  CacheShape shape;
  for (std::size_t i = 0; i < n_layers; ++i)
    shape.layers.push_back({.n_heads = 4, .n_kv_heads = 2, .head_dim = kDim});
  return shape;
}
SelectorWeights small(SelectorMethod method = SelectorMethod::locret) {
  return test::selector_of(method,
                           {.layers = {{.n_heads = 1, .n_kv_heads = 1, .head_dim = 2},
                                       {.n_heads = 1, .n_kv_heads = 1, .head_dim = 2}}},
                           {.n_hidden = 3, .dim = 2, .n_channels = 2, .kernel = 3});
}
std::string why_not(const std::string& bytes, SelectorMethod method = SelectorMethod::locret) {
  const Result<SelectorWeights> weights = SelectorWeights::parse(bytes, "t.safetensors", method);
  if (weights.ok()) return "accepted";
  EXPECT_EQ(weights.error().kind, ErrorKind::corrupt);
  EXPECT_EQ(weights.error().code, "SELECTOR_WEIGHTS");
  EXPECT_THAT(weights.error().message, HasSubstr("\"t.safetensors\" "));
  EXPECT_THAT(weights.error().message, HasSubstr("Delete it, or make it again with training/" +
                                                 std::string(to_text(method))));
  return weights.error().message;
}
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// All tensors of a layer, by name.
std::vector<std::pair<std::string, SelectorWeights::Tensor>> tensors_of(
    const SelectorWeights::Layer& layer) {
  if (const auto* locret = std::get_if<SelectorWeights::Locret>(&layer))
    return {{"fc1", locret->fc1}, {"fc2", locret->fc2}};
  if (const auto* gate = std::get_if<SelectorWeights::AttentionGate>(&layer))
    return {{"q", gate->q}, {"k", gate->k}, {"v", gate->v}, {"out", gate->out}, {"b", gate->bias}};
  const auto& mixing = std::get<SelectorWeights::LoCoCo>(layer);
  return {{"conv", mixing.conv}, {"bias", mixing.bias}, {"blend", mixing.normalizer}};
}

TEST(SelectorWeights, are_the_same_after_a_file) {
  for (const SelectorMethod method : kSelectorMethods) {
    const SelectorWeights before = small(method);
    const auto after =
        SelectorWeights::parse(SelectorFile(before).bytes(), "t.safetensors", method);
    ASSERT_TRUE(after.ok()) << after.error().message;
    EXPECT_EQ(after->method, method);
    EXPECT_EQ(after->model, "m");
    EXPECT_EQ(after->source, "a test");
    ASSERT_EQ(after->layers.size(), 2u);
    std::size_t n = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto now = tensors_of(after->layers[i]), then = tensors_of(before.layers[i]);
      ASSERT_EQ(now.size(), then.size());
      for (std::size_t j = 0; j < now.size(); ++j) {
        EXPECT_EQ(now[j].second.shape, then[j].second.shape) << now[j].first;
        EXPECT_EQ(now[j].second.values, then[j].second.values) << now[j].first;
        n += now[j].second.values.size();
      }
    }
    EXPECT_EQ(after->bytes(), n * sizeof(float));
  }
}

TEST(SelectorWeights, of_one_method_are_refused_for_another) {
  for (const SelectorMethod method : kSelectorMethods)
    for (const SelectorMethod wanted : kSelectorMethods) {
      const std::string why = why_not(SelectorFile(small(method)).bytes(), wanted);
      if (method == wanted) {
        EXPECT_EQ(why, "accepted");
      } else {
        EXPECT_THAT(why, HasSubstr("is for the method \"" + std::string(to_text(method)) +
                                   "\", where \"" + std::string(to_text(wanted)) + "\" is wanted"));
      }
    }
}

TEST(SelectorWeights, of_gates_and_convolutions_must_match_one_another) {
  const auto gate = [](auto&& change) {
    SelectorWeights weights = small(SelectorMethod::attention_gate);
    change(std::get<SelectorWeights::AttentionGate>(weights.layers[1]));
    return why_not(SelectorFile(weights).bytes(), SelectorMethod::attention_gate);
  };
  const auto mixing = [](auto&& change) {
    SelectorWeights weights = small(SelectorMethod::lococo);
    change(std::get<SelectorWeights::LoCoCo>(weights.layers[1]));
    return why_not(SelectorFile(weights).bytes(), SelectorMethod::lococo);
  };
  const auto wrong = HasSubstr("layer 1 whose tensors do not match");
  EXPECT_EQ(gate([](auto&) {}), "accepted");
  EXPECT_THAT(gate([](auto& of) { std::swap(of.k.shape[0], of.k.shape[1]); }), wrong);
  EXPECT_THAT(gate([](auto& of) { std::swap(of.v.shape[0], of.v.shape[1]); }), wrong);
  EXPECT_THAT(gate([](auto& of) { std::swap(of.out.shape[0], of.out.shape[1]); }), wrong);
  EXPECT_THAT(gate([](auto& of) { of.bias = {.shape = {2}, .values = {1, 2}}; }), wrong);
  EXPECT_THAT(
      gate([](auto& of) {
        of.bias = {.shape = {1, 1}, .values = {1}};
      }),
      HasSubstr("invalid tensor \"layers.1.out.bias\": it needs \"dtype\" F16, BF16 or F32, "
                "a \"shape\" of 1 dimension and"));
  EXPECT_EQ(mixing([](auto&) {}), "accepted");
  EXPECT_THAT(mixing([](auto& of) { of.bias = {.shape = {1}, .values = {1}}; }), wrong);
  EXPECT_THAT(mixing([](auto& of) {
                of.conv = {.shape = {2, 4, 2}, .values = std::vector<float>(16)};
              }),
              wrong);
  for (const float blend : {-0.01f, 1.01f})
    EXPECT_THAT(mixing([&](auto& of) { of.normalizer.values[0] = blend; }), wrong);
  EXPECT_THAT(mixing([](auto& of) { of.normalizer = {.shape = {2}, .values = {0, 0}}; }), wrong);
  EXPECT_THAT(mixing([](auto& of) {
                of.conv.shape = {8, 3};
              }),
              HasSubstr("a \"shape\" of 3 dimensions"));
}

TEST(SelectorWeights, of_two_bytes_are_halves_or_the_upper_part_of_floats) {
  const std::string metadata = SelectorFile({}).metadata;
  const std::string tensors =
      R"(, "layers.0.fc1.weight": {"dtype": "F16", "shape": [1,2], "data_offsets": [0,4]})"
      R"(, "layers.0.fc2.weight": {"dtype": "BF16", "shape": [2,1], "data_offsets": [4,8]})";
  using namespace std::string_view_literals;
  const std::string_view values = "\x00\x3c\x00\xc0\x00\x40\x80\xbf"sv;  // 1, -2; 2, -1
  const auto read = SelectorWeights::parse(
      test::safetensors("{" + metadata + tensors + "}", values), "t", SelectorMethod::locret);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto& layer = std::get<SelectorWeights::Locret>(read->layers[0]);
  EXPECT_THAT(layer.fc1.values, testing::ElementsAre(1, -2));
  EXPECT_THAT(layer.fc2.values, testing::ElementsAre(2, -1));
}

TEST(SelectorWeights, that_are_damaged_say_what_is_wrong) {
  const SelectorFile good(small());
  EXPECT_EQ(why_not(good.bytes()), "accepted");
  const auto with = [&](std::string_view from, std::string_view to) {
    SelectorFile file = good;
    std::string& part = file.tensors.find(from) == std::string::npos ? file.metadata : file.tensors;
    part = replaced(part, from, to);
    return why_not(file.bytes());
  };
  EXPECT_THAT(why_not(""), HasSubstr("is truncated"));
  EXPECT_THAT(why_not("GGUF file, and no other"),
              HasSubstr("is truncated or not a safetensors file"));
  EXPECT_THAT(why_not(test::safetensors("[1, 2", "")), HasSubstr("is not JSON: "));
  EXPECT_THAT(why_not(test::safetensors("[1, 2]", "")), HasSubstr("not a JSON object"));
  EXPECT_THAT(why_not(test::safetensors("{}", "")), HasSubstr("lacks \"__metadata__\""));
  EXPECT_THAT(why_not(test::safetensors(std::string(kSelectorHeaderMax + 1, ' '), "")),
              HasSubstr("header of more than 64 KiB"));
  EXPECT_THAT(why_not(test::safetensors("{" + good.metadata + "}", "")),
              HasSubstr("holds no tensors"));
  EXPECT_THAT(with("\"version\": \"1\"", "\"version\": \"2\""),
              HasSubstr("\"version\" must be \"1\""));
  EXPECT_THAT(with("satchel-selector", "pt"), HasSubstr("not a selector file"));
  EXPECT_THAT(with("locret", "duo"), HasSubstr("is for the method \"duo\", where \"locret\""));
  EXPECT_THAT(with("\"m\"", "\"\""), HasSubstr("does not name its model"));
  for (const char* name : {"layers.00.fc1.weight", "layers.x.fc1.weight", "layers.0.fc1.bias",
                           "layers.-1.fc1.weight", "layers.99999999999999999999.fc1.weight"})
    EXPECT_THAT(with("layers.0.fc1.weight", name),
                HasSubstr("which the method \"locret\" does not use"))
        << name;
  EXPECT_THAT(with("layers.1.fc1", "layers.2.fc1"), HasSubstr("lacks a tensor of layer 1"));
  EXPECT_THAT(with("layers.0.fc2", "layers.1.fc2"), HasSubstr("is not JSON"));  // it stands twice
  for (const auto& [from, to] :
       {std::pair("F32", "I32"), std::pair("[3,6]", "[3,7]"), std::pair("[3,6]", "[18]"),
        std::pair("[3,6]", "[0,6]"), std::pair("[3,6]", "[-3,-6]"), std::pair("[3,6]", "[3.5,6]"),
        std::pair("[0,72]", "[72,0]"), std::pair("[0,72]", "[9999,10071]"),
        std::pair("[3,6]", "[4611686018427387904,4]"), std::pair("[0,72]", "[0,1e300]")})
    EXPECT_THAT(with(from, to), HasSubstr("has an invalid tensor \"layers.0.fc1.weight\"")) << to;
  for (const char* place : {"[0,72]", "[12,84]"})
    EXPECT_THAT(with("[84,156]", place), HasSubstr("has tensors that overlap")) << place;
  EXPECT_THAT(with("[1,3]", "[3,1]"), HasSubstr("layer 0 whose tensors do not match"));
  EXPECT_THAT(why_not(good.bytes() + "more"), HasSubstr("bytes of values, but its tensors need"));
  SelectorWeights weights = small();
  for (const float x : {std::numeric_limits<float>::quiet_NaN(), INFINITY}) {
    std::get<SelectorWeights::Locret>(weights.layers[1]).fc2.values[2] = x;
    EXPECT_THAT(why_not(SelectorFile(weights).bytes()),
                HasSubstr("NaN or infinite value in layer 1"));
  }
}

// Every end and every byte: an error or weights that hold together, never more.
TEST(SelectorWeights, of_any_bytes_are_refused_or_whole) {
  for (const SelectorMethod method : kSelectorMethods) {
    const std::string good = SelectorFile(small(method)).bytes();
    const auto check = [&](const std::string& bytes) {
      const auto weights = SelectorWeights::parse(bytes, "t.safetensors", method);
      if (!weights.ok()) {
        EXPECT_EQ(weights.error().code, "SELECTOR_WEIGHTS");
        return;
      }
      EXPECT_LE(weights->bytes() / 2, bytes.size());
      for (const SelectorWeights::Layer& layer : weights->layers)
        for (const auto& [name, tensor] : tensors_of(layer)) {
          std::size_t n = 1;
          for (const std::size_t size : tensor.shape) n *= size;
          EXPECT_EQ(tensor.values.size(), n) << name;
          for (const float x : tensor.values) EXPECT_TRUE(std::isfinite(x)) << name;
        }
    };
    for (std::size_t n = 0; n < good.size(); ++n) check(good.substr(0, n));
    for (std::size_t at = 0; at < good.size(); ++at)
      for (const int flip : {0x01, 0x04, 0x10, 0x80, 0xff}) {
        std::string bytes = good;
        bytes[at] = static_cast<char>(bytes[at] ^ flip);
        check(bytes);
      }
  }
}

CacheDriver driver_of(const std::string& trigger,
                      std::optional<SelectorSet> selectors = std::nullopt) {
  return CacheDriver({.recipe = lane_table_recipe(trigger, R"({ "use": "locret" })"),
                      .n_layers = 2,
                      .n_heads = 4,
                      .head_dim = kDim,
                      .selectors = std::move(selectors)});
}

// The paper's formula by plain loops, of a lane's token as the driver made it up.
double score_of(CacheDriver& driver, std::size_t layer, std::size_t head, std::size_t t) {
  std::vector<float> x = driver.q(layer, t);
  for (const float k : driver.k(layer, t)) x.push_back(k);
  for (const float v : driver.v(layer, t)) x.push_back(half_to_float(float_to_half(v)));
  const auto& taught = std::get<SelectorWeights::Locret>(
      driver.shape().selectors.of(SelectorMethod::locret)->layers[layer]);
  EXPECT_EQ(x.size(), taught.fc1.n_columns());
  double score = 0;
  for (std::size_t i = 0; i < taught.fc1.n_rows(); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < x.size(); ++c) sum += double{taught.fc1.row(i)[c]} * double{x[c]};
    score += double{taught.fc2.row(head)[i]} * sum / (1 + std::exp(-sum));
  }
  return score;
}

// Lo2.
TEST(LocretScorer, gives_each_token_the_paper_s_score_and_the_same_for_any_chunks) {
  std::vector<std::vector<float>> first;
  for (const std::size_t chunk : {kText, std::size_t{129}, std::size_t{7}, std::size_t{1}}) {
    CacheDriver driver = driver_of(kWaits);
    EXPECT_TRUE(driver.cache().needs_pre_rope());
    ASSERT_TRUE(driver.read(kText, {.chunk = chunk}).ok());
    for (std::size_t lane = 0; lane < driver.n_lanes(); ++lane) {
      const std::vector<float> scores = driver.cache().inspector().pending_scores(lane).value();
      ASSERT_EQ(scores.size(), kText);
      if (chunk == kText) {
        first.push_back(scores);
        for (std::size_t t = 0; t < kText; ++t)
          ASSERT_NEAR(test::unbent(scores[t]), score_of(driver, lane / 2, lane % 2, t), 2e-4);
      }
      ASSERT_EQ(scores, first[lane]) << chunk;
    }
  }
}

TEST(LocretScorer, keeps_the_tokens_that_score_most_beside_both_ends) {
  CacheDriver driver({.recipe = "locret", .n_layers = 1, .n_heads = 4, .head_dim = kDim});
  ASSERT_TRUE(driver.read(kText).ok());
  const auto kept = driver.all_kept();
  for (std::size_t lane = 0; lane < kept.size(); ++lane) {
    const std::set<std::int32_t> expected =
        best_half_beside_ends(kText, [&](std::size_t t) { return score_of(driver, 0, lane, t); });
    EXPECT_EQ(std::set(kept[lane].begin(), kept[lane].end()), expected) << lane;
  }
}

// Made-up weights, larger or smaller.
SelectorSet times(float factor) {
  SelectorWeights weights = test::selector_of(SelectorMethod::locret, shape_of(2));
  for (SelectorWeights::Layer& layer : weights.layers) {
    auto& locret = std::get<SelectorWeights::Locret>(layer);
    for (float& x : locret.fc1.values) x *= factor;
    for (float& x : locret.fc2.values) x *= factor;
  }
  return test::set_of(std::move(weights));
}

// Lo1.
TEST(LocretScorer, of_zero_weights_keeps_the_lowest_positions) {
  constexpr std::int32_t kTail = 16, kHalf = kText / 2;
  CacheDriver driver(
      {.recipe = "locret", .n_layers = 2, .n_heads = 4, .head_dim = kDim, .selectors = times(0)});
  ASSERT_TRUE(driver.read(kText).ok());
  std::vector<std::int32_t> expected(kHalf);
  std::iota(expected.begin(), expected.end() - kTail, 0);
  std::iota(expected.end() - kTail, expected.end(), static_cast<std::int32_t>(kText) - kTail);
  for (const auto& kept : driver.all_kept()) EXPECT_EQ(kept, expected);
}

TEST(LocretScorer, stays_finite_where_the_network_overflows) {
  CacheDriver driver = driver_of(kWaits, times(1e38f));
  ASSERT_TRUE(driver.read(kText).ok());
  for (std::size_t lane = 0; lane < driver.n_lanes(); ++lane) {
    const std::vector<float> scores = driver.cache().inspector().pending_scores(lane).value();
    for (const float score : scores) ASSERT_TRUE(std::isfinite(score) && score >= 0) << score;
  }
}

std::shared_ptr<Arena> arena() {
  return Arena::open(kernels::open_backend("reference", {}).value(), kPlenty).value();
}
// Whoever asks for a cache, or what one would take, is told the same.
Error refused(const CacheShape& shape, const Recipe& recipe) {
  const auto cache = Cache::open(arena(), shape, recipe);
  const auto need = cache_need(shape, recipe, 1000);
  EXPECT_FALSE(cache.ok() || need.ok());
  if (cache.ok() || need.ok()) return {};
  EXPECT_EQ(cache.error().message, need.error().message);
  return cache.error();
}

TEST(TrainedRecipes, without_their_weights_are_refused_and_say_what_to_do) {
  for (const auto& [name, method, stage, instead] :
       {std::tuple("locret", SelectorMethod::locret, "The scorer \"locret\"",
                   "\"keydiff\" and \"expected-attention\" need no such weights"),
        std::tuple("attention-gate", SelectorMethod::attention_gate,
                   "The scorer \"attention_gate\"", "The recipe \"compactor\" also"),
        std::tuple("lococo", SelectorMethod::lococo, "The merger \"lococo\"",
                   "The recipe \"h2o\" keeps")}) {
    CacheShape shape = shape_of(2);
    shape.selectors = test::selectors_of(shape);
    shape.selectors.set(method, nullptr);  // those of the others do not help
    const Error error = refused(shape, Recipe::builtin(name).value());
    EXPECT_EQ(error.kind, ErrorKind::not_found) << name;
    EXPECT_EQ(error.code, "SELECTOR_WEIGHTS") << name;
    EXPECT_THAT(error.message,
                HasSubstr(std::string(stage) + " needs weights trained for this model"));
    EXPECT_THAT(error.message, HasSubstr("Train them with training/" + std::string(name)));
    EXPECT_THAT(error.message, HasSubstr(instead));
  }
}

TEST(TrainedRecipes, refuse_weights_of_a_model_of_another_shape) {
  for (const CacheShape& other :
       {shape_of(1), shape_of(3),
        CacheShape{.layers = {2, {.n_heads = 2, .n_kv_heads = 2, .head_dim = kDim}}},
        CacheShape{.layers = {2, {.n_heads = 6, .n_kv_heads = 1, .head_dim = kDim}}},
        CacheShape{.layers = {2, {.n_heads = 4, .n_kv_heads = 2, .head_dim = 2 * kDim}}}}) {
    for (const auto& [name, method] : {std::pair("locret", SelectorMethod::locret),
                                       std::pair("attention-gate", SelectorMethod::attention_gate),
                                       std::pair("lococo", SelectorMethod::lococo)}) {
      // A convolution is the same for every head.
      if (method == SelectorMethod::lococo && other.n_layers() == 2 &&
          other.layers[0].head_dim == kDim)
        continue;
      CacheShape shape = shape_of(2);
      shape.selectors = test::set_of(test::selector_of(method, other));
      const auto cache = Cache::open(arena(), shape, Recipe::builtin(name).value());
      ASSERT_FALSE(cache.ok()) << name;
      EXPECT_EQ(cache.error().code, "SELECTOR_WEIGHTS");
      EXPECT_THAT(cache.error().message, HasSubstr("The selector weights for \"" +
                                                   std::string(name) + "\" do not fit this model"));
    }
  }
}

// A cache that holds text cannot become one of a recipe that cannot be had.
TEST(TrainedRecipes, without_their_weights_are_refused_to_a_cache_that_holds_text) {
  CacheDriver driver({.recipe = "snapkv", .n_layers = 1});
  ASSERT_TRUE(driver.read(kText).ok());
  const auto fork = driver.cache().fork(Recipe::builtin("locret").value());
  ASSERT_FALSE(fork.ok());
  EXPECT_EQ(fork.error().code, "SELECTOR_WEIGHTS");
  EXPECT_EQ(driver.cache().n_tokens(), kText);
}

}  // namespace
}  // namespace satchel::kvcache
