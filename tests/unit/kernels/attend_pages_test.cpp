// Attention over lanes as they become: pages that are short, moved, rotated, with dead slots or
// counts, and several sequences in one call.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "support/backends.h"
#include "support/count_allocations.h"
#include "support/lanes.h"
#include "support/questions.h"

namespace satchel::kernels {
namespace {

using test::Answer;
using test::ask;
using test::ask_all;
using test::distance;
using test::LaneFixture;
using test::Question;

class EveryLane : public test::AttendLikeReference {};

// What a page may be beyond full, alive and where it was written. Every option meets every form,
// head_dim and capacity, in changing company.
struct Oddities {
  explicit Oddities(std::size_t i)
      : page_tokens_short(i % 2 == 1 ? 3 + i % 17 : 0),
        dead_every(i / 2 % 3 == 1 ? 2 + i % 5 : 0),
        shift(i / 3 % 3 == 1   ? static_cast<std::int32_t>(1 + i * 37 % 900)
              : i / 3 % 3 == 2 ? -40
                               : 0),
        has_log_counts(i / 5 % 2 == 1),
        transformed_k(i % 13 < 6),
        transformed_v(i % 11 < 5),
        symmetric_k(i % 7 < 3),
        symmetric_v(i % 9 < 4),
        window(i / 4 % 4 == 3 ? 70 : 0),
        soft_cap(i / 6 % 4 == 2 ? 5.0f : 0.0f),
        kind_of_groups(i % 3) {}
  // K: tokens of a page, V: channels that share a scale.
  std::size_t group_k(std::size_t capacity) const {
    return kind_of_groups == 0 ? capacity : 16 * kind_of_groups;
  }
  std::size_t group_v(std::size_t d) const {
    return kind_of_groups == 0 ? 16 : kind_of_groups == 1 && d % 32 == 0 ? 32 : d;
  }
  std::size_t page_tokens_short, dead_every;
  std::int32_t shift;
  bool has_log_counts, transformed_k, transformed_v, symmetric_k, symmetric_v;
  std::size_t window;
  float soft_cap;
  std::size_t kind_of_groups;

