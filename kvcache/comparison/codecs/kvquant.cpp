// A codebook of unequal steps for vectors brought to one range, K per channel, V per token, and the
// few values that stand out of their vector as they are.
//   planes  codes           [capacity, head_dim] of `bits`, low bits first
//           scale, zero     fp16, K [head_dim], V [capacity]: half the width of a vector's range,
//                           its middle
//           codebook        fp16 [2^bits], rising, from -1 to 1
//           outlier_places  u16 [n]: cells of [capacity, head_dim], rising; n is the plane's count
//           outlier_values  fp16 [n]
//   formula x = codebook[code] · scale + zero; then the outliers
//   params  bits      2, 3 or 4 (4)
//           outliers  part of the page's values that is kept as it is (0.01)
//   bytes   per value bits / 8 + 4 · outliers, and 4 / row, row = capacity (K), head_dim (V), and
//           2 · 2^bits / (capacity · head_dim): at 4 bits, head_dim 128 4.59 bits
//   bound   |x - decoded| <= scale · the distance to the nearest of the codebook, and the rounding
//           of three halves; outliers exact
//   source  arXiv:2401.18079 (KVQuant); its code (SqueezeAILab/KVQuant)
//   differs K after RoPE, as all of a cache's pages are, not before it; ranges of K are the page's,
//           not found beforehand; the codebook is the page's own, by k-means of its values, all of
//           which weigh the same, where the authors' is a layer's, weighed by gradients of the loss
//           on other texts. It needs no normalising afterwards (Q-Norm), as each of its entries is
//           the mean of what it stands for. Outliers are those farthest from their vector's mean by
//           its deviation, a fixed number in a page. A whole page is coded at once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kvcache/codecs/affine_grid.h"
#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kRounds = 40;  // of k-means at most; chosen, it settles before

std::size_t vector_of(const OperandVectors& vectors, std::size_t cell) {
  return vectors.is_k ? cell % vectors.head_dim : cell / vectors.head_dim;
}

// How far each value is from its vector's mean, in squares of its deviation.
std::vector<double> distances(const OperandVectors& vectors, const float* x) {
  std::vector<double> far(vectors.n_tokens * vectors.head_dim);
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    const CellRow cells = vectors.at(v);
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < cells.n; ++i) sum += static_cast<double>(x[cells.at(i)]);
    const double mean = sum / static_cast<double>(cells.n);
    for (std::size_t i = 0; i < cells.n; ++i) {
      const double off = static_cast<double>(x[cells.at(i)]) - mean;
      far[cells.at(i)] = off * off;
      squares += off * off;
    }
    for (std::size_t i = 0; i < cells.n && squares > 0; ++i)
      far[cells.at(i)] *= static_cast<double>(cells.n) / squares;
  }
  return far;
}

// The n cells that are farthest, rising; ties to the lower.
std::vector<std::size_t> farthest(const std::vector<double>& far, std::size_t n) {
  std::vector<std::size_t> cells(far.size());
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = i;
  n = std::min(n, cells.size());
  const auto end = cells.begin() + static_cast<std::ptrdiff_t>(n);
  std::partial_sort(cells.begin(), end, cells.end(), [&](std::size_t a, std::size_t b) {
    return far[a] != far[b] ? far[a] > far[b] : a < b;
  });
  cells.resize(n);
  std::sort(cells.begin(), cells.end());
  return cells;
}

// Borders between neighbours: what lies on one belongs to the lower.
std::vector<double> borders(const std::vector<double>& means) {
  std::vector<double> between;
  for (std::size_t i = 1; i < means.size(); ++i) between.push_back((means[i - 1] + means[i]) / 2);
  return between;
}

// k-means of numbers on a line, from their quantiles; k zeros of none.
std::vector<double> codebook_of(std::vector<double> x, std::size_t k) {
  std::vector<double> means(k), sums(1);
  if (x.empty()) return means;
  std::sort(x.begin(), x.end());
  for (const double value : x) sums.push_back(sums.back() + value);
  for (std::size_t i = 0; i < k; ++i) means[i] = x[(2 * i + 1) * x.size() / (2 * k)];
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::vector<double> before = means, between = borders(means);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < k; ++i) {
      const auto upper = i + 1 < k ? std::upper_bound(x.begin(), x.end(), between[i]) : x.end();
      const auto end = static_cast<std::size_t>(upper - x.begin());
      if (end > begin) means[i] = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
      begin = std::max(begin, end);
    }
    if (means == before) break;
  }
  return means;
}

