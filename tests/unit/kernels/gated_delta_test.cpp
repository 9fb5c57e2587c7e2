// The gated delta rule of every backend against the reference, in one chunk and in several, for one
// conversation and for several; the reference against the rule written out.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"
#include "unit/kernels/stateful_text.h"

namespace satchel::kernels {
namespace {

using test::random_values;
using KeyHeads = GatedDeltaArgs::KeyHeads;

// What a layer is.
struct DeltaShape {
  std::size_t n_key_heads = 2, n_value_heads = 4, key_dim = 32, value_dim = 32, n_taps = 4;
  KeyHeads key_heads = KeyHeads::tiled;

  std::size_t n_channels() const { return 2 * n_key_heads * key_dim + n_value_heads * value_dim; }
  std::size_t state_values() const {
    return (n_taps - 1) * n_channels() + n_value_heads * key_dim * value_dim;
  }
};

// A text of one conversation: its rows, and what becomes of them.
struct DeltaText {
  DeltaText(const DeltaShape& of, std::size_t n) : shape(of), n_tokens(n) {
    for (float& value : rate) value = -0.5f - std::abs(value);
  }
  DeltaShape shape;
  std::size_t n_tokens;
  std::size_t n_heads = shape.n_value_heads, n_out = shape.n_value_heads * shape.value_dim;
  std::vector<float> rows = random_values(n_tokens * shape.n_channels(), 1);
  std::vector<float> taps = random_values(shape.n_channels() * shape.n_taps, 2);
  std::vector<float> decay = random_values(n_tokens * n_heads, 3);
  std::vector<float> strength = random_values(n_tokens * n_heads, 4);
  std::vector<float> rate = random_values(n_heads, 5), bias = random_values(n_heads, 6);
  std::vector<float> gate = random_values(n_tokens * n_out, 7);
  std::vector<float> gain = random_values(shape.value_dim, 8);
  std::vector<float> convolved = std::vector<float>(n_tokens * shape.n_channels());
  std::vector<float> out = std::vector<float>(n_tokens * n_out);
  std::vector<float> state = std::vector<float>(shape.state_values());

  GatedDeltaArgs args(std::size_t first, std::span<const StateSequence> sequences) {
    return {.rows = rows.data() + first * shape.n_channels(),
            .taps = taps.data(),
            .n_taps = shape.n_taps,
            .n_key_heads = shape.n_key_heads,
            .n_value_heads = n_heads,
            .key_dim = shape.key_dim,
            .value_dim = shape.value_dim,
            .key_heads = shape.key_heads,
            .decay = decay.data() + first * n_heads,
            .strength = strength.data() + first * n_heads,
            .rate = rate.data(),
            .decay_bias = bias.data(),
            .gate = gate.data() + first * n_out,
            .gain = gain.data(),
            .epsilon = 1e-6f,
            .sequences = sequences,
            .convolved = convolved.data() + first * shape.n_channels(),
            .out = out.data() + first * n_out};
  }
  // In chunks of so many tokens: the first begins with zeros, and each goes on in place.
  void run(Backend& backend, std::size_t n_chunk) {
    for (std::size_t at = 0; at < n_tokens; at += n_chunk) {
      const StateSequence part{.n_tokens = std::min(n_chunk, n_tokens - at),
                               .before = at == 0 ? nullptr : state.data(),
                               .behind = state.data()};
      ASSERT_TRUE(backend.gated_delta(args(at, {&part, 1})).ok());
    }
  }
};

void expect_near(std::span<const float> got, std::span<const float> want, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 2e-5f * (1 + std::abs(want[i]))) << what << ", value " << i;
}

class EveryGatedDelta : public test::OnEveryBackend {};

TEST_P(EveryGatedDelta, is_the_references_for_all_shapes_and_lengths) {
  const DeltaShape shapes[] = {
      {},
      {.n_key_heads = 1, .n_value_heads = 1, .key_dim = 7, .value_dim = 5, .n_taps = 2},
      {.key_dim = 16, .value_dim = 40, .n_taps = 3, .key_heads = KeyHeads::grouped},
      {.n_key_heads = 1, .n_value_heads = 2, .key_dim = 33, .value_dim = 64},
      {.n_key_heads = 1, .n_value_heads = 1, .key_dim = 128, .value_dim = 128}};
  for (const DeltaShape& shape : shapes)
    for (const std::size_t n_tokens : {1u, 2u, 3u, 70u}) {
      DeltaText want(shape, n_tokens), got = want;
      want.run(reference(), n_tokens);
      got.run(backend(), n_tokens);
      expect_near(got.out, want.out, "output");
      expect_near(got.state, want.state, "state");
    }
}

TEST_P(EveryGatedDelta, gives_the_same_bytes_for_chunks_of_any_length) {
  for (const KeyHeads key_heads : {KeyHeads::tiled, KeyHeads::grouped})
    test::expect_same_bytes_in_chunks(DeltaText({.key_heads = key_heads}, 129), backend());
}

TEST_P(EveryGatedDelta, of_several_conversations_is_that_of_each_alone) {
  test::expect_each_as_alone(DeltaText({}, 47),
                             [&](const auto& args) { return backend().gated_delta(args); });
}

TEST_P(EveryGatedDelta, leaves_what_it_began_with_as_it_was) {
  test::expect_beginning_stays(DeltaText({}, 5),
                               [&](const auto& args) { return backend().gated_delta(args); });
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryGatedDelta, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

// With one tap of 1 and keys of one value, a step can be done by hand: q and k become ±1.
TEST(GatedDelta, is_a_correction_of_what_is_known_by_what_is_new) {
  const DeltaShape shape{
      .n_key_heads = 1, .n_value_heads = 1, .key_dim = 1, .value_dim = 1, .n_taps = 2};
  DeltaText text(shape, 2);
  text.taps = {0, 1, 0, 1, 0, 1};
  text.rows = {3, 2, 1, 4, -5, 2};  // q, k, v of each token
  const auto reference = test::open_reference();
  text.run(*reference, 2);
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  const auto kept = [&](std::size_t t) {
    return std::exp(text.rate[0] * std::log1p(std::exp(text.decay[t] + text.bias[0])));
  };
  const auto strength = [&](std::size_t t) { return 1 / (1 + std::exp(-text.strength[t])); };
  const auto unit = [&](double x) { return silu(x) / std::sqrt(silu(x) * silu(x) + 1e-6); };
  double s = 0;
  for (std::size_t t = 0; t < 2; ++t) {
    const double q = unit(text.rows[3 * t]), k = unit(text.rows[3 * t + 1]);
    s *= kept(t);
    s += k * strength(t) * (silu(text.rows[3 * t + 2]) - k * s);
    const double normed = q * s / std::sqrt(q * s * q * s + 1e-6);
    EXPECT_NEAR(text.out[t], normed * text.gain[0] * silu(text.gate[t]), 1e-5);
  }
  EXPECT_NEAR(text.state.back(), s, 1e-6);
}

}  // namespace
}  // namespace satchel::kernels