  friend std::ostream& operator<<(std::ostream& out, const Oddities& o) {
    return out << "short of " << o.page_tokens_short << ", dead " << o.dead_every << ", shift "
               << o.shift << (o.has_log_counts ? ", counts" : "")
               << (o.transformed_k ? ", K transformed" : "")
               << (o.transformed_v ? ", V transformed" : "")
               << (o.symmetric_k ? ", K symmetric" : "") << (o.symmetric_v ? ", V symmetric" : "")
               << ", window " << o.window << ", cap " << o.soft_cap;
  }
};

TEST_P(EveryLane, every_pair_of_forms_in_pages_of_every_length_with_every_oddity) {
  constexpr std::size_t kCoded = 0;
  constexpr std::pair<std::size_t, std::size_t> kBits[] = {
      {2, 2},      {4, 4},      {8, 8},           {16, 16}, {2, 8},       {16, 2},      {4, 16},
      {kCoded, 2}, {2, kCoded}, {kCoded, kCoded}, {4, 2},   {kCoded, 16}, {16, kCoded}, {4, 8},
      {3, 3},      {2, 3},      {3, 8},           {16, 3},  {3, kCoded},  {4, 3}};
  std::size_t i = 0;
  for (const std::size_t d : {32u, 64u, 80u, 96u, 128u, 256u, 512u}) {
    if (d > backend().head_dim_max()) continue;
    for (const std::size_t capacity : {32u, 64u, 96u, 128u}) {
      const test::BackwardsCode code(capacity, d);
      for (const auto& [k_bits, v_bits] : kBits) {
        const Oddities odd(++i);
        if (!takes(i, 23)) continue;
        SCOPED_TRACE(testing::Message() << d << ", " << capacity << " slots, K " << k_bits << ", V "
                                        << v_bits << ", " << odd << ", case " << i);
        const auto operand = [&](std::size_t bits, std::size_t group, bool transformed,
                                 bool symmetric) {
          OperandShape shape = bits == kCoded ? code.operand() : test::affine_operand(bits, group);
          shape.transform = transformed ? Transform::hadamard : Transform::none;
          shape.symmetric = shape.clips = symmetric;
          return shape;
        };
        const LaneFixture lane(
            {.head_dim = d,
             .n_first = 3,
             .n_pages = 3,
             .n_last = i % 40,
             .page = {.capacity = capacity,
                      .has_log_counts = odd.has_log_counts,
                      .k = operand(k_bits, odd.group_k(capacity), odd.transformed_k,
                                   odd.symmetric_k),
                      .v = operand(v_bits, odd.group_v(d), odd.transformed_v, odd.symmetric_v)},
             .page_tokens = capacity - odd.page_tokens_short,
             .dead_every = odd.dead_every,
             .shift = odd.shift,
             .seed = i});
        const auto affine = [](std::size_t bits) {
          return bits == 2 || bits == 3 || bits == 4 || bits == 8;
        };
        const bool affine_pair = affine(k_bits) && affine(v_bits);
        for (const std::size_t n_tokens : {1 + i % 4, std::size_t{13}}) {
          const bool folded = affine_pair && n_tokens < 13;  // few rows: by integers
          expect_like_reference(
              {.n_tokens = n_tokens,
               .n_group = 1 + i % 3,
               .head_dim = d,
               .first_position = lane.end_position() - static_cast<std::int32_t>(i % 60),
               .window = odd.window,
               .soft_cap = odd.soft_cap},
              {lane.view()}, folded ? 2e-4 : 1e-5, folded ? 1e-3f : 3e-5f);
        }
      }
    }
  }
}

// Few lanes with many query heads, which read values out of the decoded keys.
TEST_P(EveryLane, latent_pages_of_every_form_for_many_heads) {
  if (!backend().takes_latent_lanes()) GTEST_SKIP() << "latent lanes are not built for it";
  constexpr std::size_t kCoded = 0, kMixed = 1;
  std::size_t i = 0;
  for (const std::size_t d : {48u, 64u, 80u, 576u}) {
    std::vector<float> matrix;
    for (const Half h : test::random_halves(d * d, d, 3))
      matrix.push_back(half_to_float(h) / static_cast<float>(std::sqrt(double(d))));
    for (const std::size_t capacity : {32u, 96u, 128u}) {
      const test::BackwardsCode code(capacity, d);
      for (const std::size_t bits : {kCoded, kMixed, std::size_t{2}, std::size_t{3}, std::size_t{4},
                                     std::size_t{8}, std::size_t{16}})
        for (const Transform transform : {Transform::none, Transform::hadamard, Transform::basis}) {
          const Oddities odd(++i);
          if (!takes(i, 5) || (d == 576 && i % 8 != 0)) continue;
          OperandShape k = bits == kCoded ? code.operand() : test::affine_operand(bits, 16);
          if (bits == kMixed) {
            k = {.form = OperandShape::Form::mixed_bit};
            for (std::size_t q = 0; q < d / kQuad; ++q)
              k.quad_bits[q] = static_cast<std::uint8_t>(8 - q % 9);
          }
          k.transform = transform;
          k.symmetric = bits > kMixed && odd.symmetric_k;
          if (transform == Transform::basis) k.basis = {.to = matrix.data(), .from = matrix.data()};
          const LaneFixture lane(
              {.head_dim = d,
               .n_first = 3,
               .n_pages = 3,
               .n_last = i % 40,
               .page = {.capacity = capacity, .has_log_counts = odd.has_log_counts, .k = k},
               .page_tokens = capacity - odd.page_tokens_short,
               .dead_every = odd.dead_every,
               .is_latent = true,
               .seed = i});
          EXPECT_TRUE(lane.view().pages[0].layout->is_latent());
          for (const std::size_t n_tokens : {1 + i % 2, std::size_t{9}}) {
            SCOPED_TRACE(testing::Message()
                         << d << ", " << capacity << " slots, K " << bits << ", transform "
                         << static_cast<int>(transform) << ", " << odd << ", case " << i);
            expect_like_reference(
                {.n_tokens = n_tokens,
                 .n_group = i % 40 == 0 ? 128 : 1 + i % 16,
                 .head_dim = d,
                 .first_position = lane.end_position() - static_cast<std::int32_t>(i % 60),
                 .loudness = 3 / std::sqrt(double(d)),
                 .window = odd.window,
                 .soft_cap = odd.soft_cap},
                {lane.view()}, 3e-5, 1e-4f);
          }
        }
    }
  }
}

// What a latent lane gives is what two planes with the same keys and values give.
TEST_P(EveryLane, a_latent_lane_is_one_whose_values_are_its_keys) {
  if (!backend().takes_latent_lanes()) GTEST_SKIP() << "latent lanes are not built for it";
  LaneFixture::Shape shape{.head_dim = 576, .n_first = 4, .n_pages = 2, .n_last = 50};
  shape.is_latent = true;
  const LaneFixture latent(shape);
  shape.is_latent = false;
  const LaneFixture apart(shape);
  std::vector<ExactRun> runs;
  for (const ExactRun& run : apart.view().runs)
    runs.push_back({run.k, run.k, run.positions, run.n_tokens});
  std::vector<std::vector<std::byte>> bytes;
  std::vector<PageView> pages;
  for (const PageView& page : apart.view().pages) {
    const OperandLayout &k = page.layout->k, &v = page.layout->v;
    auto& copy = bytes.emplace_back(page.bytes, page.bytes + page.layout->bytes);
    std::memcpy(copy.data() + v.planes[0].at, page.bytes + k.planes[0].at, k.planes[0].bytes);
    pages.push_back(page);
    pages.back().bytes = copy.data();
    EXPECT_LT(2 * latent.view().pages[0].layout->bytes, page.layout->bytes + 2048);
  }
  for (const std::size_t n_tokens : {1u, 30u}) {
    const Question question{.n_tokens = n_tokens,
                            .n_group = 16,
                            .head_dim = 576,
                            .first_position = latent.end_position() - 40,
                            .loudness = 0.2};
    const Answer got = ask(backend(), question, {latent.view()});
    const Answer want = ask(backend(), question, {{.runs = runs, .pages = pages}});
    EXPECT_EQ(got.out, want.out);
    EXPECT_EQ(got.lse, want.lse);
  }
}

// 90 tokens of a text whose keys were rotated for where they are said to stand, in one page.
struct RotatedPage {
  static constexpr std::size_t kDim = 64, kTokens = 90, kRotated = 48;

