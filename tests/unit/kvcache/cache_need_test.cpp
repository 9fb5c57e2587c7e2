// cache_need() against what is then allocated: never less, and not much more.
#include <gtest/gtest.h>

#include <algorithm>

#include "cache_driver.h"
#include "kvcache/lanes/lane.h"
#include "kvcache/recipes/pipeline.h"
#include "snapshot_fixture.h"
#include "support/sanitized.h"

namespace satchel::kvcache {
namespace {

// As the bundled model: 5 layers of 2 KV heads of 64.
CacheDriver::Setup bundled(const std::string& recipe) {
  return {.recipe = recipe, .n_layers = 5, .n_heads = 2, .n_kv_heads = 2, .backend = "cpu"};
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

CacheNeed need_of(const CacheDriver& driver, std::size_t n_tokens) {
  return cache_need(driver.shape(), driver.recipe(), n_tokens).value();
}

class NeedOfRecipe : public testing::TestWithParam<std::string> {};

TEST_P(NeedOfRecipe, never_falls_as_a_text_grows) {
  for (const CacheDriver::Setup& setup : {bundled(GetParam()), mixed(GetParam())}) {
    const CacheDriver driver(setup);
    CacheNeed before;
    constexpr std::size_t kStep = test::kSanitized ? 13 : 1;
    for (std::size_t n = 1; n <= 1200; n += kStep) {
      const CacheNeed need = need_of(driver, n);
      ASSERT_GE(need.fixed_bytes, before.fixed_bytes) << n;
      ASSERT_GE(need.page_bytes, before.page_bytes) << n;
      ASSERT_GE(need.total(), before.total()) << n;
      before = need;
    }
  }
}

// What nobody can know beforehand: lanes that get a short tail, tokens that go to a coarser tier.
std::size_t saved_bytes(CacheDriver& driver) {
  const Pipeline& pipeline = driver.recipe().pipeline();
  const std::size_t n_long = pipeline.tail(), n_short = pipeline.short_tail();
  std::size_t saved = 0;
  for (std::size_t layer = 0; layer < driver.shape().n_layers(); ++layer) {
    const std::size_t d = driver.shape().layers[layer].head_dim;
    for (std::size_t head = 0; head < driver.shape().layers[layer].n_kv_heads; ++head)
      if (n_short < n_long && driver.view(layer, head).runs.back().n_tokens == n_short)
        saved += Lane::exact_bytes({.head_dim = d}, {kSinkTokens, n_long + kFlushTokens}) -
                 Lane::exact_bytes({.head_dim = d}, {kSinkTokens, n_short + kFlushTokens});
  }
  const CacheStats stats = driver.cache().stats();
  const TierStats& first = stats.tiers[kTierRecipe];
  // Where all that stays fine lies in the tails it is exact (mikv).
  const std::size_t token_bytes = first.n_tokens > 0
                                      ? first.bytes / first.n_tokens
                                      : stats.fp16_bytes / (stats.n_tokens * driver.n_lanes());
  for (std::size_t tier = kTierRecipe + 1; tier < stats.tiers.size(); ++tier)
    saved += stats.tiers[tier].n_tokens * token_bytes - stats.tiers[tier].bytes;
  return saved;
}

// Reads, and where a second pass is wanted, probes and decides, in exactly what was announced.
void expect_fits(CacheDriver& driver, std::size_t n_tokens) {
  driver.check_attention = false;
  const auto read = driver.read(n_tokens);
  ASSERT_TRUE(read.ok()) << n_tokens << ": " << read.error().message;
  const auto probed = driver.probe_all(kProbeTokens);
  ASSERT_TRUE(probed.ok()) << n_tokens << ": " << probed.error().message;
  const auto decided = driver.cache().compactor().compact(TriggerEvent::idle);
  ASSERT_TRUE(decided.ok()) << n_tokens << ": " << decided.error().message;
  const CacheNeed need = need_of(driver, n_tokens);
  const std::size_t used = driver.arena().used_bytes();
  EXPECT_LE(used, need.fixed_bytes + need.page_bytes) << n_tokens;
}

CacheDriver in_what_was_announced(CacheDriver::Setup setup, std::size_t n_tokens) {
  const CacheDriver roomy(setup);
  setup.arena_bytes =  // no cache opens for less than a page of tokens
      std::max(need_of(roomy, n_tokens).total(), need_of(roomy, kernels::kPageTokens).total());
  return CacheDriver(setup);
}

TEST_P(NeedOfRecipe, is_enough_at_the_peak_and_at_rest) {
  for (const std::size_t n : {1u, 5u, 130u, 255u, 256u, 259u, 260u, 400u, 700u}) {
    CacheDriver driver = in_what_was_announced(bundled(GetParam()), n);
    expect_fits(driver, n);
  }
  for (const std::size_t n : {100u, 256u, 333u, 900u}) {
    CacheDriver driver = in_what_was_announced(mixed(GetParam()), n);
    expect_fits(driver, n);
  }
}

// As runtime/limits/estimator.h promises.
TEST_P(NeedOfRecipe, is_not_much_more_than_a_document_takes) {
  for (const std::size_t n : {512u, 1100u, 2048u}) {
    if (test::kSanitized && n > 512) break;
    CacheDriver driver = in_what_was_announced(bundled(GetParam()), n);
    expect_fits(driver, n);
    const CacheNeed need = need_of(driver, n);
    const std::size_t used = driver.arena().used_bytes() + saved_bytes(driver);
    const double least = n < 2048 ? 0.9 : 0.95;
    EXPECT_GE(static_cast<double>(used),
              least * static_cast<double>(need.fixed_bytes + need.page_bytes))
        << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, NeedOfRecipe, testing::ValuesIn(recipe_names()),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The tail has more than a page, and goes to pages when the text behind it is decided.
TEST(Need, of_a_short_text_behind_a_long_tail_is_known) {
  CacheDriver driver(small("satchel-band"));
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(400, {.kind = SegmentKind::message}).ok());
  for (int i = 0; i < 38; ++i) ASSERT_TRUE(driver.step().ok());
  ASSERT_GT(driver.view(0, 0).runs.back().n_tokens, kernels::kPageTokens + 40);
  const auto read = driver.read(70);
  ASSERT_TRUE(read.ok()) << read.error().message;
}

// What waits is probed and decided, to make room.
void decide_pending(CacheDriver& driver, std::size_t& n_probed) {
  const auto pressed = driver.cache().compactor().compact(TriggerEvent::over_limit);
  ASSERT_TRUE(pressed.ok()) << pressed.error().message;
  const auto probed = driver.probe_all(256);
  ASSERT_TRUE(probed.ok()) << probed.error().message;
  const auto decided = driver.cache().compactor().compact(TriggerEvent::over_limit);
  ASSERT_TRUE(decided.ok()) << decided.error().message;
  n_probed = *probed;
}

// A text of which five times what fits is read in spans, each compressed before the next.
TEST(LongText, is_read_in_spans_that_fit_and_the_limit_holds) {
  for (const char* recipe : {"minikv", "kvzip"}) {
    SCOPED_TRACE(recipe);
    CacheDriver::Setup setup = bundled(recipe);
    setup.keep = 0.1;
    const CacheDriver roomy(setup);
    constexpr std::size_t kTokens = 4000;
    setup.arena_bytes = kTokens * roomy.shape().fp16_bytes_per_token() / 5 +
                        need_of(roomy, kernels::kPageTokens).fixed_bytes;
    CacheDriver driver(setup);
    driver.check_attention = false;
    const PassBytes others{.row_bytes = {512}};
    std::size_t n_spans = 0;
    for (std::size_t left = kTokens; left > 0; ++n_spans) {
      ASSERT_LT(n_spans, 100u);
      const PrefillRequest fits =
          driver.cache().largest_fit({.n_tokens = left, .goes_on = left < kTokens}, others).request;
      const std::size_t n = fits.n_tokens;
      std::size_t n_probed = 0;
      if (n < std::min<std::size_t>(left, 256)) {
        ASSERT_NO_FATAL_FAILURE(decide_pending(driver, n_probed));
        ASSERT_TRUE(n_probed > 0 || n > 0) << "at " << driver.cache().n_tokens();
        if (n_probed > 0) continue;
      }
      const auto read = driver.read(n, {.goes_on = fits.goes_on, .finest = fits.finest});
      ASSERT_TRUE(read.ok()) << read.error().message;
      driver.arena().check_invariants();
      left -= n;
    }
    EXPECT_GT(n_spans, 2u);
    EXPECT_EQ(driver.cache().n_tokens(), kTokens);
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(driver.step().ok());
    EXPECT_LE(driver.attention_error(), 2e-3);
  }
}

}  // namespace
}  // namespace satchel::kvcache
