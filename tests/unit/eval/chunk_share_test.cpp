// How much of a chunk is read again: values that follow from the paper's formulas by hand.
#include "app/eval/measure/chunk_share.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace satchel::eval {
namespace {

using Order = std::vector<std::size_t>;

// The fifth chunk of A, B, C, D, each of 100 tokens.
ChunkReading behind_four() {
  return {.n_tokens = 100,
          .behind = {0, 1, 2, 3},
          .n_behind = {100, 100, 100, 100},
          .outside = {10, 20, 30, 40},
          .inside = 0};
}

TEST(ChunkShare, nothing_is_read_again_behind_the_same_chunks_in_the_same_order) {
  const ChunkReading reading = behind_four();
  EXPECT_EQ(prefix_overlap(reading, Order{0, 1, 2, 3}), 1);
  EXPECT_EQ(reread_share(reading, Order{0, 1, 2, 3}, 1), 0);
  const ChunkReading first{
      .n_tokens = 100, .behind = {}, .n_behind = {}, .outside = {}, .inside = 90};
  EXPECT_EQ(reread_share(first, Order{}, 1), 0);
}

TEST(ChunkShare, chunks_that_change_places_count_less_by_the_pairs_that_do) {
  EXPECT_NEAR(prefix_overlap(behind_four(), Order{1, 0, 3, 2}), 1 - 2.0 / 6, 1e-12);
  EXPECT_NEAR(prefix_overlap(behind_four(), Order{3, 2, 1, 0}), 0, 1e-12);
}

TEST(ChunkShare, chunks_that_are_gone_take_their_attention_with_them) {
  EXPECT_EQ(prefix_overlap(behind_four(), Order{7, 8}), 0);
  EXPECT_NEAR(prefix_overlap(behind_four(), Order{3}), 0.4, 1e-12);
  EXPECT_NEAR(prefix_overlap(behind_four(), Order{1, 9, 3}), 0.6, 1e-12);
}

TEST(ChunkShare, what_attended_to_nothing_outside_has_half_the_impact) {
  ChunkReading reading = behind_four();
  reading.inside = 50;
  reading.outside = {0, 0, 0, 0};
  EXPECT_EQ(context_impact(reading), 0.5);
  EXPECT_EQ(reread_share(reading, Order{7}, 0.4), 0.2);
  // Outside .02 · 100 tokens² a pair, inside .005: four times as much.
  reading.outside = {50, 50, 50, 50};
  EXPECT_NEAR(context_impact(reading), 1 / (1 + std::exp(-4.0)), 1e-12);
}

TEST(ChunkShare, no_more_than_all_is_read_again) {
  ChunkReading reading = behind_four();
  reading.inside = 50;
  EXPECT_EQ(reread_share(reading, Order{7}, 5), 1);
}

}  // namespace
}  // namespace satchel::eval
