// Scores a token by its key's and its value's share of the squared norms around them: the rows that
// a CUR decomposition of K and V would choose.
//   formula share of |k_j|² in its window · share of |v_j|² in its window, over the sum of the
//           lane's
//   params  window  tokens over which squared norms are normalised to 1, counted from the text's
//                   first (16); 0: the whole text
//           sinks   first tokens of the conversation, which score 1 (4)
//   needs   the exact keys and values of the text when all of it has been read
//   cost    one read of K and V
//   source  arXiv:2509.15038 (CurDKV)
//   differs as in NVIDIA's kvpress: squared lengths in windows stand in for leverage scores,
//           without the paper's random projection; a window of zeros has no shares
#include <algorithm>
#include <vector>

#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {
namespace {

class CurScorer final : public SpanScorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(window_, params.count("window", {.fallback = 16, .min = 0, .max = 65536}));
    SATCHEL_TRY_ASSIGN(sinks_, params.count("sinks", {.fallback = 4, .min = 0, .max = 1024}));
    return {};
  }

 private:
  Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane,
                          std::span<float> scores) const override {
    std::vector<double> products(scores.size(), 1);
    double sum = 0;
    for (const Rows& rows : {lane.k, lane.v}) {
      SATCHEL_TRY_ASSIGN(const std::vector<double> shares, shares_of(backend, rows));
      for (std::size_t t = 0; t < shares.size(); ++t) products[t] *= shares[t];
    }
    for (const double x : products) sum += x;
    for (std::size_t t = 0; t < scores.size(); ++t)
      scores[t] = static_cast<float>(sum > 0 ? products[t] / sum : 0);
    std::fill_n(scores.begin(), lane.n_first(sinks_), 1.0f);
    return {};
  }
  Result<std::vector<double>> shares_of(kernels::Backend& backend, const Rows& rows) const {
    std::vector<double> squares(rows.n);
    SATCHEL_TRY(each_row(backend, rows, [&](std::size_t t, std::span<const float> row) {
      squares[t] = squared_length(row);
    }));
    const std::size_t width = window_ > 0 ? window_ : rows.n;
    for (std::size_t at = 0; at < rows.n; at += width) {
      const auto window = std::span(squares).subspan(at, std::min(width, rows.n - at));
      double sum = 0;
      for (const double x : window) sum += x;
      for (double& x : window) x = sum > 0 ? x / sum : 0;
    }
    return squares;
  }

  std::size_t window_ = 16, sinks_ = 4;
};
}  // namespace

extern const StageMaker scorers_cur = stage_of<CurScorer>("arXiv:2509.15038");
}  // namespace satchel::kvcache
