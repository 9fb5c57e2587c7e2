// Codecs that treat channels of a page unlike: known values by hand, bounds, and what sets them
// apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "unit/kvcache/codec_fixture.h"

namespace satchel::kvcache {
namespace {

using kernels::Plane;
using kernels::PlaneKind;
using testing::ElementsAre;
using Operand = Codec::Operand;

std::vector<Half> halves(const std::vector<float>& x) {
  std::vector<Half> out;
  for (const float value : x) out.push_back(float_to_half(value));
  return out;
}

// A column of 32 tokens, 0 … 31, in every channel.
TEST(Kivi, has_the_codes_and_the_scale_of_a_known_column) {
  const auto codec = make<Codec>(StageKind::codec, "kivi");
  std::vector<float> k(32 * 32), v(32 * 32, 5.0f);
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<float>(i / 32);
  const kernels::PageLayout layout = layout_of(*codec, 32, 32);
  const CodedPage page = round_trip(layout, halves(k), halves(v), rising(32));
  const auto* scales =
      reinterpret_cast<const Half*>(page.bytes.data() + layout.k.at(PlaneKind::scale).at);
  constexpr float kScale = 10.3359375f;  // 31 / 3, rounded up to fp16
  EXPECT_EQ(half_to_float(scales[0]), kScale);
  for (std::size_t t = 0; t < 32; ++t) {
    const float code = t <= 5 ? 0.0f : t <= 15 ? 1.0f : t <= 25 ? 2.0f : 3.0f;
    EXPECT_EQ(page.k[t * 32 + 7], code * kScale) << t;
  }
  EXPECT_EQ(page.v, v);
}

TEST(Kivi, misses_by_half_a_step_of_its_group) {
  for (const char* params : {R"({ "bits": 2 })", R"({ "bits": 4, "group": 64 })"}) {
    const auto codec = make<Codec>(StageKind::codec, "kivi", params);
    const std::vector<float> x = some_values(128, 64, 5);
    const kernels::PageLayout layout = layout_of(*codec, 64, 128);
    const CodedPage page = round_trip(layout, halves(x), halves(x), rising(128));
    const kernels::Plane& codes = layout.k.at(PlaneKind::codes);
    const auto top = static_cast<float>((1u << codes.bits) - 1);
    for (std::size_t c = 0; c < 64; ++c)
      for (std::size_t first = 0; first < 128; first += codes.group) {
        float low = x[first * 64 + c], high = low;
        for (std::size_t t = first; t < first + codes.group; ++t) {
          low = std::min(low, x[t * 64 + c]);
          high = std::max(high, x[t * 64 + c]);
        }
        for (std::size_t t = first; t < first + codes.group; ++t)
          ASSERT_LE(std::abs(page.k[t * 64 + c] - x[t * 64 + c]), (high - low) / top * 0.505f);
      }
  }
}

// Channel c holds the token's number modulo 16 times (c + 1) / 16: the last is the loudest.
TEST(Kitty, boosts_the_loudest_channel_and_holds_sixteen_levels_in_it) {
  const CodedOperand kitty("kitty", Operand::k, 16, R"({ "boost": 0.125 })");  // 2 of 16
  std::vector<float> x(128 * 16);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i / 16 % 16) * static_cast<float>(i % 16 + 1) / 16;
  const std::vector<std::byte> page = kitty.encode(x);
  EXPECT_THAT(kitty.codes(page, kitty.operand.at(PlaneKind::kept_channels), 2),
              ElementsAre(14, 15));
  const std::vector<unsigned> upper = kitty.codes(x);
  const kernels::Plane& plane = kitty.operand.all().back();
  EXPECT_EQ(plane.kind, PlaneKind::codes);
  const std::vector<unsigned> lower = kitty.codes(page, plane, 128 * 2);
  const std::vector<float> back = kitty.decode(page, 128);
  for (std::size_t t = 0; t < 128; ++t) {
    EXPECT_EQ(upper[t * 16 + 15], t % 16 / 4);
    EXPECT_EQ(lower[t * 2 + 1], t % 4);
    EXPECT_EQ(back[t * 16 + 15], x[t * 16 + 15]);
    EXPECT_NEAR(back[t * 16 + 3], x[t * 16 + 3], 15 * 4 / 16.0 / 3 / 2 * 1.001);
  }
}

TEST(Kitty, passes_by_a_channel_that_is_none) {
  const CodedOperand kitty("kitty", Operand::k, 16, R"({ "boost": 0.125 })");
  const std::vector<float> x = some_values(128, 16, 1);
  std::vector<std::byte> page = kitty.encode(x);
  page[kitty.operand.at(PlaneKind::kept_channels).at] = std::byte{200};
  for (const float value : kitty.decode(page, 128)) EXPECT_TRUE(std::isfinite(value));
}

TEST(ZipCache, divides_values_by_the_root_of_their_channel_s_largest) {
  const CodedOperand zip("zipcache", Operand::v, 16, R"({ "bits": 2 })");
  // Channels 0 … 7 as [16, 8], 8 … 15 as [4, -4]: factors 4 and 2, quotients [4, 2] and [2, -2].
  std::vector<float> x(2 * 16);
  for (std::size_t c = 0; c < 16; ++c) {
    x[c] = c < 8 ? 16 : 4;
    x[16 + c] = c < 8 ? 8 : -4;
  }
  const std::vector<std::byte> page = zip.encode(x);
  const auto at = [&](PlaneKind kind, std::size_t i) {
    return float_at(page.data(), zip.operand.at(kind), i);
  };
  EXPECT_EQ(at(PlaneKind::channel_factors, 0), 4);
  EXPECT_EQ(at(PlaneKind::channel_factors, 15), 2);
  EXPECT_EQ(at(PlaneKind::zero, 0), 2);
  EXPECT_EQ(at(PlaneKind::zero, 1), -2);
  EXPECT_NEAR(at(PlaneKind::scale, 0), 2.0 / 3, 1e-3);
  EXPECT_NEAR(at(PlaneKind::scale, 1), 4.0 / 3, 1e-3);
  const std::vector<unsigned> codes = zip.codes(x);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(codes[i], i % 16 < 8 ? 3u : 0u);
  const std::vector<float> back = zip.decode(page, 2);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], 0.01);
}

