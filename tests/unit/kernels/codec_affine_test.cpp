// The quantiser and the packed pages: the specification's table, the oracle's bytes, the bound.
#include "kernels/reference/codec_affine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/backends.h"
#include "support/lanes.h"

namespace satchel::kernels {
namespace {

using test::GoldenFile;
using test::random_halves;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Row {
  std::vector<float> x;
  std::size_t bits;
  float scale, zero;
  std::vector<std::uint8_t> codes;
};

TEST(CodecAffine, the_table_of_the_specification) {
  const Row rows[] = {
      {{0, 1, 2, 3}, 2, 1, 0, {0, 1, 2, 3}},
      {{-1, -0.4f, 0.3f, 2}, 2, 1, -1, {0, 1, 1, 3}},
      {{0, 0.5f, 1.5f, 3}, 2, 1, 0, {0, 0, 2, 3}},
      {{-3, -1.5f, 0, 0.9f, 4.5f, 7.49f, 12}, 4, 1, -3, {0, 2, 3, 4, 8, 10, 15}},
      {{5, 5, 5, 5}, 2, 0, 5, {0, 0, 0, 0}},
      {{5, 5, 5, 5}, 8, 0, 5, {0, 0, 0, 0}},
      {{1, kNaN, kInf, 3}, 4, 4000, 0, {0, 0, 15, 0}},
  };
  for (const Row& row : rows) {
    auto x = row.x;
    std::vector<std::uint8_t> codes(x.size());
    EncodeHealth health;
    const auto group = reference::encode_group(x, row.bits, codes, health);
    EXPECT_EQ(half_to_float(group.scale), row.scale);
    EXPECT_EQ(half_to_float(group.zero), row.zero);
    EXPECT_EQ(codes, row.codes);
    EXPECT_EQ(health.n_nan, std::isnan(row.x[1]) ? 1u : 0u);
    EXPECT_EQ(health.n_infinite, std::isinf(row.x[2]) ? 1u : 0u);
  }
}

TEST(CodecAffine, a_rising_column_as_in_kivi) {
  std::vector<float> x(32);
  for (std::size_t t = 0; t < 32; ++t) x[t] = static_cast<float>(t);
  std::vector<std::uint8_t> codes(32);
  EncodeHealth health;
  const auto group = reference::encode_group(x, 2, codes, health);
  EXPECT_EQ(half_to_float(group.scale), 10.3359375f);
  for (std::size_t t = 0; t < 32; ++t)
    EXPECT_EQ(codes[t], t <= 5 ? 0 : t <= 15 ? 1 : t <= 25 ? 2 : 3) << t;
}

TEST(CodecAffine, the_error_is_at_most_half_a_step_at_every_magnitude) {
  for (const double size : {1e-7, 1e-4, 1.0, 300.0, 50000.0}) {
    for (const std::size_t bits : {2u, 4u, 8u}) {
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const auto halves = random_halves(16, 64, seed);
        std::vector<float> x(16);
        for (std::size_t i = 0; i < 16; ++i)
          x[i] = half_to_float(halves[i]) * static_cast<float>(size * 0.4) +
                 static_cast<float>(size * (seed % 3 == 0 ? 0.2 : -0.1));
        std::vector<std::uint8_t> codes(16);
        EncodeHealth health;
        const auto group = reference::encode_group(x, bits, codes, health);
        const float half_step = half_to_float(group.scale) / 2;
        for (std::size_t i = 0; i < 16; ++i)
          EXPECT_LE(std::abs(x[i] - reference::decode_value(group, codes[i])),
                    half_step + std::abs(x[i]) * 3e-7f + half_step * 3e-6f)
              << size << " " << bits << " " << i;
      }
    }
  }
}

class EveryCodec : public test::OnEveryBackend {};

void expect_golden(Backend& backend, const std::string& name) {
  SCOPED_TRACE(name);
  GoldenFile file("codec/" + name);
  const auto head = file.take<std::uint32_t>(8);
  const std::size_t values = kPageTokens * head[0];
  const auto layout = affine_layout({.head_dim = head[0],
                                     .k_bits = head[1],
                                     .v_bits = head[2],
                                     .k_group = head[3],
                                     .v_group = head[4]});
  ASSERT_TRUE(layout.ok());
  ASSERT_EQ(layout.value().bytes, head[5]);
  const auto k = file.take<Half>(values), v = file.take<Half>(values);
  const auto positions = file.take<std::int32_t>(kPageTokens);
  const auto want = file.take<std::byte>(head[5]);
  std::vector<std::byte> page(head[5], std::byte{0xa5});  // what lay there before must not show
  const auto health = backend.encode_page(
      layout.value(),
      {.k = k.data(), .v = v.data(), .positions = positions.data(), .n_tokens = kPageTokens},
      page.data());
  ASSERT_TRUE(health.ok());
  EXPECT_EQ(health.value().n_nan, head[6]);
  EXPECT_EQ(health.value().n_infinite, head[7]);
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(page[i], want[i]) << "byte " << i;

  std::vector<float> k_back(values), v_back(values);
  ASSERT_TRUE(backend.decode_page(layout.value(), want.data(), k_back.data(), v_back.data()).ok());
  for (const auto* plane : {&k_back, &v_back}) {
    for (const std::size_t t : {0u, 1u, 77u, 127u}) {
      const auto row = file.take<float>(head[0]);
      for (std::size_t c = 0; c < row.size(); ++c)
        ASSERT_EQ((*plane)[t * head[0] + c], row[c]) << "token " << t << ", channel " << c;
    }
  }
  EXPECT_EQ(file.n_left(), 0u);
}

TEST_P(EveryCodec, golden_pages_have_the_bytes_and_values_of_the_oracle) {
  for (const char* name :
       {"d64_b2_g16.bin", "d64_b2_g32.bin", "d128_b2_g16.bin", "d128_b4_g32.bin", "d96_b8_g32.bin"})
    expect_golden(backend(), name);
}

TEST_P(EveryCodec, pages_of_every_shape_are_the_references_bit_for_bit) {
  for (const std::size_t head_dim : {32u, 64u, 96u, 128u, 192u, 256u}) {
    for (const std::size_t bits : {2u, 4u, 8u}) {
      for (const std::size_t group : {16u, 32u, 64u}) {
        const auto made = affine_layout({.head_dim = head_dim,
                                         .k_bits = bits,
                                         .v_bits = bits == 2 ? 4u : bits,
                                         .k_group = group,
                                         .v_group = group});
        if (!made.ok()) continue;
        const PageLayout layout = made.value();
        const std::size_t values = kPageTokens * head_dim;
        auto k = random_halves(values, head_dim, head_dim + bits, 30);
        auto v = random_halves(values, head_dim, group);
        k[11] = 0x7e00;  // NaN
        k[200] = 0xfc00;
        v[77] = 0x7c00;
        v[78] = 0x0001;
        std::vector<std::int32_t> positions(kPageTokens);
        for (std::size_t t = 0; t < kPageTokens; ++t)
          positions[t] = static_cast<std::int32_t>(3 * t);
        const ExactRun run{
            .k = k.data(), .v = v.data(), .positions = positions.data(), .n_tokens = kPageTokens};
        std::vector<std::byte> want(layout.bytes), got(layout.bytes, std::byte{1});
        const auto want_health = reference().encode_page(layout, run, want.data());
        const auto got_health = backend().encode_page(layout, run, got.data());
        ASSERT_TRUE(want_health.ok() && got_health.ok());
        EXPECT_EQ(got_health.value().n_nan, want_health.value().n_nan);
        EXPECT_EQ(got_health.value().n_infinite, want_health.value().n_infinite);
        ASSERT_TRUE(want == got) << head_dim << ", " << bits << " bits, group " << group;
        std::vector<float> kw(values), vw(values), kg(values), vg(values);
        ASSERT_TRUE(reference().decode_page(layout, want.data(), kw.data(), vw.data()).ok());
        ASSERT_TRUE(backend().decode_page(layout, want.data(), kg.data(), vg.data()).ok());
        EXPECT_TRUE(kw == kg && vw == vg);
      }
    }
  }
}

TEST_P(EveryCodec, an_exact_page_gives_its_halves_back) {
  const PageLayout layout = exact_layout(96).value();
  const auto k = random_halves(kPageTokens * 96, 96, 1), v = random_halves(kPageTokens * 96, 96, 2);
  std::vector<std::int32_t> positions(kPageTokens, 9);
  std::vector<std::byte> page(layout.bytes);
  ASSERT_TRUE(backend()
                  .encode_page(layout,
                               {.k = k.data(),
                                .v = v.data(),
                                .positions = positions.data(),
                                .n_tokens = kPageTokens},
                               page.data())
                  .ok());
  std::vector<float> k_back(k.size()), v_back(v.size());
  ASSERT_TRUE(backend().decode_page(layout, page.data(), k_back.data(), v_back.data()).ok());
  for (std::size_t i = 0; i < k.size(); ++i) {
    ASSERT_EQ(k_back[i], half_to_float(k[i]));
    ASSERT_EQ(v_back[i], half_to_float(v[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryCodec, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
