// Variance-normalised tiles: a page's K or V, transformed by Hadamard, is divided by factors of its
// rows and of its columns until all of them vary alike; then each row has a grid of its own.
//   tile    rows have a scale and a zero, columns a factor. K: rows are channels, columns tokens;
//           V: rows are tokens, columns channels
//   planes  codes            [rows, columns] of `bits`, low bits first, across bytes
//           scale, zero      fp16 [rows]
//           token_factors    fp16 [capacity] (K), or
//           channel_factors  fp16 [head_dim] (V): of the columns, here a factor and no sum
//   formula x = (code · scale[row] + zero[row]) · factor[column], transformed back
//   params  bits   2, 3, 4 or 8 (4)
//           rounds of balancing; the best counts, not the last (6: more changed nothing on our
//                  tiles)
//           clip   a narrower grid where that misses less (at 2 and 3 bits)
//           prescale  to a root mean square of 2 to 4 before balancing (true; see `differs`)
//   bytes   per value bits / 8 + 2 · (2 · rows + columns) / (rows · columns): at 4 bits, head_dim
//           64 and 128 tokens 4.5 bits per value of K, 4.625 of V
//   bound   without clip each transformed value misses by half of its row's step times its column's
//           factor, and the rounding of three halves
//   source  KVarN: Variance-Normalized KV-Cache Quantization Mitigates Error Accumulation in
//           Reasoning Tasks; its reference (huawei-csl/KVarN) stores K at 4 bits, V at 2
//   differs the tile is brought to a root mean square of 2 to 4 before it is balanced, as the
//           bounds on the factors' logarithms are no measure of how large values are; clip is ours;
//           a page of fewer than 6 tokens is not balanced; blocks of the transform are the largest
//           power of two that divides head_dim
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/codecs/affine_grid.h"
#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

constexpr double kLogLeast = -0.3, kLogMost = 10;  // of a factor: the authors'
constexpr double kDeviationLeast = 1e-3, kDeviationMost = 1e3;
constexpr std::size_t kBalancedLeast = 6;  // of fewer tokens a deviation says nothing: measured
constexpr double kStepLeast = 1e-10;
constexpr double kHalfMost = 60000;
constexpr double kClipStep = 0.05;
constexpr int kClips = 11;  // 1, 0.95 … 0.5 of a row's half range

// A page's operand as rows, which are its vectors, and columns.
const Plane& column_factors(const OperandLayout& layout, bool is_k) {
  return layout.at(is_k ? PlaneKind::token_factors : PlaneKind::channel_factors);
}

// [rows, columns] in double, and what it is divided by.
struct Balanced {
  std::vector<double> values;
  std::vector<double> of_rows, of_columns;
};

// Of n values, `step` apart, as a sample's; 0 of a single one.
double deviation(const double* x, std::size_t n, std::size_t step) {
  if (n < 2) return 0;
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) mean += x[i * step];
  mean /= static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) squares += (x[i * step] - mean) * (x[i * step] - mean);
  return std::sqrt(squares / static_cast<double>(n - 1));
}

class Balancer {
 public:
  Balancer(std::vector<double> tile, std::size_t n_rows, std::size_t n_columns)
      : tile_(std::move(tile)),
        now_(tile_),
        log_rows_(n_rows),
        log_columns_(n_columns),
        best_{.values = tile_,
              .of_rows = std::vector<double>(n_rows, 1),
              .of_columns = std::vector<double>(n_columns, 1)},
        least_(imbalance()) {}

  Balanced run(std::size_t n_rounds) && {
    const std::size_t n_rows = log_rows_.size(), n_columns = log_columns_.size();
    for (std::size_t round = 0; round < n_rounds; ++round) {
      for (std::size_t c = 0; c < n_columns; ++c)
        log_columns_[c] = grown(log_columns_[c], deviation(&now_[c], n_rows, n_columns));
      divide();
      for (std::size_t r = 0; r < n_rows; ++r)
        log_rows_[r] = grown(log_rows_[r], deviation(&now_[r * n_columns], n_columns, 1));
      divide();
      keep_if_better();
    }
    return std::move(best_);
  }

