// The gated short convolution of every backend against the reference, in one chunk and in several,
// for one conversation and for several.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"
#include "unit/kernels/stateful_text.h"

namespace satchel::kernels {
namespace {

using test::random_values;

constexpr std::size_t kWidth = 37;

// A text of one conversation: its rows, and what becomes of them.
struct Text {
  std::size_t n_tokens, n_taps, width = kWidth;
  std::vector<float> rows = random_values(n_tokens * 3 * width, n_tokens);
  std::vector<float> taps = random_values(width * n_taps, n_taps);
  std::vector<float> out = std::vector<float>(n_tokens * width);
  std::vector<float> state = std::vector<float>((n_taps - 1) * width);

  ShortConvArgs args(std::size_t first, std::span<const StateSequence> sequences) {
    return {.rows = rows.data() + first * 3 * width,
            .taps = taps.data(),
            .width = width,
            .n_taps = n_taps,
            .sequences = sequences,
            .out = out.data() + first * width};
  }
  // In chunks of so many tokens: the first begins with zeros, and each goes on in place.
  void run(Backend& backend, std::size_t n_chunk) {
    for (std::size_t at = 0; at < n_tokens; at += n_chunk) {
      const StateSequence part{.n_tokens = std::min(n_chunk, n_tokens - at),
                               .before = at == 0 ? nullptr : state.data(),
                               .behind = state.data()};
      ASSERT_TRUE(backend.short_conv(args(at, {&part, 1})).ok());
    }
  }
};

class EveryShortConv : public test::OnEveryBackend {};

TEST_P(EveryShortConv, is_the_references_for_all_lengths_and_taps) {
  for (const std::size_t n_taps : {2u, 3u, 4u, 7u})
    for (const std::size_t n_tokens : {1u, 2u, 3u, 33u, 130u}) {
      Text want{.n_tokens = n_tokens, .n_taps = n_taps}, got = want;
      want.run(reference(), n_tokens);
      got.run(backend(), n_tokens);
      for (std::size_t i = 0; i < want.out.size(); ++i)
        ASSERT_NEAR(got.out[i], want.out[i], 1e-5f * (1 + std::abs(want.out[i])))
            << n_taps << " taps, " << n_tokens << " tokens, value " << i;
      EXPECT_EQ(got.state, want.state);
    }
}

TEST_P(EveryShortConv, gives_the_same_bytes_for_chunks_of_any_length) {
  for (const std::size_t n_taps : {3u, 4u})
    test::expect_same_bytes_in_chunks(Text{.n_tokens = 129, .n_taps = n_taps}, backend());
}

TEST_P(EveryShortConv, of_several_conversations_is_that_of_each_alone) {
  test::expect_each_as_alone(Text{.n_tokens = 47, .n_taps = 3},
                             [&](const auto& args) { return backend().short_conv(args); });
}

TEST_P(EveryShortConv, leaves_what_it_began_with_as_it_was) {
  test::expect_beginning_stays(Text{.n_tokens = 5, .n_taps = 4},
                               [&](const auto& args) { return backend().short_conv(args); });
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryShortConv, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
