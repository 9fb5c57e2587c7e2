// Trained selectors: their weights as files and as damaged ones, Locret's scores against plain
// loops, and recipes that lack what they need.
#include "kvcache/profile/selector_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "kernels/base/half.h"
#include "kvcache/stages/registry.h"
#include "support/selector.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/lane_table_recipe.h"

namespace satchel::kvcache {
namespace {

using test::SelectorFile;
using testing::HasSubstr;

constexpr std::size_t kText = 300, kDim = 32;

CacheShape shape_of(std::size_t n_layers) {
  CacheShape shape;
  for (std::size_t i = 0; i < n_layers; ++i)
    shape.layers.push_back({.n_heads = 4, .n_kv_heads = 2, .head_dim = kDim});
  return shape;
}
SelectorWeights small() {
  return *test::selector_of({.layers = {{.n_heads = 1, .n_kv_heads = 1, .head_dim = 2},
                                        {.n_heads = 1, .n_kv_heads = 1, .head_dim = 2}}},
                            3);
}
std::string why_not(const std::string& bytes) {
  const Result<SelectorWeights> weights = SelectorWeights::parse(bytes, "t.safetensors");
  if (weights.ok()) return "accepted";
  EXPECT_EQ(weights.error().kind, ErrorKind::corrupt);
  EXPECT_EQ(weights.error().code, "SELECTOR_WEIGHTS");
  EXPECT_THAT(weights.error().message, HasSubstr("\"t.safetensors\" "));
  EXPECT_THAT(weights.error().message, HasSubstr("Delete it, or make it again"));
  return weights.error().message;
}
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(SelectorWeights, are_the_same_after_a_file) {
  const SelectorWeights before = small();
  const auto after = SelectorWeights::parse(SelectorFile(before).bytes(), "t.safetensors");
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(after->model, "m");
  EXPECT_EQ(after->source, "a test");
  ASSERT_EQ(after->layers.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after->layers[i].n_in, 6u);
    EXPECT_EQ(after->layers[i].n_hidden, 3u);
    EXPECT_EQ(after->layers[i].n_out, 1u);
    EXPECT_EQ(after->layers[i].fc1, before.layers[i].fc1);
    EXPECT_EQ(after->layers[i].fc2, before.layers[i].fc2);
  }
}

TEST(SelectorWeights, of_two_bytes_are_halves_or_the_upper_part_of_floats) {
  const std::string metadata = SelectorFile({}).metadata;
  const std::string tensors =
      R"(, "layers.0.fc1.weight": {"dtype": "F16", "shape": [1,2], "data_offsets": [0,4]})"
      R"(, "layers.0.fc2.weight": {"dtype": "BF16", "shape": [2,1], "data_offsets": [4,8]})";
  using namespace std::string_view_literals;
  const std::string_view values = "\x00\x3c\x00\xc0\x00\x40\x80\xbf"sv;  // 1, -2; 2, -1
  const auto read =
      SelectorWeights::parse(test::safetensors("{" + metadata + tensors + "}", values), "t");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(read->layers[0].fc1, testing::ElementsAre(1, -2));
  EXPECT_THAT(read->layers[0].fc2, testing::ElementsAre(2, -1));
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
  EXPECT_THAT(with("locret", "lococo"), HasSubstr("is for the method \"lococo\""));
  EXPECT_THAT(with("\"m\"", "\"\""), HasSubstr("does not name its model"));
  for (const char* name : {"layers.00.fc1.weight", "layers.x.fc1.weight", "layers.0.fc1.bias",
                           "layers.-1.fc1.weight", "layers.99999999999999999999.fc1.weight"})
    EXPECT_THAT(with("layers.0.fc1.weight", name), HasSubstr("which Locret does not use")) << name;
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
  EXPECT_THAT(with("[1,3]", "[3,1]"), HasSubstr("layer 0 whose two tensors do not match"));
  EXPECT_THAT(why_not(good.bytes() + "more"), HasSubstr("bytes of values, but its tensors need"));
  SelectorWeights weights = small();
  for (const float x : {std::numeric_limits<float>::quiet_NaN(), INFINITY}) {
    weights.layers[1].fc2[2] = x;
    EXPECT_THAT(why_not(SelectorFile(weights).bytes()),
                HasSubstr("NaN or infinite value in layer 1"));
  }
}

// Every end and every byte: an error or weights that hold together, never more.
TEST(SelectorWeights, of_any_bytes_are_refused_or_whole) {
  const std::string good = SelectorFile(small()).bytes();
  const auto check = [](const std::string& bytes) {
    const Result<SelectorWeights> weights = SelectorWeights::parse(bytes, "t.safetensors");
    if (!weights.ok()) {
      EXPECT_EQ(weights.error().code, "SELECTOR_WEIGHTS");
      return;
    }
    for (const SelectorWeights::Layer& layer : weights->layers) {
      EXPECT_EQ(layer.fc1.size(), layer.n_in * layer.n_hidden);
      EXPECT_EQ(layer.fc2.size(), layer.n_out * layer.n_hidden);
      EXPECT_LE(layer.fc1.size() * 2, bytes.size());
      for (const float x : layer.fc1) EXPECT_TRUE(std::isfinite(x));
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

CacheDriver driver_of(const std::string& trigger,
                      std::shared_ptr<const SelectorWeights> selector = nullptr) {
  return CacheDriver({.recipe = lane_table_recipe(trigger, R"({ "use": "locret" })"),
                      .n_layers = 2,
                      .n_heads = 4,
                      .head_dim = kDim,
                      .selector = std::move(selector)});
}

// The paper's formula by plain loops, of a lane's token as the driver made it up.
double score_of(CacheDriver& driver, std::size_t layer, std::size_t head, std::size_t t) {
  std::vector<float> x = driver.q(layer, t);
  for (const float k : driver.k(layer, t)) x.push_back(k);
  for (const float v : driver.v(layer, t)) x.push_back(half_to_float(float_to_half(v)));
  const SelectorWeights::Layer& taught = driver.shape().selector->layers[layer];
  EXPECT_EQ(x.size(), taught.n_in);
  double score = 0;
  for (std::size_t i = 0; i < taught.n_hidden; ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < x.size(); ++c)
      sum += double{taught.fc1[i * taught.n_in + c]} * double{x[c]};
    score += double{taught.fc2[head * taught.n_hidden + i]} * sum / (1 + std::exp(-sum));
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

// Lo1.
TEST(LocretScorer, of_zero_weights_keeps_the_lowest_positions) {
  constexpr std::int32_t kTail = 16, kHalf = kText / 2;
  auto zeros = std::make_shared<SelectorWeights>(*test::selector_of(shape_of(2)));
  for (SelectorWeights::Layer& layer : zeros->layers) {
    std::ranges::fill(layer.fc1, 0.0f);
    std::ranges::fill(layer.fc2, 0.0f);
  }
  CacheDriver driver(
      {.recipe = "locret", .n_layers = 2, .n_heads = 4, .head_dim = kDim, .selector = zeros});
  ASSERT_TRUE(driver.read(kText).ok());
  std::vector<std::int32_t> expected(kHalf);
  std::iota(expected.begin(), expected.end() - kTail, 0);
  std::iota(expected.end() - kTail, expected.end(), static_cast<std::int32_t>(kText) - kTail);
  for (const auto& kept : driver.all_kept()) EXPECT_EQ(kept, expected);
}

TEST(LocretScorer, stays_finite_where_the_network_overflows) {
  auto huge = std::make_shared<SelectorWeights>(*test::selector_of(shape_of(2)));
  for (SelectorWeights::Layer& layer : huge->layers) {
    for (float& x : layer.fc1) x *= 1e38f;
    for (float& x : layer.fc2) x *= 1e38f;
  }
  CacheDriver driver = driver_of(kWaits, huge);
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
  const Error locret = refused(shape_of(2), Recipe::builtin("locret").value());
  EXPECT_EQ(locret.kind, ErrorKind::not_found);
  EXPECT_EQ(locret.code, "SELECTOR_WEIGHTS");
  EXPECT_THAT(locret.message, HasSubstr("needs weights trained for this model"));
  EXPECT_THAT(locret.message, HasSubstr("Train them with training/locret"));
  EXPECT_THAT(locret.message,
              HasSubstr("\"keydiff\" and \"expected-attention\" need no such weights"));
  for (const auto& [name, instead] :
       {std::pair("attention-gate", "\"compactor\""), std::pair("lococo", "\"h2o\"")}) {
    const Error error = Recipe::builtin(name).error();
    EXPECT_EQ(error.kind, ErrorKind::unsupported) << name;
    EXPECT_EQ(error.code, "SELECTOR_WEIGHTS") << name;
    EXPECT_THAT(error.message, HasSubstr("trained together with the model")) << name;
    EXPECT_THAT(error.message, HasSubstr(instead)) << name;
  }
}

TEST(TrainedRecipes, that_are_only_listed_are_these_two) {
  std::vector<std::string> listed;
  for (const RefusedStage& each : refused_stages())
    if (!each.recipe.empty()) listed.emplace_back(each.recipe);
  EXPECT_THAT(listed, testing::ElementsAre("attention-gate", "lococo"));
}

TEST(TrainedRecipes, of_a_file_that_names_a_refused_scorer_are_refused_with_the_same_words) {
  for (const RefusedStage& each : refused_stages()) {
    if (each.kind != StageKind::scorer) continue;
    std::string json = Recipe::builtin("keydiff").value().json();
    const std::string from = "\"use\":\"keydiff\"",
                      to = "\"use\":\"" + std::string(each.name) + "\"";
    ASSERT_NE(json.find(from), std::string::npos) << json;
    json.replace(json.find(from), from.size(), to);
    const auto recipe = Recipe::parse(json);
    ASSERT_FALSE(recipe.ok()) << each.name;
    EXPECT_EQ(recipe.error().message, each.error().message);
  }
}

TEST(TrainedRecipes, refuse_weights_of_a_model_of_another_shape) {
  for (const CacheShape& other :
       {shape_of(1), shape_of(3),
        CacheShape{.layers = {2, {.n_heads = 2, .n_kv_heads = 2, .head_dim = kDim}}},
        CacheShape{.layers = {2, {.n_heads = 6, .n_kv_heads = 1, .head_dim = kDim}}}}) {
    CacheShape shape = shape_of(2);
    shape.selector = test::selector_of(other);
    const auto cache = Cache::open(arena(), shape, Recipe::builtin("locret").value());
    ASSERT_FALSE(cache.ok());
    EXPECT_EQ(cache.error().code, "SELECTOR_WEIGHTS");
    EXPECT_THAT(cache.error().message, HasSubstr("do not fit this model"));
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
