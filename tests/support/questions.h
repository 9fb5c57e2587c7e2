// Questions to attention and its answers, for tests of a backend against the reference.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/contract/backend.h"
#include "support/backends.h"

namespace satchel::test {

inline constexpr float kNothingVisible = -std::numeric_limits<float>::infinity();

// Query heads n_group for each lane, some tokens, and what comes out.
struct Question {
  std::size_t n_tokens = 1, n_group = 1, head_dim = 64;
  std::int32_t first_position = 0;
  double loudness = 1;
  std::uint64_t seed = 5;
  std::size_t window = 0;
  float soft_cap = 0;
  std::vector<float> sink_logits = {};  // [n_group]: of each lane's heads; empty: none
};
struct Answer {
  std::vector<float> out, lse;
};

// Several questions in one call: question i of the lanes[i].
Answer ask_all(kernels::Backend& backend, const std::vector<Question>& questions,
               const std::vector<std::vector<kernels::LaneView>>& lanes);
Answer ask(kernels::Backend& backend, const Question& question,
           const std::vector<kernels::LaneView>& lanes);

// Of prompts on a card, from the reference: distance of the output, logsumexp.
inline constexpr double kPromptOutput = 5e-4;
inline constexpr float kPromptLse = 2e-3f;
// Of decoding over packed pages on a card: distance of the output.
inline constexpr double kPackedOutput = 1e-3;
// And of a probability, as a share of it: 2^-11 of a logit's terms, up to 20 in the tests.
inline constexpr float kPromptShare = 1e-2f;

void expect_lse(const std::vector<float>& got, const std::vector<float>& want, float limit);

class AttendLikeReference : public OnEveryBackend {
 protected:
  void expect_like_reference(const Question& question, const std::vector<kernels::LaneView>& lanes,
                             double limit, float lse_limit);
};

}  // namespace satchel::test
