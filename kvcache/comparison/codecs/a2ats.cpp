// Keys as the nearest of a few codewords, stretch by stretch of their channels, where near is what
// queries see: distances are taken in coordinates in which they ask for all directions alike. V
// stays exact: a recipe gives it another codec.
//   planes  codes     [capacity, head_dim / width] of `bits`, low bits first
//           codebook  fp16 [head_dim / width, 2^bits, width]
//   formula k[s · width …] = codebook[s][codes[s]], transformed back
//   params  bits      4, 5 or 6 of a codeword's number (4)
//           width     channels of a codeword: 2, 4, 8 or 16 (4)
//           weighted  in the lane's own coordinates (true); else as keys are
//   bytes   per value of K bits / (8 · width) + 2 · 2^bits / capacity: 3 bits at 4 bits, width 4;
//           exact 16 of V
//   bound   none per value: the codewords are means of the page's keys by k-means, so that the mean
//           of squares is below the keys' variance within the page
//   needs   the model's KeyBases where it is weighted; without them keys are transformed by a
//           Hadamard matrix and all directions count alike
//   source  arXiv:2502.12665 (A2ATS), query-aware vector quantisation: with H the mean of q·qᵀ,
//           k-means of k·L, H = L·Lᵀ. The lane's coordinates are such an L (KeyBases: L = S^½·U)
//   differs the paper only chooses tokens by the codes, and reads their exact keys and values from
//           the host's memory; here attention reads what the codes stand for. One codebook serves
//           all positions there, as far keys are left without RoPE; here each page has its own,
//           after RoPE, which takes two thirds of its bytes. k-means starts from keys evenly over
//           the page
#include <algorithm>
#include <limits>
#include <vector>

#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kRounds = 12;  // of k-means at most; chosen, few change after six

// Points of `width` numbers.
using Points = std::vector<double>;

// Of k codewords the nearest one to a point, ties to the lower.
std::size_t nearest(const double* point, const Points& words, std::size_t width) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t w = 0; w < words.size() / width; ++w) {
    double distance = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double off = point[i] - words[w * width + i];
      distance += off * off;
    }
    if (distance < least) least = distance, best = w;
  }
  return best;
}

// points [n, width], n above 0; a codeword that is nearest to no point stays where it is.
Points codewords(const Points& points, std::size_t width, std::size_t k) {
  const std::size_t n = points.size() / width;
  Points words(k * width);
  for (std::size_t w = 0; w < k; ++w)
    std::copy_n(points.begin() + static_cast<std::ptrdiff_t>((2 * w + 1) * n / (2 * k) * width),
                width, words.begin() + static_cast<std::ptrdiff_t>(w * width));
  for (std::size_t round = 0; round < kRounds; ++round) {
    Points sums(k * width);
    std::vector<std::size_t> counts(k);
    for (std::size_t p = 0; p < n; ++p) {
      const std::size_t w = nearest(points.data() + p * width, words, width);
      ++counts[w];
      for (std::size_t i = 0; i < width; ++i) sums[w * width + i] += points[p * width + i];
    }
    const Points before = words;
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (counts[i / width] > 0) words[i] = sums[i] / static_cast<double>(counts[i / width]);
    if (words == before) break;
  }
  return words;
}

class WordCode final : public OperandCode {
 public:
  std::string_view name() const override { return "a2ats.k"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    if (n_tokens == 0) return;
    const Plane &codes = layout.at(PlaneKind::codes), &book = layout.at(PlaneKind::codebook);
    const std::size_t width = codes.group, n_stretches = head_dim / width;
    const std::size_t k = std::size_t{1} << codes.bits;
    Points points(n_tokens * width);
    for (std::size_t s = 0; s < n_stretches; ++s) {
      for (std::size_t i = 0; i < points.size(); ++i)
        points[i] = static_cast<double>(x[i / width * head_dim + s * width + i % width]);
      Points words = codewords(points, width, k);
      for (std::size_t i = 0; i < words.size(); ++i) {
        put_float(page, book, s * k * width + i, words[i]);
        words[i] = static_cast<double>(float_at(page, book, s * k * width + i));
      }
      for (std::size_t t = 0; t < n_tokens; ++t)
        put_code(page, codes, t * n_stretches + s,
                 static_cast<unsigned>(nearest(points.data() + t * width, words, width)));
    }
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const Plane &codes = layout.at(PlaneKind::codes), &book = layout.at(PlaneKind::codebook);
    const std::size_t width = codes.group, n_stretches = head_dim / width;
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i) {
      const std::size_t s = i / width % n_stretches, t = i / head_dim;
      const std::size_t word = (s << codes.bits) + code_at(page, codes, t * n_stretches + s);
      x[i] = float_at(page, book, word * width + i % width);
    }
  }
};

class A2AtsCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    std::size_t bits = 4, width = 4;
    bool is_weighted = true;
    SATCHEL_TRY_ASSIGN(bits, params.one_of("bits", 4, {4, 5, 6}));
    SATCHEL_TRY_ASSIGN(width, params.one_of("width", 4, {2, 4, 8, 16}));
    SATCHEL_TRY_ASSIGN(is_weighted, params.flag("weighted", true));
    k_ = std::make_shared<WordCode>();
    if (is_weighted) transform_ = kernels::Transform::basis;
    make_planes([=](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      to.add_codes(bits, capacity * head_dim / width, width);
      to.add({.kind = PlaneKind::codebook, .count = static_cast<std::uint16_t>(1u << bits)},
             head_dim << bits);
    });
    return {};
  }
  bool is_calibrated() const override { return transform_ == kernels::Transform::basis; }
};
}  // namespace

extern const StageMaker codecs_a2ats = stage_of<A2AtsCodec>("arXiv:2502.12665");
}  // namespace satchel::kvcache
