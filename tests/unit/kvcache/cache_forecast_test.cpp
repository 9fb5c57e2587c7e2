// CacheForecast against what a cache of the same recipe then holds, page for page.
#include "kvcache/planning/cache_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cache_driver.h"
#include "kvcache/state/cache_state.h"
#include "snapshot_fixture.h"
#include "support/sanitized.h"

namespace satchel::kvcache {
namespace {

// Recipes whose lanes compete by the scores of the text: what each keeps nobody knows beforehand.
const std::set<std::string> kCompete = {"ada-kv", "attention-gate", "expected-attention", "fastgen",
                                        "headkv", "kvzip",          "satchel-band",       "xkv",
                                        "zipvl"};

CacheDriver::Setup alike(const std::string& recipe) {
  return {.recipe = recipe, .n_layers = 3, .n_heads = 2, .n_kv_heads = 2, .backend = "cpu"};
}

// Heads of several sizes, a window in every other layer.
CacheDriver::Setup mixed(const std::string& recipe) {
  std::vector<LayerShape> layers;
  for (const std::size_t head_dim : {64u, 32u, 128u, 96u}) {
    const CacheDriver of_dim(
        {.n_layers = 1, .n_heads = 2, .n_kv_heads = 1 + head_dim / 128, .head_dim = head_dim});
    layers.push_back(of_dim.shape().layers[0]);
    if (layers.size() % 2 == 0) layers.back().window = 200;
  }
  return {.recipe = recipe, .layers = layers, .backend = "cpu"};
}

CacheForecast forecast_of(CacheDriver& driver, std::size_t others_bytes = 0) {
  return CacheForecast(driver.cache().state().layout,
                       {.arena_bytes = driver.arena().bytes(), .others_bytes = others_bytes});
}

struct Text {
  std::size_t n_tokens = 0;
  SegmentKind kind = SegmentKind::document;
};

// Both read the texts, one after the other, and then what waits is decided.
void expect_forecast(const CacheDriver::Setup& setup, const std::vector<Text>& texts) {
  CacheDriver driver(setup);
  driver.check_attention = false;
  CacheForecast forecast = forecast_of(driver);
  for (const Text& text : texts) {
    const auto read = driver.read(text.n_tokens, {.kind = text.kind});
    ASSERT_TRUE(read.ok()) << read.error().message;
    forecast.prefill({.n_tokens = text.n_tokens, .kind = text.kind}, 0);
  }
  ASSERT_TRUE(driver.probe_all(kProbeTokens).ok());
  ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::idle).ok());
  forecast.decide();
  const std::size_t held = driver.cache().stats().bytes;
  EXPECT_EQ(forecast.n_tokens(), driver.cache().n_tokens());
  if (kCompete.contains(setup.recipe)) {
    EXPECT_NEAR(static_cast<double>(forecast.bytes()), static_cast<double>(held),
                0.15 * static_cast<double>(held));
  } else {
    EXPECT_EQ(forecast.bytes(), held);
  }
}

class ForecastOfRecipe : public testing::TestWithParam<std::string> {};

TEST_P(ForecastOfRecipe, is_what_a_document_takes) {
  for (const std::size_t n : {1u, 4u, 130u, 259u, 260u, 333u, 700u, 1100u}) {
    if (test::kSanitized && n > 400) break;
    SCOPED_TRACE(n);
    expect_forecast(alike(GetParam()), {{.n_tokens = n}});
    expect_forecast(mixed(GetParam()), {{.n_tokens = n}});
  }
}

TEST_P(ForecastOfRecipe, is_what_several_documents_take_one_after_the_other) {
  for (const auto& setup : {alike(GetParam()), mixed(GetParam())}) {
    expect_forecast(setup, {{.n_tokens = 500}, {.n_tokens = 300}, {.n_tokens = 90}});
    expect_forecast(setup, {{.n_tokens = 40, .kind = SegmentKind::pinned}, {.n_tokens = 600}});
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, ForecastOfRecipe, testing::ValuesIn(recipe_names()),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

const PassBytes kPerToken{.row_bytes = {512}};

// Where memory is short a text goes in the same spans, and leaves the same.
void expect_the_same_spans(CacheDriver::Setup setup) {
  constexpr std::size_t kTokens = 1500;
  const CacheDriver roomy(setup);
  const auto need = [&](std::size_t n) {
    return cache_need(roomy.shape(), roomy.recipe(), n).value();
  };
  setup.arena_bytes = need(kTokens).fixed_bytes + need(kTokens).page_bytes +
                      need(400).prefill_bytes + kPerToken.pass(400);
  CacheDriver driver(setup);
  driver.check_attention = false;
  CacheForecast forecast = forecast_of(driver);
  std::size_t n_spans = 0;
  for (std::size_t left = kTokens; left > 0; ++n_spans) {
    const PrefillRequest asked{.n_tokens = left};
    const PrefillRequest fits = driver.cache().largest_fit(asked, kPerToken).request;
    const PrefillRequest foretold = forecast.largest_fit(asked, kPerToken).request;
    ASSERT_EQ(foretold.n_tokens, fits.n_tokens) << left << " left";
    EXPECT_EQ(foretold.finest, fits.finest);
    ASSERT_GT(fits.n_tokens, 0u);
    ASSERT_TRUE(driver.read(fits.n_tokens, {.finest = fits.finest}).ok());
    forecast.prefill(fits, 0);
    ASSERT_EQ(forecast.bytes(), driver.cache().stats().bytes) << left << " left";
    left -= fits.n_tokens;
  }
  EXPECT_GT(n_spans, 1u);
}

TEST(CacheForecast, cuts_a_long_text_as_reading_does) {
  for (const char* recipe : {"full", "ladder-4", "minikv", "satchel", "zipcache-2t"}) {
    SCOPED_TRACE(recipe);
    expect_the_same_spans(alike(recipe));
    if (!test::kSanitized) expect_the_same_spans(mixed(recipe));
  }
}

TEST(CacheForecast, of_nothing_is_an_empty_cache) {
  for (const std::string& recipe : recipe_names()) {
    CacheDriver driver(alike(recipe));
    EXPECT_EQ(forecast_of(driver).bytes(), driver.cache().stats().bytes) << recipe;
  }
}

}  // namespace
}  // namespace satchel::kvcache
