// The refit of every backend against the reference, whose fits tests/unit/kvcache/refit_test.cpp
// compares with NumPy's.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

using test::random_values;

class EveryRefit : public test::OnEveryBackend {};

// Queries, and a lane of which a part stays.
struct RefitCase {
  std::size_t n_queries = 40, head_dim = 16, n_tokens = 60, n_kept = 20, n_fixed = 0,
              hold_every = 0;
  float soft_cap = 0, ridge = 0.1f, bound = 3;
};

struct Fitted {
  bool is_fitted = false;
  std::vector<Half> v;
  std::vector<float> weights;
};

class RefitLane {
 public:
  explicit RefitLane(const RefitCase& of) : of_(of) {
    const std::size_t d = of.head_dim;
    q = random_values(of.n_queries * d, 1);
    out.assign(of.n_queries * d, 0);
    lse.assign(of.n_queries, 0);
    beside = random_values(of.n_queries, 2);
    for (float& x : beside) x += 3;
    for (const float x : random_values(of.n_tokens * d, 3)) k.push_back(float_to_half(x));
    for (const float x : random_values(of.n_tokens * d, 4)) v.push_back(float_to_half(x));
    for (std::size_t i = 0; i < of.n_kept; ++i)
      kept.push_back(static_cast<std::int32_t>(i * of.n_tokens / of.n_kept));
    for (std::size_t r = 0; r < of.n_queries; ++r) attend(r);
  }

  Fitted fit(Backend& backend) const {
    Fitted fitted{.v = v, .weights = std::vector<float>(kept.size(), -1)};
    std::vector<float> work(RefitArgs::work_floats(of_.n_queries, of_.head_dim, kept.size()));
    const Result<bool> done = backend.refit({.q = q.data(),
                                             .out = out.data(),
                                             .lse = lse.data(),
                                             .lse_beside = beside.data(),
                                             .n_queries = of_.n_queries,
                                             .head_dim = of_.head_dim,
                                             .hold_every = of_.hold_every,
                                             .scale = scale(),
                                             .soft_cap = of_.soft_cap,
                                             .k = k.data(),
                                             .v = fitted.v.data(),
                                             .tokens = kept,
                                             .n_fixed = of_.n_fixed,
                                             .ridge = of_.ridge,
                                             .bound = of_.bound,
                                             .weights = fitted.weights,
                                             .work = work.data()});
    EXPECT_TRUE(done.ok());
    fitted.is_fitted = done.ok() && *done;
    return fitted;
  }

  std::vector<float> q, out, lse, beside;
  std::vector<Half> k, v;
  std::vector<std::int32_t> kept;

 private:
  float scale() const { return 2 / std::sqrt(static_cast<float>(of_.head_dim)); }
  void attend(std::size_t r) {
    const std::size_t d = of_.head_dim;
    std::vector<double> logits;
    double sum = 0;
    for (std::size_t t = 0; t < of_.n_tokens; ++t) {
      float logit = 0;
      for (std::size_t c = 0; c < d; ++c) logit += q[r * d + c] * half_to_float(k[t * d + c]);
      logit *= scale();
      if (of_.soft_cap > 0) logit = of_.soft_cap * std::tanh(logit / of_.soft_cap);
      logits.push_back(static_cast<double>(logit));
      sum += std::exp(logits.back());
    }
    lse[r] = static_cast<float>(std::log(sum));
    for (std::size_t t = 0; t < of_.n_tokens; ++t)
      for (std::size_t c = 0; c < d; ++c)
        out[r * d + c] +=
            static_cast<float>(std::exp(logits[t]) / sum) * half_to_float(v[t * d + c]);
  }

  RefitCase of_;
};

void expect_alike(const Fitted& got, const Fitted& want) {
  ASSERT_EQ(got.is_fitted, want.is_fitted);
  for (std::size_t i = 0; i < want.weights.size(); ++i)
    ASSERT_NEAR(got.weights[i], want.weights[i], 2e-3f * want.weights[i]) << i;
  for (std::size_t i = 0; i < want.v.size(); ++i)
    ASSERT_NEAR(half_to_float(got.v[i]), half_to_float(want.v[i]), 4e-3f) << i;
}

TEST_P(EveryRefit, is_the_references_for_every_size) {
  const std::vector<RefitCase> cases = {
      {},
      {.n_queries = 33, .n_tokens = 400, .n_kept = 300},  // blocks of tokens
      {.n_queries = 200, .head_dim = 33, .n_tokens = 90, .n_kept = 7},
      {.n_queries = 97, .head_dim = 64, .n_tokens = 300, .n_kept = 257, .n_fixed = 5},
      {.n_queries = 40, .n_kept = 20, .n_fixed = 20},
      {.n_queries = 64, .n_kept = 1, .hold_every = 9},
      {.n_queries = 150, .n_tokens = 500, .n_kept = 280, .n_fixed = 4, .hold_every = 9},
      {.n_queries = 130, .head_dim = 128, .soft_cap = 2, .ridge = 0.01f, .bound = 1},
      {.n_queries = 50, .bound = 0},
      {.n_queries = 1, .n_kept = 3}};
  std::size_t n_fitted = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!takes(i, 4)) continue;
    SCOPED_TRACE(i);
    const RefitLane lane(cases[i]);
    const Fitted want = lane.fit(reference());
    n_fitted += want.is_fitted;
    expect_alike(lane.fit(backend()), want);
  }
  EXPECT_GT(n_fitted, 0u);
}

// The queries held out want what the others do not: the fit does not help them.
TEST_P(EveryRefit, is_dropped_where_it_does_not_help_what_was_held_out) {
  RefitLane lane({.n_queries = 60, .hold_every = 3});
  const std::size_t d = 16;
  for (std::size_t r = 2; r < 60; r += 3)
    for (std::size_t c = 0; c < d; ++c) {
      lane.q[r * d + c] = lane.q[(r - 1) * d + c];
      lane.out[r * d + c] = -lane.out[(r - 1) * d + c];
      lane.lse[r] = lane.lse[r - 1];
    }
  const Fitted fitted = lane.fit(backend());
  EXPECT_FALSE(fitted.is_fitted);
  EXPECT_EQ(fitted.v, lane.v);
  EXPECT_EQ(fitted.weights, std::vector<float>(20, 1));
}

TEST_P(EveryRefit, of_what_is_not_finite_changes_nothing) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    RefitLane lane({});
    lane.out[5] = bad;
    const Fitted fitted = lane.fit(backend());
    EXPECT_FALSE(fitted.is_fitted);
    EXPECT_EQ(fitted.v, lane.v);
    EXPECT_EQ(fitted.weights, std::vector<float>(20, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryRefit, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
