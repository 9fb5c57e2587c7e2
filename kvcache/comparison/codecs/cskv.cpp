// Keys and values by the first coordinates of their lane, found once per model; of the others a
// page holds the mean. The exact window of the newest tokens is every lane's tail.
//   planes  token_factors   fp16 [capacity, rank], at 16 bits; else
//           codes           [capacity, rank] of `bits`, low bits first
//           scale, zero     fp16, K [capacity / 32, rank], V [capacity]
//           outlier_values  fp16 [head_dim - rank]: means of the coordinates that are left out
//   formula c = x · to; x = c' · fromᵀ. K: the key bases' coordinates, which queries are taken into
//           (kernels::Basis). V: the value bases, to = from, undone here
//   params  rank  part of head_dim that is kept (0.2: a fifth, the paper's 80 % less)
//           bits  16, 8 or 4 of a coordinate: of K a range for each coordinate and 32 tokens, of V
//                 one for each token (16)
//   bytes   bits per value 16 · rank + 16 · (1 - rank) / capacity; with codes K (bits + 1) · rank,
//           V bits · rank + 32 / head_dim, and the means
//   bound   none per value: what is left out is its coordinate's mean in the page; what is kept is
//           within scale / 2, or a half's rounding
//   needs   the model's KeyBases with values (`satchel calibrate --values`): a cache of a model
//           without them is refused
//   source  arXiv:2409.10593 (CSKV): K and V as B · A · x of rank r, x the layer's input, A and B
//           trained to reconstruct K and V; beside it a window of exact ones
//   differs of training with that loss the closed form is taken: of all B · A of a rank, the
//           projection on the largest principal components of K or V misses least, and it projects
//           k = W · x itself, so no layer input is held. Each head has its own rank and
//           coordinates, as a page is one head's, where the authors project all heads of a layer
//           together. K is weighted by its queries, and taken back to its page's frame of 512
//           positions, not to before RoPE. Components are about a page's mean. Quantisation is not
//           trained for; a minimum is an fp16 number, not a whole code cut to 0 … 15
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/codecs/affine_grid.h"
#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

using Operand = Codec::Operand;

constexpr std::size_t kKeyGroup = 32;  // tokens that share a key's range; the authors'

// The first coordinates of tokens, in planes: halves, or codes.
class Coordinates {
 public:
  Coordinates(const OperandLayout& layout, Operand which)
      : layout_(layout), which_(which), halves_(layout.find(PlaneKind::token_factors)) {}

  std::size_t rank() const {
    return halves_ != nullptr ? halves_->count : layout_.at(PlaneKind::codes).count;
  }
  // x [n_tokens, rank], of both.
  void put(const std::vector<float>& x, std::byte* page) const {
    for (std::size_t i = 0; halves_ != nullptr && i < x.size(); ++i)
      put_half(page, *halves_, i, float_to_half(x[i]));
    if (halves_ == nullptr)
      each_range(x.size() / rank(), [&](CellRow cells, std::size_t range) {
        AffinePlanes(layout_).encode(x.data(), cells, range, page);
      });
  }
  void get(const std::byte* page, std::vector<float>& x) const {
    for (std::size_t i = 0; halves_ != nullptr && i < x.size(); ++i)
      x[i] = float_at(page, *halves_, i);
    if (halves_ == nullptr)
      each_range(x.size() / rank(), [&](CellRow cells, std::size_t range) {
        AffinePlanes(layout_).decode(page, cells, range, x.data());
      });
  }

 private:
  template <class Body>
  void each_range(std::size_t n_tokens, const Body& body) const {
    const std::size_t r = rank(), group = which_ == Operand::k ? kKeyGroup : 1;
    for (std::size_t t = 0; t < n_tokens; t += group) {
      if (which_ == Operand::v) {
        body({.first = t * r, .n = r}, t);
        continue;
      }
      for (std::size_t i = 0; i < r; ++i)
        body({.first = t * r + i, .n = std::min(group, n_tokens - t), .step = r},
             t / group * r + i);
    }
  }

  const OperandLayout& layout_;
  Operand which_;
  const Plane* halves_;  // null: codes
};

