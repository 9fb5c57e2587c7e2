// Scorers of keys, values and closed forms against NVIDIA's kvpress on the same prompt
// (tests/oracle/make_kvpress_fixtures.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/source_dir.h"
#include "unit/runtime/waiting_scores.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kFirst = 4;  // first tokens, kept in any case

struct ScoredSet {
  std::string scorer;
  Scores scores;
};
struct Fixture {
  Ids tokens;
  std::vector<ScoredSet> sets;
};
Fixture read_fixture(const std::filesystem::path& path) {
  std::ifstream file(path);
  Fixture fixture;
  std::string word;
  std::size_t n = 0;
  file >> word >> n;
  fixture.tokens.resize(n);
  for (auto& id : fixture.tokens) file >> id;
  while (file >> word >> n) {
    ScoredSet& set = fixture.sets.emplace_back();
    std::getline(file >> std::ws, set.scorer);
    set.scores.assign(n, std::vector<float>(fixture.tokens.size()));
    for (std::vector<float>& lane : set.scores)
      for (float& score : lane) file >> score;
  }
  return fixture;
}

std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_dir() + "/tests/golden/selection"))
    if (entry.path().filename().string().starts_with("kvpress_"))
      names.push_back(entry.path().stem().string().substr(8));
  std::sort(names.begin(), names.end());
  return names;
}

// Of what a lane's scores span, first tokens apart. Measured on 2026-11-22: at most 0.0025
// (leverage, whose keys have been rounded to fp16, where kvpress makes them anew from hidden
// states).
constexpr double kTolerance = 4e-3;
// Tokens of a stretch whose scores before ranking are nearly equal may have changed places.
constexpr double kOneRank = 1.0 / 64 + 1e-4;

class KvpressOracle : public testing::TestWithParam<std::tuple<std::string, const char*>> {};

TEST_P(KvpressOracle, scores_and_kept_sets_are_kvpress_s) {
  const auto& [name, backend] = GetParam();
  const Fixture fixture =
      read_fixture(test::source_dir() + "/tests/golden/selection/kvpress_" + name + ".txt");
  ASSERT_EQ(fixture.tokens.size(), 220u);
  ASSERT_FALSE(fixture.sets.empty());
  WaitingScores reader{open_model(std::move(GgufFile::open(bundled_model())).value(), backend)};
  for (const ScoredSet& set : fixture.sets) {
    SCOPED_TRACE(set.scorer);
    reader.read(set.scorer, fixture.tokens);
    const Scores got = reader.scores();
    ASSERT_EQ(got.size(), set.scores.size());
    const bool is_ranked = set.scorer == R"({"use": "lagkv", "lag": 64})";
    const double tolerance = is_ranked ? kOneRank : kTolerance;
    double largest = 0;
    std::size_t n_kept = 0, n_other = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::vector<float> a(got[i].begin() + kFirst, got[i].end());
      const std::vector<float> b(set.scores[i].begin() + kFirst, set.scores[i].end());
      const auto [least, most] = std::minmax_element(b.begin(), b.end());
      const double spans = double{*most} - double{*least};
      ASSERT_GT(spans, 0);
      for (std::size_t t = 0; t < a.size(); ++t)
        largest = std::max(largest, std::abs(double{a[t]} - double{b[t]}) / spans);
      for (const std::size_t part : {2u, 4u, 10u}) {
        const std::size_t n = a.size() / part;
        const std::set<std::size_t> kept = best(a, n), right = best(b, n);
        float last = *most;
        for (const std::size_t t : right) last = std::min(last, b[t]);
        n_kept += n;
        for (const std::size_t t : kept) {
          if (right.contains(t)) continue;
          ++n_other;
          // As good as the last that kvpress keeps.
          EXPECT_LE(std::abs(double{b[t]} - double{last}), 2 * tolerance * spans)
              << "lane " << i << " token " << t + kFirst;
        }
      }
    }
    EXPECT_LE(largest, tolerance);
    EXPECT_LE(n_other, n_kept / 200);
    std::printf(
        "%s, %s: scores differ by %.6f of their range at most, %zu of %zu kept are others\n",
        backend, set.scorer.c_str(), largest, n_other, n_kept);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, KvpressOracle,
                         testing::Combine(testing::ValuesIn(fixture_names()),
                                          testing::Values("reference", "cpu")),
                         [](const auto& row) {
                           return std::get<0>(row.param) + "_" + std::get<1>(row.param);
                         });

}  // namespace
}  // namespace satchel::runtime
