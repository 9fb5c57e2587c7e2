// Which tokens are kept: a total order, so that every backend and day gives the same ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/rng.h"
#include "support/backends.h"

namespace satchel::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Result<void> select(Backend& backend, const std::vector<float>& scores,
                    std::vector<std::int32_t>& kept) {
  const SelectArgs args{.scores = scores.data(),
                        .n_scores = scores.size(),
                        .keep = kept.size(),
                        .indices = kept.data()};
  return backend.select({&args, 1});
}

class EverySelect : public test::OnEveryBackend {
 protected:
  std::vector<std::int32_t> keep(const std::vector<float>& scores, std::size_t n) {
    std::vector<std::int32_t> out(n, -1);
    EXPECT_TRUE(select(backend(), scores, out).ok());
    return out;
  }
  using Kept = std::vector<std::int32_t>;
};

TEST_P(EverySelect, larger_scores_first_then_lower_indices_and_indices_rise) {
  EXPECT_EQ(keep({5, 1, 4, 2, 9, 9}, 2), (Kept{4, 5}));
  EXPECT_EQ(keep({5, 1, 4, 2, 9, 9}, 3), (Kept{0, 4, 5}));
  EXPECT_EQ(keep({1, 3, 3, 3, 2}, 2), (Kept{1, 2}));
  EXPECT_EQ(keep({7, 7, 7, 7}, 3), (Kept{0, 1, 2}));
  EXPECT_EQ(keep({0.0f, -0.0f, 0.0f}, 2), (Kept{0, 1}));  // equal zeros
}

TEST_P(EverySelect, nan_counts_as_minus_infinity_and_protected_is_plus_infinity) {
  const float nan = std::nanf("");
  EXPECT_EQ(keep({nan, -5, kInf, nan}, 2), (Kept{1, 2}));
  EXPECT_EQ(keep({nan, -kInf, -5}, 2), (Kept{0, 2}));
  EXPECT_EQ(keep({nan, -kInf, nan}, 3), (Kept{0, 1, 2}));
  EXPECT_EQ(keep({-kInf, nan, -kInf}, 1), (Kept{0}));
}

TEST_P(EverySelect, nothing_and_everything) {
  EXPECT_EQ(keep({}, 0), Kept{});
  EXPECT_EQ(keep({1, 2, 3}, 0), Kept{});
  EXPECT_EQ(keep({1, 2, 3}, 3), (Kept{0, 1, 2}));
}

TEST_P(EverySelect, long_lists_full_of_ties_are_the_references) {
  for (const std::size_t n : {1u, 127u, 128u, 129u, 5000u}) {
    for (const unsigned levels : {1u, 3u, 1000u}) {
      Rng rng(n + levels);
      std::vector<float> scores(n);
      for (float& s : scores) {
        const auto r = rng.next() % (levels + 2);
        s = r == levels ? kInf : r == levels + 1 ? std::nanf("") : static_cast<float>(r);
      }
      for (const std::size_t k : {n / 8, n / 2, n - 1, n}) {
        std::vector<std::int32_t> want(k);
        ASSERT_TRUE(select(reference(), scores, want).ok());
        EXPECT_EQ(keep(scores, k), want) << n << " " << levels << " " << k;
      }
    }
  }
}

TEST_P(EverySelect, the_lanes_of_one_call_are_chosen_apart) {
  const std::vector<std::vector<float>> scores = {{1, 2, 3}, {}, {9, 1, 8, 7}, {4}};
  const std::size_t keep[] = {2, 0, 2, 1};
  std::vector<std::vector<std::int32_t>> kept(4);
  std::vector<SelectArgs> items;
  for (std::size_t i = 0; i < 4; ++i) {
    kept[i].resize(keep[i]);
    items.push_back({scores[i].data(), scores[i].size(), keep[i], kept[i].data()});
  }
  ASSERT_TRUE(backend().select(items).ok());
  EXPECT_EQ(kept, (std::vector<Kept>{{1, 2}, {}, {0, 2}, {0}}));
}

INSTANTIATE_TEST_SUITE_P(Backends, EverySelect, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
