// The refit of a lane (contract/refit.h), in three passes over blocks of its tokens, so that no
// memory grows with the lane but for the new values. A fit b of least |r - x b|² + λ |b|² is
// xᵀ z with z = (x xᵀ + λ)⁻¹ r, a number for each query. A lane of few tokens is fitted by them,
// b = (xᵀ x + λ)⁻¹ xᵀ r, and their shares are made once. Queries held out are the last rows.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/cpu/scoring/factor.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kBlock = RefitArgs::kBlock;
constexpr std::size_t kRowTile = 96;     // of whole tiles on every level; each packs what it meets
constexpr std::size_t kColumnTile = 64;  // of registers

class LaneRefit {
 public:
  LaneRefit(const CpuContext& context, const RefitArgs& args)
      : context_(context),
        kernels_(context.kernels),
        args_(args),
        d_(args.head_dim),
        n_(args.n_queries),
        n_fit_(args.n_queries - args.n_held()) {
    float* at = args.work;
    const auto take = [&at](std::size_t n) { return std::exchange(at, at + n); };
    q_ = take(n_ * d_);
    sums_ = take(n_ * d_);
    plain_sums_ = take((n_ - n_fit_) * d_);
    z_ = take(n_fit_ * d_);
    share_ = take(n_ * kBlock);
    gram_ = take(n_fit_ * n_fit_);
    inverses_ = take((n_fit_ + Factor::kBlock) * Factor::kBlock);
    for (float** each : {&lse_, &weight_, &plain_mass_, &mass_, &weights_z_, &by_})
      *each = take(n_);
    k_ = take(kBlock * d_);
    v_ = take(kBlock * d_);
    change_ = take(kBlock * d_);
    fresh_ = reinterpret_cast<Half*>(take(args.tokens.size() * (d_ + 1) / 2));
    SATCHEL_ASSERT(at <= args.work + RefitArgs::work_floats(n_, d_, args.tokens.size()));
  }

  bool run() {
    load_queries();
    const bool is_small = args_.tokens.size() <= std::min(kBlock, n_fit_ / 2);
    if (!(is_small ? fit_by_tokens() : fit_by_queries())) return false;
    const double before = held_error(plain_sums_, plain_mass_);
    const bool is_finite =
        std::isfinite(total_) && std::ranges::all_of(args_.weights, [](float b) { return b > 0; });
    if (!is_finite || (n_fit_ < n_ && !(held_error(sums_ + n_fit_ * d_, mass_) < before)))
      return false;
    for (std::size_t i = 0; i < args_.tokens.size(); ++i)
      std::copy_n(fresh_ + i * d_, d_, args_.v + row_at(i));
    return true;
  }

 private:
  std::size_t row_at(std::size_t i) const { return static_cast<std::size_t>(args_.tokens[i]) * d_; }

  template <class Body>
  void for_rows(std::size_t n, std::size_t grain, const Body& body) const {
    context_.pool.parallel_for(
        n, grain, [&](std::size_t begin, std::size_t end, std::size_t) { body(begin, end); });
  }