TEST(ZipCache, loses_less_of_the_quiet_channels_beside_a_loud_one) {
  const std::vector<float> x = some_values(128, 64, 8, 30);
  const auto quiet_error = [&](const CodedOperand& operand) {
    const std::vector<float> back = operand.back(x);
    std::vector<float> quiet, quiet_back;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (i % 32 != 5) quiet.push_back(x[i]), quiet_back.push_back(back[i]);
    return error_share(quiet, quiet_back);
  };
  const CodedOperand zip("zipcache", Operand::v, 64),
      plain("int_token", Operand::k, 64, R"({ "bits": 4 })");
  EXPECT_LT(quiet_error(zip), 0.3 * quiet_error(plain));
}

TEST(ZipCache, misses_by_half_a_step_times_the_channel_s_factor) {
  const CodedOperand zip("zipcache", Operand::v, 80);
  const std::vector<float> x = some_values(50, 80, 2);
  const std::vector<std::byte> page = zip.encode(x);
  const std::vector<float> back = zip.decode(page, 50);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float scale = float_at(page.data(), zip.operand.at(PlaneKind::scale), i / 80);
    const float factor = float_at(page.data(), zip.operand.at(PlaneKind::channel_factors), i % 80);
    ASSERT_LE(std::abs(back[i] - x[i]), scale / 2 * factor * 1.001f);
  }
}

