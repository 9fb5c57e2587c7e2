// Biases, soft caps, parts of rows, and experts: every backend against plain loops and against
// itself, however tokens are grouped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

using test::random_values;

class EveryRow : public test::OnEveryBackend {};

TEST_P(EveryRow, a_soft_cap_is_the_references_and_passes_a_nan_on) {
  for (const std::size_t n : {0u, 1u, 15u, 16u, 17u, 40000u}) {
    auto x = random_values(n, n);
    for (std::size_t i = 0; i < n; ++i) x[i] *= static_cast<float>(i % 50);
    if (n > 16) x[3] = std::nanf("");
    auto got = x, want = x;
    ASSERT_TRUE(reference().soft_cap(want.data(), 30.0f, n).ok());
    ASSERT_TRUE(backend().soft_cap(got.data(), 30.0f, n).ok());
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(std::isnan(got[i]), std::isnan(x[i]));
      if (std::isnan(x[i])) continue;
      ASSERT_NEAR(got[i], want[i], 2e-5f) << x[i];
      ASSERT_NEAR(want[i], 30 * std::tanh(x[i] / 30), 2e-5f);
    }
  }
}

TEST_P(EveryRow, a_row_is_added_to_all_and_the_first_values_alone_are_scaled) {
  for (const std::size_t width : {1u, 7u, 24u, 129u})
    for (const std::size_t n : {0u, 1u, 3u, 300u}) {
      const auto x = random_values(n * width, width), row = random_values(width, 5);
      const std::size_t n_first = width / 2;
      auto added = x, scaled = x;
      ASSERT_TRUE(backend().add_row(added.data(), row.data(), n, width).ok());
      ASSERT_TRUE(backend().scale_first(scaled.data(), 3.0f, n, width, n_first).ok());
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(added[i], x[i] + row[i % width]);
        EXPECT_EQ(scaled[i], i % width < n_first ? 3.0f * x[i] : x[i]);
      }
    }
}

class EveryMixture : public test::OnEveryBackend {
 protected:
  static constexpr std::size_t kExperts = 5, kUsed = 2;
  std::size_t width_ = 64, inner_ = 96;

