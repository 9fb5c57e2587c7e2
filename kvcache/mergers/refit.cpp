// Refit: what stays answers for what goes. Every token that stays gets a weight, whose logarithm is
// added to its logit, and a new value, so that reference queries get the output that the whole lane
// gave them (kernels/contract/refit.h). The queries are the reading's own, turned to where the next
// text will ask from, so nothing is read twice: one of position p goes to n + u, the span's end and
// u of 0 … 511.
//   params  queries  of a lane to which is fitted (512)
//           held     beside them: a fit that does not help them is dropped (an eighth of them)
//           ridge    towards weight 1 and the old values (0.1)
//           bound    of the logarithm of a weight (3)
//   source  arXiv:2602.16284 (Attention Matching)
//   differs its queries are made by a second reading or by the model itself; here the sinks'
//           weights stay 1, and the tail has no part
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "kernels/base/rng.h"
#include "kvcache/stages/merge_rows.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kAhead = 512;  // of the end, at most, queries are turned to

// The workspace of a merge.
struct RefitWork {
  std::int32_t* positions;  // [n]
  float *rotation, *out;    // [n, head_dim]
  float* lse;               // [n]
  float* fit;

  RefitWork(float* at, std::size_t n, std::size_t head_dim) {
    const auto take = [&at](std::size_t floats) { return std::exchange(at, at + floats); };
    rotation = take(n * head_dim);
    out = take(n * head_dim);
    lse = take(n);
    positions = reinterpret_cast<std::int32_t*>(take(n));
    fit = at;
  }
  static std::size_t floats(std::size_t n, std::size_t head_dim, std::size_t n_tokens) {
    return n * (2 * head_dim + 2) + kernels::RefitArgs::work_floats(n, head_dim, n_tokens);
  }
};