class NuqCode final : public OperandCode {
 public:
  explicit NuqCode(Codec::Operand operand) : is_k_(operand == Codec::Operand::k) {}
  std::string_view name() const override { return is_k_ ? "kvquant.k" : "kvquant.v"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    if (n_tokens == 0) return;
    const OperandVectors vectors{.is_k = is_k_, .n_tokens = n_tokens, .head_dim = head_dim};
    const std::vector<bool> is_taken = take_outliers(layout, vectors, x, page);
    for (std::size_t v = 0; v < vectors.size(); ++v)
      put_range(layout, vectors.at(v), v, x, is_taken, page);
    const Plane &codes = layout.at(PlaneKind::codes), &scales = layout.at(PlaneKind::scale);
    const Plane &zeros = layout.at(PlaneKind::zero), &book = layout.at(PlaneKind::codebook);
    const auto level = [&](std::size_t cell) {  // in its vector's range; no range: 0
      const std::size_t v = vector_of(vectors, cell);
      const auto scale = static_cast<double>(float_at(page, scales, v));
      const auto zero = static_cast<double>(float_at(page, zeros, v));
      return scale > 0 ? (static_cast<double>(x[cell]) - zero) / scale : 0.0;
    };
    std::vector<double> levels;
    for (std::size_t cell = 0; cell < n_tokens * head_dim; ++cell)
      if (!is_taken[cell] && float_at(page, scales, vector_of(vectors, cell)) > 0)
        levels.push_back(level(cell));
    std::vector<double> means = codebook_of(std::move(levels), std::size_t{1} << codes.bits);
    for (std::size_t i = 0; i < means.size(); ++i) {
      put_float(page, book, i, means[i]);
      means[i] = static_cast<double>(float_at(page, book, i));  // as it will be read
    }
    const std::vector<double> between = borders(means);
    for (std::size_t cell = 0; cell < n_tokens * head_dim; ++cell) {
      if (is_taken[cell]) continue;
      const auto at = std::lower_bound(between.begin(), between.end(), level(cell));
      put_code(page, codes, cell, static_cast<unsigned>(at - between.begin()));
    }
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const OperandVectors vectors{.is_k = is_k_, .n_tokens = n_tokens, .head_dim = head_dim};
    const Plane &codes = layout.at(PlaneKind::codes), &book = layout.at(PlaneKind::codebook);
    for (std::size_t cell = 0; cell < n_tokens * head_dim; ++cell) {
      const std::size_t v = vector_of(vectors, cell);
      x[cell] = float_at(page, book, code_at(page, codes, cell)) *
                    float_at(page, layout.at(PlaneKind::scale), v) +
                float_at(page, layout.at(PlaneKind::zero), v);
    }
    const Plane* places = layout.find(PlaneKind::outlier_places);
    for (std::size_t i = 0; places != nullptr && i < places->count; ++i)
      if (const std::size_t cell = half_at(page, *places, i); cell < n_tokens * head_dim)
        x[cell] = float_at(page, layout.at(PlaneKind::outlier_values), i);
  }

 private:
  // A page of fewer values has its last place written several times.
  static std::vector<bool> take_outliers(const OperandLayout& layout, const OperandVectors& vectors,
                                         const float* x, std::byte* page) {
    std::vector<bool> is_taken(vectors.n_tokens * vectors.head_dim);
    const Plane* places = layout.find(PlaneKind::outlier_places);
    if (places == nullptr) return is_taken;
    const std::vector<std::size_t> taken = farthest(distances(vectors, x), places->count);
    for (std::size_t i = 0; i < places->count; ++i) {
      const std::size_t cell = taken[std::min(i, taken.size() - 1)];
      is_taken[cell] = true;
      put_half(page, *places, i, static_cast<Half>(cell));
      put_half(page, layout.at(PlaneKind::outlier_values), i, float_to_half(x[cell]));
    }
    return is_taken;
  }

  // Of what was not taken; all codes of a vector without spread stand for its middle.
  static void put_range(const OperandLayout& layout, CellRow cells, std::size_t v, const float* x,
                        const std::vector<bool>& is_taken, std::byte* page) {
    bool is_first = true;
    float low = 0, high = 0;
    for (std::size_t i = 0; i < cells.n; ++i) {
      if (is_taken[cells.at(i)]) continue;
      const float value = x[cells.at(i)];
      low = is_first ? value : std::min(low, value);
      high = is_first ? value : std::max(high, value);
      is_first = false;
    }
    const Half middle = float_to_half(low / 2 + high / 2);
    const float zero = half_to_float(middle);
    put_half(page, layout.at(PlaneKind::zero), v, middle);
    put_half(page, layout.at(PlaneKind::scale), v,
             float_to_half_up(std::max(high - zero, zero - low)));
  }

  bool is_k_;
};

class KvQuantCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    std::size_t bits = 4;
    double outliers = 0;
    SATCHEL_TRY_ASSIGN(bits, params.one_of("bits", 4, {2, 3, 4}));
    SATCHEL_TRY_ASSIGN(outliers,
                       params.number("outliers", {.fallback = 0.01, .min = 0, .max = 0.1}));
    k_ = std::make_shared<NuqCode>(Operand::k);
    v_ = std::make_shared<NuqCode>(Operand::v);
    make_planes([=](Operand operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const bool is_k = operand == Operand::k;
      const std::size_t n_values = capacity * head_dim, row = is_k ? capacity : head_dim;
      const auto n = static_cast<std::size_t>(
          std::llround(outliers * static_cast<double>(n_values)));  // 3,277 at most
      to.add_affine(bits, row, n_values, n_values / row);
      to.add({.kind = PlaneKind::codebook}, std::size_t{1} << bits);
      if (n == 0) return;
      const auto count = static_cast<std::uint16_t>(n);
      to.add({.kind = PlaneKind::outlier_places, .bits = 16, .count = count}, n);
      to.add({.kind = PlaneKind::outlier_values, .count = count}, n);
    });
    return {};
  }
};
}  // namespace

extern const StageMaker codecs_kvquant = stage_of<KvQuantCodec>("arXiv:2401.18079");
}  // namespace satchel::kvcache
