// Mixed-bit keys: where their bits lie, what they are rounded to, and attention on them as the
// reference does it, in a basis and without. Text begins far behind the first frame.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "kernels/contract/mixed_bit.h"
#include "support/backends.h"
#include "support/lanes.h"
#include "support/mixed_bit.h"
#include "support/questions.h"

namespace satchel::kernels {
namespace {

using test::graded_operand;
using test::LaneFixture;
using test::random_halves;
using test::TestBasis;

const std::vector<std::vector<std::uint8_t>> kPatterns = {
    {2}, {3}, {4}, {8}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {4, 3, 3, 2, 2, 1, 1, 0}, {0}};

std::vector<std::byte> encoded(Backend& backend, const PageLayout& layout, const ExactRun& run) {
  std::vector<std::byte> page(layout.bytes, std::byte{0xa5});
  const EncodeArgs args{.layout = &layout, .exact = run, .page = page.data()};
  EXPECT_TRUE(backend.encode_pages({&args, 1}).ok());
  return page;
}
std::vector<float> keys_of(Backend& backend, const PageLayout& layout,
                           const std::vector<std::byte>& page, std::size_t n_tokens) {
  std::vector<float> keys(n_tokens * layout.head_dim);
  const DecodeArgs args{
      .layout = &layout, .page = page.data(), .n_tokens = n_tokens, .k = keys.data()};
  EXPECT_TRUE(backend.decode_pages({&args, 1}).ok());
  return keys;
}

constexpr std::int32_t kFirst = 5 * kFrameTokens + 100;

struct Keys {
  std::vector<Half> k;
  std::vector<std::int32_t> positions;
  Keys(std::size_t n, std::size_t head_dim, std::uint64_t seed = 1)
      : k(random_halves(n * head_dim, head_dim, seed, 10)), positions(n) {
    for (std::size_t t = 0; t < n; ++t) positions[t] = kFirst + static_cast<std::int32_t>(t);
  }
  ExactRun run() const { return {k.data(), k.data(), positions.data(), positions.size()}; }
};

TEST(MixedBit, no_two_codes_share_a_bit_and_all_bits_are_used) {
  for (const std::size_t capacity : {32u, 64u, 96u, 128u})
    for (const unsigned bits : {1u, 2u, 4u}) {
      std::set<std::size_t> used;
      for (std::size_t t = 0; t < capacity; ++t)
        for (std::size_t c = 0; c < kQuad; ++c) {
          const PartPlace at = part_place(capacity, bits, t, c);
          ASSERT_LE(at.shift + bits, 8u);
          for (unsigned b = 0; b < bits; ++b) used.insert(at.byte * 8 + at.shift + b);
        }
      EXPECT_EQ(used.size(), capacity * kQuad * bits);
      EXPECT_EQ(*used.rbegin() + 1, part_bytes(capacity, bits) * 8);
    }
}

TEST(MixedBit, a_page_has_the_bits_that_its_quads_ask_for) {
  const PageLayout layout = *page_layout(
      {.head_dim = 64, .k = graded_operand({4, 4, 3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0})});
  EXPECT_EQ(layout.k.at(PlaneKind::mixed_bit_codes).bytes, 128u * 64 * 2 / 8);
  EXPECT_EQ(layout.k.at(PlaneKind::scale).bytes, 128u);
  EXPECT_FALSE(page_layout({.head_dim = 64, .k = graded_operand({9})}).ok());
  EXPECT_FALSE(page_layout({.head_dim = 64, .v = graded_operand({2})}).ok());
  const TestBasis basis(64);
  const Basis view = basis.view();
  OperandShape values{.form = OperandShape::Form::affine, .bits = 2, .group = 16};
  values.transform = Transform::basis;
  values.basis = view;
  EXPECT_FALSE(page_layout({.head_dim = 64, .v = values}).ok());
}

class EveryGraded : public test::AttendLikeReference {};

TEST_P(EveryGraded, values_on_a_grid_come_back_as_they_were) {
  // Channel c takes the values 0 … 2^bits - 1 times 1/4, less 1.
  for (const std::uint8_t bits : std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}) {
    const PageLayout layout = *page_layout({.head_dim = 64, .k = graded_operand({bits})});
    Keys keys(kPageTokens, 64);
    for (std::size_t i = 0; i < keys.k.size(); ++i) {
      // Both ends occur in every channel, however many levels there are.
      const std::size_t t = i / 64, top = (1u << bits) - 1;
      const std::size_t level = t == 0 ? 0 : t == 1 ? top : (t * 37 + i % 64 * 11) % (top + 1);
      keys.k[i] = float_to_half(static_cast<float>(level) * 0.25f - 1);
    }
    const auto page = encoded(backend(), layout, keys.run());
    const auto got = keys_of(backend(), layout, page, kPageTokens);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], half_to_float(keys.k[i])) << int{bits} << " bits, value " << i;
  }
}