class RefitMerger final : public Merger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(n_queries_,
                       params.count("queries", {.fallback = 512, .min = 16, .max = 4096}));
    SATCHEL_TRY_ASSIGN(
        n_held_,
        params.count("held", {.fallback = n_queries_ / 8, .min = 0, .max = n_queries_ / 2}));
    SATCHEL_TRY_ASSIGN(ridge_, params.number("ridge", {.fallback = 0.1, .min = 1e-4, .max = 10}));
    SATCHEL_TRY_ASSIGN(bound_, params.number("bound", {.fallback = 3, .min = 0, .max = 10}));
    return {};
  }
  bool needs_counts() const override { return true; }
  bool fits_counts() const override { return true; }
  std::size_t n_references() const override { return n_queries_ + n_held_; }
  std::size_t work_floats(std::size_t n_tokens, std::size_t head_dim) const override {
    return RefitWork::floats(n_references(), head_dim, n_tokens);
  }

  Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const override {
    const ReferenceQueries& of = lane.references;
    const std::size_t n = lane.n_tokens - lane.n_tail;
    std::vector<std::int32_t> kept;
    for (const std::size_t t : kept_tokens(lane))
      if (t < n) kept.push_back(static_cast<std::int32_t>(t));
    if (kept.empty() || kept.size() == n || of.n() == 0) return {};
    const RefitWork work(of.work, of.n(), lane.head_dim);
    SATCHEL_TRY(turn(backend, lane, work));
    SATCHEL_TRY(attend(backend, lane, n, work));
    std::vector<float> weights(kept.size());
    const auto n_fixed = static_cast<std::size_t>(
        std::ranges::count_if(kept, [&](auto t) { return std::cmp_less(t, lane.n_sinks); }));
    SATCHEL_TRY_ASSIGN(
        const bool is_fitted,
        backend.refit({.q = of.q,
                       .out = work.out,
                       .lse = work.lse,
                       .lse_beside = of.lse,
                       .n_queries = of.n(),
                       .head_dim = lane.head_dim,
                       .hold_every = n_held_ > 0 ? (n_references() + n_held_ - 1) / n_held_ : 0,
                       .scale = lane.layer->attention_scale,
                       .soft_cap = lane.layer->soft_cap,
                       .k = lane.k,
                       .v = lane.v,
                       .tokens = kept,
                       .n_fixed = n_fixed,
                       .ridge = static_cast<float>(ridge_),
                       .bound = static_cast<float>(bound_),
                       .weights = weights,
                       .work = work.fit}));
    if (lane.fits != nullptr) ++(is_fitted ? lane.fits->n_made : lane.fits->n_dropped);
    for (std::size_t i = 0; i < kept.size(); ++i)
      lane.counts[static_cast<std::size_t>(kept[i])] = weights[i];
    return {};
  }

 private:
  static kernels::Batch batch_of(const std::vector<std::int32_t>& positions,
                                 const RefitWork& work) {
    const auto [least, most] = std::ranges::minmax(positions);
    return {.positions = work.positions,
            .n_tokens = positions.size(),
            .position_min = least,
            .position_max = most};
  }
  static Result<void> put(kernels::Backend& backend, const std::vector<std::int32_t>& positions,
                          const RefitWork& work) {
    return backend.upload(reinterpret_cast<std::byte*>(work.positions),
                          std::as_bytes(std::span(positions)));
  }

  // Queries go behind the lane's end.
  static Result<void> turn(kernels::Backend& backend, const MergeLane& lane,
                           const RefitWork& work) {
    if (lane.layer->n_rotated() == 0) return {};
    const ReferenceQueries& of = lane.references;
    Rng rng(lane.first_position + lane.n_tokens - lane.n_tail);
    std::vector<std::int32_t> by;
    for (const std::int32_t position : of.positions)
      by.push_back(
          static_cast<std::int32_t>(lane.first_position + lane.n_tokens + rng.next() % kAhead) -
          position);
    SATCHEL_TRY(put(backend, by, work));
    SATCHEL_TRY(backend.make_rotation(batch_of(by, work), lane.layer->rope(), work.rotation));
    return backend.rope({.q = of.q,
                         .n_tokens = of.n(),
                         .n_heads = 1,
                         .n_kv_heads = 1,
                         .head_dim = lane.head_dim,
                         .rotation = work.rotation,
                         .n_rotated = lane.layer->n_rotated(),
                         .pairs = lane.layer->rope_pairs});
  }

  // What the lane's first n tokens give to the queries.
  static Result<void> attend(kernels::Backend& backend, const MergeLane& lane, std::size_t n,
                             const RefitWork& work) {
    const ReferenceQueries& of = lane.references;
    std::vector<std::int32_t> behind(of.n());
    std::iota(behind.begin(), behind.end(),
              static_cast<std::int32_t>(lane.first_position + lane.n_tokens));
    SATCHEL_TRY(put(backend, behind, work));
    SATCHEL_TRY_ASSIGN(const auto table, backend.make_lane_table(1));
    const kernels::ExactRun run{
        .k = lane.k, .v = lane.v, .positions = lane.positions, .n_tokens = n};
    SATCHEL_TRY(table->set_runs(0, {&run, 1}));
    const kernels::Sequence sequence{.lanes = table.get(), .n_tokens = of.n()};
    kernels::AttendArgs args = lane.layer->attend_args();
    args.sink_logits = {};  // what is fitted is the tokens' own attention, beside any sink
    args.q = of.q;
    args.n_heads = args.n_kv_heads = 1;
    args.batch = batch_of(behind, work);
    args.sequences = {&sequence, 1};
    args.out = work.out;
    args.lse = work.lse;
    return backend.attend(args);
  }

  std::size_t n_queries_ = 512, n_held_ = 64;
  double ridge_ = 0.1, bound_ = 3;
};
}  // namespace

extern const StageMaker mergers_refit = stage_of<RefitMerger>("arXiv:2602.16284");
}  // namespace satchel::kvcache