  RotatedPage(Backend& reference, const PageLayout& layout, const RopeTable& rope,
              std::int32_t first_position) {
    for (std::size_t t = 0; t < kTokens; ++t)
      positions.push_back(first_position + static_cast<std::int32_t>(t));
    std::vector<float> transformed, rotation(kTokens * kRotated);
    for (const Half h : test::random_halves(kTokens * kDim, kDim, 4))
      transformed.push_back(half_to_float(h));
    const Batch batch{.positions = positions.data(), .n_tokens = kTokens};
    EXPECT_TRUE(reference.make_rotation(batch, rope, rotation.data()).ok());
    EXPECT_TRUE(reference
                    .rope({.q = transformed.data(),
                           .n_tokens = kTokens,
                           .n_heads = 1,
                           .head_dim = kDim,
                           .rotation = rotation.data(),
                           .n_rotated = kRotated,
                           .pairs = rope.pairs})
                    .ok());
    for (const float x : transformed) k.push_back(float_to_half(x));
    v = test::random_halves(kTokens * kDim, kDim, 9);
    view = test::encode_page(layout, {k.data(), v.data(), positions.data(), kTokens}, bytes);
  }
  RotatedPage(const RotatedPage&) = delete;

  // What n_tokens queries from `position` on get of it.
  std::vector<float> attend(Backend& backend, const RopeTable& rope, std::int32_t position,
                            std::size_t n_tokens) const {
    const auto table = test::table_of(backend, {{.runs = {}, .pages = {&view, 1}}});
    const Sequence sequence{.lanes = table.get(), .n_tokens = n_tokens};
    std::vector<float> q, out(n_tokens * kDim);
    std::vector<std::int32_t> where;
    for (const Half h : test::random_halves(n_tokens * kDim, kDim, 3))
      q.push_back(half_to_float(h));
    for (std::size_t i = 0; i < n_tokens; ++i)
      where.push_back(position + static_cast<std::int32_t>(i));
    EXPECT_TRUE(backend
                    .attend({.q = q.data(),
                             .n_heads = 1,
                             .n_kv_heads = 1,
                             .head_dim = kDim,
                             .batch = {.positions = where.data(), .n_tokens = n_tokens},
                             .sequences = {&sequence, 1},
                             .scale = 0.125f,
                             .rope = rope,
                             .out = out.data()})
                    .ok());
    return out;
  }

