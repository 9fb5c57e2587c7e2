#include "kernels/contract/page_layout.h"

#include <gtest/gtest.h>

namespace satchel::kernels {
namespace {

PageLayout affine(const AffineShape& shape) {
  const auto layout = affine_layout(shape);
  EXPECT_TRUE(layout.ok());
  return layout.value();
}

TEST(PageLayout, a_2_bit_page_in_groups_of_16_takes_4_25_bits_a_value_with_all_metadata) {
  EXPECT_EQ(affine({.head_dim = 64}).bytes, 8704u);  // 512 + 4·1024 + 2·2048
  EXPECT_EQ(affine({.head_dim = 64}).bytes * 8, 17u * 64 * 2 * 128 / 4);
  EXPECT_EQ(affine({.head_dim = 64, .k_group = 32, .v_group = 32}).bytes, 6656u);
  EXPECT_EQ(affine({.head_dim = 128}).bytes, 16896u);
}

TEST(PageLayout, planes_follow_each_other_without_overlap_and_aligned) {
  for (const std::size_t head_dim : {64u, 96u, 128u, 192u, 256u}) {
    for (const std::size_t bits : {2u, 4u, 8u}) {
      if (bits == 2 && head_dim % 64 != 0) continue;
      const PageLayout l = affine(
          {.head_dim = head_dim, .k_bits = bits, .v_bits = bits, .k_group = 32, .v_group = 16});
      const std::size_t ends[] = {l.positions_at, l.k_scale_at, l.k_zero_at,  l.v_scale_at,
                                  l.v_zero_at,    l.k_codes_at, l.v_codes_at, l.bytes};
      const std::size_t sizes[] = {512,
                                   4 * head_dim * 2,
                                   4 * head_dim * 2,
                                   head_dim / 16 * 256,
                                   head_dim / 16 * 256,
                                   128 * head_dim * bits / 8,
                                   128 * head_dim * bits / 8};
      for (std::size_t i = 0; i < 7; ++i) {
        EXPECT_EQ(ends[i] % 16, 0u);
        EXPECT_LE(ends[i] + sizes[i], ends[i + 1]) << i;
      }
      EXPECT_EQ(l.bytes % 256, 0u);
    }
  }
}

TEST(PageLayout, an_exact_page_holds_positions_and_the_fp16_rows) {
  const auto layout = exact_layout(96);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout.value().form, PageForm::exact16);
  EXPECT_EQ(layout.value().k_codes_at, 512u);
  EXPECT_EQ(layout.value().v_codes_at, 512u + 128 * 96 * 2);
  EXPECT_EQ(layout.value().bytes, 512u + 2 * 128 * 96 * 2);
  EXPECT_EQ(layout.value().k_scale_at, 0u);
}

TEST(PageLayout, what_no_kernel_can_read_is_refused) {
  for (const std::size_t head_dim : {0u, 4u, 63u, 100u, 264u, 4096u})
    EXPECT_FALSE(exact_layout(head_dim).ok()) << head_dim;
  for (const std::size_t head_dim : {0u, 16u, 80u, 288u})
    EXPECT_FALSE(affine_layout({.head_dim = head_dim, .k_bits = 4}).ok()) << head_dim;
  EXPECT_FALSE(affine_layout({.head_dim = 96}).ok());  // 2-bit keys want multiples of 64
  EXPECT_TRUE(affine_layout({.head_dim = 96, .k_bits = 4, .v_bits = 2}).ok());
  EXPECT_FALSE(affine_layout({.head_dim = 64, .k_bits = 3}).ok());
  EXPECT_FALSE(affine_layout({.head_dim = 64, .v_bits = 16}).ok());
  EXPECT_FALSE(affine_layout({.head_dim = 64, .k_group = 8}).ok());
  EXPECT_FALSE(affine_layout({.head_dim = 64, .k_group = 48}).ok());
  EXPECT_FALSE(affine_layout({.head_dim = 64, .k_group = 256}).ok());
  EXPECT_FALSE(affine_layout({.head_dim = 64, .v_group = 0}).ok());
  EXPECT_FALSE(affine_layout({.head_dim = 64, .v_group = 128}).ok());
  const auto refused = affine_layout({.head_dim = 64, .k_bits = 3});
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().code, "PAGE_LAYOUT");
}

}  // namespace
}  // namespace satchel::kernels
