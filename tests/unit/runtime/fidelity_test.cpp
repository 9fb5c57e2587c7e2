#include "runtime/fidelity/fidelity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/base/rng.h"

namespace satchel::runtime {
namespace {

using Logits = std::vector<float>;

TEST(Fidelity, of_no_tokens_says_that_nothing_was_measured) {
  EXPECT_EQ(compare_logits({}, {}, 5).n_tokens, 0u);
}

TEST(Fidelity, of_equal_logits_is_whole_and_a_shift_of_all_changes_nothing) {
  const Logits exact = {1, 2, 3, -1, 0, 5};
  Logits shifted = exact;
  for (float& x : shifted) x += 8;
  const Fidelity fidelity = compare_logits(exact, shifted, 3);
  EXPECT_EQ(fidelity.n_tokens, 2u);
  EXPECT_EQ(fidelity.agreement, 1);
  EXPECT_NEAR(fidelity.kl, 0, 1e-12);
}

TEST(Fidelity, agreement_is_the_share_of_rows_with_the_same_top_token) {
  const Fidelity fidelity =
      compare_logits(Logits{1, 2, 1, 2, 1, 2, 1, 2}, Logits{1, 2, 2, 1, 1, 2, 1, 2}, 2);
  EXPECT_EQ(fidelity.n_tokens, 4u);
  EXPECT_DOUBLE_EQ(fidelity.agreement, 0.75);
}

TEST(Fidelity, a_tie_goes_to_the_lower_id_as_in_the_sampler) {
  EXPECT_EQ(compare_logits(Logits{2, 2, 1}, Logits{2, 1, 2}, 3).agreement, 1);
}

TEST(Fidelity, divergence_equals_the_formula_and_is_not_symmetric) {
  // p = (3/4, 1/4), q = (1/2, 1/2)
  const Logits p = {std::log(3.0f), 0}, q = {7, 7};
  EXPECT_NEAR(compare_logits(p, q, 2).kl, 0.75 * std::log(1.5) + 0.25 * std::log(0.5), 1e-7);
  EXPECT_NEAR(compare_logits(q, p, 2).kl, 0.5 * std::log(2.0 / 3) + 0.5 * std::log(2.0), 1e-7);
}

TEST(Fidelity, of_a_large_vocabulary_equals_the_formula_in_float64) {
  for (const std::size_t n : {1u, 127u, 128u, 129u, 49'152u}) {
    Rng rng(n);
    Logits p(n), q(n);
    for (std::size_t i = 0; i < n; ++i) {
      p[i] = static_cast<float>(30 * rng.uniform() - 40);
      q[i] = p[i] + static_cast<float>(rng.uniform());
    }
    double p_sum = 0, q_sum = 0, kl = 0;
    for (std::size_t i = 0; i < n; ++i) {
      p_sum += std::exp(double{p[i]});
      q_sum += std::exp(double{q[i]});
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double log_p = double{p[i]} - std::log(p_sum), log_q = double{q[i]} - std::log(q_sum);
      kl += std::exp(log_p) * (log_p - log_q);
    }
    EXPECT_NEAR(compare_logits(p, q, n).kl, kl, 1e-6) << n;
  }
}

TEST(Fidelity, stays_finite_for_logits_as_large_as_floats_go) {
  const Fidelity fidelity = compare_logits(Logits{1e30f, -1e30f}, Logits{1e30f, -INFINITY}, 2);
  EXPECT_EQ(fidelity.agreement, 1);
  EXPECT_EQ(fidelity.kl, 0);
}

}  // namespace
}  // namespace satchel::runtime