 private:
  static double grown(double log, double deviation) {
    return std::clamp(log + std::log(std::clamp(deviation, kDeviationLeast, kDeviationMost)),
                      kLogLeast, kLogMost);
  }
  void divide() {
    const std::size_t n_columns = log_columns_.size();
    std::vector<double> of_columns(n_columns);
    for (std::size_t c = 0; c < n_columns; ++c) of_columns[c] = std::exp(log_columns_[c]);
    for (std::size_t r = 0; r < log_rows_.size(); ++r) {
      const double of_row = std::exp(log_rows_[r]);
      for (std::size_t c = 0; c < n_columns; ++c)
        now_[r * n_columns + c] = tile_[r * n_columns + c] / (of_columns[c] * of_row);
    }
  }
  // How far the deviations of rows lie apart, and those of columns.
  double imbalance() const {
    const std::size_t n_rows = log_rows_.size(), n_columns = log_columns_.size();
    constexpr double kNothing = 1e-8;
    double row_least = 1e300, row_most = 0, column_least = 1e300, column_most = 0;
    for (std::size_t r = 0; r < n_rows; ++r) {
      const double d = deviation(&now_[r * n_columns], n_columns, 1);
      row_least = std::min(row_least, d), row_most = std::max(row_most, d);
    }
    for (std::size_t c = 0; c < n_columns; ++c) {
      const double d = deviation(&now_[c], n_rows, n_columns);
      column_least = std::min(column_least, d), column_most = std::max(column_most, d);
    }
    return column_most / std::max(column_least, kNothing) +
           row_most / std::max(row_least, kNothing);
  }
  void keep_if_better() {
    const double imbalance_now = imbalance();
    if (!(imbalance_now <= least_)) return;
    least_ = imbalance_now;
    best_.values = now_;
    for (std::size_t r = 0; r < log_rows_.size(); ++r) best_.of_rows[r] = std::exp(log_rows_[r]);
    for (std::size_t c = 0; c < log_columns_.size(); ++c)
      best_.of_columns[c] = std::exp(log_columns_[c]);
  }

  const std::vector<double> tile_;
  std::vector<double> now_, log_rows_, log_columns_;
  Balanced best_;
  double least_;
};

struct Grid {
  double low = 0, step = 0;
  double code_of(double x, double top) const {
    return std::clamp(std::nearbyint((x - low) / step), 0.0, top);
  }
};

double squares_missed(std::span<const double> row, const Grid& grid, double top) {
  double sum = 0;
  for (const double x : row) {
    const double missed = x - (grid.low + grid.step * grid.code_of(x, top));
    sum += missed * missed;
  }
  return sum;
}

// From the least to the largest of a row, or narrower around the middle where that misses less;
// ties to the wider.
Grid grid_of(std::span<const double> row, double top, bool clips) {
  const auto [low, high] = std::minmax_element(row.begin(), row.end());
  const double middle = (*low + *high) / 2, half = (*high - *low) / 2;
  Grid best{.low = *low, .step = std::max((*high - *low) / top, kStepLeast)};
  if (!clips || half <= 0) return best;
  double least = squares_missed(row, best, top);
  for (int i = 1; i < kClips; ++i) {
    const double part = half * (1 - kClipStep * i);
    const Grid grid{.low = middle - part, .step = std::max(2 * part / top, kStepLeast)};
    const double missed = squares_missed(row, grid, top);
    if (missed < least) best = grid, least = missed;
  }
  return best;
}

struct KvarnParams {
  std::size_t rounds = 6;
  bool clips = false, prescales = true;
};

class KvarnCode final : public OperandCode {
 public:
  KvarnCode(Codec::Operand operand, const KvarnParams& params)
      : is_k_(operand == Codec::Operand::k), params_(params) {}

  std::string_view name() const override { return is_k_ ? "kvarn.k" : "kvarn.v"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const OperandVectors tile{.is_k = is_k_, .n_tokens = n_tokens, .head_dim = head_dim};
    const std::size_t n_rows = tile.size(), n_columns = tile.n_entries();
    std::vector<double> values(n_rows * n_columns);
    double squares = 0;
    for (std::size_t r = 0; r < n_rows; ++r)
      for (std::size_t c = 0; c < n_columns; ++c) {
        const auto value = static_cast<double>(x[tile.cell(r, c)]);
        values[r * n_columns + c] = value;
        squares += value * value;
      }
    if (!(squares > 0)) return;  // all planes are zero already, and so is what they stand for
    const double rms = std::sqrt(squares / static_cast<double>(values.size()));
    const int up = params_.prescales ? 1 - static_cast<int>(std::floor(std::log2(rms))) : 0;
    for (double& value : values) value = std::ldexp(value, up);
    const bool is_small = std::min(n_rows, n_columns) < kBalancedLeast;
    Balanced balanced =
        Balancer(std::move(values), n_rows, n_columns).run(is_small ? 0 : params_.rounds);
    for (double& of_row : balanced.of_rows) of_row = std::ldexp(of_row, -up);
    put(layout, tile, balanced, page);
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const OperandVectors tile{.is_k = is_k_, .n_tokens = n_tokens, .head_dim = head_dim};
    const Plane &codes = layout.at(PlaneKind::codes), &scales = layout.at(PlaneKind::scale);
    const Plane &zeros = layout.at(PlaneKind::zero), &factors = column_factors(layout, is_k_);
    std::vector<float> of_columns(tile.n_entries());
    for (std::size_t c = 0; c < of_columns.size(); ++c) of_columns[c] = float_at(page, factors, c);
    for (std::size_t r = 0; r < tile.size(); ++r) {
      const float scale = float_at(page, scales, r);
      const float zero = float_at(page, zeros, r);
      for (std::size_t c = 0; c < of_columns.size(); ++c) {
        const auto code = static_cast<float>(code_at(page, codes, tile.cell(r, c)));
        x[tile.cell(r, c)] = (code * scale + zero) * of_columns[c];
      }
    }
  }

