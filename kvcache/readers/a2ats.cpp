// Selects the pages whose tokens the query asks for, by a coarse picture of every key: each stretch
// of a key's channels is the nearest of 16 codewords.
//   note    for each stretch of `width` channels a scale, fp16, and its codewords, signed bytes
//           [16, width]; then codes of 4 bits [128, stretches], the lower bits first
//   bytes   16 · head_dim + 66 · head_dim / width a page: 1.3 KiB at head_dim 64, 4 % of an exact
//           page
//   formula a page's weight is ln sum exp(scale · q·key') over its live tokens, key' what the codes
//           stand for; weights become shares (PageReader)
//   params  tokens, pages, dense_layers  as ../stages/page_reader.h has them
//           width    channels of a codeword: 8, 16 or 32 (16)
//   source  arXiv:2502.12665 (A2ATS), attention weights from quantised keys
//   differs pages of up to 128 tokens are chosen, not tokens. Each page has a codebook of its own,
//           by k-means of its keys after RoPE, where one codebook of a head serves all positions in
//           the paper, as far keys are left without RoPE there: a reader knows neither positions
//           nor frequencies. Distances count all directions alike, where the paper's count as
//           queries see them: notes are made of keys alone (the codec `a2ats` has the weighted
//           ones). One list for the query heads of a lane
#include <algorithm>
#include <array>

#include "kvcache/stages/key_clusters.h"
#include "kvcache/stages/page_reader.h"

namespace satchel::kvcache {
namespace {

class A2AtsReader final : public PageReader {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY(read_budget(params));
    SATCHEL_TRY_ASSIGN(width_, params.one_of("width", 16, {8, 16, 32}));
    return {};
  }
  std::size_t note_bytes(std::size_t head_dim) const override {
    return codes_at(head_dim) + (kernels::kPageTokens * n_stretches(head_dim) * kBits + 7) / 8;
  }

  void note(std::span<const float> k, std::size_t head_dim,
            std::span<std::byte> note) const override {
    const std::size_t n_tokens = k.size() / head_dim;
    SATCHEL_ASSERT(note.size() == note_bytes(head_dim) && n_tokens <= kernels::kPageTokens);
    std::fill(note.begin(), note.end(), std::byte{0});
    for (std::size_t s = 0; n_tokens > 0 && s < n_stretches(head_dim); ++s) {
      const Stretch stretch = stretch_of(s, head_dim);
      const KeyClusters found(
          {.k = k, .head_dim = head_dim, .first = stretch.first, .width = stretch.width}, kWords,
          KeyClusters::Alike::near, kRounds);
      put_words(note, stretch, found);
      for (std::size_t t = 0; t < n_tokens; ++t)
        put_code(note, head_dim, t * n_stretches(head_dim) + s, found.of(t));
    }
  }

 private:
  static constexpr std::size_t kBits = 4, kWords = 1 << kBits;
  static constexpr std::size_t kRounds = 8;  // of k-means at most; chosen
  static constexpr double kLargest = 127;    // of a signed byte

  // Channels of a key, and where their scale and codewords are in the note.
  struct Stretch {
    std::size_t at, first, width;
  };

  std::size_t n_stretches(std::size_t head_dim) const { return (head_dim + width_ - 1) / width_; }
  std::size_t codes_at(std::size_t head_dim) const {
    return n_stretches(head_dim) * sizeof(Half) + kWords * head_dim;
  }
  Stretch stretch_of(std::size_t s, std::size_t head_dim) const {
    const std::size_t first = s * width_;
    return {.at = s * sizeof(Half) + kWords * first,
            .first = first,
            .width = std::min(width_, head_dim - first)};
  }

  static void put_words(std::span<std::byte> note, const Stretch& stretch,
                        const KeyClusters& found) {
    double most = 0;
    for (std::size_t c = 0; c < stretch.width; ++c)
      for (const double x : found.means(c)) most = std::max(most, std::abs(x));
    const Half scale = float_to_half_up(static_cast<float>(most / kLargest));
    const std::span<std::byte> to = note.subspan(stretch.at);
    put_half(to, 0, scale);
    if (most == 0) return;
    for (std::size_t c = 0; c < stretch.width; ++c) {
      const auto means = found.means(c);
      for (std::size_t w = 0; w < kWords; ++w)
        to[sizeof(Half) + w * stretch.width + c] = static_cast<std::byte>(static_cast<std::int8_t>(
            std::lround(means[w] / static_cast<double>(half_to_float(scale)))));
    }
  }

  void put_code(std::span<std::byte> note, std::size_t head_dim, std::size_t i,
                std::size_t code) const {
    note[codes_at(head_dim) + i / 2] |= static_cast<std::byte>(code << (i % 2 * kBits));
  }

  double weight(const NotedPage& page, std::span<const float> q, float scale) const override {
    std::array<float, kernels::kPageTokens> logits = {};
    const std::size_t n = n_stretches(q.size());
    const std::byte* codes = page.note.data() + codes_at(q.size());
    for (std::size_t s = 0; s < n; ++s) {
      const std::array<float, kWords> products = products_of(page, q, stretch_of(s, q.size()));
      for (std::size_t t = 0, i = s; t < page.n_tokens; ++t, i += n)
        logits[t] += products[(static_cast<unsigned>(codes[i / 2]) >> (i % 2 * kBits)) % kWords];
    }
    LogSum sum;
    for (std::size_t t = 0; t < page.n_tokens; ++t)
      if (page.live.has(t)) sum.add(static_cast<double>(scale * logits[t]));
    return sum.value();
  }

  // Of q's stretch with each codeword.
  static std::array<float, kWords> products_of(const NotedPage& page, std::span<const float> q,
                                               const Stretch& stretch) {
    const std::span<const std::byte> from = page.note.subspan(stretch.at);
    const float scale = half_at(from, 0);
    std::array<float, kWords> products;
    for (std::size_t w = 0; w < kWords; ++w) {
      float sum = 0;
      for (std::size_t c = 0; c < stretch.width; ++c)
        sum += q[stretch.first + c] * static_cast<float>(static_cast<std::int8_t>(
                                          from[sizeof(Half) + w * stretch.width + c]));
      products[w] = scale * sum;
    }
    return products;
  }

  std::size_t width_ = 16;
};
}  // namespace

extern const StageMaker readers_a2ats = stage_of<A2AtsReader>("arXiv:2502.12665");
}  // namespace satchel::kvcache
