#include "runtime/reading/read_text.h"

#include <algorithm>

#include "runtime/model/scratch.h"

namespace satchel::runtime {
namespace {

// Chosen. Before a span gets shorter than one stretch of the second pass, what waits is packed; one
// that is hardly worth its pass through the weights is read only if no memory can be made at all.
constexpr std::size_t kSpanShort = kvcache::kProbeTokens, kSpanLeast = 64;
// What room is made for at a time, if the recipe allows: text that is decided in longer pieces keeps
// more of what matters.
constexpr std::size_t kSpanWanted = 1024;

void add(kvcache::CompactionReport& sum, const kvcache::CompactionReport& part) {
  sum.n_spans += part.n_spans;
  sum.n_evicted += part.n_evicted;
  sum.n_lowered += part.n_lowered;
}

struct PassNeed {
  const ModelConfig& config;
  bool keeps_pre_rope;
  bool measures;  // what a measurement takes later counts as well
};

std::size_t pass_bytes(const void* context, std::size_t n_tokens) {
  const auto& of = *static_cast<const PassNeed*>(context);
  return of.measures ? reading_bytes(of.config, n_tokens, of.keeps_pre_rope)
                     : prompt_bytes(of.config, n_tokens, of.keeps_pre_rope);
}

std::size_t needs(const PassNeed& need, const kvcache::Cache& cache, kvcache::ReadRequest asked) {
  asked.finest = kvcache::kTierEight;
  return cache.reading_needs(asked, pass_bytes, &need);
}

// Packs what waits; then lowers what is held as the recipe allows, until the request's tokens go in;
// where little room is left lowers also what is kept. Whether that made any.
Result<bool> make_room(Model& model, const TextPass& pass, const PassNeed& need,
                       kvcache::ReadRequest asked, std::size_t n_fit, TextRead& done) {
  const std::size_t before = pass.cache.arena().used_bytes();
  const auto made = [&] { return pass.cache.arena().used_bytes() < before; };
  SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport packed, pack_all(model, pass));
  add(done.compacted, packed);
  if (made()) return true;
  const std::size_t packed_bytes = pass.cache.arena().used_bytes(), room_before = done.room_bytes;
  const auto count = [&](const kvcache::CompactionReport& report) {
    add(done.compacted, report);
    add(done.room, report);
    const std::size_t used = pass.cache.arena().used_bytes();
    done.room_bytes = room_before + packed_bytes - std::min(packed_bytes, used);
  };
  asked.n_tokens = std::min(asked.n_tokens, kSpanWanted);
  SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport roomier,
                     pass.cache.make_room(needs(need, pass.cache, asked)));
  count(roomier);
  if (made() || n_fit >= kSpanLeast) return made();
  SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport lowered,
                     pass.cache.compact(kvcache::Occasion::over_limit));
  count(lowered);
  return made();
}

// Of what is left, in as few spans as it takes, alike but for the last.
std::size_t span_tokens(const kvcache::ReadRequest& fits, std::size_t n_left) {
  const std::size_t n_fit = std::max<std::size_t>(fits.n_tokens, 1);  // else reading says so
  const std::size_t n_spans = (n_left + n_fit - 1) / n_fit;
  return (n_left + n_spans - 1) / n_spans;
}

// A document follows another only where it is the rest of it, packed later.
bool begins_text(std::span<const kvcache::TextSpan> spans, std::size_t position) {
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].first != position) continue;
    constexpr kvcache::SpanKind kDocument = kvcache::SpanKind::document;
    return i == 0 || spans[i].kind != kDocument || spans[i - 1].kind != kDocument;
  }
  return false;
}

}  // namespace

std::size_t message_needs(const Model& model, const kvcache::Cache& cache, std::size_t n_tokens) {
  const PassNeed need{
      .config = model.config(), .keeps_pre_rope = cache.wants_pre_rope(), .measures = false};
  return needs(need, cache, {.n_tokens = n_tokens, .kind = kvcache::SpanKind::message});
}

Result<TextRead> read_text(Model& model, const TextPass& pass, const ReadText& what) {
  TextRead done;
  const std::size_t first = pass.cache.n_tokens(), n_layers = model.config().n_layers();
  SATCHEL_ASSERT(what.end >= first && what.end <= pass.text.size());
  const PassNeed need{.config = model.config(),
                      .keeps_pre_rope = pass.cache.wants_pre_rope(),
                      .measures = what.kept != nullptr};
  while (pass.cache.n_tokens() < what.end) {
    const std::size_t at = pass.cache.n_tokens(), n_left = what.end - at;
    const kvcache::ReadRequest asked{.n_tokens = n_left, .kind = what.kind, .goes_on = at > first};
    const kvcache::ReadRequest request = pass.cache.reading_fits(asked, pass_bytes, &need);
    if (request.n_tokens < std::min(n_left, kSpanShort)) {
      SATCHEL_TRY_ASSIGN(const bool made,
                         make_room(model, pass, need, asked, request.n_tokens, done));
      if (made) continue;
    }
    const std::size_t n = span_tokens(request, n_left);
    const bool is_last = n == n_left;
    const ProgressFn part = [&](const Progress& now) {
      pass.progress({now.phase, (at - first) * n_layers + now.done, (what.end - first) * n_layers});
    };
    const KeptReading kept = is_last && what.kept != nullptr
                                 ? kept_reading(model.config(), n, what.kept)
                                 : KeptReading();
    SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport report,
                       model.read_prompt({.cache = pass.cache,
                                          .ids = pass.text.subspan(at, n),
                                          .request = request,
                                          .stop = pass.stop,
                                          .progress = pass.progress ? part : pass.progress,
                                          .last_rows = kept.rows,
                                          .samples = kept.samples,
                                          .logits = is_last ? what.logits : std::span<float>()}));
    add(done.compacted, report);
    ++done.n_spans;
    done.n_last = n;
  }
  return done;
}

void forecast_text(const ModelConfig& config, std::size_t n_tokens,
                   kvcache::CacheForecast& forecast) {
  const PassNeed need{
      .config = config, .keeps_pre_rope = forecast.wants_pre_rope(), .measures = true};
  while (forecast.n_tokens() < n_tokens) {
    const std::size_t n_left = n_tokens - forecast.n_tokens();
    kvcache::ReadRequest request = forecast.reading_fits(
        {.n_tokens = n_left, .goes_on = forecast.n_tokens() > 0}, pass_bytes, &need);
    if (request.n_tokens < std::min(n_left, kSpanShort)) {
      if (forecast.decide()) continue;
      request.n_tokens = std::min(n_left, kSpanWanted);
    }
    request.n_tokens = span_tokens(request, n_left);
    forecast.read(request, prompt_bytes(config, request.n_tokens, need.keeps_pre_rope));
  }
  forecast.decide();
}

Result<bool> pack_step(Model& model, const TextPass& pass, kvcache::CompactionReport& report) {
  const std::optional<kvcache::ProbeJob> job = pass.cache.next_probe(kvcache::kProbeTokens);
  if (!job) {
    SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport decided,
                       pass.cache.compact(kvcache::Occasion::idle));
    add(report, decided);
    return false;
  }
  std::vector<std::int32_t> ids;
  const auto append = [&ids](std::span<const std::int32_t> part) {
    ids.insert(ids.end(), part.begin(), part.end());
  };
  if (begins_text(pass.cache.spans(), job->first)) {
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
