// Selects tokens by a few channels of their keys. A page keeps these label channels of every token
// at few bits, so that a step reads a small part of K to rank all tokens, and only the best whole.
//   note    channels [n_labels] 16 bits each, mean key [head_dim] fp16, then of each token: scale
//           and least value fp16, codes [n_labels] of `bits`; n_labels = head_dim / channels
//   bytes   at head_dim 64, 8 labels of 4 bits: 1,168 for a page of 128 tokens, 3.5 % of an exact
//           page
//   formula logit = q·mean + sum over labels of q_c (k_c - mean_c), times the layer's scale; a
//           token has the largest share of the lane's query heads
//   params  tokens  live tokens of the pages that are read (512); sinks and tail come on top
//           channels  one channel of so many is a label (8)
//           bits    of a label (4)
//           dense_layers  first layers that read everything (2)
//   source  arXiv:2408.07092 (Double Sparsity); 2 layers, 4 bits, 1 channel of 8: the authors' code
//   differs the paper calibrates the channels per model by |q k| over a corpus. Here a page takes
//           the channels in which its own keys differ most. That needs no file and follows the
//           text, but knows nothing of the queries: a channel that they never use may be a label.
//           The mean key stands for the other channels, which the paper leaves out. One list for
//           the query heads of a lane; layers with a window read all; pages that have been moved in
//           the text are always read
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/base/load_number.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kLabelsMax = 256;
constexpr std::size_t kChannelsMax = 1024;  // of a larger head the others are no labels

// Where the parts of a note are.
struct LabelNote {
  std::size_t n_labels = 0, head_dim = 0, bits = 4;

  std::size_t mean_at() const { return n_labels * sizeof(std::uint16_t); }
  std::size_t token_bytes() const { return 2 * sizeof(Half) + (n_labels * bits + 7) / 8; }
  std::size_t token_at(std::size_t t) const {
    return mean_at() + head_dim * sizeof(Half) + t * token_bytes();
  }
  std::size_t bytes() const {
    const std::size_t n = token_at(kernels::kPageTokens);
    return n + n % 2;
  }
  float most_code() const { return static_cast<float>((1u << bits) - 1); }
};

float half_of(const std::byte* at) {
  return half_to_float(load_number<Half>(at));
}
float put_rounded(float value, std::byte* at) {
  const Half half = float_to_half(value);
  std::memcpy(at, &half, sizeof half);
  return half_to_float(half);
}

void put_code(std::byte* codes, std::size_t i, std::size_t bits, std::uint32_t code) {
  for (std::size_t b = 0; b < bits; b += 4) {
    const std::size_t at = i * bits + b;
    codes[at / 8] |= static_cast<std::byte>(((code >> b) & 15u) << (at % 8));
  }
}
std::uint32_t code_at(const std::byte* codes, std::size_t i, std::size_t bits) {
  std::uint32_t code = 0;
  for (std::size_t b = 0; b < bits; b += 4) {
    const std::size_t at = i * bits + b;
    code |= ((static_cast<std::uint32_t>(codes[at / 8]) >> (at % 8)) & 15u) << b;
  }
  return code;
}

