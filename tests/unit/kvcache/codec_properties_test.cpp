// What holds of every codec, at its defaults and at the points that its parameters open: layouts
// for every model shape, bytes as its head states them, round trips within bounds, and pages out of
// the common.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <ostream>

#include "kernels/base/rng.h"
#include "unit/kvcache/codec_fixture.h"

namespace satchel::kvcache {
namespace {

using Operand = Codec::Operand;

constexpr double kAnyBits = -1;

// What a codec is good for at one setting. Bits are those of a full page at head_dim 128; errors
// the share of the squares of normal values that K and V miss there, a little more than was
// measured: the codecs' heads and their papers give the same figures.
struct Point {
  std::string codec, params;
  double bits_k = 0, bits_v = 0;
  double error_k = 0, error_v = 0;
  bool keeps_constants = true;  // a page of one value comes back; else the method cuts or drops it
};

void PrintTo(const Point& point, std::ostream* out) {
  *out << point.codec << " " << point.params;
}

Point p(const std::string& name, const std::string& params, double bits_k, double bits_v,
        double error_k, double error_v) {
  return {.codec = name,
          .params = "{" + params + "}",
          .bits_k = bits_k,
          .bits_v = bits_v,
          .error_k = error_k,
          .error_v = error_v};
}
constexpr double kPage = 1.0 / 128, kQuarter = 32.0 / 128;  // a scale and a zero for 128 values

// Second names, stairs, and codecs that make a table of their own in each page.
std::vector<Point> more_points() {
  // 164 of 16,384 values as they are, at 32 bits each; a codebook.
  constexpr double kept = 32.0 * 164 / 16384, level = 16.0 / 16384;
  return {
      p("minikv", "", 4, 4, 0.12, 0.12),
      p("hadamard-int4", "", 5, 5, 0.007, 0.007),
      p("saq", "", 5, 5, 0.007, 0.007),
      p("saq", "\"bits\": 8", 9, 9, 5e-5, 5e-5),
      p("saq", "\"bits\": 2", 3, 3, 0.165, 0.165),
      p("qhitter", "", 4 + kQuarter, 4 + kQuarter, 0.0106, 0.0106),
      p("mikv", "", 2 + kQuarter + 0.125, 2 + kQuarter, 0.265, 0.265),
      p("mikv", "\"group\": 32", 3.125, 3, 0.165, 0.165),
      p("mikv", "\"bits\": 3", 3 + kQuarter + 0.125, 3 + kQuarter, 0.049, 0.049),
      p("mikv", "\"bits\": 4", 4 + kQuarter + 0.125, 4 + kQuarter, 0.0106, 0.0106),
      p("kvquant", "", 4 + kQuarter + kept + 16 * level, 4 + kQuarter + kept + 16 * level, 0.0067,
        0.0067),
      p("kvquant", "\"bits\": 3", 3 + kQuarter + kept + 8 * level, 3 + kQuarter + kept + 8 * level,
        0.027, 0.027),
      p("kvquant", "\"bits\": 2", 2 + kQuarter + kept + 4 * level, 2 + kQuarter + kept + 4 * level,
        0.1, 0.1),
      p("kvquant", "\"outliers\": 0", 4 + kQuarter + 16 * level, 4 + kQuarter + 16 * level, 0.0085,
        0.0085),
      p("shadowkv", "", 5, 16, 0.57, 0),
      p("shadowkv", "\"rank\": 1", 32, 16, 1e-6, 0),
      // 26 of 128 coordinates, 102 means.
      p("cskv", "", (16 * 26 + 102 / 8.0) / 128, (16 * 26 + 102 / 8.0) / 128, 0.8, 0.8),
      p("cskv", "\"rank\": 1, \"bits\": 4", 5, 4 + kQuarter, 0.007, 0.0106),
      p("cskv", "\"rank\": 1", 16, 16, 1e-6, 1e-6),
      p("a2ats", "\"weighted\": false", 3, 16, 0.27, 0),
      p("a2ats", "\"weighted\": false, \"bits\": 6, \"width\": 8", 8.75, 16, 0.17, 0),
  };
}

std::vector<Point> points() {
  constexpr double page = kPage, quarter = kQuarter;
  std::vector<Point> all = {
      p("exact", "", 16, 16, 0, 0),
      p("minikv2", "", 4, 4, 0.12, 0.12),
      p("hadamard_affine", "", 5, 5, 0.007, 0.007),
      // 4 bits and groups of 64; outliers of 24 bits each, 2 of 128; factors.
      p("gear", "", 4.5 + 24 * 2 * page + 2 * 16 * 4 * page,
        4.5 + 24 * 2 * page + 2 * 16 * 4 * page, 0.007, 0.007),
      p("gear", "\"outliers\": 0, \"rank\": 0, \"group\": 32", 5, 5, 0.007, 0.007),
      p("kvarn", "", 4.375, 4.375, 0.011, 0.011),
      p("kvarn", "\"bits\": 2", 2.375, 2.375, 0.125, 0.125),
      p("kvarn", "\"bits\": 3", 3.375, 3.375, 0.036, 0.036),
      p("kvarn", "\"bits\": 8", 8.375, 8.375, 5e-5, 5e-5),
      p("kivi", "", 3, 3, 0.165, 0.165),
      p("kivi", "\"group\": 64", 2.5, 2.5, 0.215, 0.215),
      p("kivi", "\"group\": 128", 2.25, 2.25, 0.265, 0.265),
      p("kivi", "\"bits\": 4", 5, 5, 0.007, 0.007),
      p("kivi", "\"bits\": 4, \"group\": 128", 4.25, 4.25, 0.0106, 0.0106),
      p("fp8", "", 8 + 16 * page / 128, 8 + 16 * page / 128, 0.0008, 0.0008),
      p("fp8", "\"fit\": false", 8 + 16 * page / 128, 8 + 16 * page / 128, 0.0008, 0.0008),
      p("int_token", "", 8 + quarter, 8 + quarter, 5e-5, 5e-5),
      p("int_token", "\"bits\": 4", 4 + quarter, 4 + quarter, 0.0106, 0.0106),
      p("int_token", "\"symmetric\": true", 8.125, 8.125, 5e-5, 5e-5),
      p("int_token", "\"bits\": 4, \"symmetric\": true", 4.125, 4.125, 0.015, 0.015),
      p("block32", "", 4.5, 4.5, 0.008, 0.008),
      p("block32", "\"refit\": true", 4.5, 4.5, 0.008, 0.008),
      p("block32", "\"turn\": false", 4.5, 4.5, 0.008, 0.008),
      p("block32", "\"minimum\": true", 5, 5, 0.0066, 0.0066),
      p("block32", "\"bits\": 5", 5.5, 5.5, 0.002, 0.002),
      p("block32", "\"bits\": 5, \"minimum\": true", 6, 6, 0.0016, 0.0016),
      p("block32", "\"bits\": 8", 8.5, 8.5, 4e-5, 4e-5),
      p("turboquant", "", 4.125, 4.125, 0.0099, 0.0099),
      p("turboquant", "\"bits\": 3", 3.125, 3.125, 0.0362, 0.0362),
      p("turboquant", "\"bits\": 2", 2.125, 2.125, 0.125, 0.125),
      // 16 of 128 channels boosted.
      p("kitty", "", 2 + 2 * 16 * page + quarter + 8 * 16 * page / 128, 2 + quarter, 0.23, 0.265),
      p("kitty", "\"boost\": 0", 2 + quarter, 2 + quarter, 0.265, 0.265),
      p("kitty", "\"boost\": 1", 4 + quarter + 8 * page, 2 + quarter, 0.0106, 0.265),
      p("bfp", "", 4.25 + 8 * page, 4.25, 0.019, 0.019),
      p("bfp", "\"sort\": false, \"block\": 64", 4.125, 4.125, 0.0215, 0.0215),
      p("bfp", "\"bits\": 8", 8.25 + 8 * page, 8.25, 8e-5, 8e-5),
      p("zipcache", "", 4 + quarter, 4 + quarter + 0.125, 0.0106, 0.0106),
      p("zipcache", "\"bits\": 2", 2 + quarter, 2 + quarter + 0.125, 0.265, 0.265),
      p("klt", "", 4 + quarter, 4.125, 0.0095, 0.0105),
      p("klt", "\"bits\": 8", 8 + quarter, 8.125, 4e-5, 5e-5),
      p("klt", "\"bits\": 3", 3 + quarter, 3.125, 0.036, 0.037),
      p("klt", "\"bits\": 2", 2 + quarter, 2.125, 0.125, 0.125),
      p("rotatekv", "", 4.5 + 8 * page, 4.5, 0.0085, 0.0085),
      p("rotatekv", "\"bits\": 3", 3.5 + 8 * page, 3.5, 0.039, 0.039),
      p("rotatekv", "\"bits\": 2, \"group\": 128", 2.25, 2.25, 0.265, 0.265),
  };
  // 51 of 128 channels left out.
  all.push_back(p("think", "", (16 + 8 * page) * 77 * page, 16, 0.37, 0));
  all.push_back(p("think", "\"bits\": 4", (4 + 8 * page + quarter) * 77 * page, 16, 0.37, 0));
  all.push_back(p("think", "\"prune\": 0", 16 + 8 * page, 16, 0, 0));
  all.push_back(p("oscar", "", 2 + quarter, 2 + quarter, 0.17, 0.14));
  all.push_back(p("oscar", "\"bits\": 4", 4 + quarter, 4 + quarter, 0.018, 0.03));
  for (const Point& point : more_points()) all.push_back(point);
  for (Point& point : all)
    point.keeps_constants =
        point.codec != "klt" && point.codec != "oscar" && point.codec != "think";
  return all;
}

std::vector<Half> normal_values(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Half> x(n);
  for (Half& value : x) {
    const double length = std::sqrt(-2 * std::log(1 - rng.uniform()));
    value =
        float_to_half(static_cast<float>(length * std::cos(2 * std::numbers::pi * rng.uniform())));
  }
  return x;
}

std::vector<float> floats(const std::vector<Half>& halves) {
  std::vector<float> x;
  for (const Half h : halves) x.push_back(half_to_float(h));
  return x;
}

class EveryCodec : public testing::TestWithParam<Point> {
 protected:
  std::unique_ptr<Codec> codec() const {
    return make<Codec>(StageKind::codec, GetParam().codec, GetParam().params);
  }
};

TEST_P(EveryCodec, has_a_layout_for_every_size_of_head_and_page_that_grows_with_the_page) {
  const auto made = codec();
  EXPECT_EQ(made->capacity_step() % kernels::kPageStep, 0u);
  for (const std::size_t head_dim : {32u, 64u, 80u, 96u, 128u, 256u}) {
    std::size_t before = 0;
    for (const std::size_t capacity : {32u, 64u, 96u, 128u}) {
      const kernels::PageLayout layout = layout_of(*made, head_dim, capacity);
      EXPECT_GE(layout.bytes, before);
      EXPECT_EQ(layout, layout_of(*made, head_dim, capacity));
      before = layout.bytes;
    }
  }
}

TEST_P(EveryCodec, takes_the_bits_that_its_head_says_and_misses_no_more_than_is_known_of_it) {
  const auto made = codec();
  const Point& point = GetParam();
  const double bits_k = bits_per_value(*made, Operand::k, 128);
  const double bits_v = bits_per_value(*made, Operand::v, 128);
  EXPECT_DOUBLE_EQ(bits_k, point.bits_k == kAnyBits ? bits_k : point.bits_k);
  EXPECT_DOUBLE_EQ(bits_v, point.bits_v == kAnyBits ? bits_v : point.bits_v);
  const auto k = normal_values(128 * 128, 1), v = normal_values(128 * 128, 2);
  const CodedPage page = round_trip(layout_of(*made, 128, 128), k, v, rising(128));
  EXPECT_LE(error_share(floats(k), page.k), GetParam().error_k);
  EXPECT_LE(error_share(floats(v), page.v), GetParam().error_v);
}

TEST_P(EveryCodec, gives_tokens_back_in_full_and_part_filled_pages_and_the_same_bytes_again) {
  const auto made = codec();
  for (const std::size_t head_dim : {64u, 80u, 96u, 128u})
    for (const std::size_t n : {1u, 2u, 31u, 33u, 127u, 128u}) {
      const kernels::PageLayout layout = layout_of(*made, head_dim, n);
      const auto k = test::random_halves(n * head_dim, head_dim, n, 10);
      const auto v = test::random_halves(n * head_dim, head_dim, n + 1);
      const CodedPage page = round_trip(layout, k, v, rising(n));
      // One token's values are not quite normal, and keys have loud channels.
      EXPECT_LE(error_share(floats(k), page.k), std::max(0.2, 2 * GetParam().error_k))
          << head_dim << ", " << n;
      EXPECT_LE(error_share(floats(v), page.v), 2 * GetParam().error_v) << head_dim << ", " << n;
      EXPECT_EQ(round_trip(layout, k, v, rising(n)).bytes, page.bytes);
    }
}

TEST_P(EveryCodec, holds_extreme_values_finite_and_zeros_as_zeros) {
  const auto made = codec();
  for (const std::size_t head_dim : {64u, 80u}) {
    const kernels::PageLayout layout = layout_of(*made, head_dim, 128);
    for (const float size : {0.0f, -3.5f, 65504.0f, 6e-8f}) {
      std::vector<Half> k(128 * head_dim, float_to_half(size));
      k[77] = float_to_half(-size);
      const CodedPage page = round_trip(layout, k, k, rising(128));
      for (const float x : page.k) ASSERT_TRUE(std::isfinite(x)) << size;
      for (const float x : page.v) ASSERT_TRUE(std::isfinite(x)) << size;
      if (size == 0) {
        EXPECT_THAT(page.k, testing::Each(0.0f));
        EXPECT_THAT(page.v, testing::Each(0.0f));
      }
    }
  }
}

TEST_P(EveryCodec, gives_a_page_of_one_value_back) {
  if (!GetParam().keeps_constants) GTEST_SKIP() << "the method cuts or drops it";
  const auto made = codec();
  for (const std::size_t n : {1u, 33u, 128u}) {
    const std::vector<Half> x(n * 64, float_to_half(-3.5f));
    const CodedPage page = round_trip(layout_of(*made, 64, n), x, x, rising(n));
    const double most = std::max(5e-3, 1.5 * std::max(GetParam().error_k, GetParam().error_v));
    EXPECT_LE(error_share(floats(x), page.k), most) << n;
    EXPECT_LE(error_share(floats(x), page.v), most) << n;
  }
}

// Exact operands keep fp16 as it is; all others are coded from mended values.
TEST_P(EveryCodec, sees_no_value_that_is_no_number) {
  const auto made = codec();
  const kernels::PageLayout layout = layout_of(*made, 64, 64);
  if (layout.k.is_exact()) GTEST_SKIP() << "keeps fp16 as it is";
  constexpr Half kNan = 0x7e00, kInfinity = 0x7c00;
  auto k = test::random_halves(64 * 64, 64, 3, 10), mended = k;
  const auto v = test::random_halves(64 * 64, 64, 4);
  k[5] = kNan, mended[5] = 0;
  k[700] = kInfinity, mended[700] = float_to_half(60000);
  k[701] = kInfinity | 0x8000, mended[701] = float_to_half(-60000);
  const CodedPage page = round_trip(layout, k, v, rising(64));
  EXPECT_EQ(page.bytes, round_trip(layout, mended, v, rising(64)).bytes);
  for (const float x : page.k) ASSERT_TRUE(std::isfinite(x));
}

// What lies on a disk may be anything; decoding reads no byte beyond the page.
TEST_P(EveryCodec, decodes_any_bytes) {
  const auto made = codec();
  const auto backend = test::open_reference();
  for (const std::size_t n : {5u, 128u}) {
    const kernels::PageLayout layout = layout_of(*made, 80, n);
    std::vector<std::byte> bytes(layout.bytes);
    std::vector<float> k(n * 80), v(n * 80);
    Rng rng(n);
    for (std::size_t round = 0; round < 20; ++round) {
      for (std::byte& b : bytes) b = static_cast<std::byte>(rng.next());
      const kernels::DecodeArgs decode{
          .layout = &layout, .page = bytes.data(), .n_tokens = n, .k = k.data(), .v = v.data()};
      EXPECT_TRUE(backend->decode_pages({&decode, 1}).ok());
    }
  }
}

TEST_P(EveryCodec, has_the_same_bytes_and_values_on_every_backend_in_main_memory) {
  const auto made = codec();
  for (const std::size_t head_dim : {64u, 80u}) {
    const std::size_t n = 100;
    const kernels::PageLayout layout = layout_of(*made, head_dim, n);
    const auto k = test::random_halves(n * head_dim, head_dim, 5, 10);
    const auto v = test::random_halves(n * head_dim, head_dim, 6);
    const CodedPage want = round_trip(layout, k, v, rising(n));
    for (const test::BackendRow& row : test::backend_rows()) {
      if (!row.missing.empty() || row.backend != "cpu") continue;
      const CodedPage page = round_trip_on(*test::open_row(row), layout, k, v, rising(n));
      EXPECT_EQ(page.bytes, want.bytes) << row.name << ", " << head_dim;
      EXPECT_EQ(page.k, want.k) << row.name;
      EXPECT_EQ(page.v, want.v) << row.name;
    }
  }
}

std::string point_name(const testing::TestParamInfo<Point>& info) {
  std::string name = info.param.codec;
  std::replace(name.begin(), name.end(), '-', '_');
  for (const char c : info.param.params) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
    if (c == ',') name += '_';
  }
  name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
  return name.size() == info.param.codec.size() ? name + "_defaults" : name;
}
// A head of 80 channels is one group of 80, not five of 16, which would cost 2 bits a value.
TEST(Codecs, take_no_more_ranges_than_they_were_asked_for_in_heads_of_any_width) {
  for (const char* name : {"oscar", "rotatekv"}) {
    const auto codec = make<Codec>(StageKind::codec, name, R"({ "bits": 2, "group": 128 })");
    for (const Operand which : {Operand::k, Operand::v})
      EXPECT_DOUBLE_EQ(bits_per_value(*codec, which, 80), 2 + 32 / 80.0) << name;
  }
  const auto kivi = make<Codec>(StageKind::codec, "kivi", R"({ "group": 64 })");
  EXPECT_DOUBLE_EQ(bits_per_value(*kivi, Operand::v, 96), 2 + 32 / 48.0);
}

INSTANTIATE_TEST_SUITE_P(Points, EveryCodec, testing::ValuesIn(points()), point_name);

}  // namespace
}  // namespace satchel::kvcache
