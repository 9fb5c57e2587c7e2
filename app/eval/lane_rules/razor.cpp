// RazorAttention's retrieval heads: random tokens say the same four times; heads that look back to
// where the token stood before (echo), or to the one that came next (induction), retrieve.
//   paper   2,500 random tokens, 4 times; retrieval heads are the top 1 % by echo and the top 14 %
//           by induction, the means of that attention; their lanes stay whole
//   here    as many tokens as fit the model's context 4 times, 2,500 at most, none of them twice in
//           a repeat, so that "before" is one place: the nearest. A lane's worth is the larger of
//           its heads', a head's how little both parts must grow until it is taken: where as many
//           lanes are whole as 1 % and 14 % give, it is the paper's set. A part of a head counts as
//           one, so that a small model has an echo head too. Layers with a window do not count.
//   differs other lanes get the least and no compensation token, which `satchel` has not
//   source  arXiv:2407.15891 (RazorAttention) section 3.2
#include <algorithm>

#include "app/eval/lane_rules/attention_rule.h"
#include "app/eval/lane_rules/rules.h"
#include "kernels/base/rng.h"

namespace satchel::eval {
namespace {

constexpr std::size_t kTokens = 2500, kRepeats = 4;
constexpr double kEchoPercent = 1, kInductionPercent = 14;
constexpr std::uint64_t kSeed = 1;  // chosen

// How many are larger, or as large and stand before it.
std::vector<double> ranks(std::span<const double> values) {
  const std::vector<std::size_t> order = largest_first(values);
  std::vector<double> rank(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<double>(i);
  return rank;
}

// Printable ASCII with a letter or digit in it.
bool is_ordinary(const runtime::Tokenizer& tokenizer, std::int32_t id) {
  std::string piece;
  tokenizer.append_piece(id, piece);
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return std::ranges::all_of(piece, is_plain) && std::ranges::any_of(piece, is_word);
}

class Razor final : public AttentionRule {
 public:
  Razor(const runtime::ModelConfig& config, std::span<const std::int32_t> start,
        std::span<const std::int32_t> once)
      : config_(config), first_(start.size()), n_once_(once.size()) {
    text_.name =
        std::to_string(once.size()) + " random tokens " + std::to_string(kRepeats) + " times";
    text_.ids.assign(start.begin(), start.end());
    for (std::size_t i = 0; i < kRepeats; ++i)
      text_.ids.insert(text_.ids.end(), once.begin(), once.end());
  }

  std::span<const SeenText> texts() const override { return {&text_, 1}; }
  std::size_t n_scores() const override { return 2 * n_heads_of(config_); }

  void look(std::size_t, const SeenLayer& layer, std::span<double> scores) const override {
    const std::size_t n_heads = scores.size() / 2;
    for (std::size_t head = 0; head < layer.shape.n_heads; ++head) {
      const RazorScores of = razor_scores(layer, head, first_, n_once_);
      scores[layer.first_head + head] = of.echo;
      scores[n_heads + layer.first_head + head] = of.induction;
    }
  }

  Result<std::vector<double>> shares(std::span<const double> scores, double keep) const override {
    const std::size_t n_heads = scores.size() / 2;
    const auto importances = razor_importances(scores.first(n_heads), scores.last(n_heads));
    return whole_by_importance(largest_of_heads(config_, importances), keep);
  }

 private:
  const runtime::ModelConfig& config_;
  std::size_t first_, n_once_;
  SeenText text_;
};

Result<LaneFindings> find(const LaneSearch& search) {
  const runtime::Tokenizer& tokenizer = search.engine.tokenizer();
  const runtime::ModelConfig& config = search.engine.config();
  std::vector<std::int32_t> start;
  if (tokenizer.adds_bos() && tokenizer.bos()) start.push_back(*tokenizer.bos());
  const std::size_t n_fit = (config.context - start.size()) / kRepeats;
  const auto once = razor_tokens(tokenizer, std::min(kTokens, n_fit));
  constexpr std::size_t kTokensMin = 16;  // chosen: fewer say nothing
  if (once.size() < kTokensMin)
    return Error{ErrorKind::invalid, "PARAM",
                 "The model's context or vocabulary is too small for random tokens repeated " +
                     std::to_string(kRepeats) + " times. Choose another rule."};
  return find_by_attention(Razor(config, start, once), "razor", search);
}

}  // namespace

RazorScores razor_scores(const SeenLayer& layer, std::size_t head, std::size_t first,
                         std::size_t n_once) {
  RazorScores sum;
  const std::size_t begin = first + n_once;
  for (std::size_t from = begin; from < layer.n_tokens; ++from) {
    sum.echo += layer.attention(head, from, from - n_once);
    sum.induction += layer.attention(head, from, from - n_once + 1);
  }
  const auto n = static_cast<double>(layer.n_tokens - begin);
  return {.echo = sum.echo / n, .induction = sum.induction / n};
}

std::vector<double> razor_importances(std::span<const double> echo,
                                      std::span<const double> induction) {
  const auto by_echo = ranks(echo), by_induction = ranks(induction);
  const auto n = static_cast<double>(echo.size());
  std::vector<double> importances(echo.size());
  for (std::size_t head = 0; head < importances.size(); ++head)
    importances[head] = std::max(kEchoPercent * n / (100 * by_echo[head]),
                                 kInductionPercent * n / (100 * by_induction[head]));
  return importances;
}

std::vector<std::int32_t> razor_tokens(const runtime::Tokenizer& tokenizer, std::size_t n) {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(tokenizer.size()); ++id)
    if (is_ordinary(tokenizer, id)) ids.push_back(id);
  n = std::min(n, ids.size());
  Rng rng(kSeed);
  for (std::size_t i = 0; i < n; ++i) {
    const double left = static_cast<double>(ids.size() - i);
    std::swap(ids[i], ids[i + static_cast<std::size_t>(rng.uniform() * left)]);
  }
  ids.resize(n);
  return ids;
}

extern const LaneRule rule_razor{
    .name = "razor",
    .about = "RazorAttention: heads that attend back where random tokens repeat",
    .reads_texts = false,
    .find = find};

}  // namespace satchel::eval