TEST_P(EveryGraded, a_channel_without_bits_is_its_mean_and_a_constant_one_is_exact) {
  const PageLayout layout = *page_layout({.head_dim = 64, .k = graded_operand({0, 2})});
  Keys keys(100, 64);
  for (std::size_t t = 0; t < 100; ++t) {
    keys.k[t * 64] = float_to_half(t < 75 ? 1.0f : 5.0f);
    keys.k[t * 64 + 4] = float_to_half(-0.375f);
  }
  const auto got = keys_of(backend(), layout, encoded(backend(), layout, keys.run()), 100);
  for (std::size_t t = 0; t < 100; ++t) {
    EXPECT_EQ(got[t * 64], 2.0f);
    EXPECT_EQ(got[t * 64 + 4], -0.375f);
  }
}

TEST_P(EveryGraded, pages_are_the_references_bit_for_bit) {
  std::size_t n_cases = 0;
  for (const std::size_t head_dim : {32u, 80u, 256u, 512u, 576u}) {
    if (head_dim > backend().head_dim_max()) continue;
    const TestBasis basis(head_dim);
    const Basis view = basis.view();
    for (const auto& pattern : kPatterns)
      for (const std::size_t n : {1u, 31u, 64u, 70u, 128u}) {
        if (!takes(n_cases++, 7)) continue;
        SCOPED_TRACE(testing::Message() << head_dim << ", " << int{pattern[0]} << ", " << n);
        const std::size_t capacity = (n + kPageStep - 1) / kPageStep * kPageStep;
        const PageLayout layout = *page_layout(
            {.head_dim = head_dim, .capacity = capacity, .k = graded_operand(pattern, &view)});
        const Keys keys(n, head_dim, n);
        const auto want = encoded(reference(), layout, keys.run());
        ASSERT_TRUE(want == encoded(backend(), layout, keys.run()));
        ASSERT_TRUE(keys_of(reference(), layout, want, n) == keys_of(backend(), layout, want, n));
      }
  }
}

TEST_P(EveryGraded, attention_is_the_references) {
  std::size_t i = 0;
  for (const std::size_t d : {64u, 80u, 256u}) {
    const TestBasis basis(d);
    const Basis view = basis.view();
    for (const std::size_t capacity : {32u, 64u, 96u, 128u})
      for (const auto& pattern : kPatterns)
        for (const std::size_t v_bits : {2u, 3u, 4u, 8u}) {
          if (!takes(++i, 31)) continue;
          OperandShape v = test::affine_operand(v_bits, i % 2 == 0 ? 16 : d);
          v.symmetric = v.clips = i % 2 == 1;
          const LaneFixture lane(
              {.head_dim = d,
               .n_first = 3,
               .n_pages = 3,
               .n_last = i % 40,
               .page = {.capacity = capacity,
                        .k = graded_operand(pattern, i % 3 == 0 ? nullptr : &view),
                        .v = v},
               .page_tokens = capacity - i % 5,
               .dead_every = i % 4 == 0 ? 3u : 0u,
               .shift = i % 5 == 0 ? 17 : 0,
               .first_position = i % 7 == 0 ? 0 : kFirst,
               .seed = i});
          for (const std::size_t n_tokens : {std::size_t{1}, std::size_t{13}}) {
            SCOPED_TRACE(testing::Message()
                         << d << ", " << capacity << ", pattern " << int{pattern[0]} << ", V "
                         << v_bits << ", rows " << n_tokens << ", case " << i);
            expect_like_reference({.n_tokens = n_tokens,
                                   .n_group = 1 + i % 9,
                                   .head_dim = d,
                                   .first_position = lane.end_position()},
                                  {lane.view()}, n_tokens == 1 ? 4e-4 : 2e-5,
                                  n_tokens == 1 ? 1e-3f : 1e-4f);
          }
        }
  }
}

// As parts of a long chat lie one after the other, each with a last page of its own length.
TEST_P(EveryGraded, pages_of_every_length_and_of_other_bits_share_a_lane) {
  constexpr std::size_t kDim = 64;
  const TestBasis basis(kDim);
  const Basis view = basis.view();
  std::vector<LaneFixture> parts;
  std::vector<PageView> pages;
  std::int32_t end = kFirst;
  for (const std::size_t capacity : {128u, 32u, 64u, 96u, 32u, 64u, 128u, 32u}) {
    const auto& pattern = kPatterns[4 + parts.size() / 3 % 2];
    parts.emplace_back(LaneFixture::Shape{.head_dim = kDim,
                                          .n_pages = 2,
                                          .page = {.capacity = capacity,
                                                   .k = graded_operand(pattern, &view),
                                                   .v = test::affine_operand(4, 32)},
                                          .page_tokens = capacity - 3,
                                          .first_position = end,
                                          .seed = parts.size()});
    end = parts.back().end_position();
    for (const PageView& page : parts.back().view().pages) pages.push_back(page);
  }
  for (const std::size_t n_group : {1u, 2u, 3u, 4u, 5u})
    expect_like_reference(
        {.n_tokens = 1, .n_group = n_group, .head_dim = kDim, .first_position = end},
        {{.runs = {}, .pages = pages}}, 4e-4, 1e-3f);
}