  const Weight* weight(WeightType type, std::size_t n_out, std::size_t n_in) {
    files_.push_back(
        std::make_unique<test::WeightFile>(test::random_weight(type, n_out, n_in, files_.size())));
    weights_.push_back(std::move(backend().load_weight(files_.back()->source())).value());
    return weights_.back().get();
  }
  void make_experts(WeightType up = WeightType::q8_0, WeightType down = WeightType::q4_0) {
    router_ = weight(WeightType::f32, kExperts, width_);
    experts_.clear();
    for (std::size_t i = 0; i < kExperts; ++i)
      experts_.push_back({.gate = weight(up, inner_, width_),
                          .up = weight(up, inner_, width_),
                          .down = weight(down, width_, inner_)});
  }
  void make_one_differ() { experts_[2].down = weight(WeightType::q8_0, width_, inner_); }
  // As gpt-oss has them.
  void give_biases() {
    activation_ = Activation::clamped_silu;
    router_bias_ = random_values(kExperts, 40);
    for (std::size_t i = 0; i < kExperts; ++i) {
      biases_.push_back(random_values(2 * inner_ + width_, 50 + i));
      experts_[i].gate_bias = biases_[i].data();
      experts_[i].up_bias = biases_[i].data() + inner_;
      experts_[i].down_bias = biases_[i].data() + 2 * inner_;
    }
  }
  // As Gemma 4 has them.
  void set_apart() {
    activation_ = Activation::gelu_tanh;
    router_gain_ = random_values(width_, 78);
    factors_ = {0.5f, 2.0f, -1.0f, 1.5f, 0.25f};
  }
  // As LFM2 and Nemotron 3 have them; the latter's have no gate.
  void weigh_by_sigmoid() {
    weighting_ = Backend::Weighting::sigmoid;
    choice_biases_ = {0.5f, -0.25f, 0.25f, 0, -1};
  }
  void take_gates() {
    activation_ = Activation::relu;
    for (Backend::Expert& expert : experts_) expert.gate = nullptr;
  }
  // As DeepSeek-V2 has them.
  void weigh_over_all() { weighting_ = Backend::Weighting::softmax_of_all; }
  void weigh_by(Backend::Weighting weighting) {
    weigh_by_sigmoid();
    if (weighting != weighting_) choice_biases_.clear();
    weighting_ = weighting;
  }
  std::vector<float> fed(std::vector<float> x, std::size_t n) {
    EXPECT_TRUE(feed(x, n).ok());
    return x;
  }
  Result<void> feed(std::vector<float>& x, std::size_t n) {
    const std::size_t n_rows = std::max<std::size_t>(n, 1);
    std::vector<float> normed(n_rows * width_), taken(n_rows * width_), gate(n_rows * inner_),
        up(n_rows * inner_), routed(n_rows * kExperts);
    std::vector<Backend::Ranked> chosen(n_rows * kUsed);
    std::vector<float> scores(n_rows * kExperts);
    const bool is_apart = !router_gain_.empty();
    std::vector<float> read = x;
    if (is_apart) std::ranges::fill(x, std::numeric_limits<float>::quiet_NaN());  // written whole
    return backend().moe({.gain = gain_.data(),
                          .router_gain = is_apart ? router_gain_.data() : nullptr,
                          .router = router_,
                          .router_bias = router_bias_.empty() ? nullptr : router_bias_.data(),
                          .experts = experts_,
                          .expert_factors = factors_,
                          .weighting = weighting_,
                          .choice_biases = choice_biases_,
                          .n_used = kUsed,
                          .factor = 0.5f,
                          .sum = is_apart ? x.data() : nullptr,
                          .activation = activation_,
                          .epsilon = 1e-5f,
                          .normed = normed.data(),
                          .taken = taken.data(),
                          .gate_out = gate.data(),
                          .up_out = up.data(),
                          .routed = routed.data(),
                          .chosen = chosen,
                          .scores = scores},
                         is_apart ? read.data() : x.data(), n);
  }
  // x, unless the sum is elsewhere, + 0.5 · Σ weight · down(activation(gate n, up n)) of one token,
  // by single operations.
  std::vector<float> plainly(const float* x) {
    std::vector<float> n(width_), routed(kExperts), out(width_);
    if (router_gain_.empty()) out.assign(x, x + width_);
    const float* router_gain = router_gain_.empty() ? gain_.data() : router_gain_.data();
    EXPECT_TRUE(backend().rms_norm(x, router_gain, 1, width_, 1e-5f, n.data()).ok());
    multiply(router_, n, router_bias_.data(), routed);
    EXPECT_TRUE(backend().rms_norm(x, gain_.data(), 1, width_, 1e-5f, n.data()).ok());
    const bool by_sigmoid = weighting_ == Backend::Weighting::sigmoid;
    const auto weight_of = [&](std::size_t expert) {
      const double e = std::exp(double{routed[expert]});
      return by_sigmoid ? e / (1 + e) : e;
    };
    const auto rank_of = [&](std::size_t expert) {
      return weight_of(expert) + (by_sigmoid ? double{choice_biases_[expert]} : 0);
    };
    std::vector<std::size_t> order = {0, 1, 2, 3, 4};
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return rank_of(a) > rank_of(b); });
    double sum = 0;
    const bool over_all = weighting_ == Backend::Weighting::softmax_of_all;
    for (std::size_t i = 0; i < (over_all ? kExperts : kUsed); ++i) sum += weight_of(order[i]);
    for (std::size_t i = 0; i < kUsed; ++i) {
      const Backend::Expert& expert = experts_[order[i]];
      std::vector<float> gate(inner_), up(inner_), down(width_);
      multiply(expert.gate == nullptr ? expert.up : expert.gate, n, expert.gate_bias, gate);
      multiply(expert.up, n, expert.up_bias, up);
      EXPECT_TRUE(backend().glu(activation_, gate.data(), up.data(), inner_).ok());
      multiply(expert.down, gate, expert.down_bias, down);
      const double factor = factors_.empty() ? 1 : double{factors_[order[i]]};
      const double weight = factor * weight_of(order[i]) / sum;
      for (std::size_t c = 0; c < width_; ++c)
        out[c] += static_cast<float>(0.5 * weight * double{down[c]});
    }
    return out;
  }

  void multiply(const Weight* by, const std::vector<float>& x, const float* bias,
                std::vector<float>& out) {
    EXPECT_TRUE(backend().matmul(*by, x.data(), 1, out.data()).ok());
    for (std::size_t i = 0; i < out.size() && bias != nullptr; ++i) out[i] += bias[i];
  }

  // Each token's output, of many each seventh's, is that of plainly().
  void expect_plain(std::size_t n, float limit_of_prompts) {
    const auto x = random_values(n * width_, 3);
    const auto got = fed(x, n);
    const bool is_prompt = test::is_prompt_of_card(GetParam(), n);
    const float limit = is_prompt ? limit_of_prompts : 2e-5f;
    for (std::size_t t = 0; t<n; t += n> 40 ? 7 : 1) {
      const auto want = plainly(x.data() + t * width_);
      // What operands of fp16 leave is of the sum's terms, not of the sum.
      const float most =
          std::abs(*std::ranges::max_element(want, {}, [](float v) { return std::abs(v); }));
      for (std::size_t c = 0; c < width_; ++c) {
        const float size = is_prompt ? most : std::abs(want[c]);
        ASSERT_NEAR(got[t * width_ + c], want[c], limit * (1 + size)) << t;
      }
    }
  }

  std::vector<float> gain_ = random_values(width_, 77);

 private:
  std::vector<std::unique_ptr<test::WeightFile>> files_;
  std::vector<std::unique_ptr<Weight>> weights_;
  const Weight* router_ = nullptr;
  std::vector<Backend::Expert> experts_;
  std::vector<float> router_bias_, router_gain_, factors_, choice_biases_;
  Backend::Weighting weighting_ = Backend::Weighting::softmax;
  std::vector<std::vector<float>> biases_;
  Activation activation_ = Activation::silu;
};