// row · m, or row · mᵀ. m null: as it is.
enum class Way { in, out };
void take(Way way, const float* m, std::vector<float>& row) {
  if (m == nullptr) return;
  const std::size_t d = row.size();
  std::vector<float> sums(d);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) {
      const float factor = m[i * d + j];
      if (way == Way::in)
        sums[j] += row[i] * factor;
      else
        sums[i] += row[j] * factor;
    }
  row = std::move(sums);
}

class CskvCode final : public OperandCode {
 public:
  explicit CskvCode(Operand which) : which_(which) {}
  std::string_view name() const override { return which_ == Operand::k ? "cskv.k" : "cskv.v"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    if (n_tokens == 0) return;
    const Coordinates coordinates(layout, which_);
    const std::size_t rank = coordinates.rank();
    std::vector<float> first, row(head_dim);
    std::vector<double> sums(head_dim - rank);
    for (std::size_t t = 0; t < n_tokens; ++t) {
      row.assign(x + t * head_dim, x + (t + 1) * head_dim);
      take(Way::in, values_of(layout), row);
      first.insert(first.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(rank));
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(row[rank + i]);
    }
    coordinates.put(first, page);
    for (std::size_t i = 0; i < sums.size(); ++i)
      put_float(page, layout.at(PlaneKind::outlier_values), i,
                sums[i] / static_cast<double>(n_tokens));
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const Coordinates coordinates(layout, which_);
    const std::size_t rank = coordinates.rank();
    std::vector<float> first(n_tokens * rank), row(head_dim);
    coordinates.get(page, first);
    for (std::size_t t = 0; t < n_tokens; ++t) {
      std::copy_n(first.begin() + static_cast<std::ptrdiff_t>(t * rank), rank, row.begin());
      for (std::size_t i = rank; i < head_dim; ++i)
        row[i] = float_at(page, layout.at(PlaneKind::outlier_values), i - rank);
      take(Way::out, values_of(layout), row);
      std::copy(row.begin(), row.end(), x + t * head_dim);
    }
  }

 private:
  // Keys come in their coordinates.
  const float* values_of(const OperandLayout& layout) const {
    return which_ == Operand::v ? layout.basis.to : nullptr;
  }
  Operand which_;
};

class CskvCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    double part = 0;
    std::size_t bits = 16;
    SATCHEL_TRY_ASSIGN(part, params.number("rank", {.fallback = 0.2, .min = 0.02, .max = 1}));
    SATCHEL_TRY_ASSIGN(bits, params.one_of("bits", 16, {4, 8, 16}));
    k_ = std::make_shared<CskvCode>(Operand::k);
    v_ = std::make_shared<CskvCode>(Operand::v);
    transform_ = kernels::Transform::basis;
    bits_without_basis_ = 0;
    make_planes([=](Operand which, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const std::size_t rank = std::max<std::size_t>(
          1, static_cast<std::size_t>(std::llround(part * static_cast<double>(head_dim))));
      add_coordinates(which, bits, rank, capacity, to);
      if (rank < head_dim) to.add({.kind = PlaneKind::outlier_values}, head_dim - rank);
    });
    return {};
  }
  bool is_calibrated() const override { return true; }

 private:
  static void add_coordinates(Operand which, std::size_t bits, std::size_t rank,
                              std::size_t capacity, Planes& to) {
    const auto count = static_cast<std::uint16_t>(rank);
    if (bits == 16)
      return to.add({.kind = PlaneKind::token_factors, .count = count}, capacity * rank);
    to.add({.kind = PlaneKind::codes, .bits = static_cast<std::uint16_t>(bits), .count = count},
           capacity * rank);
    const std::size_t n_ranges = which == Operand::k ? capacity / kKeyGroup * rank : capacity;
    to.add({.kind = PlaneKind::scale}, n_ranges);
    to.add({.kind = PlaneKind::zero}, n_ranges);
  }
};
}  // namespace

extern const StageMaker codecs_cskv = stage_of<CskvCodec>("arXiv:2409.10593");
}  // namespace satchel::kvcache
