// Affine codes, and beside them what they miss: the few largest and smallest values of each row as
// they are, and a low-rank picture of the error.
//   planes  codes            [capacity, head_dim] of `bits`, low bits first in a byte
//           scale, zero      fp16, K [capacity / group, head_dim]: per channel and group of tokens;
//                            V [capacity, head_dim / group]: per token and group of channels
//           outlier_places   bytes: K [head_dim, n], tokens; V [capacity, n], channels; rising
//           outlier_values   fp16 alike; n is the plane's count, even
//           token_factors    fp16 [capacity, rank]
//           channel_factors  fp16 [rank, head_dim]
//   formula x = codes · scale + zero + token_factors · channel_factors; then the outliers
//   params  bits     2, 4 or 8 (4)
//           group    16, 32, 64 or 128 (64); V's is the largest common divisor of it and head_dim
//           outliers part of a row (K: a channel's tokens, V: a token's channels) kept as it is
//                    (0.02)
//           rank     of the error (4)
//   bytes   per value bits / 8 + 4 / group + 3 · n / row + 2 · rank · (1 /
//           head_dim + 1 / capacity), n = outliers · row, rounded to an even number, row = capacity
//                    (K), head_dim (V)
//   bound   the error of a page, as the root of the sum of squares, is not larger than that of the
//           codes alone, each at most scale / 2, but for the rounding of the factors; outliers
//           exact
//   source  arXiv:2403.05527 (GEAR)
//   differs a filled outlier place is coded as the mean of the row's other values, so that it does
//           not widen the range; the iteration starts from signs of a fixed hash and
//           orthonormalises in every round; rank 4 in every page; places take one byte
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kvcache/codecs/affine_grid.h"
#include "kvcache/codecs/low_rank.h"
#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kRounds = 3;  // of the iteration: the authors' scripts

// What a layout says, with the indices that K and V read differently.
struct Form {
  OperandVectors rows;  // of outliers: channels (K) or tokens (V)
  AffinePlanes planes;
  const Plane *places = nullptr, *values = nullptr, *tokens = nullptr, *channels = nullptr;

  Form(const OperandVectors& of, const OperandLayout& layout)
      : rows(of),
        planes(layout),
        places(layout.find(PlaneKind::outlier_places)),
        values(layout.find(PlaneKind::outlier_values)),
        tokens(layout.find(PlaneKind::token_factors)),
        channels(layout.find(PlaneKind::channel_factors)) {}

  std::size_t range(std::size_t t, std::size_t c) const {
    const std::size_t group = planes.codes.group, d = rows.head_dim;
    return rows.is_k ? t / group * d + c : t * (d / group) + c / group;
  }
  std::size_t n_outliers() const { return places == nullptr ? 0 : places->count; }
  std::size_t rank() const { return tokens == nullptr ? 0 : tokens->count; }
};

// Takes the n / 2 largest and n / 2 smallest of each row out of x, ties to the lower entry, and
// marks them. A row of fewer values has its last place written several times.
void take_outliers(const Form& form, std::vector<float>& x, std::vector<bool>& is_taken,
                   std::byte* page) {
  const std::size_t n = form.n_outliers(), n_entries = form.rows.n_entries();
  std::vector<std::size_t> order(n_entries);
  for (std::size_t row = 0; n > 0 && row < form.rows.size(); ++row) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const float u = x[form.rows.cell(row, a)], v = x[form.rows.cell(row, b)];
      return u != v ? u > v : a < b;
    });
    std::vector<std::size_t> taken(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(n / 2, n_entries)));
    const std::size_t n_rest = n_entries - taken.size();
    taken.insert(taken.end(), order.end() - static_cast<std::ptrdiff_t>(std::min(n / 2, n_rest)),
                 order.end());
    std::sort(taken.begin(), taken.end());
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t entry = taken[std::min(i, taken.size() - 1)];
      page[form.places->at + row * n + i] = static_cast<std::byte>(entry);
      put_float(page, *form.values, row * n + i, double{x[form.rows.cell(row, entry)]});
    }
    double sum = 0;
    for (const std::size_t entry : taken) is_taken[form.rows.cell(row, entry)] = true;
    for (std::size_t e = 0; e < n_entries; ++e)
      if (!is_taken[form.rows.cell(row, e)]) sum += static_cast<double>(x[form.rows.cell(row, e)]);
    const std::size_t n_others = n_entries - taken.size();
    const double mean = n_others == 0 ? 0 : sum / static_cast<double>(n_others);
    for (const std::size_t entry : taken) x[form.rows.cell(row, entry)] = static_cast<float>(mean);
  }
}

// Codes one group of cells and leaves in x what the codes miss.
void code_group(const Form& form, CellRow cells, std::vector<float>& x, std::byte* page) {
  const AffineGrid grid = grid_of(x.data(), cells, form.planes.codes.bits);
  form.planes.put_range(
      page, form.range(cells.first / form.rows.head_dim, cells.first % form.rows.head_dim), grid);
  for (std::size_t i = 0; i < cells.n; ++i) {
    float& value = x[cells.at(i)];
    const unsigned code = grid.code_of(value);
    put_code(page, form.planes.codes, cells.at(i), code);
    value -= grid.value_of(code);
  }
}

