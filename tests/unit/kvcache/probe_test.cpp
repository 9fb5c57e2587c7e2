// The second pass of kvzip against plain loops over arXiv:2505.23416: which tokens of a text stay.
#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "cache_driver.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kBefore = 150, kText = 200, kPiece = 100, kSaidBefore = 5, kTail = 16;
using Scores = std::vector<std::vector<double>>;  // [n_lanes][kText]

// The most that any query of the pass gives each token of the piece at `first`, where attention
// runs over the sinks, the piece, the exact newest tokens, and what the pass has said so far.
void score_plainly(CacheDriver& driver, std::size_t first, Scores& scores) {
  const std::size_t begin = kBefore + kText, n = kSaidBefore + kPiece;
  for (std::size_t lane = 0; lane < driver.n_lanes(); ++lane) {
    const std::size_t layer = lane / 2, head = lane % 2;
    const LayerShape& shape = driver.shape().layers[layer];
    const std::size_t tail = begin - driver.cache().state().lanes[lane].n_tail();
    DecodedLane seen;
    for (const auto& [position, token] : driver.decode(layer, head)) {
      const auto at = static_cast<std::size_t>(position);
      if (at < kSinkTokens || (at >= first && at < first + kPiece) || at >= tail)
        seen.emplace(position, token);
    }
    for (std::size_t i = begin; i < begin + n; ++i) {
      const std::vector<float> k = driver.k(layer, i), q = driver.q(layer, i);
      const auto row = k.begin() + static_cast<std::ptrdiff_t>(head * shape.head_dim);
      const auto now = static_cast<std::int32_t>(i);
      DecodedToken& own = seen[now];
      own.k.assign(row, row + static_cast<std::ptrdiff_t>(shape.head_dim));
      own.v.assign(shape.head_dim, 0.0F);
      for (std::size_t h = head * shape.n_group(); h < (head + 1) * shape.n_group(); ++h) {
        const auto given = attend_plainly(q.data() + h * shape.head_dim, shape, now, seen).weights;
        for (std::size_t at = first; at < first + kPiece; ++at) {
          double& score = scores[lane][at - kBefore];
          score = std::max(score, given.at(static_cast<std::int32_t>(at)));
        }
      }
    }
  }
}

// The last tokens of every lane, then the best of all lanes together.
std::set<std::pair<std::size_t, std::int32_t>> chosen_plainly(const Scores& scores,
                                                              std::size_t n_kept) {
  std::vector<std::tuple<double, std::size_t, std::int32_t>> order;
  for (std::size_t lane = 0; lane < scores.size(); ++lane)
    for (std::size_t i = 0; i < kText; ++i)
      order.emplace_back(i + kTail >= kText ? 2.0 : scores[lane][i], lane,
                         static_cast<std::int32_t>(kBefore + i));
  std::sort(order.rbegin(), order.rend());
  std::set<std::pair<std::size_t, std::int32_t>> chosen;
  for (std::size_t i = 0; i < n_kept; ++i)
    chosen.emplace(std::get<1>(order[i]), std::get<2>(order[i]));
  return chosen;
}

TEST(SecondPass, what_stays_is_what_plain_loops_over_the_paper_keep) {
  CacheDriver driver({.recipe = "kvzip", .keep = 0.25, .n_layers = 2, .head_dim = 32});
  ASSERT_TRUE(driver.read(kBefore, {.kind = SegmentKind::pinned}).ok());
  ASSERT_TRUE(driver.read(kText).ok());
  Scores scores(driver.n_lanes(), std::vector<double>(kText));
  for (std::size_t first = kBefore; first < kBefore + kText; first += kPiece)
    score_plainly(driver, first, scores);
  ASSERT_EQ(driver.probe_all(kPiece).value(), 2u);
  ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::asked).ok());

  std::set<std::pair<std::size_t, std::int32_t>> kept;
  const std::vector<std::vector<std::int32_t>> all = driver.all_kept();
  for (std::size_t lane = 0; lane < all.size(); ++lane)
    for (const std::int32_t position : all[lane])
      if (position >= static_cast<std::int32_t>(kBefore)) kept.emplace(lane, position);
  EXPECT_EQ(kept.size(), kText * driver.n_lanes() / 4);
  EXPECT_EQ(kept, chosen_plainly(scores, kept.size()));
}

// Spans of one text as long as largest_fit() says, until it ends or no more fits.
std::size_t read_what_fits(CacheDriver& driver, std::size_t n_tokens) {
  std::size_t n_spans = 0;
  for (std::size_t n_left = n_tokens; n_left > 0;) {
    const PrefillRequest fits =
        driver.cache()
            .largest_fit({.n_tokens = n_left, .goes_on = n_left < n_tokens}, PassBytes{})
            .request;
    if (fits.n_tokens < 16) break;
    EXPECT_TRUE(driver.read(fits.n_tokens, {.goes_on = fits.goes_on, .finest = fits.finest}).ok());
    n_left -= fits.n_tokens;
    ++n_spans;
  }
  return n_spans;
}

// The driver holds each page's range against what is shown of it.
TEST(SecondPass, of_a_page_that_is_partly_in_its_piece_it_sees_no_more_than_that) {
  CacheDriver driver({.recipe = "kvzip", .n_layers = 2});
  ASSERT_TRUE(driver.read(40, {.kind = SegmentKind::pinned}).ok());
  ASSERT_TRUE(driver.read(500).ok());
  ASSERT_TRUE(driver.read(150, {.kind = SegmentKind::message}).ok());
  ASSERT_TRUE(driver.cache().compactor().end_turn().ok());
  const auto job = driver.cache().next_probe(250);
  ASSERT_TRUE(job.has_value());
  EXPECT_TRUE(driver.probe(*job).ok());
}

TEST(SecondPass, what_was_read_under_any_limit_can_be_packed) {
  std::size_t n_cut = 0;
  for (std::size_t limit = 660'000; limit < 1'100'000; limit += 29'000) {
    CacheDriver driver({.recipe = "kvzip",
                        .keep = 0.25,
                        .n_layers = 1,
                        .n_heads = 2,
                        .arena_bytes = limit,
                        .backend = "cpu"});
    driver.check_attention = false;
    n_cut += read_what_fits(driver, 1000) > 1 ? 1u : 0u;
    while (const auto job = driver.cache().next_probe(kProbeTokens))
      ASSERT_TRUE(driver.probe(*job, -1, kProbeScript).ok()) << limit;
    ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::idle).ok()) << limit;
    EXPECT_EQ(driver.cache().stats().n_pending, 0u);
    EXPECT_EQ(driver.cache().segments().size(), 1u) << "one text, one budget";
  }
  EXPECT_GT(n_cut, 2u);
}

}  // namespace
}  // namespace satchel::kvcache
