// Scores a token by how rarely it received less attention than uniform attention would give it. It
// assumes that tokens that mattered to the last queries matter to the next.
//   formula m: of the last queries that see the token, how many give it less than 1 / t, t being
//           the number of entries that the query sees; mean over a lane's query heads; score
//           1 / (1 + m)
//   params  window    number of last queries of a text (400)
//           decoding  whether generated tokens' queries count too (false)
//   needs   queries and LSE of the chunks in which the text ends, and of every step where decoding
//   cost    one more Q·Kᵀ of the window's rows (Backend::score)
//   source  arXiv:2305.17118 (Scissorhands) algorithm 2
//   differs ties go to the lower position; while answering, steps add to what stands, beyond the
//           window
#include <cmath>

#include "kvcache/stages/row_weights.h"

namespace satchel::kvcache {
namespace {

std::size_t n_entries(const kernels::LaneView& view) {
  std::size_t n = 0;
  for (const kernels::ExactRun& run : view.runs) n += run.n_tokens;
  for (const kernels::PageView& page : view.pages) n += page.live.count();
  return n;
}

class BelowMeanScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(window_, params.count("window", {.fallback = 400, .min = 1, .max = 4096}));
    SATCHEL_TRY_ASSIGN(decoding_, params.flag("decoding", false));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override {
    return {.prefill = true, .decoding = decoding_};
  }

  // Lane by lane: each has lost entries of its own.
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const std::size_t n_rows = n_in_window(seen, window_);
    if (n_rows == 0) return {};
    const Observation rows = last_rows(seen, n_rows);
    kernels::ScoreArgs args;
    args.of = kernels::ScoreArgs::Of::below_mean;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      // A prefill's own tokens are all there; a step sees its lane's entries and nothing else.
      const bool reads = seen.purpose == Purpose::prefill;
      const std::size_t n_held = n_entries(reads ? lanes[i].held : lanes[i].keys);
      const std::size_t n_positions = reads ? seen.span_first : seen.span_end;
      args.n_beside = static_cast<std::int64_t>(n_held) - static_cast<std::int64_t>(n_positions);
      SATCHEL_TRY(score_lanes(backend, rows, lanes.subspan(i, 1), args));
    }
    return {};
  }

  // Counts are whole numbers of query heads: rounded, so that how a text was cut does not show.
  Result<void> finish(kernels::Backend&, const LayerShape& layer, const TokenSpan&,
                      std::span<const ScoredLane> lanes) const override {
    const auto n_group = static_cast<float>(layer.n_group());
    for (const ScoredLane& lane : lanes)
      for (float& score : lane.scores)
        if (score != kNotThere) score = 1 / (1 + std::round(score * n_group) / n_group);
    return {};
  }

 private:
  std::size_t window_ = 400;
  bool decoding_ = false;
};
}  // namespace

extern const StageMaker scorers_below_mean = stage_of<BelowMeanScorer>("arXiv:2305.17118");
}  // namespace satchel::kvcache