  std::vector<Half> k, v;
  std::vector<std::int32_t> positions;
  std::vector<std::byte> bytes;
  PageView view;
};

// Turning mixes channels, so that the two are rounded to other codes: the limits are what that
// costs.
TEST_P(EveryLane, a_page_with_a_shift_is_the_page_encoded_where_it_stands) {
  constexpr std::int32_t kShift = 777;
  const auto frequencies = test::rope_frequencies(RotatedPage::kRotated);
  for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
    const RopeTable rope{.inverse_frequency = frequencies, .pairs = pairs};
    for (const auto& [bits, limit] :
         {std::pair<std::size_t, double>{4, 0.1}, {8, 6e-3}, {16, 4e-4}}) {
      PageShape shape = test::affine_pages(bits);
      shape.head_dim = RotatedPage::kDim;
      const PageLayout layout = page_layout(shape).value();
      RotatedPage moved(reference(), layout, rope, 0), there(reference(), layout, rope, kShift);
      moved.view.shift = kShift;
      moved.view.first_position += kShift;
      moved.view.last_position += kShift;
      for (const std::size_t n_tokens : {1u, 20u})
        EXPECT_LE(distance(moved.attend(backend(), rope, kShift + 80, n_tokens),
                           there.attend(backend(), rope, kShift + 80, n_tokens)),
                  limit)
            << bits << " bits, " << n_tokens;
    }
  }
}

TEST_P(EveryLane, a_dead_slot_is_a_token_that_is_not_there) {
  for (const std::size_t capacity : {32u, 64u, 128u}) {
    for (const std::size_t bits : {2u, 8u, 16u}) {
      constexpr std::size_t kDim = 64;
      PageShape shape = test::affine_pages(bits);
      shape.capacity = capacity;
      const LaneFixture lane(
          {.head_dim = kDim, .n_pages = 2, .n_last = 9, .page = shape, .dead_every = 3});
      // The same tokens one by one, decoded, without the dead ones.
      std::vector<Half> k, v;
      std::vector<std::int32_t> positions;
      for (const PageView& page : lane.view().pages) {
        std::vector<float> page_k(capacity * kDim), page_v(capacity * kDim);
        const DecodeArgs args{.layout = page.layout,
                              .page = page.bytes,
                              .n_tokens = page.n_tokens,
                              .k = page_k.data(),
                              .v = page_v.data()};
        ASSERT_TRUE(reference().decode_pages({&args, 1}).ok());
        for (std::size_t t = 0; t < page.n_tokens; ++t) {
          if (!page.live.has(t)) continue;
          std::int32_t position = 0;
          std::memcpy(&position, page.bytes + page.layout->positions_at + t * sizeof position,
                      sizeof position);
          positions.push_back(position);
          for (std::size_t c = 0; c < kDim; ++c) {
            k.push_back(float_to_half(page_k[t * kDim + c]));
            v.push_back(float_to_half(page_v[t * kDim + c]));
          }
        }
      }
      const ExactRun alive{k.data(), v.data(), positions.data(), positions.size()};
      const std::vector<ExactRun> runs = {alive, lane.view().runs.back()};
      for (const std::size_t n_tokens : {1u, 30u}) {
        const Question question{.n_tokens = n_tokens,
                                .n_group = 2,
                                .head_dim = kDim,
                                .first_position = lane.end_position() - 40};
        const Answer got = ask(backend(), question, {lane.view()});
        const Answer want = ask(backend(), question, {{.runs = runs, .pages = {}}});
        // The decoded values are rounded to fp16 here.
        EXPECT_LE(distance(got.out, want.out), 6e-4) << capacity << ", " << bits;
      }
    }
  }
}

TEST_P(EveryLane, several_sequences_in_one_call_are_each_as_if_alone) {
  const PageShape two_bits = test::affine_pages(2);
  const LaneFixture a({.n_first = 4, .n_pages = 12, .n_last = 70, .page = two_bits});
  const LaneFixture b({.n_last = 3, .seed = 7}), c({.n_pages = 1, .page = two_bits, .seed = 8});
  const LaneFixture empty({});
  const std::size_t n_many = takes(1, 2) ? 40 : 11;
  const std::vector<std::vector<LaneView>> lanes = {
      {a.view(), b.view()}, {c.view(), empty.view()}, {b.view(), a.view()}, {a.view(), c.view()}};
  const std::vector<Question> questions = {
      {.n_tokens = 1, .n_group = 3, .first_position = a.end_position()},
      {.n_tokens = 2, .n_group = 3, .first_position = 50, .seed = 11},
      {.n_tokens = n_many, .n_group = 3, .first_position = a.end_position() - 9, .seed = 12},
      {.n_tokens = 0, .n_group = 3}};
  const Answer all = ask_all(backend(), questions, lanes);
  std::vector<float> out, lse;
  for (std::size_t s = 0; s < questions.size(); ++s) {
    const Answer one = ask(backend(), questions[s], lanes[s]);
    out.insert(out.end(), one.out.begin(), one.out.end());
    lse.insert(lse.end(), one.lse.begin(), one.lse.end());
  }
  EXPECT_EQ(all.out, out);
  EXPECT_EQ(all.lse, lse);
}

TEST_P(EveryLane, a_sequence_reads_its_lanes_of_a_table_that_others_share) {
  const LaneFixture a({.n_last = 30}), b({.n_last = 50, .seed = 4}), c({.n_last = 9, .seed = 6});
  const auto table = test::table_of(backend(), {a.view(), b.view(), c.view(), a.view()});
  const auto alone = test::table_of(backend(), {b.view(), c.view()});
  const std::vector<float> q(2 * 64, 0.3f);
  const std::int32_t position = 60;
  const auto out_of = [&](const LaneTable& lanes, std::size_t first_lane) {
    std::vector<float> out(q.size());
    const Sequence sequence{.lanes = &lanes, .first_lane = first_lane, .n_tokens = 1};
    EXPECT_TRUE(backend()
                    .attend({.q = q.data(),
                             .n_heads = 2,
                             .n_kv_heads = 2,
                             .head_dim = 64,
                             .batch = {.positions = &position, .n_tokens = 1},
                             .sequences = {&sequence, 1},
                             .out = out.data()})
                    .ok());
    return out;
  };
  EXPECT_EQ(out_of(*table, 1), out_of(*alone, 0));
}

TEST_P(EveryLane, a_call_like_one_before_takes_nothing_from_the_heap) {
  if (GetParam().backend == "reference") return;      // plain loops may
  if (GetParam().backend == "cuda_executor") return;  // what takes its arrays there and back may
  PageShape transformed = test::affine_pages(4);
  transformed.k.transform = transformed.v.transform = Transform::hadamard;
  const LaneFixture a({.n_pages = 12, .n_last = 70, .page = test::affine_pages(2)});
  const LaneFixture b({.n_pages = 3, .page = transformed, .shift = 5});
  const auto table = test::table_of(backend(), {a.view(), b.view()});
  const std::vector<Sequence> sequences = {
      {.lanes = table.get(), .n_tokens = 1},
      {.lanes = table.get(), .first_lane = 1, .first_token = 1, .n_tokens = 20}};
  const std::vector<std::int32_t> positions(21, a.end_position());
  const auto frequencies = test::rope_frequencies(64);
  const std::vector<float> q(21 * 3 * 64, 0.1f);
  std::vector<float> out(q.size());
  const auto step = [&] {
    ASSERT_TRUE(backend()
                    .attend({.q = q.data(),
                             .n_heads = 3,
                             .n_kv_heads = 1,
                             .head_dim = 64,
                             .batch = {.positions = positions.data(), .n_tokens = 21},
                             .sequences = sequences,
                             .rope = {.inverse_frequency = frequencies},
                             .out = out.data()})
                    .ok());
  };
  step();
  const std::size_t before = test::allocations_so_far();
  for (int i = 0; i < 3; ++i) step();
  if (GetParam().name == "cuda") GTEST_SKIP() << "the driver takes memory of the heap, for graphs";
  EXPECT_EQ(test::allocations_so_far(), before);
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryLane, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
