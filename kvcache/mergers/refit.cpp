// Refit: what stays answers for what goes. A weight for every token that stays, whose logarithm is
// added to its logit, and new values, fitted so that reference queries get the output that the
// whole lane gave them. The queries are the reading's own, turned to where the next text will ask
// from, so nothing is read twice.
//   formula a query q of position p is turned to n + u, the span's end and u of 0 … 511:
//             L' = log sum over all j of exp(q·k_j), P_j = exp(q·k_j - L'), Y = sum P_j v_j,
//             w = exp(L') / (exp(L') + exp(L)), where L is the reading's own LSE
//           weights B of the kept i: min sum over queries of w² (sum P_i B_i - 1)²
//             + ridge · mean_i(sum w² P_i²) · |B - 1|², then clamped to e^-bound … e^bound
//           values: A_i = P_i B_i / sum P_i B_i; v_i += d_i with
//             min sum over queries of w² |Y - sum A_i (v_i + d_i)|²
//             + ridge · mean_i(sum w² A_i²) · |d|²
//   params  queries  of a lane (512)
//           ridge    towards weight 1 and the old values (0.1)
//           bound    of the logarithm of a weight (3)
//   cost    of a lane with t tokens kept and N queries: 2 min(N, t)² max(N, t) for each of the two
//           fits, and attention of N queries; in main memory, a lane at a time
//   source  arXiv:2602.16284 (Attention Matching)
//   differs its queries are made by a second reading or by the model itself, and its fits have no
//           ridge towards what was there; the sinks' weights stay 1 here, and the tail has no part
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/base/rng.h"
#include "kvcache/stages/merge_rows.h"

