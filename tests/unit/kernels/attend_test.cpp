// Attention over lanes: every backend against the reference, the reference against PyTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/backends.h"
#include "support/lanes.h"
#include "support/questions.h"

namespace satchel::kernels {
namespace {

using test::Answer;
using test::ask;
using test::distance;
using test::expect_lse;
using test::GoldenFile;
using test::kNothingVisible;
using test::LaneFixture;
using test::Question;

class EveryAttend : public test::AttendLikeReference {};

TEST_P(EveryAttend, pytorch_agrees) {
  for (const char* name : {"decode_g3_d64.bin", "prefill_g3_d64.bin", "prefill_g1_d96.bin",
                           "prefill_g4_d128.bin", "first_tokens_g7_d64.bin"}) {
    SCOPED_TRACE(name);
    GoldenFile file(std::string("attention/") + name);
    const auto n = file.take<std::uint32_t>(5);
    const std::size_t n_tokens = n[0], n_heads = n[1], n_lanes = n[2], d = n[3], n_keys = n[4];
    const float scale = file.take<float>(1)[0];
    const auto q = file.take<float>(n_tokens * n_heads * d);
    const auto k = file.take<Half>(n_lanes * n_keys * d), v = file.take<Half>(n_lanes * n_keys * d);
    const auto positions = file.take<std::int32_t>(n_tokens);
    const auto key_positions = file.take<std::int32_t>(n_keys);
    const auto want = file.take<float>(q.size());
    const auto want_lse = file.take<float>(n_tokens * n_heads);
    std::vector<ExactRun> runs(n_lanes);
    std::vector<LaneView> lanes(n_lanes);
    for (std::size_t l = 0; l < n_lanes; ++l) {
      runs[l] = {.k = k.data() + l * n_keys * d,
                 .v = v.data() + l * n_keys * d,
                 .positions = key_positions.data(),
                 .n_tokens = n_keys};
      lanes[l] = {.runs = {&runs[l], 1}, .pages = {}};
    }
    const auto table = test::table_of(backend(), lanes);
    const Sequence sequence{.lanes = table.get(), .n_tokens = n_tokens};
    const Batch batch{.positions = positions.data(), .n_tokens = n_tokens};
    std::vector<float> out(q.size()), lse(want_lse.size());
    ASSERT_TRUE(backend()
                    .attend({.q = q.data(),
                             .n_heads = n_heads,
                             .n_kv_heads = n_lanes,
                             .head_dim = d,
                             .batch = batch,
                             .sequences = {&sequence, 1},
                             .scale = scale,
                             .out = out.data(),
                             .lse = lse.data()})
                    .ok());
    const bool is_prompt = test::is_prompt_of_card(GetParam(), n_tokens * n_heads / n_lanes);
    EXPECT_LE(distance(out, want), is_prompt ? test::kPromptOutput : 1e-6);
    expect_lse(lse, want_lse, is_prompt ? test::kPromptLse : 2e-6f);

    std::vector<float> sums(n_lanes * n_keys, 0.0f);
    for (std::size_t l = 0; l < n_lanes; ++l) {
      const ScoreArgs args{.lane = {.q = q.data(),
                                    .batch = batch,
                                    .n_heads = n_heads,
                                    .head_dim = d,
                                    .first_head = l * (n_heads / n_lanes),
                                    .n_group = n_heads / n_lanes,
                                    .keys = lanes[l],
                                    .scale = scale},
                           .lse = lse.data(),
                           .scores = sums.data() + l * n_keys};
      ASSERT_TRUE(backend().score({&args, 1}).ok());
    }
    const auto want_sums = file.take<float>(sums.size());
    const float limit = is_prompt ? test::kPromptLse : 1e-5f;
    for (std::size_t i = 0; i < sums.size(); ++i)
      EXPECT_NEAR(sums[i], want_sums[i], limit + limit * want_sums[i]) << i;
    EXPECT_EQ(file.n_left(), 0u);
  }
}

TEST_P(EveryAttend, exact_tokens_of_any_number) {
  std::size_t i = 0;
  for (const std::size_t d : {32u, 40u, 64u, 80u, 96u, 128u, 256u, 512u}) {
    if (d > backend().head_dim_max()) continue;
    for (const std::size_t n : {1u, 127u, 128u, 129u, 300u}) {
      for (const std::size_t n_tokens : {1u, 3u, 8u, 9u, 40u}) {
        if (!takes(i++, 9)) continue;
        const float soft_cap = i % 2 == 0 ? 0.0f : 5.0f;
        SCOPED_TRACE(testing::Message()
                     << d << ", " << n << " held, " << n_tokens << " asked, cap " << soft_cap);
        const LaneFixture lane({.head_dim = d, .n_last = n, .seed = n + d});
        expect_like_reference({.n_tokens = n_tokens,
                               .n_group = 3,
                               .head_dim = d,
                               .first_position = lane.end_position() - 20,
                               .soft_cap = soft_cap},
                              {lane.view()}, 5e-6, 1e-5f);
      }
    }
  }
}

// Sixteen bits for q·scale: a channel ten times as loud as the others costs their precision.
TEST_P(EveryAttend, pages_of_every_shape_with_sinks_and_a_tail) {
  std::size_t i = 0;
  for (const std::size_t d : {32u, 64u, 80u, 96u, 128u, 192u, 256u, 512u}) {
    if (d > backend().head_dim_max()) continue;
    for (const std::size_t bits : {2u, 4u, 8u, 16u}) {
      for (const std::size_t group : {16u, 32u}) {
        if (d % group != 0 || !takes(i++, 13)) continue;
        const double loud = group == 16 ? 1 : 10;
        SCOPED_TRACE(testing::Message() << d << ", " << bits << " bits, group " << group);
        const LaneFixture lane({.head_dim = d,
                                .n_first = 4,
                                .n_pages = 3,
                                .n_last = 130,
                                .page = test::affine_pages(bits, group),
                                .seed = d,
                                .loud = loud});
        for (const std::size_t n_tokens : {1u, 4u, 50u}) {
          const bool folded = bits < 16 && n_tokens < 50;  // few rows: by integers
          const double limit = !folded ? 1e-5 : loud > 1 ? 1e-3 : 1e-4;
          expect_like_reference({.n_tokens = n_tokens,
                                 .n_group = 2,
                                 .head_dim = d,
                                 .first_position = lane.end_position() - 10},
                                {lane.view()}, limit, folded ? 1e-3f : 2e-5f);
        }
      }
    }
  }
}

TEST_P(EveryAttend, a_window_sees_as_many_tokens_as_it_says) {
  const LaneFixture lane({.n_pages = 2, .n_last = 200, .page = test::affine_pages(8)});
  std::size_t i = 0;
  for (const std::size_t window : {1u, 2u, 64u, 127u, 128u, 300u, 100000u}) {
    for (const std::size_t n_tokens : {1u, 30u}) {
      if (!takes(i++, 3)) continue;
      SCOPED_TRACE(testing::Message() << "window " << window << ", " << n_tokens);
      expect_like_reference({.n_tokens = n_tokens,
                             .n_group = 3,
                             .first_position = lane.end_position() - 15,
                             .window = window},
                            {lane.view()}, n_tokens == 1 ? 1e-4 : 1e-5,
                            n_tokens == 1 ? 1e-3f : 2e-5f);
    }
  }
}

TEST_P(EveryAttend, ragged_lanes_and_every_group_of_query_heads) {
  std::size_t i = 1;
  for (const std::size_t d : {64u, 128u}) {
    const PageShape two_bits = test::affine_pages(2);
    const LaneFixture empty({.head_dim = d}), tail({.head_dim = d, .n_last = 1});
    const LaneFixture pages({.head_dim = d, .n_pages = 2, .page = two_bits});
    const LaneFixture all(
        {.head_dim = d, .n_first = 4, .n_pages = 19, .n_last = 200, .page = two_bits, .seed = 3});
    for (const std::size_t n_group : {1u, 3u, 4u, 7u}) {
      for (const std::size_t n_tokens : {1u, 2u, 20u}) {
        if (!takes(i++, 11)) continue;
        SCOPED_TRACE(testing::Message() << d << ", group of " << n_group << ", " << n_tokens);
        expect_like_reference({.n_tokens = n_tokens,
                               .n_group = n_group,
                               .head_dim = d,
                               .first_position = all.end_position()},
                              {empty.view(), all.view(), tail.view(), pages.view()}, 1e-4, 1e-3f);
      }
    }
  }
}

TEST_P(EveryAttend, diffuse_and_sharp_attention_keep_the_limit) {
  const PageShape two_bits = test::affine_pages(2);
  const LaneFixture lane({.head_dim = 64, .n_pages = 6, .n_last = 128, .page = two_bits});
  for (const double loudness : {0.0, 0.01, 0.3, 1.0, 3.0, 10.0})
    expect_like_reference({.n_tokens = 1,
                           .n_group = 3,
                           .head_dim = 64,
                           .first_position = lane.end_position(),
                           .loudness = loudness},
                          {lane.view()}, loudness > 1 ? 2e-3 : 1e-4, loudness > 1 ? 2e-2f : 1e-3f);
}

TEST_P(EveryAttend, queries_among_packed_tokens_see_only_what_came_before) {
  const PageShape two_bits = test::affine_pages(2);
  const LaneFixture lane(
      {.head_dim = 64, .n_first = 4, .n_pages = 3, .n_last = 60, .page = two_bits});
  std::size_t i = 0;
  for (const std::int32_t first : {-3, 0, 5, 140, 154, 155, 300, 460}) {
    for (const std::size_t n_tokens : {1u, 8u, 30u}) {
      if (!takes(i++, 4)) continue;
      SCOPED_TRACE(testing::Message() << "from position " << first << ", " << n_tokens);
      expect_like_reference(
          {.n_tokens = n_tokens, .n_group = 3, .head_dim = 64, .first_position = first},
          {lane.view()}, 1e-4, 1e-3f);
    }
  }
}

TEST_P(EveryAttend, nothing_visible_gives_zero_and_minus_infinity) {
  const LaneFixture lane({.head_dim = 64, .n_last = 5}), empty({.head_dim = 64});
  const Question question{.n_tokens = 2, .n_group = 2, .head_dim = 64, .first_position = -9};
  const Answer got = ask(backend(), question, {lane.view(), empty.view()});
  for (const float x : got.out) EXPECT_EQ(x, 0.0f);
  for (const float x : got.lse) EXPECT_EQ(x, kNothingVisible);
}

// Few and many rows, one split and several, pages and exact tokens, lanes without a visible key.
TEST_P(EveryAttend, a_sink_takes_its_share_of_every_kind_of_lane) {
  const PageShape two_bits = test::affine_pages(2);
  std::size_t i = 0;
  for (const std::size_t d : {64u, 128u}) {
    const LaneFixture exact({.head_dim = d, .n_last = 40}), empty({.head_dim = d});
    const LaneFixture packed(
        {.head_dim = d, .n_first = 4, .n_pages = 19, .n_last = 200, .page = two_bits, .seed = 3});
    for (const std::size_t n_tokens : {1u, 7u, 40u})
      for (const std::size_t window : {0u, 128u}) {
        if (!takes(i++, 3)) continue;
        SCOPED_TRACE(testing::Message() << d << ", " << n_tokens << ", window " << window);
        expect_like_reference({.n_tokens = n_tokens,
                               .n_group = 4,
                               .head_dim = d,
                               .first_position = packed.end_position() - 3,
                               .window = window,
                               .sink_logits = {-3, 0.5f, 2, 9}},
                              {packed.view(), empty.view(), exact.view()}, 2e-4, 1e-3f);
      }
  }
}

// What a sink does, from what attention without it gives.
TEST_P(EveryAttend, a_sink_is_one_more_logit_without_a_value) {
  const LaneFixture lane(
      {.head_dim = 64, .n_pages = 5, .n_last = 90, .page = test::affine_pages(8)});
  const LaneFixture empty({.head_dim = 64});
  for (const float sink : {-200.0f, -1.0f, 3.0f, 200.0f})
    for (const std::size_t n_tokens : {1u, 30u}) {
      Question question{.n_tokens = n_tokens,
                        .n_group = 2,
                        .head_dim = 64,
                        .first_position = lane.end_position()};
      const Answer plain = ask(backend(), question, {lane.view(), empty.view()});
      question.sink_logits = {sink, sink};
      const Answer got = ask(backend(), question, {lane.view(), empty.view()});
      for (std::size_t row = 0; row < got.lse.size(); ++row) {
        const double of_keys = double{plain.lse[row]};
        const double most = std::max(of_keys, double{sink});
        const double lse = most + std::log(std::exp(of_keys - most) + std::exp(sink - most));
        EXPECT_NEAR(got.lse[row], lse, 1e-5 + 1e-6 * std::abs(lse));
        for (std::size_t c = row * 64; c < (row + 1) * 64; ++c)
          ASSERT_NEAR(got.out[c], plain.out[c] * std::exp(of_keys - lse), 1e-5) << sink;
      }
    }
}

// So a scorer's probabilities are the model's, and those of a row add up to what the sink leaves.
TEST_P(EveryAttend, scores_by_an_lse_with_a_sink_add_up_to_what_the_sink_leaves) {
  const LaneFixture lane({.head_dim = 64, .n_last = 90});
  const std::vector<std::int32_t> positions = {lane.end_position()};
  const auto halves = test::random_halves(64, 64, 5);
  std::vector<float> q, out(64), scores(90), summed = {1.5f};
  for (const Half h : halves) q.push_back(half_to_float(h));
  const float sink = 1.5f;
  float lse = 0;
  const LaneView view = lane.view();
  const auto table = test::table_of(backend(), {view});
  const Sequence sequence{.lanes = table.get(), .n_tokens = 1};
  const Batch batch{.positions = positions.data(),
                    .n_tokens = 1,
                    .position_min = positions[0],
                    .position_max = positions[0]};
  ASSERT_TRUE(backend()
                  .attend({.q = q.data(),
                           .n_heads = 1,
                           .n_kv_heads = 1,
                           .head_dim = 64,
                           .batch = batch,
                           .sequences = {&sequence, 1},
                           .scale = 0.125f,
                           .sink_logits = {&sink, 1},
                           .out = out.data(),
                           .lse = &lse})
                  .ok());
  const LaneQueries queries{
      .q = q.data(), .batch = batch, .n_heads = 1, .head_dim = 64, .keys = view, .scale = 0.125f};
  const ScoreArgs score{.lane = queries, .lse = &lse, .scores = scores.data()};
  ASSERT_TRUE(backend().score({&score, 1}).ok());
  double sum = 0;
  for (const float each : scores) sum += double{each};
  EXPECT_NEAR(sum + std::exp(double{sink} - double{lse}), 1, 1e-4);
  const LogSumExpArgs again{.lane = queries, .lse = summed.data()};
  ASSERT_TRUE(backend().logsumexp({&again, 1}).ok());
  EXPECT_NEAR(summed[0], lse, 1e-4);
}

TEST_P(EveryAttend, logits_of_ten_thousand_do_not_overflow) {
  const PageShape two_bits = test::affine_pages(2);
  const LaneFixture lane({.head_dim = 64, .n_pages = 1, .n_last = 40, .page = two_bits, .loud = 1});
  for (const std::size_t n_tokens : {1u, 16u}) {
    const Question question{.n_tokens = n_tokens,
                            .n_group = 2,
                            .head_dim = 64,
                            .first_position = lane.end_position(),
                            .loudness = 3000};
    const Answer got = ask(backend(), question, {lane.view()});
    const Answer want = ask(reference(), question, {lane.view()});
    for (const float x : got.out) ASSERT_TRUE(std::isfinite(x));
    for (std::size_t i = 0; i < got.lse.size(); ++i)
      EXPECT_NEAR(got.lse[i], want.lse[i], 1e-4f * std::abs(want.lse[i]));
  }
}

TEST_P(EveryAttend, a_lane_in_two_halves_merges_to_the_whole) {
  const PageShape two_bits = test::affine_pages(2);
  const LaneFixture lane({.head_dim = 64, .n_pages = 4, .n_last = 77, .page = two_bits});
  const Question question{
      .n_tokens = 2, .n_group = 3, .head_dim = 64, .first_position = lane.end_position()};
  const LaneView view = lane.view();
  const Answer whole = ask(backend(), question, {view});
  const Answer a = ask(backend(), question, {{.runs = {}, .pages = view.pages.first(2)}});
  const Answer b = ask(backend(), question, {{.runs = view.runs, .pages = view.pages.subspan(2)}});
  std::vector<float> merged(whole.out.size());
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const float lse_a = a.lse[i / 64], lse_b = b.lse[i / 64];
    const float share = 1 / (1 + std::exp(lse_b - lse_a));
    merged[i] = a.out[i] * share + b.out[i] * (1 - share);
  }
  EXPECT_LE(distance(merged, whole.out), 1e-5);
}

TEST_P(EveryAttend, the_order_of_tokens_in_a_run_does_not_matter) {
  constexpr std::size_t kTokens = 100, kDim = 64;
  const auto k = test::random_halves(kTokens * kDim, kDim, 1),
             v = test::random_halves(kTokens * kDim, kDim, 2);
  auto k_transformed = k, v_transformed = v;
  for (std::size_t t = 0; t < kTokens; ++t) {
    for (std::size_t c = 0; c < kDim; ++c) {
      k_transformed[(kTokens - 1 - t) * kDim + c] = k[t * kDim + c];
      v_transformed[(kTokens - 1 - t) * kDim + c] = v[t * kDim + c];
    }
  }
  std::vector<std::int32_t> positions(kTokens);
  for (std::size_t t = 0; t < kTokens; ++t) positions[t] = static_cast<std::int32_t>(t);
  for (const std::size_t n_tokens : {1u, 20u}) {
    const Question question{
        .n_tokens = n_tokens, .n_group = 2, .head_dim = kDim, .first_position = kTokens};
    const ExactRun one{k.data(), v.data(), positions.data(), kTokens};
    const ExactRun other{k_transformed.data(), v_transformed.data(), positions.data(), kTokens};
    EXPECT_LE(distance(ask(backend(), question, {{.runs = {&one, 1}, .pages = {}}}).out,
                       ask(backend(), question, {{.runs = {&other, 1}, .pages = {}}}).out),
              test::is_prompt_of_card(GetParam(), n_tokens * 2) ? test::kPromptOutput : 1e-6);
  }
}

TEST_P(EveryAttend, a_constant_added_to_a_channel_of_v_shifts_the_output_by_it) {
  LaneFixture lane({.head_dim = 64, .n_last = 150});
  for (const std::size_t n_tokens : {1u, 20u}) {
    const Question question{
        .n_tokens = n_tokens, .n_group = 2, .head_dim = 64, .first_position = lane.end_position()};
    for (std::size_t i = 7; i < lane.v().size(); i += 64) lane.v()[i] = float_to_half(0.5f);
    const Answer before = ask(backend(), question, {lane.view()});
    for (std::size_t i = 7; i < lane.v().size(); i += 64) lane.v()[i] = float_to_half(4.5f);
    const Answer after = ask(backend(), question, {lane.view()});
    // Weights that are rounded to fp16 need not sum to 1.
    const float limit = test::is_prompt_of_card(GetParam(), n_tokens * 2)
                            ? 4 * test::kPromptLse
                            : test::limit_on(GetParam(), 2e-6f);
    for (std::size_t i = 0; i < before.out.size(); ++i)
      EXPECT_NEAR(after.out[i], before.out[i] + (i % 64 == 7 ? 4.0f : 0.0f), limit);
  }
}

TEST_P(EveryAttend, the_same_bits_for_any_number_of_threads_and_twice) {
  const PageShape two_bits = test::affine_pages(2);
  const LaneFixture lane(
      {.head_dim = 64, .n_first = 4, .n_pages = 20, .n_last = 300, .page = two_bits});
  const LaneFixture short_lane({.head_dim = 64, .n_last = 31});
  const auto one = test::open_row(GetParam(), 1), five = test::open_row(GetParam(), 5);
  for (const std::size_t n_tokens : {1u, 5u, 150u}) {
    if (n_tokens == 150 && !takes(1, 2)) continue;
    const Question question{.n_tokens = n_tokens,
                            .n_group = 3,
                            .head_dim = 64,
                            .first_position = lane.end_position() - 100};
    const Answer a = ask(*one, question, {lane.view(), short_lane.view()});
    const Answer b = ask(*five, question, {lane.view(), short_lane.view()});
    const Answer again = ask(*five, question, {lane.view(), short_lane.view()});
    EXPECT_EQ(a.out, b.out);
    EXPECT_EQ(a.lse, b.lse);
    EXPECT_EQ(b.out, again.out);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryAttend, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