// Mean squares 1, 9, 1/4, 4 … of four channels, the others 0.
TEST(Think, keeps_the_loudest_channels_as_they_are_and_drops_the_rest) {
  const CodedOperand think("think", Operand::k, 16, R"({ "prune": 0.875 })");  // 2 of 16 stay
  std::vector<float> x(2 * 16);
  for (std::size_t t = 0; t < 2; ++t) {
    const float sign = t == 0 ? 1.0f : -1.0f;
    x[t * 16] = sign, x[t * 16 + 1] = 3 * sign, x[t * 16 + 2] = 0.5f, x[t * 16 + 3] = -2;
  }
  const std::vector<std::byte> page = think.encode(x);
  EXPECT_THAT(think.codes(page, think.operand.at(PlaneKind::kept_channels), 2), ElementsAre(1, 3));
  std::vector<float> want(2 * 16);
  for (std::size_t t = 0; t < 2; ++t)
    want[t * 16 + 1] = x[t * 16 + 1], want[t * 16 + 3] = x[t * 16 + 3];
  EXPECT_EQ(think.decode(page, 2), want);
}

TEST(Think, codes_what_it_keeps_within_half_a_step) {
  const CodedOperand think("think", Operand::k, 64, R"({ "bits": 4, "prune": 0.5 })");
  const std::vector<float> x = some_values(100, 64, 3);
  const std::vector<std::byte> page = think.encode(x);
  const std::vector<float> back = think.decode(page, 100);
  const std::vector<unsigned> kept =
      think.codes(page, think.operand.at(PlaneKind::kept_channels), 32);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const float scale = float_at(page.data(), think.operand.at(PlaneKind::scale), i);
    for (std::size_t t = 0; t < 100; ++t) {
      const std::size_t cell = t * 64 + kept[i];
      ASSERT_LE(std::abs(back[cell] - x[cell]), scale * 0.5001f);
    }
  }
}

// Largest sizes 16, 1, 2^20 and 0 give factors 4, 1, 256 (cut) and 1.
TEST(MiKv, divides_keys_by_a_power_of_two_near_the_root_of_their_channel_s_largest) {
  const CodedOperand mikv("mikv", Operand::k, 16, R"({ "bits": 8 })");
  std::vector<float> x(2 * 16);
  x[0] = 16, x[16] = 4, x[1] = -1, x[17] = 0.5f, x[2] = 0x1p20f;
  const std::vector<std::byte> page = mikv.encode(x);
  const Plane& factors = mikv.operand.at(PlaneKind::channel_factors);
  for (const auto& [channel, factor] :
       {std::pair<std::size_t, float>{0, 4}, {1, 1}, {2, 256}, {3, 1}})
    EXPECT_EQ(float_at(page.data(), factors, channel), factor) << channel;
  // The second token's quotients are 1, 0.5 and 0: a range of 1 in 255 steps.
  EXPECT_NEAR(float_at(page.data(), mikv.operand.at(PlaneKind::scale), 1), 1 / 255.0, 1e-5);
  const std::vector<float> back = mikv.decode(page, 2);
  EXPECT_NEAR(back[16], 4, 4 / 255.0 / 2 * 1.01);
  EXPECT_NEAR(back[17], 0.5, 1 / 255.0 / 2 * 1.01);
}

TEST(MiKv, loses_less_of_the_quiet_channels_beside_a_loud_one) {
  const std::vector<float> x = some_values(128, 64, 8, 30);
  const auto quiet_error = [&](const CodedOperand& operand) {
    const std::vector<float> back = operand.back(x);
    std::vector<float> quiet, quiet_back;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (i % 32 != 5) quiet.push_back(x[i]), quiet_back.push_back(back[i]);
    return error_share(quiet, quiet_back);
  };
  const CodedOperand mikv("mikv", Operand::k, 64, R"({ "bits": 4 })"),
      plain("int_token", Operand::k, 64, R"({ "bits": 4 })");
  EXPECT_LT(quiet_error(mikv), 0.3 * quiet_error(plain));
}

}  // namespace
}  // namespace satchel::kvcache
