// Pages on every backend: the oracle's bytes, the reference's for every shape, part pages,
// transformed operands, codecs that bring their own loops.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/contract/transform.h"
#include "support/backends.h"
#include "support/lanes.h"

namespace satchel::kernels {
namespace {

using test::GoldenFile;
using test::random_halves;
using Form = OperandShape::Form;

OperandShape affine(std::size_t bits, std::size_t group, Transform transform = Transform::none) {
  return {.form = Form::affine, .bits = bits, .group = group, .transform = transform};
}

// What an affine operand may be besides its bits and groups.
struct Kind {
  std::size_t bits;
  bool symmetric, clips;
  OperandShape in_groups_of(std::size_t group, Transform transform = Transform::none) const {
    OperandShape shape = affine(bits, group, transform);
    shape.symmetric = symmetric;
    shape.clips = clips;
    return shape;
  }
};
constexpr Kind kKinds[] = {{3, false, false}, {2, true, false}, {3, true, false}, {8, true, false},
                           {2, false, true},  {3, false, true}, {4, false, true}, {8, false, true},
                           {2, true, true},   {3, true, true},  {4, true, true}};

// Exact tokens with the loud channel of real keys.
struct Tokens {
  std::vector<Half> k, v;
  std::vector<std::int32_t> positions;
  Tokens(std::size_t n, std::size_t head_dim, std::uint64_t seed = 1)
      : k(random_halves(n * head_dim, head_dim, seed, 30)),
        v(random_halves(n * head_dim, head_dim, seed + 1)) {
    for (std::size_t t = 0; t < n; ++t) positions.push_back(static_cast<std::int32_t>(3 * t));
  }
  ExactRun run() const { return {k.data(), v.data(), positions.data(), positions.size()}; }
};

std::vector<std::byte> encoded(Backend& backend, const PageLayout& layout, const ExactRun& run,
                               NumericWarnings* warnings = nullptr) {
  std::vector<std::byte> page(layout.bytes, std::byte{0xa5});  // what lay there must not show
  const EncodeArgs args{.layout = &layout, .exact = run, .page = page.data()};
  EXPECT_TRUE(backend.encode_pages({&args, 1}).ok());
  const auto counted = backend.finish();
  EXPECT_TRUE(counted.ok());
  if (warnings != nullptr) *warnings = *counted;
  return page;
}

struct Decoded {
  std::vector<float> k, v;
  friend bool operator==(const Decoded&, const Decoded&) = default;
};
Decoded decoded(Backend& backend, const PageLayout& layout, const std::vector<std::byte>& page,
                std::size_t n_tokens) {
  Decoded out{std::vector<float>(n_tokens * layout.head_dim),
              std::vector<float>(n_tokens * layout.head_dim)};
  const DecodeArgs args{.layout = &layout,
                        .page = page.data(),
                        .n_tokens = n_tokens,
                        .k = out.k.data(),
                        .v = out.v.data()};
  EXPECT_TRUE(backend.decode_pages({&args, 1}).ok());
  return out;
}

class EveryPageCodec : public test::OnEveryBackend {
 protected:
  // The backend's page and what it reads from it are the reference's.
  void expect_references(const PageLayout& layout, const ExactRun& run) {
    NumericWarnings want_health, got_health;
    const auto want = encoded(reference(), layout, run, &want_health);
    const auto got = encoded(backend(), layout, run, &got_health);
    EXPECT_EQ(got_health.n_nan, want_health.n_nan);
    EXPECT_EQ(got_health.n_infinite, want_health.n_infinite);
    ASSERT_TRUE(want == got);
    EXPECT_TRUE(decoded(reference(), layout, want, run.n_tokens) ==
                decoded(backend(), layout, want, run.n_tokens));
  }
};

void expect_golden(Backend& backend, const std::string& name) {
  SCOPED_TRACE(name);
  GoldenFile file("codec/" + name);
  const auto head = file.take<std::uint32_t>(8);
  const std::size_t values = kPageTokens * head[0];
  const auto layout = page_layout(
      {.head_dim = head[0], .k = affine(head[1], head[3]), .v = affine(head[2], head[4])});
  ASSERT_TRUE(layout.ok());
  ASSERT_EQ(layout->bytes, head[5]);
  const auto k = file.take<Half>(values), v = file.take<Half>(values);
  const auto positions = file.take<std::int32_t>(kPageTokens);
  const auto want = file.take<std::byte>(head[5]);
  NumericWarnings warnings;
  const auto page =
      encoded(backend, *layout, {k.data(), v.data(), positions.data(), kPageTokens}, &warnings);
  EXPECT_EQ(warnings.n_nan, head[6]);
  EXPECT_EQ(warnings.n_infinite, head[7]);
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(page[i], want[i]) << "byte " << i;

  const Decoded back = decoded(backend, *layout, want, kPageTokens);
  for (const auto* plane : {&back.k, &back.v}) {
    for (const std::size_t t : {0u, 1u, 77u, 127u}) {
      const auto row = file.take<float>(head[0]);
      for (std::size_t c = 0; c < row.size(); ++c)
        ASSERT_EQ((*plane)[t * head[0] + c], row[c]) << "token " << t << ", channel " << c;
    }
  }
  EXPECT_EQ(file.n_left(), 0u);
}

TEST_P(EveryPageCodec, golden_pages_have_the_bytes_and_values_of_the_oracle) {
  for (const char* name :
       {"d64_b2_g16.bin", "d64_b2_g32.bin", "d128_b2_g16.bin", "d128_b4_g32.bin", "d96_b8_g32.bin"})
    expect_golden(backend(), name);
}

TEST_P(EveryPageCodec, full_pages_of_every_shape_are_the_references_bit_for_bit) {
  for (const std::size_t head_dim : {32u, 48u, 64u, 80u, 96u, 128u, 192u, 256u, 512u, 576u}) {
    if (head_dim > backend().head_dim_max()) continue;
    for (const std::size_t bits : {2u, 4u, 8u}) {
      for (const std::size_t group : {16u, 32u, 64u, 256u}) {
        const auto layout = page_layout({.head_dim = head_dim,
                                         .k = affine(bits, std::min<std::size_t>(group, 128)),
                                         .v = affine(bits == 2 ? 4 : bits, group)});
        if (!layout.ok()) continue;
        SCOPED_TRACE(testing::Message() << head_dim << ", " << bits << " bits, group " << group);
        Tokens tokens(kPageTokens, head_dim, head_dim + bits);
        expect_references(*layout, tokens.run());
        tokens.k[11] = 0x7e00;  // NaN
        tokens.k[200] = 0xfc00;
        tokens.v[77] = 0x7c00;
        tokens.v[78] = 0x0001;
        expect_references(*layout, tokens.run());
      }
    }
  }
}

TEST_P(EveryPageCodec, pages_of_3_bits_symmetric_or_clipped_are_the_references_bit_for_bit) {
  std::size_t n_cases = 0;
  for (const std::size_t head_dim : {48u, 64u, 80u, 96u, 128u, 256u, 512u}) {
    if (head_dim > backend().head_dim_max()) continue;
    for (const Kind& kind : kKinds) {
      for (const std::size_t group : {16u, 32u, 128u}) {
        if (!takes(n_cases++, 7)) continue;
        const std::size_t group_v = group == 128 ? head_dim : 16;
        const auto layout = page_layout({.head_dim = head_dim,
                                         .k = kind.in_groups_of(group, Transform::hadamard),
                                         .v = kind.in_groups_of(group_v)});
        ASSERT_TRUE(layout.ok());
        SCOPED_TRACE(testing::Message()
                     << head_dim << ", " << kind.bits << " bits, group " << group
                     << (kind.symmetric ? ", symmetric" : "") << (kind.clips ? ", clips" : ""));
        Tokens tokens(kPageTokens, head_dim, head_dim + kind.bits);
        expect_references(*layout, tokens.run());
        std::fill_n(tokens.v.begin(), 3 * head_dim, 0x0001);     // too small for a clipped scale
        std::fill_n(tokens.v.begin() + 512, head_dim, 0x8000);   // -0
        std::fill_n(tokens.v.begin() + 1024, head_dim, 0x7bff);  // beyond what is stored
        expect_references(*layout, tokens.run());
      }
    }
  }
}

TEST_P(EveryPageCodec, part_pages_of_every_capacity_and_mixture_are_the_references) {
  std::size_t n_cases = 0;
  const OperandShape forms[] = {{},
                                affine(2, 16),
                                affine(4, 16, Transform::hadamard),
                                {.transform = Transform::hadamard},
                                Kind{3, true, true}.in_groups_of(16, Transform::hadamard)};
  for (const std::size_t head_dim : {48u, 64u, 80u, 96u}) {
    for (const std::size_t capacity : {32u, 64u, 96u, 128u}) {
      for (const OperandShape& k : forms) {
        for (const OperandShape& v : forms) {
          const auto layout =
              page_layout({.head_dim = head_dim, .capacity = capacity, .k = k, .v = v});
          ASSERT_TRUE(layout.ok());
          for (const std::size_t n :
               {std::size_t{0}, std::size_t{1}, std::size_t{17}, capacity - 1, capacity}) {
            if (!takes(n_cases++, 7)) continue;
            SCOPED_TRACE(testing::Message() << head_dim << " " << capacity << " " << n);
            expect_references(*layout, Tokens(n, head_dim, n).run());
          }
        }
      }
    }
  }
}

TEST_P(EveryPageCodec, a_part_page_holds_what_a_full_one_would_and_zeros_behind_it) {
  for (const std::size_t n : {1u, 15u, 16u, 40u, 127u}) {
    const PageLayout layout =
        *page_layout({.head_dim = 64, .k = affine(4, 16), .v = affine(2, 32)});
    const Tokens tokens(kPageTokens, 64);
    ExactRun run = tokens.run();
    const Decoded whole = decoded(backend(), layout, encoded(backend(), layout, run), n);
    run.n_tokens = n;
    const auto page = encoded(backend(), layout, run);
    const Decoded part = decoded(backend(), layout, page, n);
    EXPECT_TRUE(part.v == whole.v);
    const std::size_t whole_groups = n / 16 * 16 * 64;  // a group cut short has its own range
    for (std::size_t i = 0; i < whole_groups; ++i) ASSERT_EQ(part.k[i], whole.k[i]);
    std::vector<std::int32_t> positions(kPageTokens);
    std::memcpy(positions.data(), page.data(), 512);
    for (std::size_t t = n; t < kPageTokens; ++t) ASSERT_EQ(positions[t], 0);
    const Plane& codes = layout.k.at(PlaneKind::codes);
    for (std::size_t i = codes.at + n * 32; i < codes.at + codes.bytes; ++i)
      ASSERT_EQ(page[i], std::byte{0});
    const Decoded behind = decoded(backend(), layout, page, kPageTokens);
    for (std::size_t i = n * 64; i < kPageTokens * 64; ++i) ASSERT_EQ(behind.v[i], 0.0f);
  }
}

TEST_P(EveryPageCodec, affine_and_exact_keys_in_a_basis_are_the_references) {
  std::vector<float> matrix;
  for (const Half h : random_halves(64 * 64, 64, 3)) matrix.push_back(half_to_float(h) / 8);
  OperandShape k = affine(3, 32, Transform::basis);
  k.basis = {.to = matrix.data(), .from = matrix.data()};
  OperandShape exact{.transform = Transform::basis, .basis = k.basis};
  for (const OperandShape& shape : {k, exact}) {
    const PageLayout layout = *page_layout({.head_dim = 64, .k = shape, .v = affine(2, 16)});
    expect_references(layout, Tokens(101, 64).run());
  }
}

TEST_P(EveryPageCodec, a_latent_page_holds_keys_alone_and_gives_them_for_values) {
  if (!backend().takes_latent_lanes()) GTEST_SKIP() << "latent lanes are not built for it";
  OperandShape mixed{.form = Form::mixed_bit, .transform = Transform::hadamard};
  mixed.quad_bits.fill(3);
  const OperandShape forms[] = {
      {}, affine(2, 16), affine(4, 16, Transform::hadamard), affine(8, 32), mixed};
  for (const std::size_t head_dim : {48u, 576u})
    for (const OperandShape& k : forms)
      for (const std::size_t n : {0u, 1u, 77u, 128u}) {
        const PageLayout layout =
            *page_layout({.head_dim = head_dim, .is_latent = true, .k = k, .v = affine(2, 7)});
        const PageLayout both = *page_layout({.head_dim = head_dim, .k = k});
        EXPECT_EQ(layout.k.bytes(), both.k.bytes());
        EXPECT_EQ(layout.v.bytes(), 0u);
        Tokens tokens(n, head_dim, n);
        tokens.v = tokens.k;
        expect_references(layout, tokens.run());
        const auto page = encoded(backend(), layout, tokens.run());
        const Decoded got = decoded(backend(), layout, page, n);
        EXPECT_EQ(got.v, got.k);
        const auto apart = encoded(backend(), both, tokens.run());
        EXPECT_EQ(got.k, decoded(backend(), both, apart, n).k);
      }
}

TEST_P(EveryPageCodec, an_exact_page_gives_its_halves_back) {
  const PageLayout layout = *page_layout({.head_dim = 96});
  const Tokens tokens(100, 96);
  const Decoded back = decoded(backend(), layout, encoded(backend(), layout, tokens.run()), 100);
  for (std::size_t i = 0; i < tokens.k.size(); ++i) {
    ASSERT_EQ(back.k[i], half_to_float(tokens.k[i]));
    ASSERT_EQ(back.v[i], half_to_float(tokens.v[i]));
  }
}

TEST_P(EveryPageCodec, a_transformed_operand_comes_back_and_spreads_what_is_loud) {
  const PageLayout plain = *page_layout({.head_dim = 64, .k = affine(4, 32), .v = affine(4, 32)});
  const PageLayout transformed = *page_layout({.head_dim = 64,
                                               .k = affine(4, 32, Transform::hadamard),
                                               .v = affine(4, 32, Transform::hadamard)});
  const Tokens tokens(kPageTokens, 64);
  const auto error = [&](const PageLayout& layout) {
    const Decoded back =
        decoded(backend(), layout, encoded(backend(), layout, tokens.run()), kPageTokens);
    double sum = 0;  // of V, whose groups lie along the channels
    for (std::size_t i = 0; i < back.v.size(); ++i) {
      const double off = static_cast<double>(back.v[i] - half_to_float(tokens.v[i]));
      EXPECT_LT(std::abs(off), 0.5);
      sum += off * off;
    }
    return sum;
  };
  EXPECT_GT(error(plain), 0);
  EXPECT_LT(error(transformed),
            2 * error(plain));  // normal values: transforming neither helps nor harms
}

TEST_P(EveryPageCodec, counts_of_merged_tokens_lie_in_their_plane) {
  const PageLayout layout = *page_layout({.head_dim = 32, .capacity = 32, .has_log_counts = true});
  ASSERT_NE(layout.log_counts_at, 0u);
  const Tokens tokens(5, 32);
  const float counts[] = {0, 0.5f, 1, 0, 2};
  std::vector<std::byte> page(layout.bytes, std::byte{1});
  const EncodeArgs args{
      .layout = &layout, .exact = tokens.run(), .log_counts = counts, .page = page.data()};
  ASSERT_TRUE(backend().encode_pages({&args, 1}).ok());
  float back[32];
  std::memcpy(back, page.data() + layout.log_counts_at, sizeof back);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(back[t], t < 5 ? counts[t] : 0.0f);
  const auto without = encoded(backend(), layout, tokens.run());
  std::memcpy(back, without.data() + layout.log_counts_at, sizeof back);
  for (const float count : back) EXPECT_EQ(count, 0.0f);
}

// Eight bits of sign and magnitude at a fixed step: loops that no backend knows.
class StepCode final : public OperandCode {
 public:
  std::string_view name() const override { return "step"; }
  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      page[layout.planes[0].at + i] =
          static_cast<std::byte>(static_cast<std::int8_t>(std::lround(x[i] * 4)));
  }
  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      x[i] = static_cast<float>(static_cast<std::int8_t>(page[layout.planes[0].at + i])) / 4;
  }
};

