#include "support/questions.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "support/lanes.h"

namespace satchel::test {

using namespace satchel::kernels;

Answer ask_all(Backend& backend, const std::vector<Question>& questions,
               const std::vector<std::vector<LaneView>>& lanes) {
  const std::size_t d = questions[0].head_dim, n_lanes = lanes[0].size();
  const std::size_t n_heads = questions[0].n_group * n_lanes;
  std::vector<std::int32_t> positions;
  std::vector<float> q;
  std::vector<std::unique_ptr<LaneTable>> tables;
  std::vector<Sequence> sequences;
  for (std::size_t s = 0; s < questions.size(); ++s) {
    const Question& question = questions[s];
    tables.push_back(table_of(backend, lanes[s]));
    sequences.push_back({.lanes = tables.back().get(),
                         .first_token = positions.size(),
                         .n_tokens = question.n_tokens});
    const auto halves = random_halves(question.n_tokens * n_heads * d, d, question.seed);
    for (const Half h : halves)
      q.push_back(half_to_float(h) * static_cast<float>(question.loudness));
    for (std::size_t i = 0; i < question.n_tokens; ++i)
      positions.push_back(question.first_position + static_cast<std::int32_t>(i));
  }
  const auto frequencies = rope_frequencies(d);
  std::vector<float> sinks;
  for (std::size_t l = 0; l < n_lanes; ++l)
    sinks.insert(sinks.end(), questions[0].sink_logits.begin(), questions[0].sink_logits.end());
  Answer answer{.out = std::vector<float>(q.size(), std::nanf("")),
                .lse = std::vector<float>(positions.size() * n_heads, std::nanf(""))};
  const auto done =
      backend.attend({.q = q.data(),
                      .n_heads = n_heads,
                      .n_kv_heads = n_lanes,
                      .head_dim = d,
                      .batch = {.positions = positions.data(), .n_tokens = positions.size()},
                      .sequences = sequences,
                      .scale = 1 / std::sqrt(static_cast<float>(d)),
                      .soft_cap = questions[0].soft_cap,
                      .window = questions[0].window,
                      .rope = {.inverse_frequency = frequencies},
                      .sink_logits = sinks,
                      .out = answer.out.data(),
                      .lse = answer.lse.data()});
  EXPECT_TRUE(done.ok());
  return answer;
}

Answer ask(Backend& backend, const Question& question, const std::vector<LaneView>& lanes) {
  return ask_all(backend, {question}, {lanes});
}

void expect_lse(const std::vector<float>& got, const std::vector<float>& want, float limit) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (want[i] == kNothingVisible)
      EXPECT_EQ(got[i], kNothingVisible) << i;
    else
      EXPECT_NEAR(got[i], want[i], limit + 1e-6f * std::abs(want[i])) << i;
  }
}

// Decoding over full packed pages, which a card's warps take alone: queries and weights are
// integers of 16 bits there (kernels/cuda/attention/packed_columns.h).
bool has_packed_pages_of_card(const BackendRow& row, const std::vector<LaneView>& lanes) {
  return row.backend.starts_with("cuda") && std::ranges::any_of(lanes, [](const LaneView& lane) {
           return std::ranges::any_of(lane.pages, [](const PageView& page) {
             const PageLayout& layout = *page.layout;
             return layout.capacity == kPageTokens && page.shift == 0 && !layout.k.is_exact() &&
                    (layout.head_dim == 64 || layout.head_dim == 128 || layout.head_dim == 256);
           });
         });
}

void AttendLikeReference::expect_like_reference(const Question& question,
                                                const std::vector<LaneView>& lanes, double limit,
                                                float lse_limit) {
  const Answer want = ask(reference(), question, lanes), got = ask(backend(), question, lanes);
  const bool is_prompt = is_prompt_of_card(GetParam(), question.n_tokens * question.n_group);
  if (is_prompt)
    limit = std::max(limit, kPromptOutput);
  else if (has_packed_pages_of_card(GetParam(), lanes))
    limit = std::max(limit, kPackedOutput);
  EXPECT_LE(distance(got.out, want.out), limit);
  expect_lse(got.lse, want.lse, is_prompt ? std::max(lse_limit, kPromptLse) : lse_limit);
}

}  // namespace satchel::test
