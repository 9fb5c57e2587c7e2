// Fused operations: whatever a backend makes of them, the bytes are those of the single ones.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

using test::random_values;

class EveryFusion : public test::OnEveryBackend {
 protected:
  const Weight& weight(WeightType type, std::size_t n_out, std::size_t n_in) {
    files_.push_back(
        std::make_unique<test::WeightFile>(test::random_weight(type, n_out, n_in, files_.size())));
    weights_.push_back(std::move(backend().load_weight(files_.back()->source())).value());
    return *weights_.back();
  }

 private:
  std::vector<std::unique_ptr<test::WeightFile>> files_;
  std::vector<std::unique_ptr<Weight>> weights_;
};

TEST_P(EveryFusion, norm_and_projections_give_the_bytes_of_the_single_operations) {
  constexpr std::size_t kWidth = 256;
  const Weight* weights[] = {
      &weight(WeightType::q8_0, 96, kWidth), &weight(WeightType::q8_0, 33, kWidth),
      &weight(WeightType::q4_k, 48, kWidth), &weight(WeightType::q6_k, 33, kWidth),
      &weight(WeightType::f16, 20, kWidth),  &weight(WeightType::q4_1, 64, kWidth)};
  const auto gain = random_values(kWidth, 7);
  for (const std::size_t n : {1u, 3u, 64u, 300u}) {
    const auto x = random_values(n * kWidth, n);
    std::vector<float> normed(x.size()), want_normed(x.size());
    ASSERT_TRUE(
        backend().rms_norm(x.data(), gain.data(), n, kWidth, 1e-5f, want_normed.data()).ok());
    std::vector<std::vector<float>> got, want;
    std::vector<Backend::Projection> projections;
    for (const Weight* each : weights) {
      want.emplace_back(n * each->n_out());
      got.emplace_back(n * each->n_out());
      ASSERT_TRUE(backend().matmul(*each, want_normed.data(), n, want.back().data()).ok());
    }
    for (std::size_t i = 0; i < got.size(); ++i) projections.push_back({weights[i], got[i].data()});
    ASSERT_TRUE(
        backend().norm_project(x.data(), gain.data(), n, 1e-5f, normed.data(), projections).ok());
    EXPECT_EQ(normed, want_normed);
    EXPECT_EQ(got, want) << n << " tokens";
  }
}

TEST_P(EveryFusion, many_projections_with_and_without_biases_give_the_bytes_of_each_alone) {
  constexpr std::size_t kWidth = 96;
  const Weight* weights[] = {
      &weight(WeightType::q8_0, 33, kWidth), &weight(WeightType::q8_0, 16, kWidth),
      &weight(WeightType::q8_0, 1, kWidth),  &weight(WeightType::q8_0, 130, kWidth),
      &weight(WeightType::q8_0, 17, kWidth), &weight(WeightType::f16, 5, kWidth),
      &weight(WeightType::f16, 40, kWidth),  &weight(WeightType::f32, 3, kWidth)};
  for (const std::size_t n : {1u, 5u, 20u}) {
    const auto x = random_values(n * kWidth, n);
    std::vector<std::vector<float>> got, want, biases;
    std::vector<Backend::Projection> projections;
    for (const Weight* each : weights) {
      const std::size_t n_out = each->n_out();
      biases.push_back(random_values(n_out, n_out));
      want.emplace_back(n * n_out);
      got.emplace_back(n * n_out);
      ASSERT_TRUE(backend().matmul(*each, x.data(), n, want.back().data()).ok());
      if (n_out % 2 == 0) continue;  // without a bias
      ASSERT_TRUE(backend().add_row(want.back().data(), biases.back().data(), n, n_out).ok());
    }
    for (std::size_t i = 0; i < got.size(); ++i)
      projections.push_back(
          {weights[i], got[i].data(), weights[i]->n_out() % 2 != 0 ? biases[i].data() : nullptr});
    ASSERT_TRUE(backend().project(x.data(), n, projections).ok());
    EXPECT_EQ(got, want) << n << " tokens";
  }
}

TEST_P(EveryFusion, added_to_what_is_there_gives_the_bytes_of_the_single_operations) {
  constexpr std::size_t kOut = 37;
  for (const WeightType type : {WeightType::q8_0, WeightType::q4_0, WeightType::f16})
    for (const std::size_t n : {1u, 5u, 20u})
      for (const bool has_bias : {false, true}) {
        const Weight& of = weight(type, kOut, 64);
        const auto from = random_values(n * 64, n), bias = random_values(kOut, 3);
        auto want = random_values(n * kOut, 4), got = want;
        std::vector<float> work(n * kOut);
        ASSERT_TRUE(backend().matmul(of, from.data(), n, work.data()).ok());
        if (has_bias) {
          ASSERT_TRUE(backend().add_row(work.data(), bias.data(), n, kOut).ok());
        }
        ASSERT_TRUE(backend().add(want.data(), work.data(), n * kOut).ok());
        const Backend::Projection projection{
            .weight = &of, .out = work.data(), .bias = has_bias ? bias.data() : nullptr};
        ASSERT_TRUE(backend().add_projection(from.data(), n, projection, got.data()).ok());
        EXPECT_EQ(got, want) << n << " tokens";
      }
}

// The feed-forward against the operations it is made of.
class EveryFeedForward : public EveryFusion {
 protected:
  static constexpr std::size_t kWidth = 64, kInner = 160;

  void expect_bytes_of_single_operations(const Backend::FeedForward& weights, std::size_t n) {
    const auto gain = random_values(kWidth, 9), x = random_values(n * kWidth, n);
    std::vector<float> normed(n * kWidth), inner(n * kInner), other(n * kInner);
    auto args = weights;
    args.gain = gain.data(), args.epsilon = 1e-6f, args.normed = normed.data();
    args.gate_out = inner.data(), args.up_out = other.data();
    auto want = x, got = x;
    ASSERT_TRUE(backend().rms_norm(x.data(), gain.data(), n, kWidth, 1e-6f, normed.data()).ok());
    ASSERT_TRUE(backend().matmul(*args.gate, normed.data(), n, inner.data()).ok());
    ASSERT_TRUE(backend().matmul(*args.up, normed.data(), n, other.data()).ok());
    ASSERT_TRUE(backend().glu(args.activation, inner.data(), other.data(), n * kInner).ok());
    ASSERT_TRUE(backend().matmul(*args.down, inner.data(), n, normed.data()).ok());
    ASSERT_TRUE(backend().add(want.data(), normed.data(), n * kWidth).ok());
    ASSERT_TRUE(backend().feed_forward(args, got.data(), n).ok());
    EXPECT_EQ(got, want) << n << " tokens";
  }
};

TEST_P(EveryFeedForward, gives_the_bytes_of_the_single_operations) {
  for (const auto& [into, out] :
       {std::pair(WeightType::q8_0, WeightType::q4_0), std::pair(WeightType::f16, WeightType::q8_0),
        std::pair(WeightType::q8_0, WeightType::f32)}) {
    Backend::FeedForward args;
    args.gate = &weight(into, kInner, kWidth);
    args.up = &weight(into, kInner, kWidth);
    args.down = &weight(out, kWidth, kInner);
    for (const Activation activation :
         {Activation::silu, Activation::gelu_tanh, Activation::clamped_silu}) {
      args.activation = activation;
      for (const std::size_t n : {1u, 18u}) expect_bytes_of_single_operations(args, n);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryFeedForward, testing::ValuesIn(test::backend_rows()),
                         test::row_name);
INSTANTIATE_TEST_SUITE_P(Backends, EveryFusion, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
