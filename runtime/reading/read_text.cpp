#include "runtime/reading/read_text.h"

#include <algorithm>

#include "runtime/model/scratch.h"

namespace satchel::runtime {
namespace {

// A shorter span is not worth its passes through the weights: memory is made first. Chosen.
constexpr std::size_t kSpanLeast = 64;

void add(kvcache::CompactionReport& sum, const kvcache::CompactionReport& part) {
  sum.n_spans += part.n_spans;
  sum.n_evicted += part.n_evicted;
  sum.n_lowered += part.n_lowered;
}

struct PassNeed {
  const ModelConfig& config;
  bool keeps_pre_rope;
};

std::size_t span_that_fits(const Model& model, const TextPass& pass, std::size_t n,
                           kvcache::SpanKind kind) {
  const PassNeed need{.config = model.config(), .keeps_pre_rope = pass.cache.wants_pre_rope()};
  const auto bytes = [](const void* context, std::size_t n_tokens) {
    const auto& of = *static_cast<const PassNeed*>(context);
    return reading_bytes(of.config, n_tokens, of.keeps_pre_rope);
  };
  return pass.cache.reading_fits({.n_tokens = n, .kind = kind}, bytes, &need);
}

// Packs what waits; whether that changed anything.
Result<bool> make_room(Model& model, const TextPass& pass, kvcache::CompactionReport& report) {
  const std::size_t before = pass.cache.arena().used_bytes();
  SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport packed, pack_all(model, pass));
  add(report, packed);
  SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport lowered,
                     pass.cache.compact(kvcache::Occasion::over_limit));
  add(report, lowered);
  return pass.cache.arena().used_bytes() < before;
}

}  // namespace

Result<TextRead> read_text(Model& model, const TextPass& pass, const ReadText& what) {
  TextRead done;
  const std::size_t first = pass.cache.n_tokens(), n_layers = model.config().n_layers();
  SATCHEL_ASSERT(what.end >= first && what.end <= pass.text.size());
  while (pass.cache.n_tokens() < what.end) {
    const std::size_t at = pass.cache.n_tokens(), n_left = what.end - at;
    std::size_t n_fit = span_that_fits(model, pass, n_left, what.kind);
    if (n_fit < std::min(n_left, kSpanLeast)) {
      SATCHEL_TRY_ASSIGN(const bool made, make_room(model, pass, done.compacted));
      if (made) continue;
      n_fit = std::max<std::size_t>(n_fit, 1);  // begin_reading() says what is missing
    }
    const std::size_t n_spans = (n_left + n_fit - 1) / n_fit;
    const std::size_t n = (n_left + n_spans - 1) / n_spans;
    const bool is_last = n == n_left;
    const ProgressFn part = [&](const Progress& now) {
      pass.progress({now.phase, (at - first) * n_layers + now.done, (what.end - first) * n_layers});
    };
    SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport report,
                       model.read_prompt({.cache = pass.cache,
                                          .ids = pass.text.subspan(at, n),
                                          .kind = what.kind,
                                          .stop = pass.stop,
                                          .progress = pass.progress ? part : pass.progress,
                                          .last_rows = is_last ? what.last_rows : nullptr,
                                          .logits = is_last ? what.logits : std::span<float>()}));
    add(done.compacted, report);
    ++done.n_spans;
    done.n_last = n;
  }
  return done;
}

Result<bool> pack_step(Model& model, const TextPass& pass, kvcache::CompactionReport& report) {
  const std::optional<kvcache::ProbeJob> job = pass.cache.next_probe(kvcache::kProbeTokens);
  if (!job) {
    SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport decided,
                       pass.cache.compact(kvcache::Occasion::idle));
    add(report, decided);
    return false;
  }
  const auto begins = [&](const kvcache::TextSpan& span) { return span.first == job->first; };
  const auto spans = pass.cache.spans();
  std::vector<std::int32_t> ids;
  const auto append = [&ids](std::span<const std::int32_t> part) {
    ids.insert(ids.end(), part.begin(), part.end());
  };
  if (std::any_of(spans.begin(), spans.end(), begins)) {
    append(pass.script.first);
  } else {
    append(pass.script.later);
    append(pass.text.subspan(job->first - std::min(job->first, kHookTokens),
                             std::min(job->first, kHookTokens)));
    append(pass.script.then);
  }
  append(pass.text.subspan(job->first, job->n_tokens));
  SATCHEL_TRY(model.probe({.cache = pass.cache,
                           .job = *job,
                           .ids = ids,
                           .first_position = pass.cache.n_tokens(),
                           .stop = pass.stop}));
  return true;
}

Result<kvcache::CompactionReport> pack_all(Model& model, const TextPass& pass) {
  kvcache::CompactionReport report;
  const auto waiting = [&pass] {
    std::size_t n = 0, n_probed = 0;
    for (const kvcache::TextSpan& span : pass.cache.spans()) {
      if (span.state != kvcache::SpanState::pending) continue;
      n += span.n_tokens;
      n_probed += span.n_probed;
    }
    return std::pair(n, n_probed);
  };
  const auto [n_all, n_before] = waiting();
  for (bool goes_on = true; goes_on;) {
    if (pass.stop.stop_requested())
      return Error{ErrorKind::cancelled, "STOPPED", "Stopped while packing; it goes on later."};
    SATCHEL_TRY_ASSIGN(goes_on, pack_step(model, pass, report));
    if (pass.progress && goes_on)
      pass.progress({Phase::pack, waiting().second - n_before, n_all - n_before});
  }
  return report;
}

}  // namespace satchel::runtime