// With 8 bits everywhere keys come back to a hundredth, out of a basis as well.
TEST_P(EveryGraded, keys_of_eight_bits_come_back_out_of_a_basis) {
  constexpr std::size_t kDim = 64;
  const TestBasis basis(kDim);
  const Basis view = basis.view();
  const PageLayout plain = *page_layout({.head_dim = kDim, .k = graded_operand({8})});
  const PageLayout in_basis = *page_layout({.head_dim = kDim, .k = graded_operand({8}, &view)});
  const Keys keys(kPageTokens, kDim);
  for (const PageLayout* layout : {&plain, &in_basis}) {
    const auto got = keys_of(backend(), *layout, encoded(backend(), *layout, keys.run()), 128);
    double missed = 0, all = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double k = static_cast<double>(half_to_float(keys.k[i]));
      missed += std::pow(static_cast<double>(got[i]) - k, 2), all += k * k;
    }
    EXPECT_LT(std::sqrt(missed / all), 0.01);
  }
}

// A backend with memory of its own keeps copies: of what lies there now, and of what an id says.
TEST_P(EveryGraded, a_basis_is_read_where_it_lies_or_known_by_its_id) {
  constexpr std::size_t kDim = 32;
  const Keys keys(40, kDim);
  for (const bool has_id : {false, true}) {
    std::vector<float> to(kDim * kDim), from(kDim * kDim);
    for (const double fall : {3.0, 1.0, 3.0}) {
      to = test::falling_basis(kDim, fall);  // in the same place
      from = test::falling_basis(kDim, fall, true);
      const Basis basis{.to = to.data(),
                        .from = from.data(),
                        .id = has_id ? static_cast<std::uint64_t>(fall) : 0};
      const PageLayout layout = *page_layout({.head_dim = kDim, .k = graded_operand({4}, &basis)});
      const auto want = encoded(reference(), layout, keys.run());
      EXPECT_TRUE(want == encoded(backend(), layout, keys.run()));
      EXPECT_TRUE(keys_of(reference(), layout, want, 40) == keys_of(backend(), layout, want, 40));
    }
  }
}

// Wherever in a text keys stand, in their frame they are the same, and so are the codes: what was
// rotated by RoPE alone is rotated back.
TEST_P(EveryGraded, a_frame_further_on_makes_the_same_codes) {
  constexpr std::size_t kDim = 64;
  const TestBasis basis(kDim);
  const Basis view = basis.view();
  const PageLayout layout = *page_layout({.head_dim = kDim, .k = graded_operand({4}, &view)});
  Keys here(kPageTokens, kDim), there = here;
  std::vector<float> further;
  for (const Half h : here.k) further.push_back(half_to_float(h));
  rotate_rows(view.rope, kFrameTokens, further.data(), kPageTokens, kDim);
  for (std::size_t i = 0; i < further.size(); ++i) there.k[i] = float_to_half(further[i]);
  for (std::int32_t& position : there.positions) position += kFrameTokens;
  const auto codes = [&](const Keys& keys) { return encoded(backend(), layout, keys.run()); };
  const auto at = [&](const std::vector<std::byte>& page) {
    const Plane& plane = layout.k.at(PlaneKind::mixed_bit_codes);
    return std::vector<std::byte>(page.begin() + plane.at, page.begin() + plane.at + plane.bytes);
  };
  const std::vector<std::byte> first = at(codes(here)), second = at(codes(there));
  std::size_t n_other = 0;
  for (std::size_t i = 0; i < first.size(); ++i) n_other += first[i] != second[i] ? 1u : 0u;
  EXPECT_LT(n_other, first.size() / 100);  // fp16 rounds other digits
  // Without the frame they are not.
  for (std::int32_t& position : there.positions) position -= kFrameTokens;
  const std::vector<std::byte> unframed = at(codes(there));
  n_other = 0;
  for (std::size_t i = 0; i < first.size(); ++i) n_other += first[i] != unframed[i] ? 1u : 0u;
  EXPECT_GT(n_other, first.size() / 2);
}

// Few bits for about normal values: no more than what the best uniform grid of so many levels
// misses of normal ones (Max 1960), which the range from least to largest passes by far (.25 at 2
// bits).
TEST_P(EveryGraded, ranges_are_searched) {
  Keys keys(kPageTokens, 256);
  keys.k = random_halves(keys.k.size(), 256, 7);
  const double want[] = {.3634, .1188, .0374, .0115};
  for (const std::uint8_t bits : std::vector<std::uint8_t>{1, 2, 3, 4}) {
    const PageLayout layout = *page_layout({.head_dim = 256, .k = graded_operand({bits})});
    const auto got = keys_of(backend(), layout, encoded(backend(), layout, keys.run()), 128);
    double missed = 0, all = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double k = static_cast<double>(half_to_float(keys.k[i]));
      missed += std::pow(static_cast<double>(got[i]) - k, 2), all += k * k;
    }
    EXPECT_LT(missed / all, want[bits - 1]) << int{bits};
    EXPECT_GT(missed / all, 0.6 * want[bits - 1]) << int{bits};
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryGraded, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
