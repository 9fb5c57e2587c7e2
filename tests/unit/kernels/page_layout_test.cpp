#include "kernels/contract/page_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace satchel::kernels {
namespace {

using Form = OperandShape::Form;

OperandShape affine(std::size_t bits = 2, std::size_t group = 16) {
  return {.form = Form::affine, .bits = bits, .group = group};
}
PageShape affine_page(std::size_t head_dim, std::size_t bits = 2, std::size_t group = 16) {
  return {.head_dim = head_dim, .k = affine(bits, group), .v = affine(bits, group)};
}
PageLayout made(const PageShape& shape) {
  const auto layout = page_layout(shape);
  EXPECT_TRUE(layout.ok());
  return layout.ok() ? *layout : PageLayout{};
}

// Every stretch of a page, its own bytes included, in order of place.
std::vector<std::array<std::size_t, 2>> stretches(const PageLayout& layout) {
  std::vector<std::array<std::size_t, 2>> all = {{layout.positions_at, 4u * layout.capacity}};
  if (layout.log_counts_at != 0) all.push_back({layout.log_counts_at, 4u * layout.capacity});
  for (const OperandLayout* operand : {&layout.k, &layout.v})
    for (const Plane& plane : operand->all()) all.push_back({plane.at, plane.bytes});
  std::sort(all.begin(), all.end());
  return all;
}

TEST(PageLayout, a_2_bit_page_in_groups_of_16_takes_4_25_bits_a_value_with_all_metadata) {
  EXPECT_EQ(made(affine_page(64)).bytes, 8704u);  // 512 + 4·1024 + 2·2048
  EXPECT_EQ(made(affine_page(64)).bytes * 8, 17u * 64 * 2 * 128 / 4);
  EXPECT_EQ(made(affine_page(64, 2, 32)).bytes, 6656u);
  EXPECT_EQ(made(affine_page(128)).bytes, 16896u);
}

TEST(PageLayout, the_planes_of_a_packed_page_lie_where_version_1_of_the_snapshots_has_them) {
  const PageLayout l = made(affine_page(64));
  EXPECT_EQ(l.positions_at, 0u);
  EXPECT_EQ(l.k.at(PlaneKind::scale).at, 512u);
  EXPECT_EQ(l.k.at(PlaneKind::zero).at, 512u + 1024);
  EXPECT_EQ(l.v.at(PlaneKind::scale).at, 512u + 2048);
  EXPECT_EQ(l.v.at(PlaneKind::zero).at, 512u + 3072);
  EXPECT_EQ(l.k.at(PlaneKind::codes).at, 512u + 4096);
  EXPECT_EQ(l.v.at(PlaneKind::codes).at, 512u + 4096 + 2048);
}

TEST(PageLayout, planes_of_every_capacity_and_mixture_lie_apart_and_aligned) {
  OperandShape symmetric = affine(3);
  symmetric.symmetric = true;
  const OperandShape forms[] = {{}, affine(2), affine(4, 32), affine(8), affine(3), symmetric};
  for (const std::size_t head_dim : {16u, 48u, 64u, 80u, 96u, 128u, 256u, 512u, 576u}) {
    for (const std::size_t capacity : {32u, 64u, 96u, 128u}) {
      for (const OperandShape& k : forms) {
        for (const OperandShape& v : forms) {
          if (v.form == Form::affine && head_dim % v.group != 0) continue;
          const PageLayout l = made({.head_dim = head_dim,
                                     .capacity = capacity,
                                     .has_log_counts = head_dim == 64,
                                     .k = k,
                                     .v = v});
          std::size_t end = 0;
          for (const auto& [at, bytes] : stretches(l)) {
            EXPECT_EQ(at % 16, 0u);
            EXPECT_GE(at, end);
            end = at + bytes;
          }
          EXPECT_LE(end, l.bytes);
          EXPECT_EQ(l.bytes % 256, 0u);
          EXPECT_EQ(l.k.is_exact(), k.form == Form::exact16);
          EXPECT_EQ(l.v.is_affine(), v.form == Form::affine);
        }
      }
    }
  }
}

TEST(PageLayout, planes_are_as_large_as_what_they_hold) {
  const PageLayout l = made({.head_dim = 80, .capacity = 96, .k = affine(2, 48), .v = affine(4)});
  EXPECT_EQ(l.k.at(PlaneKind::codes).bytes, 96u * 80 / 4);
  EXPECT_EQ(l.k.at(PlaneKind::scale).bytes, 2u * 80 * 2);
  EXPECT_EQ(l.v.at(PlaneKind::codes).bytes, 80u * 96 / 2);
  EXPECT_EQ(l.v.at(PlaneKind::zero).bytes, 5u * 96 * 2);
  EXPECT_EQ(l.v.bytes(), 80u * 96 / 2 + 2 * 5 * 96 * 2);
}

TEST(PageLayout, three_bits_lie_in_two_planes_and_symmetric_codes_have_no_zeros) {
  PageShape shape{.head_dim = 80, .capacity = 96, .k = affine(3, 48), .v = affine(3)};
  shape.v.symmetric = true;
  const PageLayout l = made(shape);
  EXPECT_EQ(l.k.at(PlaneKind::codes).bytes, 96u * 80 / 4);
  EXPECT_EQ(l.k.at(PlaneKind::low_codes).bytes, 96u * 12);  // 80 bits: three words
  EXPECT_EQ(l.k.at(PlaneKind::zero).bytes, 2u * 80 * 2);
  EXPECT_EQ(l.v.at(PlaneKind::codes).bits, 2u);
  EXPECT_EQ(l.v.at(PlaneKind::low_codes).bits, 1u);
  EXPECT_EQ(l.v.bytes(), 80u * 96 * 3 / 8 + 5 * 96 * 2);
  EXPECT_EQ(l.v.find(PlaneKind::zero), nullptr);
  EXPECT_TRUE(l.v.is_affine());
}

TEST(PageLayout, an_exact_page_holds_positions_and_the_fp16_rows) {
  const PageLayout l = made({.head_dim = 96});
  EXPECT_EQ(l.k.at(PlaneKind::exact16).at, 512u);
  EXPECT_EQ(l.v.at(PlaneKind::exact16).at, 512u + 128 * 96 * 2);
  EXPECT_EQ(l.bytes, 512u + 2 * 128 * 96 * 2);
  EXPECT_EQ(l.k.find(PlaneKind::scale), nullptr);
  EXPECT_EQ(l.log_counts_at, 0u);
}

class NoCode final : public OperandCode {
 public:
  std::string_view name() const override { return "none"; }
  void encode(const OperandLayout&, const float*, std::size_t, std::size_t,
              std::byte*) const override {}
  void decode(const OperandLayout&, const std::byte*, std::size_t, std::size_t,
              float*) const override {}
};

TEST(PageLayout, a_codec_of_another_kind_brings_its_planes) {
  const NoCode code;
  const Plane planes[] = {{.kind = PlaneKind::codes, .bits = 3, .bytes = 100},
                          {.kind = PlaneKind::codebook, .count = 8, .bytes = 32}};
  const PageLayout l = made(
      {.head_dim = 64, .k = {.form = Form::coded, .code = &code, .planes = planes}, .v = affine()});
  EXPECT_EQ(l.k.code, &code);
  EXPECT_FALSE(l.k.is_affine() || l.k.is_exact());
  EXPECT_EQ(l.k.at(PlaneKind::codes).bytes, 100u);
  EXPECT_EQ(l.k.at(PlaneKind::codebook).count, 8u);
  EXPECT_GE(l.k.at(PlaneKind::codebook).at, l.k.at(PlaneKind::codes).at + 100);
  EXPECT_FALSE(page_layout({.head_dim = 64, .k = {.form = Form::coded, .planes = planes}}).ok());
  EXPECT_FALSE(page_layout({.head_dim = 64, .k = {.form = Form::coded, .code = &code}}).ok());
}

TEST(PageLayout, what_no_kernel_can_read_is_refused) {
  for (const std::size_t head_dim : {0u, 4u, 63u, 100u, 264u, 592u, 4096u}) {
    EXPECT_FALSE(page_layout({.head_dim = head_dim}).ok()) << head_dim;
    EXPECT_FALSE(page_layout(affine_page(head_dim)).ok()) << head_dim;
  }
  for (const std::size_t capacity : {0u, 16u, 48u, 100u, 160u})
    EXPECT_FALSE(page_layout({.head_dim = 64, .capacity = capacity}).ok()) << capacity;
  for (const std::size_t bits : {0u, 1u, 5u, 16u})
    EXPECT_FALSE(page_layout({.head_dim = 64, .k = affine(bits)}).ok()) << bits;
  for (const std::size_t group : {0u, 8u, 48u, 256u})
    EXPECT_FALSE(page_layout({.head_dim = 64, .k = affine(2, group)}).ok()) << group;
  EXPECT_FALSE(page_layout({.head_dim = 64, .capacity = 32, .k = affine(2, 64)}).ok());
  EXPECT_FALSE(page_layout({.head_dim = 64, .v = affine(2, 128)}).ok());
  EXPECT_FALSE(page_layout({.head_dim = 80, .v = affine(2, 32)}).ok());
  const auto refused = page_layout({.head_dim = 64, .k = affine(5)});
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().code, "PAGE_LAYOUT");
}

}  // namespace
}  // namespace satchel::kernels
