// How each token is held, as people are shown it, against what the lanes hold.
#include <gtest/gtest.h>

#include <algorithm>

#include "kvcache/inspect/cache_inspector.h"
#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

std::vector<HeldToken> held_of(CacheDriver& driver) {
  return driver.cache().inspector().held().value();
}

TEST(HeldTokens, of_every_recipe_the_shares_are_those_of_the_lanes) {
  for (const std::string& name : recipe_names()) {
    SCOPED_TRACE(name);
    CacheDriver driver(small(name));
    driver.check_attention = false;
    read_chat(driver);
    const std::vector<HeldToken> held = held_of(driver);
    ASSERT_EQ(held.size(), driver.cache().n_tokens());
    std::vector<std::size_t> n_lanes(held.size());
    for (const std::vector<std::int32_t>& lane : driver.all_kept())
      for (const std::int32_t position : lane) ++n_lanes[static_cast<std::size_t>(position)];
    for (std::size_t t = 0; t < held.size(); ++t) {
      EXPECT_FLOAT_EQ(held[t].share,
                      static_cast<float>(n_lanes[t]) / static_cast<float>(driver.n_lanes()))
          << t;
      EXPECT_EQ(held[t].share > 0, held[t].bits > 0) << t;
      EXPECT_LE(held[t].bits, 16) << t;
    }
  }
}

TEST(HeldTokens, exact_ones_have_16_bits_and_those_of_pages_what_their_page_takes) {
  CacheDriver full(small("full")), four(small("ladder-4"));
  for (CacheDriver* driver : {&full, &four}) read_chat(*driver);
  for (const HeldToken& token : held_of(full)) {
    EXPECT_EQ(token.share, 1);
    EXPECT_EQ(token.bits, 16);
  }
  const std::vector<HeldToken> held = held_of(four);
  EXPECT_EQ(held.front().bits, 16);  // a sink
  EXPECT_EQ(held.back().bits, 16);   // among the newest
  const auto [least, most] = std::ranges::minmax(held, {}, &HeldToken::bits);
  EXPECT_GT(least.bits, 3);
  EXPECT_LT(least.bits, 8);
}

TEST(HeldTokens, a_window_takes_no_part_unless_every_layer_has_one) {
  CacheDriver::Setup setup = small("full");
  setup.windows = {128, 0};
  CacheDriver mixed(setup);
  setup.windows = {128, 128};
  CacheDriver windows(setup);
  for (CacheDriver* driver : {&mixed, &windows}) read_chat(*driver);
  for (const HeldToken& token : held_of(mixed)) EXPECT_EQ(token.share, 1);
  const std::vector<HeldToken> held = held_of(windows);
  EXPECT_EQ(held.back().share, 1);
  EXPECT_EQ(held[held.size() / 2].share, 0);
  EXPECT_EQ(held[held.size() / 2].bits, 0);
}

}  // namespace
}  // namespace satchel::kvcache
