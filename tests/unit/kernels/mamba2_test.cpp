// Mamba-2 of every backend against the reference, in one chunk and in several, for one conversation
// and for several; the reference against the paper's other form, which carries no state.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"
#include "unit/kernels/stateful_text.h"

namespace satchel::kernels {
namespace {

using test::random_values;

// What a layer is.
struct MambaShape {
  std::size_t n_heads = 4, n_groups = 2, head_dim = 32, state_dim = 32, n_taps = 4;
  bool has_conv_bias = true;

  std::size_t width() const { return n_heads * head_dim; }
  std::size_t n_channels() const { return width() + 2 * n_groups * state_dim; }
  std::size_t state_values() const { return (n_taps - 1) * n_channels() + width() * state_dim; }
};

// A text of one conversation: its rows, and what becomes of them.
struct MambaText {
  MambaText(const MambaShape& of, std::size_t n) : shape(of), n_tokens(n) {
    for (float& value : rate) value = -0.5f - std::abs(value);
  }
  MambaShape shape;
  std::size_t n_tokens;
  std::vector<float> rows = random_values(n_tokens * shape.n_channels(), 1);
  std::vector<float> taps = random_values(shape.n_channels() * shape.n_taps, 2);
  std::vector<float> conv_bias = random_values(shape.n_channels(), 3);
  std::vector<float> step = random_values(n_tokens * shape.n_heads, 4);
  std::vector<float> rate = random_values(shape.n_heads, 5);
  std::vector<float> step_bias = random_values(shape.n_heads, 6);
  std::vector<float> skip = random_values(shape.n_heads, 7);
  std::vector<float> gate = random_values(n_tokens * shape.width(), 8);
  std::vector<float> gain = random_values(shape.width(), 9);
  std::vector<float> convolved = std::vector<float>(n_tokens * shape.n_channels());
  std::vector<float> out = std::vector<float>(n_tokens * shape.width());
  std::vector<float> state = std::vector<float>(shape.state_values());

