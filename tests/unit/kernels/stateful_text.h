// What every operation with a state keeps. A text has n_tokens, out and state,
// run(backend, n_chunk) and args(first token, sequences); `call` runs these args.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "kernels/contract/backend.h"
#include "support/weights.h"

namespace satchel::test {

template <class Text>
void expect_same_bytes_in_chunks(const Text& text, kernels::Backend& backend) {
  Text whole = text;
  whole.run(backend, whole.n_tokens);
  for (const std::size_t n_chunk : {1u, 2u, 7u, 64u}) {
    Text parts = text;
    parts.run(backend, n_chunk);
    EXPECT_EQ(parts.out, whole.out) << "chunks of " << n_chunk;
    EXPECT_EQ(parts.state, whole.state) << "chunks of " << n_chunk;
  }
}

// Of 47 tokens.
template <class Text, class Call>
void expect_each_as_alone(const Text& text, const Call& call) {
  constexpr std::size_t kLengths[] = {1, 5, 1, 40};
  ASSERT_EQ(text.n_tokens, 47u);
  Text all = text, alone = text;
  const std::vector<float> before = random_values(text.state.size(), 4);
  std::vector<std::vector<float>> states(std::size(kLengths), text.state);
  std::vector<kernels::StateSequence> sequences;
  std::size_t first = 0;
  for (std::size_t i = 0; i < std::size(kLengths); first += kLengths[i++])
    sequences.push_back({.first_token = first,
                         .n_tokens = kLengths[i],
                         .before = i == 1 ? nullptr : before.data(),
                         .behind = states[i].data()});
  ASSERT_TRUE(call(all.args(0, sequences)).ok());
  for (std::size_t i = 0; i < std::size(kLengths); ++i) {
    std::vector<float> state = text.state;
    kernels::StateSequence one = sequences[i];
    const std::size_t at = std::exchange(one.first_token, 0);
    one.behind = state.data();
    ASSERT_TRUE(call(alone.args(at, {&one, 1})).ok());
    EXPECT_EQ(state, states[i]) << i;
  }
  EXPECT_EQ(alone.out, all.out);
}

// Of 5 tokens.
template <class Text, class Call>
void expect_beginning_stays(Text text, const Call& call) {
  const std::vector<float> before = random_values(text.state.size(), 9), kept = before;
  const kernels::StateSequence apart{
      .n_tokens = 5, .before = before.data(), .behind = text.state.data()};
  ASSERT_EQ(text.n_tokens, 5u);
  ASSERT_TRUE(call(text.args(0, {&apart, 1})).ok());
  EXPECT_EQ(before, kept);
  EXPECT_NE(text.state, kept);
}

}  // namespace satchel::test