TEST_P(EveryPageCodec, a_codecs_own_loops_are_run_on_transformed_values) {
  const StepCode code;
  const Plane plane{.kind = PlaneKind::codes, .bits = 8, .bytes = 64 * 64};
  const OperandShape coded{
      .form = Form::coded, .transform = Transform::hadamard, .code = &code, .planes = {&plane, 1}};
  const PageLayout layout =
      *page_layout({.head_dim = 64, .capacity = 64, .k = affine(4, 16), .v = coded});
  const Tokens tokens(50, 64);
  expect_references(layout, tokens.run());
  const Decoded back = decoded(backend(), layout, encoded(backend(), layout, tokens.run()), 50);
  for (std::size_t i = 0; i < tokens.v.size(); ++i)  // half a step in each of 64, at the worst
    ASSERT_NEAR(back.v[i], half_to_float(tokens.v[i]), 1.0f);
}

TEST_P(EveryPageCodec, many_pages_of_one_call_and_their_health_add_up) {
  const PageLayout layout = *page_layout({.head_dim = 64, .k = affine(2, 16), .v = affine(2, 16)});
  std::vector<Tokens> tokens;
  std::vector<std::vector<std::byte>> pages(7, std::vector<std::byte>(layout.bytes));
  for (std::size_t p = 0; p < pages.size(); ++p) {
    tokens.emplace_back(kPageTokens, 64, p);
    tokens.back().k[p] = 0x7e00;
  }
  std::vector<EncodeArgs> items;
  for (std::size_t p = 0; p < pages.size(); ++p)
    items.push_back({.layout = &layout, .exact = tokens[p].run(), .page = pages[p].data()});
  ASSERT_TRUE(backend().encode_pages(items).ok());
  EXPECT_EQ(backend().finish()->n_nan, 7u);
  EXPECT_EQ(backend().finish()->n_nan, 0u);  // since the last one
  for (std::size_t p = 0; p < pages.size(); ++p)
    EXPECT_TRUE(pages[p] == encoded(reference(), layout, tokens[p].run()));
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryPageCodec, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

TEST(Transform, the_hadamard_turn_keeps_products_and_undoes_itself) {
  for (const std::size_t head_dim : {16u, 48u, 64u, 80u, 96u, 128u, 256u, 512u}) {
    const auto a = random_halves(head_dim, head_dim, 1), b = random_halves(head_dim, head_dim, 2);
    std::vector<float> x(head_dim), y(head_dim);
    double before = 0, after = 0;
    for (std::size_t c = 0; c < head_dim; ++c) {
      x[c] = half_to_float(a[c]);
      y[c] = half_to_float(b[c]);
      before += static_cast<double>(x[c]) * static_cast<double>(y[c]);
    }
    transform_rows(Transform::hadamard, x.data(), 1, head_dim);
    transform_rows(Transform::hadamard, y.data(), 1, head_dim);
    for (std::size_t c = 0; c < head_dim; ++c)
      after += static_cast<double>(x[c]) * static_cast<double>(y[c]);
    EXPECT_NEAR(after, before, 1e-4);
    transform_rows(Transform::hadamard, x.data(), 1, head_dim);
    for (std::size_t c = 0; c < head_dim; ++c) EXPECT_NEAR(x[c], half_to_float(a[c]), 2e-6f);
  }
}

TEST(Transform, blocks_are_the_largest_power_of_two_that_divides_head_dim) {
  std::vector<float> x(80, 0.0f);
  x[17] = 4;  // the second block of 16
  transform_rows(Transform::hadamard, x.data(), 1, 80);
  for (std::size_t c = 0; c < 80; ++c)
    EXPECT_EQ(x[c], c < 16 || c >= 32 ? 0.0f : c % 2 == 0 ? 1.0f : -1.0f) << c;
  std::vector<float> four = {1, 2, 3, 4};
  transform_rows(Transform::hadamard, four.data(), 1, 4);
  EXPECT_EQ(four, (std::vector<float>{5, -1, -2, 0}));
}

}  // namespace
}  // namespace satchel::kernels