  void load_queries() {
    order_.resize(n_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_partition(order_.begin(), order_.end(),
                          [this](std::size_t q) { return !args_.is_held(q); });
    for (std::size_t r = 0; r < n_; ++r) {
      const std::size_t from = order_[r];
      lse_[r] = args_.lse[from];
      weight_[r] = 1 / (1 + std::exp(args_.lse_beside[from] - lse_[r]));
      std::copy_n(args_.q + from * d_, d_, q_ + r * d_);
    }
    kernels_.vector_ops.scale(q_, args_.scale, n_ * d_);
    std::fill_n(plain_sums_, (n_ - n_fit_) * d_, 0.0f);
    std::fill_n(sums_, n_ * d_, 0.0f);
    std::fill_n(plain_mass_, n_, 0.0f);
    std::fill_n(mass_, n_, 0.0f);
  }

  // exp(q·k - L') of every query and the n tokens from `first` on, then row(query, shares).
  template <class Row>
  void share(std::size_t first, std::size_t n, const Row& row) {
    const VectorOpsTable& ops = kernels_.vector_ops;
    for_rows(n, kColumnTile, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        ops.widen(args_.k + row_at(first + i), d_, k_ + i * d_);
        ops.widen(args_.v + row_at(first + i), d_, v_ + i * d_);
      }
    });
    for_rows(n_, kRowTile, [&](std::size_t begin, std::size_t end) {
      std::fill_n(share_ + begin * kBlock, (end - begin) * kBlock, 0.0f);
      kernels_.dense({.a = q_ + begin * d_,
                      .a_stride = d_,
                      .b = k_,
                      .b_stride = d_,
                      .b_transposed = true,
                      .c = share_ + begin * kBlock,
                      .c_stride = kBlock,
                      .m = end - begin,
                      .n = n,
                      .k = d_});
      for (std::size_t r = begin; r < end; ++r) {
        float* const x = share_ + r * kBlock;
        if (args_.soft_cap > 0) ops.soft_cap(x, args_.soft_cap, n);
        ops.exp_less(x, lse_[r], n);
        row(r, x);
      }
    });
  }

  // Calls block(first, n) for all tokens.
  template <class Block>
  void for_blocks(const Block& block) const {
    for (std::size_t first = 0; first < args_.tokens.size(); first += kBlock)
      block(first, std::min(kBlock, args_.tokens.size() - first));
  }

  // gram += x xᵀ of the fitted queries' shares, columns [first, end).
  void add_gram(std::size_t first, std::size_t end) {
    if (first >= end) return;
    const std::size_t n_tiles = (n_fit_ + kRowTile - 1) / kRowTile;
    for_rows(n_tiles, 1, [&](std::size_t begin, std::size_t) {
      const std::size_t row = (n_tiles - 1 - begin) * kRowTile;  // the longest first
      const std::size_t below = std::min(n_fit_, row + kRowTile);
      kernels_.dense({.a = share_ + row * kBlock + first,
                      .a_stride = kBlock,
                      .b = share_ + first,
                      .b_stride = kBlock,
                      .b_transposed = true,
                      .c = gram_ + row * n_fit_,
                      .c_stride = n_fit_,
                      .m = below - row,
                      .n = below,
                      .k = end - first});
    });
  }

  // rows = (gram + λ)⁻¹ rows, of n numbers each, with λ = ridge · trace / n_tokens. Zero if nothing
  // was seen.
  bool solve(std::size_t n, std::size_t n_tokens, float* rows, std::size_t n_rows) {
    double trace = 0;
    for (std::size_t r = 0; r < n; ++r) trace += static_cast<double>(gram_[r * (n + 1)]);
    const auto lambda = static_cast<float>(static_cast<double>(args_.ridge) * trace /
                                           static_cast<double>(n_tokens));
    if (trace == 0) std::fill_n(rows, n_rows * n, 0.0f);
    if (trace == 0) return true;
    for (std::size_t r = 0; r < n; ++r) gram_[r * (n + 1)] += lambda;
    Factor factor(context_, gram_, n, inverses_);
    if (!factor.make()) return false;
    factor.solve(rows, n_rows);
    return true;
  }

  // Of a small lane: with x the shares of its tokens from `first` on, those of a query times its
  // `by`, leaves (x xᵀ + λ)⁻¹ x z in change_, [n_rows, tokens].
  bool solve_by_tokens(std::size_t first, const float* by, std::size_t n_rows) {
    const std::size_t n = args_.tokens.size() - first;
    float* const x = gram_ + n * n;  // [n, n_fit]
    for_rows(n, kRowTile, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = 0; r < n_fit_; ++r)
        for (std::size_t i = begin; i < end; ++i)
          x[i * n_fit_ + r] = by[r] * share_[r * kBlock + first + i];
    });
    const auto times_x = [&](const float* rows, float* out, std::size_t m, std::size_t n_columns) {
      std::fill_n(out, m * n, 0.0f);
      kernels_.dense({.a = rows,
                      .a_stride = n_fit_,
                      .b = x,
                      .b_stride = n_fit_,
                      .b_transposed = true,
                      .c = out,
                      .c_stride = n,
                      .m = m,
                      .n = n_columns,
                      .k = n_fit_});
    };
    for_rows(n, kRowTile, [&](std::size_t begin, std::size_t end) {
      times_x(x + begin * n_fit_, gram_ + begin * n, end - begin, end);
    });
    for_rows(n_rows, kRowTile, [&](std::size_t begin, std::size_t end) {
      times_x(z_ + begin * n_fit_, change_ + begin * n, end - begin, n);
    });
    return solve(n, n, change_, n_rows);
  }

  // All shares of a small lane are one block, and stay at hand.
  bool fit_by_tokens() {
    const std::size_t n_fixed = args_.n_fixed, n = args_.tokens.size();
    share(0, n, [&](std::size_t r, float* x) { plain_mass_[r] += kernels_.vector_ops.sum(x, n); });
    add_held(n, plain_sums_);
    std::fill_n(change_, n, 0.0f);
    if (args_.bound > 0 && n_fixed < n) {
      ask_weights();
      if (!solve_by_tokens(n_fixed, weight_, 1)) return false;
    }
    for (std::size_t i = 0; i < n; ++i)
      args_.weights[i] = i < n_fixed ? 1 : within_bound(1 + change_[i - n_fixed]);
    weigh(0, n);
    ask_values();
    if (!solve_by_tokens(0, by_, d_)) return false;
    for_rows(n, kColumnTile, [&](std::size_t begin, std::size_t end) {
      take_values(change_ + begin, n, 0, begin, end);
    });
    finish_block(n);
    return true;
  }

  bool fit_by_queries() {
    if (!fit_weights() || !fit_values()) return false;
    make_values();
    return true;
  }

  // z: what the weights lack.
  void ask_weights() {
    for (std::size_t r = 0; r < n_fit_; ++r) z_[r] = weight_[r] * (1 - plain_mass_[r]);
  }
  float within_bound(float weight) const {
    const float most = std::exp(args_.bound);
    return std::clamp(weight, 1 / most, most);
  }

  // Leaves w z in weights_z_: the weights change by P · w z.
  bool fit_weights() {
    const std::size_t n_fixed = args_.n_fixed, n_tokens = args_.tokens.size();
    std::fill_n(gram_, n_fit_ * n_fit_, 0.0f);
    for_blocks([&](std::size_t first, std::size_t n) {
      share(first, n, [&](std::size_t r, float* x) {
        plain_mass_[r] += kernels_.vector_ops.sum(x, n);
        if (r < n_fit_) kernels_.vector_ops.scale(x, weight_[r], n);
      });
      add_held(n, plain_sums_);
      add_gram(std::clamp(n_fixed, first, first + n) - first, n);
    });
    std::fill_n(weights_z_, n_fit_, 0.0f);
    if (args_.bound <= 0 || n_fixed >= n_tokens) return true;
    ask_weights();
    if (!solve(n_fit_, n_tokens - n_fixed, z_, 1)) return false;
    for (std::size_t r = 0; r < n_fit_; ++r) weights_z_[r] = weight_[r] * z_[r];
    return true;
  }

  // out += m rows of shares times values.
  void add_values(const float* shares, std::size_t n, std::size_t m, float* out) const {
    kernels_.dense({.a = shares,
                    .a_stride = kBlock,
                    .b = v_,
                    .b_stride = d_,
                    .c = out,
                    .c_stride = d_,
                    .m = m,
                    .n = d_,
                    .k = n});
  }

  // The same of the queries held out, n tokens of the block.
  void add_held(std::size_t n, float* out) const {
    for_rows(n_ - n_fit_, kRowTile, [&](std::size_t begin, std::size_t end) {
      add_values(share_ + (n_fit_ + begin) * kBlock, n, end - begin, out + begin * d_);
    });
  }

  // The weights of a block's tokens.
  void make_weights(std::size_t first, std::size_t n) {
    float* const weights = args_.weights.data() + first;
    for_rows(n, kColumnTile, [&](std::size_t begin, std::size_t end) {
      std::fill(weights + begin, weights + end, 1.0f);
      kernels_.dense({.a = weights_z_,
                      .a_stride = n_fit_,
                      .b = share_ + begin,
                      .b_stride = kBlock,
                      .c = weights + begin,
                      .c_stride = kBlock,
                      .m = 1,
                      .n = end - begin,
                      .k = n_fit_});
      for (std::size_t i = begin; i < end; ++i)
        weights[i] = first + i < args_.n_fixed ? 1 : within_bound(weights[i]);
    });
  }

  // Shares times the block's weights, and what the queries get so.
  void weigh(std::size_t first, std::size_t n) {
    for_rows(n_, kRowTile, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        kernels_.vector_ops.multiply(share_ + r * kBlock, args_.weights.data() + first, n);
        mass_[r] += kernels_.vector_ops.sum(share_ + r * kBlock, n);
      }
      if (const std::size_t stop = std::min(end, n_fit_); begin < stop)
        add_values(share_ + begin * kBlock, n, stop - begin, sums_ + begin * d_);
    });
  }

  // by: u / m; z: what the values lack.
  void ask_values() {
    for_rows(n_fit_, kRowTile, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        by_[r] = weight_[r] / std::max(RefitArgs::kLeastMass, mass_[r]);
        for (std::size_t c = 0; c < d_; ++c)
          z_[c * n_fit_ + r] = by_[r] * (mass_[r] * wanted(r, c) - sums_[r * d_ + c]);
      }
    });
  }

  // Leaves u z / m in z_: the values change by P B · u z / m.
  bool fit_values() {
    std::fill_n(gram_, n_fit_ * n_fit_, 0.0f);
    for_blocks([&](std::size_t first, std::size_t n) {
      share(first, n, [](std::size_t, float*) {});
      make_weights(first, n);
      weigh(first, n);
      add_gram(0, n);
    });
    ask_values();
    for_rows(n_fit_, kRowTile, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        kernels_.vector_ops.multiply(gram_ + r * n_fit_, by_, r + 1);
        kernels_.vector_ops.scale(gram_ + r * n_fit_, by_[r], r + 1);
      }
    });
    if (!solve(n_fit_, args_.tokens.size(), z_, d_)) return false;
    for (std::size_t c = 0; c < d_; ++c) kernels_.vector_ops.multiply(z_ + c * n_fit_, by_, n_fit_);
    return true;
  }

  // The new values, and what they give to the queries held out.
  void make_values() {
    for_blocks([&](std::size_t first, std::size_t n) {
      share(first, n, [&](std::size_t, float* x) {
        kernels_.vector_ops.multiply(x, args_.weights.data() + first, n);
      });
      for_rows(n, kColumnTile, [&](std::size_t begin, std::size_t end) {
        take_values(make_change(begin, end), end - begin, first, begin, end);
      });
      finish_block(n);
    });
  }

  // sharesᵀ z of tokens [begin, end) of the block: [d, end - begin].
  const float* make_change(std::size_t begin, std::size_t end) {
    float* const change = change_ + begin * d_;
    const std::size_t n = end - begin;
    std::fill_n(change, n * d_, 0.0f);
    kernels_.dense({.a = z_,
                    .a_stride = n_fit_,
                    .b = share_ + begin,
                    .b_stride = kBlock,
                    .c = change,
                    .c_stride = n,
                    .m = d_,
                    .n = n,
                    .k = n_fit_});
    return change;
  }

  // Values of tokens [begin, end) of the block at `first`.
  //   change  [d, stride]
  void take_values(const float* change, std::size_t stride, std::size_t first, std::size_t begin,
                   std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t c = 0; c < d_; ++c) v_[i * d_ + c] += change[c * stride + i - begin];
    for (std::size_t i = begin * d_; i < end * d_; ++i)
      fresh_[first * d_ + i] = float_to_half(std::clamp(v_[i], -65504.0f, 65504.0f));
  }
  void finish_block(std::size_t n) {
    total_ += kernels_.vector_ops.sum(v_, n * d_);
    add_held(n, sums_ + n_fit_ * d_);
  }

  float wanted(std::size_t row, std::size_t channel) const {
    return args_.out[order_[row] * d_ + channel];
  }

  //   sums  [held, head_dim], what the lane gives to them times its mass; mass [n_queries]
  double held_error(const float* sums, const float* mass) const {
    double error = 0;
    for (std::size_t r = n_fit_; r < n_; ++r)
      for (std::size_t c = 0; c < d_; ++c) {
        const float given = sums[(r - n_fit_) * d_ + c] / std::max(RefitArgs::kLeastMass, mass[r]);
        const float y = wanted(r, c);
        const float off = weight_[r] * (y - given), lost = weight_[r] * (mass[r] - 1) * y;
        error += static_cast<double>(off * off + lost * lost);
      }
    return error;
  }

  const CpuContext& context_;
  const KernelTable& kernels_;
  const RefitArgs& args_;
  std::size_t d_, n_, n_fit_;
  std::vector<std::size_t> order_ = {};  // query of each row
  float* q_;                             // [n, d], times the scale
  float *sums_, *plain_sums_;            // [n, d], [n_held, d]: Σ share · v, refitted and before
  float* z_;                             // [d, n_fit]
  float* share_;                         // [n, kBlock]
  float *gram_, *inverses_;              // [n_fit, n_fit]; of Factor
  float *lse_, *weight_, *plain_mass_, *mass_;  // [n] mass: of what stays, m, and before the fit
  float *weights_z_, *by_;                      // [n] w z; u / m
  float *k_, *v_, *change_;                     // [kBlock, d]; a small lane's [rows, tokens]
  Half* fresh_;                                 // [n_tokens, d]
  float total_ = 0;                             // finite if all new values are
};

}  // namespace

Result<bool> CpuBackend::refit(const RefitArgs& args) {
  SATCHEL_ASSERT(!args.tokens.empty() && args.weights.size() == args.tokens.size());
  const bool is_fitted = args.n_queries > args.n_held() && LaneRefit(context_, args).run();
  if (!is_fitted) std::ranges::fill(args.weights, 1.0f);
  return is_fitted;
}

}  // namespace satchel::kernels::cpu