void code_all(const Form& form, std::vector<float>& x, std::byte* page) {
  const std::size_t group = form.planes.codes.group, d = form.rows.head_dim;
  const std::size_t n_groups = (form.rows.n_entries() + group - 1) / group;
  for (std::size_t row = 0; row < form.rows.size(); ++row) {
    for (std::size_t g = 0; g < n_groups; ++g) {
      const std::size_t n = std::min(group, form.rows.n_entries() - g * group);
      const CellRow cells{
          .first = form.rows.cell(row, g * group), .n = n, .step = form.rows.is_k ? d : 1};
      code_group(form, cells, x, page);
    }
  }
}

class GearCode final : public OperandCode {
 public:
  explicit GearCode(Codec::Operand operand) : is_k_(operand == Codec::Operand::k) {}
  std::string_view name() const override { return is_k_ ? "gear.k" : "gear.v"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    if (n_tokens == 0) return;
    const Form form({is_k_, n_tokens, head_dim}, layout);
    std::vector<float> rest(x, x + n_tokens * head_dim);
    std::vector<bool> is_taken(rest.size());
    take_outliers(form, rest, is_taken, page);
    code_all(form, rest, page);
    for (std::size_t i = 0; i < rest.size(); ++i)
      if (is_taken[i]) rest[i] = 0;
    const std::size_t rank = form.rank();
    if (rank == 0) return;
    const LowRank low = factorise(rest, head_dim, rank, kRounds);
    for (std::size_t i = 0; i < low.tokens.size(); ++i)
      put_float(page, *form.tokens, i, low.tokens[i]);
    for (std::size_t c = 0; c < head_dim; ++c)
      for (std::size_t r = 0; r < rank; ++r)
        put_float(page, *form.channels, r * head_dim + c, low.channels[c * rank + r]);
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const Form form({is_k_, n_tokens, head_dim}, layout);
    for (std::size_t t = 0; t < n_tokens; ++t)
      for (std::size_t c = 0; c < head_dim; ++c) {
        const std::size_t cell = t * head_dim + c;
        form.planes.decode(page, {.first = cell, .n = 1}, form.range(t, c), x);
        for (std::size_t r = 0; r < form.rank(); ++r)
          x[cell] += float_at(page, *form.tokens, t * form.rank() + r) *
                     float_at(page, *form.channels, r * head_dim + c);
      }
    put_outliers_back(form, page, x);
  }

 private:
  static void put_outliers_back(const Form& form, const std::byte* page, float* x) {
    const std::size_t n = form.n_outliers();
    for (std::size_t row = 0; row < form.rows.size(); ++row)
      for (std::size_t i = 0; i < n; ++i) {
        const auto entry = std::to_integer<std::size_t>(page[form.places->at + row * n + i]);
        if (entry < form.rows.n_entries())  // bytes from outside may say anything
          x[form.rows.cell(row, entry)] = float_at(page, *form.values, row * n + i);
      }
  }

  bool is_k_;
};

class GearCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 4, {2, 4, 8}));
    SATCHEL_TRY_ASSIGN(group_, params.one_of("group", 64, {16, 32, 64, 128}));
    SATCHEL_TRY_ASSIGN(outliers_,
                       params.number("outliers", {.fallback = 0.02, .min = 0, .max = 0.5}));
    SATCHEL_TRY_ASSIGN(rank_, params.count("rank", {.fallback = 4, .min = 0, .max = 16}));
    k_ = std::make_shared<GearCode>(Operand::k);
    v_ = std::make_shared<GearCode>(Operand::v);
    make_planes([this](Operand operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      fill(operand, head_dim, capacity, to);
    });
    return {};
  }
  std::size_t capacity_step() const override { return std::max(group_, kernels::kPageStep); }

 private:
  void fill(Operand operand, std::size_t head_dim, std::size_t capacity, Planes& to) const {
    const bool is_k = operand == Operand::k;
    const std::size_t row = is_k ? capacity : head_dim, n_rows = is_k ? head_dim : capacity;
    const std::size_t group = std::gcd(group_, row);
    const auto half_n =
        static_cast<std::size_t>(std::llround(outliers_ * static_cast<double>(row) / 2));
    const auto n = static_cast<std::uint16_t>(2 * half_n), rank = static_cast<std::uint16_t>(rank_);
    const std::size_t n_values = head_dim * capacity;
    to.add_affine(bits_, group, n_values, n_values / group);
    if (n > 0) {
      to.add({.kind = PlaneKind::outlier_places, .bits = 8, .count = n}, n_rows * n);
      to.add({.kind = PlaneKind::outlier_values, .count = n}, n_rows * n);
    }
    if (rank > 0) {
      to.add({.kind = PlaneKind::token_factors, .count = rank}, capacity * rank_);
      to.add({.kind = PlaneKind::channel_factors, .count = rank}, head_dim * rank_);
    }
  }

  std::size_t bits_ = 4, group_ = 64, rank_ = 4;
  double outliers_ = 0.02;
};
}  // namespace

extern const StageMaker codecs_gear = stage_of<GearCodec>("arXiv:2403.05527");
}  // namespace satchel::kvcache
