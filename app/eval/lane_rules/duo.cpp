// DuoAttention without its training, after kvpress: a lane whose mean query still looks at early
// keys when position alone tells them apart retrieves; one that looks only at the end streams.
//   paper   trains a gate for each lane, on passkeys in long texts; lanes with the larger gates
//           stay whole. Nothing is trained here.
//   kvpress mean query and mean key of each head over a text, before RoPE; rotated to 500
//   positions,
//           the attention of the last query; the mean of that cumulated; the mean over a lane's
//           heads and over 50 chapters of books
//   here    over the texts of a head-budget profile (four that ship)
//   source  arXiv:2410.10819 (DuoAttention); kvpress, duo_attention_on_the_fly
#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/eval/lane_rules/attention_rule.h"
#include "app/eval/lane_rules/rules.h"
#include "kvcache/shape/rope_pairs.h"

namespace satchel::eval {
namespace {

constexpr std::size_t kPositions = 500;  // kvpress

std::vector<double> rotated(const kvcache::LayerShape& layer, std::span<const double> x,
                            double position) {
  std::vector<double> out(x.begin(), x.end());
  kvcache::rope_pairs(layer, position, std::span(out));
  return out;
}

// Over all tokens, of one of the heads.
std::vector<double> mean_of(std::span<const float> rows, std::size_t n_heads, std::size_t head,
                            std::size_t head_dim) {
  const std::size_t n_tokens = rows.size() / (n_heads * head_dim);
  std::vector<double> mean(head_dim);
  for (std::size_t t = 0; t < n_tokens; ++t)
    for (std::size_t i = 0; i < head_dim; ++i)
      mean[i] += double(rows[(t * n_heads + head) * head_dim + i]);
  for (double& value : mean) value /= static_cast<double>(n_tokens);
  return mean;
}

class Duo final : public AttentionRule {
 public:
  Duo(const runtime::ModelConfig& config, std::vector<SeenText> texts)
      : config_(config), texts_(std::move(texts)) {}

  std::span<const SeenText> texts() const override { return texts_; }
  std::size_t n_scores() const override { return config_.cache_shape().deciding_lanes().size(); }

  void look(std::size_t, const SeenLayer& layer, std::span<double> scores) const override {
    for (std::size_t lane = 0; lane < layer.shape.n_kv_heads; ++lane)
      scores[layer.first_lane + lane] = duo_lane_part(layer, lane);
  }

  Result<std::vector<double>> shares(std::span<const double> scores, double keep) const override {
    return whole_by_importance(scores, keep);
  }

 private:
  const runtime::ModelConfig& config_;
  std::vector<SeenText> texts_;
};

Result<LaneFindings> find(const LaneSearch& search) {
  const runtime::ModelConfig& config = search.engine.config();
  const runtime::ProfileLength length{
      .n_most = std::min(runtime::kProfileTokens, config.context),
      .n_least = std::min(runtime::kProfileTokensMin, config.context)};
  std::vector<SeenText> texts;
  for (const runtime::ProfileText& text :
       search.texts.empty() ? runtime::profile_texts() : search.texts) {
    SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> ids,
                       runtime::profile_ids(search.engine.tokenizer(), text, length));
    texts.push_back({std::string(text.name), std::move(ids)});
  }
  return find_by_attention(Duo(config, std::move(texts)), "duo", search);
}

}  // namespace

double duo_early_part(const kvcache::LayerShape& layer, std::span<const double> query,
                      std::span<const double> key, std::size_t n_tokens) {
  const auto last = rotated(layer, query, static_cast<double>(n_tokens - 1));
  std::vector<double> attention(n_tokens);
  for (std::size_t t = 0; t < n_tokens; ++t) {
    const auto at = rotated(layer, key, static_cast<double>(t));
    const double dot = std::inner_product(at.begin(), at.end(), last.begin(), 0.0);
    attention[t] = dot * double(layer.attention_scale);
  }
  const double most = *std::max_element(attention.begin(), attention.end());
  for (double& z : attention) z = std::exp(z - most);
  const double sum = std::accumulate(attention.begin(), attention.end(), 0.0);
  double so_far = 0, area = 0;
  for (const double part : attention) area += so_far += part / sum;
  return area / static_cast<double>(n_tokens);
}

double duo_lane_part(const SeenLayer& layer, std::size_t lane) {
  const kvcache::LayerShape& shape = layer.shape;
  const auto key = mean_of(layer.pre_rope_k, shape.n_kv_heads, lane, shape.head_dim);
  double sum = 0;
  for (std::size_t i = 0; i < shape.n_group(); ++i) {
    const std::size_t head = lane * shape.n_group() + i;
    const auto query = mean_of(layer.pre_rope_q, shape.n_heads, head, shape.head_dim);
    sum += duo_early_part(shape, query, key, kPositions);
  }
  return sum / static_cast<double>(shape.n_group());
}

extern const LaneRule rule_duo{
    .name = "duo",
    .about =
        "DuoAttention without training, as in kvpress: lanes whose mean query attends far back",
    .find = find};

}  // namespace satchel::eval
