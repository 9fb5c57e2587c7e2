// The golden tables of ../shared/methods/codecs.md 0.1 and 8.2 through encode_page and decode_page of the reference backend.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/contract/row_order.h"
#include "kernels/reference/cache_ops.h"

namespace satchel::kernels {
namespace {

struct Golden {
  std::vector<float> x, decoded;
  std::size_t bits;
};

// The group's values repeat over a V group of 16 channels, of every token; K is constant.
TEST(QuantiserGolden, the_table_of_the_specification_decodes_as_written) {
  const std::vector<Golden> table = {
      {{0, 1, 2, 3}, {0, 1, 2, 3}, 2},
      {{-1, -0.4f, 0.3f, 2}, {-1, 0, 0, 2}, 2},
      {{0, 0.5f, 1.5f, 3}, {0, 0, 2, 3}, 2},
      {{-3, -1.5f, 0, 0.9f, 4.5f, 7.49f, 12}, {-3, -1, 0, 1, 5, 7, 12}, 4},
      {{5, 5, 5, 5}, {5, 5, 5, 5}, 2},
      {{1, NAN, INFINITY, 3}, {0, 0, 60000, 0}, 4},
  };
  for (const Golden& golden : table) {
    constexpr std::size_t kDim = 64;
    const auto layout = affine_layout({.head_dim = kDim, .k_bits = 2, .v_bits = golden.bits});
    ASSERT_TRUE(layout.ok());
    std::vector<Half> k(kPageTokens * kDim, float_to_half(1)), v(kPageTokens * kDim);
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = float_to_half(golden.x[i % 16 % golden.x.size()]);
    std::vector<std::int32_t> positions(kPageTokens);
    for (std::size_t i = 0; i < kPageTokens; ++i) positions[i] = static_cast<std::int32_t>(3 * i);
    std::vector<std::byte> page(layout->bytes);
    const ExactRun exact{k.data(), v.data(), positions.data(), kPageTokens};
    const auto health = reference::encode_page(*layout, exact, page.data());
    ASSERT_TRUE(health.ok());
    EXPECT_EQ(health->n_nan > 0, std::isnan(golden.x[1]));
    std::vector<float> k_out(k.size()), v_out(v.size());
    ASSERT_TRUE(reference::decode_page(*layout, page.data(), k_out.data(), v_out.data()).ok());
    for (std::size_t i = 0; i < v.size(); ++i)
      ASSERT_EQ(v_out[i], golden.decoded[i % 16 % golden.x.size()]) << i;
    for (const float value : k_out) ASSERT_EQ(value, 1.0f);
    EXPECT_EQ(std::memcmp(page.data() + layout->positions_at, positions.data(), kPageTokens * 4),
              0);
  }
}

TEST(RowOrder, four_bit_codes_of_index_mod_16_begin_with_the_golden_word) {
  std::uint32_t word = 0;
  for (std::size_t index = 0; index < 128; ++index)
    if (const CodePlace place = code_place(4, 128, index); place.word == 0)
      word |= static_cast<std::uint32_t>(index % 16) << place.shift;
  EXPECT_EQ(word, 0x91918080u);
}

TEST(RowOrder, every_index_has_a_place_of_its_own) {
  for (const std::size_t bits : {2u, 4u, 8u})
    for (const std::size_t n : {64u, 128u, 256u}) {
      std::vector<int> bit_used(n * bits, 0), slot_used(n, 0);
      for (std::size_t index = 0; index < n; ++index) {
        const CodePlace place = code_place(bits, n, index);
        for (std::size_t b = 0; b < bits; ++b) ++bit_used.at(place.word * 32 + place.shift + b);
        ++slot_used.at(plane_slot(n, index));
      }
      for (const int used : bit_used) ASSERT_EQ(used, 1);
      for (const int used : slot_used) ASSERT_EQ(used, 1);
    }
}

TEST(PageLayout, a_two_bit_page_of_the_papers_takes_four_bits_a_value_and_its_positions) {
  const auto layout = affine_layout({.head_dim = 64});
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->bytes, 128u * 64 * 2 * 4 / 8 + 128 * 4);
  EXPECT_FALSE(affine_layout({.head_dim = 80}).ok());
  EXPECT_FALSE(affine_layout({.head_dim = 64, .k_bits = 3}).ok());
  EXPECT_FALSE(affine_layout({.head_dim = 64, .k_group = 48}).ok());
}

}  // namespace
}  // namespace satchel::kernels