 private:
  // What a row's scale and zero cannot hold in fp16 goes to the columns, all rows alike.
  static int too_large(const Balanced& balanced, std::span<const Grid> grids, double top) {
    double most = 0;
    for (std::size_t r = 0; r < grids.size(); ++r)
      most = std::max({most, balanced.of_rows[r] * std::abs(grids[r].low),
                       balanced.of_rows[r] * grids[r].step * top});
    int shift = 0;
    while (std::ldexp(most, -shift) > kHalfMost) ++shift;
    return shift;
  }
  void put(const OperandLayout& layout, const OperandVectors& tile, const Balanced& balanced,
           std::byte* page) const {
    const Plane &codes = layout.at(PlaneKind::codes), &scales = layout.at(PlaneKind::scale);
    const Plane &zeros = layout.at(PlaneKind::zero), &factors = column_factors(layout, is_k_);
    const std::size_t n_columns = tile.n_entries();
    const double top = static_cast<double>((1u << codes.bits) - 1);
    std::vector<Grid> grids;
    for (std::size_t r = 0; r < tile.size(); ++r) {
      const auto row = std::span(balanced.values).subspan(r * n_columns, n_columns);
      const Grid& grid = grids.emplace_back(grid_of(row, top, params_.clips));
      for (std::size_t c = 0; c < n_columns; ++c)
        put_code(page, codes, tile.cell(r, c), static_cast<unsigned>(grid.code_of(row[c], top)));
    }
    const int shift = too_large(balanced, grids, top);
    for (std::size_t r = 0; r < grids.size(); ++r) {
      const double of_row = std::ldexp(balanced.of_rows[r], -shift);
      put_float(page, scales, r, of_row * grids[r].step);
      put_float(page, zeros, r, of_row * grids[r].low);
    }
    for (std::size_t c = 0; c < n_columns; ++c)
      put_float(page, factors, c, std::ldexp(balanced.of_columns[c], shift));
  }

  bool is_k_;
  KvarnParams params_;
};

class KvarnCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    std::size_t bits = 4;
    SATCHEL_TRY_ASSIGN(bits, params.one_of("bits", 4, {2, 3, 4, 8}));
    KvarnParams made;
    SATCHEL_TRY_ASSIGN(made.rounds, params.count("rounds", {.fallback = 6, .min = 1, .max = 64}));
    SATCHEL_TRY_ASSIGN(made.clips, params.flag("clip", bits <= 3));
    SATCHEL_TRY_ASSIGN(made.prescales, params.flag("prescale", true));
    k_ = std::make_shared<KvarnCode>(Operand::k, made);
    v_ = std::make_shared<KvarnCode>(Operand::v, made);
    transform_ = kernels::Transform::hadamard;
    make_planes([bits](Operand operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const bool is_k = operand == Operand::k;
      const std::size_t n_rows = is_k ? head_dim : capacity, n_columns = is_k ? capacity : head_dim;
      to.add_codes(bits, n_rows * n_columns);
      to.add({.kind = PlaneKind::scale}, n_rows);
      to.add({.kind = PlaneKind::zero}, n_rows);
      to.add({.kind = is_k ? PlaneKind::token_factors : PlaneKind::channel_factors, .count = 1},
             n_columns);
    });
    return {};
  }
};
}  // namespace

extern const StageMaker codecs_kvarn = stage_of<KvarnCodec>("KVarN");
}  // namespace satchel::kvcache
