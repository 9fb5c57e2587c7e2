// HeadKV's budgets: heads whose strongest attention, while an answer is said, is on the very token
// of the text that is said, retrieve; budgets grow with how often they do.
//   paper   needles in long texts; a head's score is the mean part of an answer's tokens that it
//           hits; B_h = (b - b/beta) + pi_h · (b/beta) · L · H, pi the scores over their sum, beta
//           1.5
//   here    needle texts of ours (families names, places, numbers), questions with their answers
//           one after the other behind the text; the right answer is teacher-forced, so a model
//           that cannot answer is scored too, and later questions have seen earlier ones. A
//           lane's score is the largest of its heads'. A lane that would get more than all of a
//           text gives the rest to the others in proportion.
//   differs scores are of retrieval alone, without the paper's needles that ask to reason
//   source  arXiv:2410.19258 (HeadKV) section 3, arXiv:2404.15574 (retrieval heads) section 2
#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/eval/lane_rules/attention_rule.h"
#include "app/eval/lane_rules/rules.h"
#include "app/eval/measure/packed_text.h"
#include "app/eval/needle_tasks/family.h"
#include "kernels/base/index_range.h"
#include "kvcache/stages/apportion.h"

namespace satchel::eval {
namespace {

constexpr double kBeta = 1.5;
constexpr std::string_view kFamilies[] = {"names", "places", "numbers"};
constexpr std::size_t kTextsOfFamily = 3, kTextTokens = 1000;  // chosen

// The first of what is seen most.
std::size_t strongest(const SeenLayer& layer, std::size_t head, std::size_t from) {
  std::size_t best = 0;
  double most = layer.logit(head, from, 0);
  for (std::size_t to = 1; to <= from; ++to) {
    const double z = layer.logit(head, from, to);
    if (z > most) best = to, most = z;
  }
  return best;
}

class HeadKv final : public AttentionRule {
 public:
  explicit HeadKv(const runtime::ModelConfig& config) : config_(config) {}

  void add(std::string name, AnsweredText text) {
    texts_.push_back({std::move(name), std::move(text.ids)});
    steps_.push_back(std::move(text.steps));
  }

  std::span<const SeenText> texts() const override { return texts_; }
  std::size_t n_scores() const override { return n_heads_of(config_); }

  void look(std::size_t text, const SeenLayer& layer, std::span<double> scores) const override {
    for (std::size_t head = 0; head < layer.shape.n_heads; ++head)
      scores[layer.first_head + head] = headkv_hits(layer, head, steps_[text]);
  }

  Result<std::vector<double>> shares(std::span<const double> scores, double keep) const override {
    const std::vector<double> importances = largest_of_heads(config_, scores);
    if (std::ranges::all_of(importances, [](double importance) { return importance == 0; }))
      return Error{ErrorKind::invalid, "PARAM",
                   "No head of this model attends to what a question asks for, so \"headkv\" found "
                   "nothing. Choose another rule."};
    std::vector<double> desired =
        headkv_budgets(importances, keep * static_cast<double>(runtime::kProfileTokens), kBeta);
    const double total = std::accumulate(desired.begin(), desired.end(), 0.0);
    std::vector<std::size_t> budgets(desired.size());
    kvcache::apportion(desired,
                       {.total = static_cast<std::size_t>(std::llround(total)),
                        .n_protected = kLaneTokensMin,
                        .cap = runtime::kProfileTokens},
                       budgets);
    std::vector<double> shares;
    for (const std::size_t budget : budgets)
      shares.push_back(static_cast<double>(budget) / static_cast<double>(runtime::kProfileTokens));
    return shares;
  }

