// Part of the retained tokens become mixed slots: a trained convolution over the keys and values of
// all that the heavy hitters leave says how much of each token goes into each slot.
//   params  heavy   share of a lane's retained tokens that stay as they are, the best by score and
//                   the protected (0.5); the others are slots
//   formula over a stretch of the tokens that are no heavy hitters, in their order, with its slots
//           i: weight of token j = (1 - η) [j is slot i's own] + η softmax_j(relu(conv_i [k v])_j);
//           k_i' = Σ weight · k_j, v alike; outside the stretch conv sees zeros
//   slots   the convolution has a fixed number of channels. A stretch has as many slots, or fewer
//           spread evenly over the channels; a text with more slots is cut into stretches of equal
//           slots, from slot to slot. A slot keeps its own token's position
//   needs   weights trained for the model (SelectorWeights): training/lococo makes them, a small
//           model's in minutes
//   cost    channels · kernel · 2 head_dim multiply-adds for each token that is no heavy hitter, on
//           the host and on one thread; a lane's K and V in fp32
//   source  arXiv:2406.05317 (LoCoCo)
//   differs the paper's memory has one size, and meets each new stretch of the text again; here a
//           text is compressed once, and the share that stays says how long the stretches are. One
//           convolution; keys are mixed after RoPE, as in the authors' code. There slots have no
//           position
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/stages/merge_rows.h"
#include "kvcache/stages/ranking.h"
#include "kvcache/stages/token_rows.h"

namespace satchel::kvcache {
namespace {

Error no_convolution(const std::optional<Error>& damage = {}) {
  return no_selector_weights(
      "The merger \"lococo\"", SelectorMethod::lococo,
      "The recipe \"h2o\" keeps heavy hitters alone, and needs no such weights.", damage);
}

// A trained convolution; [channel][offset][k v], so that what it sees of a token lies side by side.
class Convolution {
 public:
  Convolution(const SelectorWeights::LoCoCo& taught, std::size_t head_dim)
      : taught_(taught), n_in_(2 * head_dim), kernel_(taught.conv.shape[2]) {
    weights_.resize(taught.conv.values.size());
    for (std::size_t i = 0; i < n_channels(); ++i)
      for (std::size_t c = 0; c < n_in_; ++c)
        for (std::size_t at = 0; at < kernel_; ++at)
          weights_[(i * kernel_ + at) * n_in_ + c] =
              taught.conv.values[(i * n_in_ + c) * kernel_ + at];
  }
  std::size_t n_channels() const { return taught_.conv.n_rows(); }
  std::size_t n_in() const { return n_in_; }
  std::size_t n_beside() const { return kernel_ / 2; }  // tokens that it sees on either side

  // Softmax over a stretch of n tokens.
  //   padded  [n + 2 · n_beside(), n_in()], zeros at both ends
  //   out     weights [n]
  void mix(std::size_t channel, std::span<const float> padded, std::span<float> weights) const {
    constexpr float kMost = 1e30f;  // chosen: no network that is of use says more
    const float* of = weights_.data() + channel * kernel_ * n_in_;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const float x = dot_product(of, padded.data() + j * n_in_, kernel_ * n_in_) +
                      taught_.bias.values[channel];
      weights[j] = x > 0 ? std::min(x, kMost) : 0;
    }
    const float most = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (float& x : weights) sum += static_cast<double>(x = std::exp(x - most));
    for (float& x : weights) x = static_cast<float>(static_cast<double>(x) / sum);
  }