namespace satchel::kvcache {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Eigen::VectorXf;

constexpr std::size_t kAhead = 512;  // of the end, at most, queries are turned to

// What the whole lane answers to the reference queries.
struct Asked {
  Matrix q;              // [n, head_dim], turned
  Matrix y;              // [n, head_dim]
  VectorXf lse, weight;  // [n]
};

// min |r - x b|² + ridge · mean |column|² · |b|² for every column of r.
Matrix ridge_fit(const Matrix& x, const Matrix& r, float ridge) {
  const float lambda = ridge * x.squaredNorm() / static_cast<float>(x.cols());
  if (!(lambda > 0)) return Matrix::Zero(x.cols(), r.cols());
  const bool is_tall = x.rows() >= x.cols();
  const Eigen::Index n = is_tall ? x.cols() : x.rows();
  Matrix gram = Matrix::Zero(n, n);
  if (is_tall)
    gram.selfadjointView<Eigen::Lower>().rankUpdate(x.transpose());
  else
    gram.selfadjointView<Eigen::Lower>().rankUpdate(x);
  gram.diagonal().array() += lambda;
  const Eigen::LLT<Matrix> factor(gram.selfadjointView<Eigen::Lower>());
  if (factor.info() != Eigen::Success) return Matrix::Zero(x.cols(), r.cols());
  if (is_tall) return factor.solve(x.transpose() * r);
  return x.transpose() * factor.solve(r);
}

Matrix gathered(const LaneRows& rows, std::span<const std::size_t> tokens) {
  Matrix out(tokens.size(), rows.head_dim);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    std::ranges::copy(rows.row(tokens[i]), out.row(static_cast<Eigen::Index>(i)).begin());
  return out;
}

class RefitMerger final : public Merger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(n_queries_,
                       params.count("queries", {.fallback = 512, .min = 16, .max = 4096}));
    SATCHEL_TRY_ASSIGN(ridge_, params.number("ridge", {.fallback = 0.1, .min = 1e-4, .max = 10}));
    SATCHEL_TRY_ASSIGN(bound_, params.number("bound", {.fallback = 3, .min = 0, .max = 10}));
    return {};
  }
  bool needs_counts() const override { return true; }
  bool fits_counts() const override { return true; }
  std::size_t n_references() const override { return n_queries_; }

  Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const override {
    const std::size_t n = lane.n_tokens - lane.n_tail;
    std::vector<std::size_t> kept = kept_tokens(lane);
    std::erase_if(kept, [n](std::size_t t) { return t >= n; });
    if (kept.empty() || kept.size() == n || lane.references.n() == 0) return {};
    SATCHEL_TRY_ASSIGN(const Asked asked, ask(backend, lane, n));
    SATCHEL_TRY_ASSIGN(const LaneRows k, download_rows(backend, lane.k, lane));
    SATCHEL_TRY_ASSIGN(LaneRows v, download_rows(backend, lane.v, lane));
    const Matrix keys = gathered(k, kept);
    Matrix values = gathered(v, kept);
    Matrix share = asked.q * keys.transpose() * lane.layer->attention_scale;
    if (lane.layer->soft_cap > 0)
      share = (share.array() / lane.layer->soft_cap).tanh() * lane.layer->soft_cap;
    share = (share.colwise() - asked.lse).array().exp();
    const auto n_fixed = static_cast<Eigen::Index>(
        std::lower_bound(kept.begin(), kept.end(), lane.n_sinks) - kept.begin());
    const VectorXf counts = fit_weights(share, asked.weight, n_fixed);
    const Matrix change = fit_values(share, counts, asked, values);
    if (!counts.allFinite() || !change.allFinite()) return {};
    values += change;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      lane.counts[kept[i]] = counts(at);
      std::ranges::copy(values.row(at), v.row(kept[i]).begin());
    }
    return upload_rows(backend, v, lane.v);
  }

 private:
  // Queries are turned, then attend to the lane's first n tokens.
  Result<Asked> ask(kernels::Backend& backend, const MergeLane& lane, std::size_t n) const {
    const ReferenceQueries& of = lane.references;
    const std::size_t d = lane.head_dim, n_q = of.n();
    const auto end = static_cast<std::int32_t>(lane.first_position + lane.n_tokens);
    Rng rng(lane.first_position + n);
    std::vector<std::int32_t> by(n_q), behind(n_q);
    for (std::size_t i = 0; i < n_q; ++i)
      by[i] = end + static_cast<std::int32_t>(rng.next() % kAhead) - of.positions[i];
    std::iota(behind.begin(), behind.end(), end);
    float* out = of.work;
    float* rotation = out + n_q * d;
    auto* places = reinterpret_cast<std::int32_t*>(rotation + n_q * d);
    float* lse = rotation + n_q * (d + 1);
    const auto put = [&](const std::vector<std::int32_t>& from) {
      return backend.upload(reinterpret_cast<std::byte*>(places), std::as_bytes(std::span(from)));
    };
    const auto batch = [&](const std::vector<std::int32_t>& from) {
      const auto [least, most] = std::minmax_element(from.begin(), from.end());
      return kernels::Batch{
          .positions = places, .n_tokens = n_q, .position_min = *least, .position_max = *most};
    };
    if (lane.layer->n_rotated() > 0) {
      SATCHEL_TRY(put(by));
      SATCHEL_TRY(backend.make_rotation(batch(by), lane.layer->rope(), rotation));
      SATCHEL_TRY(backend.rope({.q = of.q,
                                .n_tokens = n_q,
                                .n_heads = 1,
                                .n_kv_heads = 1,
                                .head_dim = d,
                                .rotation = rotation,
                                .n_rotated = lane.layer->n_rotated(),
                                .pairs = lane.layer->rope_pairs}));
    }
    SATCHEL_TRY(put(behind));
    SATCHEL_TRY_ASSIGN(const auto table, backend.make_lane_table(1));
    const kernels::ExactRun run{
        .k = lane.k, .v = lane.v, .positions = lane.positions, .n_tokens = n};
    SATCHEL_TRY(table->set_runs(0, {&run, 1}));
    const kernels::Sequence sequence{.lanes = table.get(), .n_tokens = n_q};
    kernels::AttendArgs args = lane.layer->attend_args();
    args.q = of.q;
    args.n_heads = args.n_kv_heads = 1;
    args.batch = batch(behind);
    args.sequences = {&sequence, 1};
    args.out = out;
    args.lse = lse;
    SATCHEL_TRY(backend.attend(args));
    Asked asked{
        .q = Matrix(n_q, d), .y = Matrix(n_q, d), .lse = VectorXf(n_q), .weight = VectorXf(n_q)};
    const auto get = [&](const float* from, float* to, std::size_t n_values) {
      return download(backend, std::span(to, n_values), from);
    };
    SATCHEL_TRY(get(of.q, asked.q.data(), n_q * d));
    SATCHEL_TRY(get(out, asked.y.data(), n_q * d));
    SATCHEL_TRY(get(lse, asked.lse.data(), n_q));
    SATCHEL_TRY(get(of.lse, asked.weight.data(), n_q));
    asked.weight = 1 / (1 + (asked.weight - asked.lse).array().exp());
    return asked;
  }

  // The first n_fixed keep weight 1.
  VectorXf fit_weights(const Matrix& share, const VectorXf& weight, Eigen::Index n_fixed) const {
    VectorXf counts = VectorXf::Ones(share.cols());
    const Eigen::Index n_free = share.cols() - n_fixed;
    if (bound_ == 0 || n_free == 0) return counts;
    const Matrix weighted = weight.asDiagonal() * share.rightCols(n_free);
    const Matrix missing =
        weight.cwiseProduct(VectorXf::Ones(share.rows()) - share.rowwise().sum());
    counts.tail(n_free) += ridge_fit(weighted, missing, static_cast<float>(ridge_)).col(0);
    const auto most = static_cast<float>(std::exp(bound_));
    return counts.cwiseMax(1 / most).cwiseMin(most);
  }

  Matrix fit_values(const Matrix& share, const VectorXf& counts, const Asked& asked,
                    const Matrix& values) const {
    Matrix attention = share * counts.asDiagonal();
    const VectorXf sums = attention.rowwise().sum();
    attention = sums.cwiseInverse().asDiagonal() * attention;
    const Matrix missing = asked.weight.asDiagonal() * (asked.y - attention * values);
    return ridge_fit(asked.weight.asDiagonal() * attention, missing, static_cast<float>(ridge_));
  }

  std::size_t n_queries_ = 512;
  double ridge_ = 0.1, bound_ = 3;
};
}  // namespace

extern const StageMaker mergers_refit = stage_of<RefitMerger>("arXiv:2602.16284");
}  // namespace satchel::kvcache