 private:
  const runtime::ModelConfig& config_;
  std::vector<SeenText> texts_;
  std::vector<std::vector<AnswerStep>> steps_;  // [texts]
};

Result<LaneFindings> find(const LaneSearch& search) {
  const runtime::Tokenizer& tokenizer = search.engine.tokenizer();
  const std::size_t context = search.engine.config().context;
  const CountTokens count = [&](std::string_view text) -> Result<std::size_t> {
    SATCHEL_TRY_ASSIGN(const auto ids, tokenizer.encode(text, runtime::SpecialText::as_text));
    return ids.size();
  };
  HeadKv rule(search.engine.config());
  for (const std::string_view name : kFamilies)
    for (std::size_t seed = 1; seed <= kTextsOfFamily; ++seed) {
      // Half of the context at most, so that all questions have room.
      const NeedleSpec spec{.n_tokens = std::min(kTextTokens, context / 2), .seed = seed};
      SATCHEL_TRY_ASSIGN(const NeedleContext made,
                         make_needle_context(*find_needle_family(name), spec, count));
      SATCHEL_TRY_ASSIGN(AnsweredText text, headkv_text(tokenizer, made));
      if (text.ids.size() > context)
        return Error{ErrorKind::invalid, "PARAM",
                     "The model's context is too short for needles and their questions."};
      rule.add(std::string(name) + "-" + std::to_string(seed), std::move(text));
    }
  return find_by_attention(rule, "headkv", search);
}

// Where each token ends in what all of them say.
std::vector<std::size_t> token_ends(const runtime::Tokenizer& tokenizer,
                                    std::span<const std::int32_t> ids, std::string& said) {
  std::vector<std::size_t> ends;
  for (const std::int32_t id : ids) {
    tokenizer.append_piece(id, said);
    ends.push_back(said.size());
  }
  return ends;
}

// The tokens that have a part in the n bytes from `at` on.
IndexRange tokens_of(std::span<const std::size_t> ends, std::size_t at, std::size_t n) {
  const auto first = std::ranges::upper_bound(ends, at);
  const auto last = std::ranges::lower_bound(ends, at + n);
  return {.begin = static_cast<std::size_t>(first - ends.begin()),
          .end = static_cast<std::size_t>(last - ends.begin()) + 1};
}

// Where the text says the value, after as much of what the question ends with as it says too.
std::size_t find_answer(std::string_view text, const Needle& needle) {
  const std::string_view ask = needle.ask;
  for (std::size_t at = ask.find_first_not_of('\n'); at < ask.size(); ++at) {
    if (at > 0 && ask[at - 1] != ' ' && ask[at - 1] != '\n') continue;
    const std::string phrase = std::string(ask.substr(at)) + " " + needle.values[0];
    const std::size_t found = text.find(phrase);
    if (found != text.npos) return found + phrase.size() - needle.values[0].size();
  }
  return text.npos;
}

}  // namespace

std::vector<double> headkv_budgets(std::span<const double> importances, double mean, double beta) {
  const double sum = std::accumulate(importances.begin(), importances.end(), 0.0);
  const double fixed = mean - mean / beta;
  const double shared = mean / beta * static_cast<double>(importances.size());
  std::vector<double> budgets;
  for (const double importance : importances) budgets.push_back(fixed + importance / sum * shared);
  return budgets;
}

double headkv_hits(const SeenLayer& layer, std::size_t head, std::span<const AnswerStep> steps) {
  const auto n_hit = std::ranges::count_if(
      steps, [&](const AnswerStep& step) { return strongest(layer, head, step.from) == step.to; });
  return static_cast<double>(n_hit) / static_cast<double>(steps.size());
}

Result<AnsweredText> headkv_text(const runtime::Tokenizer& tokenizer,
                                 const NeedleContext& context) {
  std::string text;
  for (const std::string& part : context.parts) text += part;
  const std::size_t n_text = text.size();
  std::vector<std::size_t> answers;
  for (const Needle& needle : context.needles) {
    answers.push_back(text.size() + needle.ask.size() + 1);
    text += needle.ask + " " + needle.values[0] + ".";
  }
  AnsweredText out;
  SATCHEL_TRY_ASSIGN(out.ids, runtime::raw_ids(tokenizer, text));
  std::string said;
  const std::vector<std::size_t> ends = token_ends(tokenizer, out.ids, said);
  if (!said.ends_with(text))
    return Error{ErrorKind::internal, "TOKENIZER",
                 "The tokenizer does not reproduce a generated text. Choose another rule."};
  const std::size_t before = said.size() - text.size();  // a space that a tokenizer puts in front
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Needle& needle = context.needles[i];
    const std::size_t found = find_answer(std::string_view(text).substr(0, n_text), needle);
    if (found == text.npos)
      return Error{ErrorKind::invalid, "PARAM",
                   "The text does not contain \"" + needle.values[0] + "\"."};
    const IndexRange in_text = tokens_of(ends, before + found, needle.values[0].size());
    const IndexRange in_answer = tokens_of(ends, before + answers[i], needle.values[0].size());
    const std::size_t n = std::min(in_text.end - in_text.begin, in_answer.end - in_answer.begin);
    for (std::size_t t = 0; t < n; ++t) {
      // What follows may be one token with the value's end; then they are no copy.
      if (out.ids[in_text.begin + t] != out.ids[in_answer.begin + t]) break;
      out.steps.push_back({.from = in_answer.begin + t - 1, .to = in_text.begin + t});
    }
  }
  if (out.steps.empty())
    return Error{ErrorKind::invalid, "PARAM",
                 "This model's tokenizer splits every answer differently than in the text, so "
                 "\"headkv\" found nothing. Choose another rule."};
  return out;
}

extern const LaneRule rule_headkv{
    .name = "headkv",
    .about = "HeadKV: heads that attend to the token that an answer copies",
    .reads_texts = false,
    .find = find};

}  // namespace satchel::eval
