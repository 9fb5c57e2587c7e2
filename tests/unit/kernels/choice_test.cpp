// argmax and top_k of every backend: ties, NaN, infinities, and the reference's answer.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

using test::random_values;

class EveryChoice : public test::OnEveryBackend {};

TEST_P(EveryChoice, argmax_is_the_first_of_the_largest) {
  for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 127u, 128u, 129u, 49'152u}) {
    auto logits = random_values(n, n);
    const auto check = [&] {
      const auto got = backend().argmax(logits.data(), n);
      const auto want = reference().argmax(logits.data(), n);
      ASSERT_TRUE(got.ok() && want.ok());
      EXPECT_EQ(*got, *want) << n;
    };
    check();
    logits[n - 1] = 1000;
    check();
    logits[n / 2] = 1000;
    EXPECT_EQ(*backend().argmax(logits.data(), n), static_cast<std::int32_t>(n / 2));
    logits.assign(n, -INFINITY);
    EXPECT_EQ(*backend().argmax(logits.data(), n), 0);
    logits.assign(n, 0.0f);
    logits[0] = -0.0f;
    EXPECT_EQ(*backend().argmax(logits.data(), n), 0);
  }
}

TEST_P(EveryChoice, a_nan_anywhere_is_an_error) {
  const std::size_t n = 49;
  for (std::size_t at = 0; at < n; ++at) {
    auto logits = random_values(n, 3);
    logits[0] = 1e6f;
    logits[at] = std::nanf("");
    const auto best = backend().argmax(logits.data(), n);
    ASSERT_FALSE(best.ok()) << at;
    EXPECT_EQ(best.error().code, "LOGITS_NAN");
    std::vector<Backend::Ranked> ranked(5);
    const auto top = backend().top_k(logits.data(), n, ranked);
    ASSERT_FALSE(top.ok()) << at;
    EXPECT_EQ(top.error().kind, ErrorKind::internal);
    EXPECT_EQ(top.error().code, "LOGITS_NAN");
  }
}

TEST_P(EveryChoice, top_k_is_the_references_with_ties) {
  for (const std::size_t n : {1u, 17u, 128u, 5000u}) {
    auto logits = random_values(n, n);
    for (std::size_t i = 0; i < n; i += 3) logits[i] = std::round(logits[i]);  // many ties
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{40}, n}) {
      if (k > n) continue;
      std::vector<Backend::Ranked> got(k), want(k);
      ASSERT_TRUE(backend().top_k(logits.data(), n, got).ok());
      ASSERT_TRUE(reference().top_k(logits.data(), n, want).ok());
      for (std::size_t i = 0; i < k; ++i) {
        ASSERT_EQ(got[i].index, want[i].index) << "rank " << i << " of " << k << " of " << n;
        ASSERT_EQ(got[i].value, want[i].value);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryChoice, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

TEST(Reference, ranks_as_written_by_hand) {
  auto backend = test::open_reference();
  const float logits[] = {1, 3, -INFINITY, 3, 2};
  EXPECT_EQ(*backend->argmax(logits, 5), 1);
  std::vector<Backend::Ranked> out(5);
  ASSERT_TRUE(backend->top_k(logits, 5, out).ok());
  const std::int32_t want[] = {1, 3, 4, 0, 2};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(out[i].index, want[i]);
}

}  // namespace
}  // namespace satchel::kernels