 private:
  const SelectorWeights::LoCoCo& taught_;
  std::size_t n_in_, kernel_;
  std::vector<float> weights_ = {};
};

class LoCoCoMerger final : public Merger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(heavy_, params.number("heavy", {.fallback = 0.5, .min = 0, .max = 1}));
    return {};
  }
  Result<void> check(const CacheShape& shape) const override {
    if (shape.selectors.of(SelectorMethod::lococo) != nullptr) return {};
    return no_convolution(shape.selectors.damage(SelectorMethod::lococo));
  }

  Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const override {
    const auto* taught = lane.selectors.get<SelectorWeights::LoCoCo>();
    if (taught == nullptr) return no_convolution();
    const std::vector<bool> is_slot = slots_of(lane);
    std::vector<std::size_t> tokens, slots;  // no heavy hitters; slots as indices into these
    for (std::size_t t = 0; t < lane.n_tokens; ++t) {
      if (!is_slot[t] && !is_dropped(lane, t)) continue;
      if (is_slot[t]) slots.push_back(tokens.size());
      tokens.push_back(t);
    }
    if (slots.empty() || slots.size() == tokens.size()) return {};
    SATCHEL_TRY_ASSIGN(LaneRows keys, download_rows(backend, lane.k, lane));
    SATCHEL_TRY_ASSIGN(LaneRows values, download_rows(backend, lane.v, lane));
    const Convolution convolution(*taught, lane.head_dim);
    const std::size_t n_stretches =
        (slots.size() + convolution.n_channels() - 1) / convolution.n_channels();
    for (std::size_t i = 0; i < n_stretches; ++i) {
      const std::size_t first = i * slots.size() / n_stretches,
                        end = (i + 1) * slots.size() / n_stretches;
      const std::size_t from = i == 0 ? 0 : slots[first],
                        to = i + 1 == n_stretches ? tokens.size() : slots[end];
      mix(convolution, taught->normalizer.values[0], std::span(tokens).subspan(from, to - from),
          std::span(slots).subspan(first, end - first), from, keys, values);
    }
    SATCHEL_TRY(upload_rows(backend, keys, lane.k));
    return upload_rows(backend, values, lane.v);
  }

 private:
  // Retained tokens that are neither protected nor heavy hitters.
  std::vector<bool> slots_of(const MergeLane& lane) const {
    const std::vector<std::size_t> kept = kept_tokens(lane);
    std::vector<float> scores;
    std::vector<bool> is_slot(lane.n_tokens);
    for (const std::size_t t : kept) {
      scores.push_back(lane.scores[t]);
      is_slot[t] = lane.scores[t] != kNeverEvict;
    }
    const auto n_heavy =
        static_cast<std::size_t>(std::ceil(heavy_ * static_cast<double>(kept.size())));
    for (const std::size_t i : best(scores, n_heavy)) is_slot[kept[i]] = false;
    return is_slot;
  }

  //   tokens  of one stretch; slots: indices into them, `from` too many
  static void mix(const Convolution& convolution, float blend, std::span<const std::size_t> tokens,
                  std::span<const std::size_t> slots, std::size_t from, LaneRows& keys,
                  LaneRows& values) {
    const std::size_t d = keys.head_dim, n_in = convolution.n_in();
    std::vector<float> padded((tokens.size() + 2 * convolution.n_beside()) * n_in);
    const auto of = [&](std::size_t j) {
      return padded.data() + (convolution.n_beside() + j) * n_in;
    };
    for (std::size_t j = 0; j < tokens.size(); ++j) {
      std::ranges::copy(keys.row(tokens[j]), of(j));
      std::ranges::copy(values.row(tokens[j]), of(j) + d);
    }
    std::vector<float> weights(tokens.size()), mixed(n_in);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      convolution.mix(i * convolution.n_channels() / slots.size(), padded, weights);
      const std::size_t own = slots[i] - from;
      for (std::size_t c = 0; c < n_in; ++c) mixed[c] = (1 - blend) * of(own)[c];
      for (std::size_t j = 0; j < tokens.size(); ++j)
        for (std::size_t c = 0; c < n_in; ++c) mixed[c] += blend * weights[j] * of(j)[c];
      std::copy_n(mixed.data(), d, keys.row(tokens[own]).data());
      std::copy_n(mixed.data() + d, d, values.row(tokens[own]).data());
    }
  }

  double heavy_ = 0.5;
};
}  // namespace

extern const StageMaker mergers_lococo = stage_of<LoCoCoMerger>("arXiv:2406.05317");
}  // namespace satchel::kvcache
