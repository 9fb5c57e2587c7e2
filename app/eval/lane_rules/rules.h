// The arithmetic of each rule by itself, for its own file and its tests. For this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "app/eval/lane_rules/seen_layer.h"
#include "app/eval/needle_tasks/needle.h"
#include "kvcache/shape/cache_shape.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::eval {

// razor: a head's worth from its rank in both lists, ties to the lower head. Above 1: among the
// heads that the paper takes, the top 1 % by echo and the top 14 % by induction, rounded up; else
// it would be taken if both parts were larger by a little more than 1 / worth. Infinite: the first
// of a list.
std::vector<double> razor_importances(std::span<const double> echo,
                                      std::span<const double> induction);
// The mean attention of a query head's repeated tokens, those behind the first first + n_once, to
// the token n_once before (echo), and to the one after that (induction).
struct RazorScores {
  double echo = 0, induction = 0;
};
RazorScores razor_scores(const SeenLayer& layer, std::size_t head, std::size_t first,
                         std::size_t n_once);
// Different ordinary text tokens in an order drawn by lot, always the same of a tokenizer; n at
// most.
std::vector<std::int32_t> razor_tokens(const runtime::Tokenizer& tokenizer, std::size_t n);

// headkv: B_h = (b - b/beta) + pi_h · (b/beta) · n, pi the worths over their sum, which is not 0.
std::vector<double> headkv_budgets(std::span<const double> importances, double mean, double beta);
// A text of a needle task with its questions and their answers behind it, and the steps that say an
// answer: the token at `from` is followed by one that is copied from `to`.
struct AnswerStep {
  std::size_t from = 0, to = 0;
};
struct AnsweredText {
  std::vector<std::int32_t> ids;
  std::vector<AnswerStep> steps;
};
Result<AnsweredText> headkv_text(const runtime::Tokenizer& tokenizer, const NeedleContext& context);
// The part of the steps in which a query head attends most to `to`; of equals the first counts.
double headkv_hits(const SeenLayer& layer, std::size_t head, std::span<const AnswerStep> steps);

// duo: how much of the attention of the last of n tokens, all with this one query and key before
// RoPE, is on early ones: the mean of the cumulated attention, 0 to 1. All on the first: 1; even:
// a little over one half.
double duo_early_part(const kvcache::LayerShape& layer, std::span<const double> query,
                      std::span<const double> key, std::size_t n_tokens);

// The same of a lane of a text: of the means over its tokens, then the mean over its query heads.
double duo_lane_part(const SeenLayer& layer, std::size_t lane);

}  // namespace satchel::eval