TEST_P(EveryMixture, adds_the_chosen_experts_weighed_by_a_softmax_over_them) {
  make_experts();
  expect_plain(20, 5e-3f);
}

TEST_P(EveryMixture, may_weigh_the_chosen_experts_by_a_softmax_over_all) {
  make_experts();
  weigh_over_all();
  expect_plain(7, 0);
  expect_plain(20, 5e-3f);
}

TEST_P(EveryMixture, adds_biases_of_the_router_and_of_each_product) {
  make_experts();
  give_biases();
  expect_plain(7, 0);
  expect_plain(20, 5e-3f);  // what stands between the products is up to 50
}

TEST_P(EveryMixture, may_norm_apart_for_the_router_weigh_experts_and_put_the_sum_elsewhere) {
  make_experts();
  set_apart();
  expect_plain(7, 1e-3f);
  expect_plain(20, 5e-3f);
}

TEST_P(EveryMixture, may_choose_by_sigmoids_and_biases_and_weigh_by_sigmoids_alone) {
  make_experts();
  weigh_by_sigmoid();
  expect_plain(7, 1e-3f);
  expect_plain(20, 5e-3f);
}

TEST_P(EveryMixture, may_have_experts_without_a_gate_whose_relu_is_squared) {
  make_experts();
  weigh_by_sigmoid();
  take_gates();
  expect_plain(7, 1e-3f);
  expect_plain(20, 5e-3f);
}

TEST_P(EveryMixture, takes_any_number_of_tokens_however_they_are_weighted) {
  make_experts();
  using enum Backend::Weighting;
  for (const Backend::Weighting weighting : {softmax, softmax_of_all, sigmoid}) {
    weigh_by(weighting);
    for (const std::size_t n : {1u, 3u, 16u, 17u, 100u}) expect_plain(n, 5e-3f);
  }
}

TEST_P(EveryMixture, has_weights_of_any_type) {
  width_ = inner_ = 256;
  gain_ = random_values(width_, 77);
  for (std::size_t i = 0; i < kWeightTypes.size(); ++i) {
    if (!takes(i, 3)) continue;
    make_experts(kWeightTypes[i], kWeightTypes[(i + 5) % kWeightTypes.size()]);
    SCOPED_TRACE(weight_type_traits(kWeightTypes[i]).name);
    expect_plain(3, 0);
    if (takes(i, 9)) expect_plain(18, 3e-2f);  // what stands between is large
  }
}

TEST_P(EveryMixture, may_have_an_expert_of_another_type) {
  make_experts();
  make_one_differ();
  expect_plain(3, 0);
  expect_plain(20, 1e-3f);
}

TEST_P(EveryMixture, gives_a_token_the_same_bytes_whatever_stands_beside_it) {
  make_experts();
  const std::size_t n = test::is_prompt_of_card(GetParam(), 40) ? 16 : 40;
  const auto x = random_values(n * width_, 9);
  const auto together = fed(x, n);
  std::vector<float> apart;
  for (std::size_t t = 0; t < n; ++t) {
    const auto from = x.begin() + static_cast<std::ptrdiff_t>(t * width_);
    const auto one = fed({from, from + static_cast<std::ptrdiff_t>(width_)}, 1);
    apart.insert(apart.end(), one.begin(), one.end());
  }
  EXPECT_EQ(together, apart);
  EXPECT_TRUE(fed({}, 0).empty());
}

TEST_P(EveryMixture, a_router_that_gives_no_number_is_an_error_of_its_own) {
  make_experts();
  auto x = random_values(3 * width_, 11);
  x[width_ + 5] = std::nanf("");
  const auto outcome = feed(x, 3);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, ErrorKind::internal);
  EXPECT_EQ(outcome.error().code, "LOGITS_NAN");
  EXPECT_TRUE(outcome.error().message.starts_with("A layer's expert router produced NaN"));
  weigh_by_sigmoid();
  const auto by_sigmoid = feed(x, 3);
  ASSERT_FALSE(by_sigmoid.ok());
  EXPECT_EQ(by_sigmoid.error().message, outcome.error().message);
}

TEST_P(EveryMixture, a_bias_is_added_to_the_product) {
  const Weight* first = weight(WeightType::q8_0, 33, width_);
  const Weight* second = weight(WeightType::q8_0, 20, width_);
  for (const std::size_t n : {1u, 7u}) {
    const auto x = random_values(n * width_, n), bias = random_values(20, 4);
    std::vector<float> plain(n * 33), product(n * 20), got_plain(n * 33), got(n * 20);
    ASSERT_TRUE(backend().matmul(*first, x.data(), n, plain.data()).ok());
    ASSERT_TRUE(backend().matmul(*second, x.data(), n, product.data()).ok());
    const Backend::Projection both[] = {{first, got_plain.data()},
                                        {second, got.data(), bias.data()}};
    ASSERT_TRUE(backend().project(x.data(), n, both).ok());
    EXPECT_EQ(got_plain, plain);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], product[i] + bias[i % 20]);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryRow, testing::ValuesIn(test::backend_rows()),
                         test::row_name);
INSTANTIATE_TEST_SUITE_P(Backends, EveryMixture, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
