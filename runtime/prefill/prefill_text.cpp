#include "runtime/prefill/prefill_text.h"

#include <algorithm>

#include "runtime/model/scratch.h"
#include "runtime/prefill/reclaim.h"

namespace satchel::runtime {
namespace {

// Makes room for the request's tokens, but for no more than are worth a span. True if anything was
// freed.
Result<bool> reclaim_for(Model& model, const TextPass& pass, const kvcache::PassBytes& bytes,
                         kvcache::PrefillRequest asked, std::size_t n_fit, PrefilledText& done) {
  const kvcache::Arena& arena = pass.cache.arena();
  const std::size_t before = arena.used_bytes();
  const auto is_less = [&] { return arena.used_bytes() < before; };
  asked.n_tokens = std::min(asked.n_tokens, kvcache::kSpanWanted);
  asked.finest = kvcache::kTierEight;
  SATCHEL_TRY_ASSIGN(
      const Reclaimed made,
      reclaim(model, pass,
              {.is_reached = is_less,
               .needed_bytes = [&] { return pass.cache.prefill_needs(asked, bytes); },
               .spares_pinned = n_fit >= kvcache::kSpanLeast}));
  done.compacted += made.packed;
  done.compacted += made.lowered;
  done.reclaimed += made.lowered;
  done.reclaimed_bytes += made.lowered_bytes;
  return is_less();
}

}  // namespace

std::size_t message_needs(const Model& model, const kvcache::Cache& cache, std::size_t n_tokens) {
  return cache.prefill_needs(
      {.n_tokens = n_tokens, .kind = kvcache::SegmentKind::message, .finest = kvcache::kTierEight},
      pass_bytes(model.config(), cache.needs_pre_rope(), false));
}

Result<PrefilledText> prefill_text(Model& model, const TextPass& pass, const PrefillText& what) {
  PrefilledText done;
  const std::size_t first = pass.cache.n_tokens(), n_layers = model.config().n_layers();
  SATCHEL_ASSERT(what.end >= first && what.end <= pass.text.size());
  const kvcache::PassBytes bytes =
      pass_bytes(model.config(), pass.cache.needs_pre_rope(), what.kept != nullptr);
  while (pass.cache.n_tokens() < what.end) {
    const std::size_t at = pass.cache.n_tokens(), n_left = what.end - at;
    const kvcache::PrefillRequest asked{
        .n_tokens = n_left, .kind = what.kind, .goes_on = at > first};
    const kvcache::PrefillPlan plan = pass.cache.largest_fit(asked, bytes);
    if (plan.n_tokens() < std::min(n_left, kvcache::kSpanShort)) {
      SATCHEL_TRY_ASSIGN(const bool made,
                         reclaim_for(model, pass, bytes, asked, plan.n_tokens(), done));
      if (made) continue;
    }
    // Of a text on disk a shorter span may need more: what it leaves in tails is no page elsewhere.
    const std::size_t n = pass.cache.is_far() && plan.n_tokens() > 0
                              ? plan.n_tokens()
                              : kvcache::span_tokens(plan.n_tokens(), n_left);
    const bool is_last = n == n_left;
    const ProgressFn part = [&](const Progress& now) {
      pass.progress({now.phase, (at - first) * n_layers + now.done, (what.end - first) * n_layers});
    };
    const MeasuredRows kept = is_last && what.kept != nullptr
                                  ? measured_rows(model.config(), n, what.kept)
                                  : MeasuredRows();
    SATCHEL_TRY_ASSIGN(
        const kvcache::CompactionReport report,
        model.read_prompt(
            {.cache = pass.cache,
             .ids = pass.text.subspan(at, n),
             .request = plan.request,
             .stop = pass.stop,
             .progress = pass.progress ? part : pass.progress,
             .last_rows = kept.rows,
             .samples = kept.samples,
             .logits = is_last ? what.logits : std::span<float>(),
             .plan = n == plan.n_tokens() ? &plan : nullptr,
             .needed_bytes = n == n_left ? pass.cache.prefill_needs(asked, bytes) : SIZE_MAX}));
    done.compacted += report;
    ++done.n_spans;
    done.n_last = n;
  }
  return done;
}

}  // namespace satchel::runtime