class DoubleSparsityReader final : public Reader {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(tokens_,
                       params.count("tokens", {.fallback = 512, .min = 1, .max = 1u << 30}));
    SATCHEL_TRY_ASSIGN(channels_, params.one_of("channels", 8, {1, 2, 4, 8, 16}));
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 4, {4, 8, 16}));
    SATCHEL_TRY_ASSIGN(dense_layers_,
                       params.count("dense_layers", {.fallback = 2, .min = 0, .max = 1000}));
    return {};
  }
  bool reads_all() const override { return false; }
  bool chooses_tokens() const override { return true; }
  std::size_t note_bytes(std::size_t head_dim) const override { return layout(head_dim).bytes(); }

  void note(std::span<const float> k, std::size_t head_dim,
            std::span<std::byte> note) const override {
    const LabelNote at = layout(head_dim);
    SATCHEL_ASSERT(note.size() == at.bytes() && k.size() <= kernels::kPageTokens * head_dim);
    std::fill(note.begin(), note.end(), std::byte{0});
    if (k.empty()) return;
    std::byte* const mean = note.data() + at.mean_at();
    const std::size_t n = k.size() / head_dim;
    for (std::size_t c = 0; c < head_dim; ++c) {
      double sum = 0;
      for (std::size_t t = 0; t < n; ++t) sum += static_cast<double>(k[t * head_dim + c]);
      put_rounded(static_cast<float>(sum / static_cast<double>(n)), mean + c * sizeof(Half));
    }
    take_channels(k, at, note);
    for (std::size_t t = 0; t < n; ++t) put_token(k.subspan(t * head_dim, head_dim), at, t, note);
  }

  void choose(const Step& step, std::vector<std::size_t>& chosen) const override {
    SATCHEL_ASSERT(step.read.size() == step.pages.size());
    std::size_t n_live = 0;
    for (const kernels::PageView& page : step.pages) n_live += page.live.count();
    const bool reads_all = step.layer < dense_layers_ || step.window != 0 || n_live <= tokens_;
    if (!reads_all) read_best(step);
    for (std::size_t page = 0; page < step.pages.size(); ++page)
      if (step.read[page].count() > 0) chosen.push_back(page);
  }

 private:
  LabelNote layout(std::size_t head_dim) const {
    const std::size_t n = std::clamp<std::size_t>(head_dim / channels_, 1, kLabelsMax);
    return {.n_labels = n, .head_dim = head_dim, .bits = bits_};
  }

  // The channels in which the keys differ most from their mean, rising.
  static void take_channels(std::span<const float> k, const LabelNote& at,
                            std::span<std::byte> note) {
    std::array<double, kChannelsMax> spread = {};
    const std::size_t n = std::min(at.head_dim, kChannelsMax);
    for (std::size_t c = 0; c < n; ++c) {
      const float mean = half_of(note.data() + at.mean_at() + c * sizeof(Half));
      for (std::size_t i = c; i < k.size(); i += at.head_dim) {
        const double apart = static_cast<double>(k[i] - mean);
        spread[c] += apart * apart;
      }
    }
    std::array<std::uint16_t, kChannelsMax> order;
    std::iota(order.begin(), order.end(), std::uint16_t{0});
    const auto labels = order.begin() + static_cast<std::ptrdiff_t>(at.n_labels);
    std::partial_sort(
        order.begin(), labels, order.begin() + static_cast<std::ptrdiff_t>(n),
        [&](auto a, auto b) { return spread[a] != spread[b] ? spread[a] > spread[b] : a < b; });
    std::sort(order.begin(), labels);
    std::memcpy(note.data(), order.data(), at.n_labels * sizeof(std::uint16_t));
  }

  static std::size_t channel(const LabelNote& at, const std::byte* note, std::size_t i) {
    return load_number<std::uint16_t>(note + i * sizeof(std::uint16_t)) % at.head_dim;
  }

  static void put_token(std::span<const float> key, const LabelNote& at, std::size_t t,
                        std::span<std::byte> note) {
    std::array<float, kLabelsMax> labels;
    for (std::size_t i = 0; i < at.n_labels; ++i) {
      const std::size_t c = channel(at, note.data(), i);
      labels[i] = key[c] - half_of(note.data() + at.mean_at() + c * sizeof(Half));
    }
    const auto end = labels.begin() + static_cast<std::ptrdiff_t>(at.n_labels);
    const auto [least, most] = std::minmax_element(labels.begin(), end);
    std::byte* const token = note.data() + at.token_at(t);
    const float scale = put_rounded((*most - *least) / at.most_code(), token);
    const float low = put_rounded(*least, token + sizeof(Half));
    for (std::size_t i = 0; i < at.n_labels; ++i) {
      const float code = scale > 0 ? std::nearbyint((labels[i] - low) / scale) : 0.0f;
      const float fits = std::clamp(code, 0.0f, at.most_code());
      put_code(token + 2 * sizeof(Half), i, at.bits, static_cast<std::uint32_t>(fits));
    }
  }

  // Clears all but the best tokens; of equals the earlier are read.
  void read_best(const Step& step) const {
    const std::size_t n_slots = step.work.size() / 2;
    const std::span<float> shares = step.work.first(n_slots), other = step.work.last(n_slots);
    std::fill(shares.begin(), shares.end(), kNotThere);
    for (std::size_t first = 0; first < step.q.size(); first += step.head_dim)
      raise_shares(step, step.q.subspan(first, step.head_dim), shares, other);
    std::copy(shares.begin(), shares.end(), other.begin());
    const auto last = other.begin() + static_cast<std::ptrdiff_t>(tokens_ - 1);
    std::nth_element(other.begin(), last, other.end(), std::greater<>());
    const float least = *last;
    std::size_t n_equal =
        tokens_ - static_cast<std::size_t>(std::count_if(shares.begin(), shares.end(),
                                                         [&](float x) { return x > least; }));
    std::size_t slot = 0;
    for (std::size_t i = 0; i < step.pages.size(); ++i) {
      const kernels::PageView& page = step.pages[i];
      for (std::size_t t = 0; t < page.n_tokens; ++t, ++slot) {
        const float share = shares[slot];
        const bool is_equal = share == least && n_equal > 0 && page.live.has(t);
        if (is_equal) --n_equal;
        if (!(share > least) && !is_equal && page.shift == 0) step.read[i].clear(t);
      }
    }
  }

  // One query head's shares of the live tokens, kept where larger than those of the heads before.
  void raise_shares(const Step& step, std::span<const float> q, std::span<float> shares,
                    std::span<float> logits) const {
    float most = kNotThere;
    std::size_t slot = 0;
    for (std::size_t i = 0; i < step.pages.size(); ++i) {
      page_logits(step, q, i, logits.subspan(slot, step.pages[i].n_tokens));
      for (std::size_t t = 0; t < step.pages[i].n_tokens; ++t, ++slot)
        most = std::max(most, logits[slot]);
    }
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit - most));
    const float whole = most + static_cast<float>(std::log(sum));
    for (std::size_t t = 0; t < shares.size(); ++t)
      shares[t] = std::max(shares[t], logits[t] - whole);
  }

  // What is not finite, as notes of a file may be, counts as least.
  void page_logits(const Step& step, std::span<const float> q, std::size_t page,
                   std::span<float> logits) const {
    const LabelNote at = layout(step.head_dim);
    const std::span<const std::byte> note = step.notes[page];
    SATCHEL_ASSERT(note.size() == at.bytes());
    std::array<float, kLabelsMax> of_labels;
    float of_mean = 0, of_low = 0;
    for (std::size_t c = 0; c < q.size(); ++c)
      of_mean += q[c] * half_of(note.data() + at.mean_at() + c * sizeof(Half));
    for (std::size_t i = 0; i < at.n_labels; ++i) {
      of_labels[i] = q[channel(at, note.data(), i)];
      of_low += of_labels[i];
    }
    for (std::size_t t = 0; t < logits.size(); ++t) {
      const std::byte* const token = note.data() + at.token_at(t);
      float dot = 0;
      for (std::size_t i = 0; i < at.n_labels; ++i)
        dot += of_labels[i] * static_cast<float>(code_at(token + 2 * sizeof(Half), i, at.bits));
      const float logit =
          step.scale * (of_mean + half_of(token) * dot + half_of(token + sizeof(Half)) * of_low);
      logits[t] = step.pages[page].live.has(t) && std::isfinite(logit) ? logit : kNotThere;
    }
  }

  std::size_t tokens_ = 512, channels_ = 8, bits_ = 4, dense_layers_ = 2;
};
}  // namespace

extern const StageMaker readers_double_sparsity =
    stage_of<DoubleSparsityReader>("arXiv:2408.07092");
}  // namespace satchel::kvcache