  Mamba2Args args(std::size_t first, std::span<const StateSequence> sequences) {
    return {.rows = rows.data() + first * shape.n_channels(),
            .taps = taps.data(),
            .conv_bias = shape.has_conv_bias ? conv_bias.data() : nullptr,
            .n_taps = shape.n_taps,
            .n_heads = shape.n_heads,
            .n_groups = shape.n_groups,
            .head_dim = shape.head_dim,
            .state_dim = shape.state_dim,
            .step = step.data() + first * shape.n_heads,
            .rate = rate.data(),
            .step_bias = step_bias.data(),
            .skip = skip.data(),
            .gate = gate.data() + first * shape.width(),
            .gain = gain.data(),
            .epsilon = 1e-5f,
            .sequences = sequences,
            .convolved = convolved.data() + first * shape.n_channels(),
            .out = out.data() + first * shape.width()};
  }
  // In chunks of so many tokens: the first begins with zeros, and each goes on in place.
  void run(Backend& backend, std::size_t n_chunk) {
    for (std::size_t at = 0; at < n_tokens; at += n_chunk) {
      const StateSequence part{.n_tokens = std::min(n_chunk, n_tokens - at),
                               .before = at == 0 ? nullptr : state.data(),
                               .behind = state.data()};
      ASSERT_TRUE(backend.mamba2(args(at, {&part, 1})).ok());
    }
  }
};

void expect_near(std::span<const float> got, std::span<const float> want, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 2e-5f * (1 + std::abs(want[i]))) << what << ", value " << i;
}

class EveryMamba2 : public test::OnEveryBackend {};

TEST_P(EveryMamba2, is_the_references_for_all_shapes_and_lengths) {
  const MambaShape shapes[] = {
      {},
      {.n_heads = 1, .n_groups = 1, .head_dim = 7, .state_dim = 5, .n_taps = 2},
      {.n_heads = 3, .n_groups = 3, .head_dim = 40, .state_dim = 16, .has_conv_bias = false},
      {.n_heads = 6, .n_groups = 1, .head_dim = 80, .state_dim = 33, .n_taps = 3},
      {.n_heads = 2, .n_groups = 1, .head_dim = 64, .state_dim = 128},
      {.n_heads = 1, .n_groups = 1, .head_dim = 256, .state_dim = 256, .n_taps = 16}};
  for (const MambaShape& shape : shapes)
    for (const std::size_t n_tokens : {1u, 2u, 3u, 70u}) {
      MambaText want(shape, n_tokens), got = want;
      want.run(reference(), n_tokens);
      got.run(backend(), n_tokens);
      expect_near(got.out, want.out, "output");
      expect_near(got.state, want.state, "state");
    }
}

TEST_P(EveryMamba2, gives_the_same_bytes_for_chunks_of_any_length) {
  test::expect_same_bytes_in_chunks(MambaText({}, 129), backend());
}

TEST_P(EveryMamba2, of_several_conversations_is_that_of_each_alone) {
  test::expect_each_as_alone(MambaText({}, 47),
                             [&](const auto& args) { return backend().mamba2(args); });
}

TEST_P(EveryMamba2, leaves_what_it_began_with_as_it_was) {
  test::expect_beginning_stays(MambaText({}, 5),
                               [&](const auto& args) { return backend().mamba2(args); });
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryMamba2, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

double silu(double x) {
  return x / (1 + std::exp(-x));
}

// The paper's quadratic form (arXiv:2405.21060, section 3): no state, each token reads those before
// it, y[t] = Σ_s (C[t] · B[s]) · exp(rate · Σ_{s < r <= t} dt[r]) · dt[s] · x[s] + skip · x[t].
struct WithoutState {
  const MambaText& text;
  const MambaShape& shape = text.shape;

  // Of the convolution, by its definition.
  double channel(std::size_t t, std::size_t c) const {
    double sum = shape.has_conv_bias ? text.conv_bias[c] : 0;
    for (std::size_t back = 0; back < shape.n_taps && back <= t; ++back)
      sum += double{text.taps[c * shape.n_taps + shape.n_taps - 1 - back]} *
             text.rows[(t - back) * shape.n_channels() + c];
    return silu(sum);
  }
  double dt(std::size_t t, std::size_t head) const {
    return std::log1p(std::exp(double{text.step[t * shape.n_heads + head]} + text.step_bias[head]));
  }
  double y(std::size_t t, std::size_t head, std::size_t j) const {
    const std::size_t group = head / (shape.n_heads / shape.n_groups), n = shape.state_dim;
    const std::size_t b = shape.width() + group * n, c = b + shape.n_groups * n;
    double out = text.skip[head] * channel(t, head * shape.head_dim + j), waited = 0;
    for (std::size_t s = t + 1; s-- > 0; waited += dt(s, head)) {
      double seen = 0;
      for (std::size_t i = 0; i < n; ++i) seen += channel(t, c + i) * channel(s, b + i);
      out += seen * std::exp(text.rate[head] * waited) * dt(s, head) *
             channel(s, head * shape.head_dim + j);
    }
    return out;
  }
  std::vector<double> row(std::size_t t) const {
    std::vector<double> out(shape.width());
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = y(t, i / shape.head_dim, i % shape.head_dim) * silu(text.gate[t * out.size() + i]);
    const std::size_t n = shape.width() / shape.n_groups;
    for (std::size_t first = 0; first < out.size(); first += n) {
      double squares = 0;
      for (std::size_t i = first; i < first + n; ++i) squares += out[i] * out[i];
      for (std::size_t i = first; i < first + n; ++i)
        out[i] *= text.gain[i] / std::sqrt(squares / static_cast<double>(n) + 1e-5);
    }
    return out;
  }
};

TEST(Mamba2, is_what_the_form_without_a_state_says) {
  for (const std::size_t n_groups : {1u, 2u}) {
    MambaText text({.n_groups = n_groups, .head_dim = 6, .state_dim = 5}, 9);
    const auto reference = test::open_reference();
    text.run(*reference, 4);
    for (std::size_t t = 0; t < text.n_tokens; ++t) {
      const std::vector<double> want = WithoutState{text}.row(t);
      for (std::size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(text.out[t * want.size() + i], want[i], 1e-5) << t << ", " << i;
    }
  }
}

}  // namespace
}  // namespace satchel::kernels
