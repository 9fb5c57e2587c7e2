#include "runtime/prefill/pack.h"

#include <algorithm>
#include <vector>

namespace satchel::runtime {
namespace {

// A document follows another only where it is the rest of it, packed later.
bool begins_text(std::span<const kvcache::TextSegment> segments, std::size_t position) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].first != position) continue;
    constexpr kvcache::SegmentKind kDocument = kvcache::SegmentKind::document;
    return i == 0 || segments[i].kind != kDocument || segments[i - 1].kind != kDocument;
  }
  return false;
}

}  // namespace

Result<bool> pack_step(Model& model, const TextPass& pass, kvcache::CompactionReport& report) {
  const std::optional<kvcache::ProbeJob> job = pass.cache.next_probe(kvcache::kProbeTokens);
  if (!job) {
    SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport decided,
                       pass.cache.compactor().compact(kvcache::TriggerEvent::idle));
    report += decided;
    return false;
  }
  std::vector<std::int32_t> ids;
  const auto append = [&ids](std::span<const std::int32_t> part) {
    ids.insert(ids.end(), part.begin(), part.end());
  };
  if (begins_text(pass.cache.segments(), job->first)) {
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
    for (const kvcache::TextSegment& segment : pass.cache.segments()) {
      if (segment.state != kvcache::SegmentState::pending) continue;
      n += segment.n_tokens;
      n_probed += segment.n_probed;
    }
    return std::pair(n, n_probed);
  };
  const auto [n_all, n_before] = waiting();
  for (bool goes_on = true; goes_on;) {
    if (pass.stop.stop_requested())
      return Error{ErrorKind::cancelled, "STOPPED",
                   "Compression was stopped. The rest is compressed later."};
    SATCHEL_TRY_ASSIGN(goes_on, pack_step(model, pass, report));
    if (pass.progress && goes_on)
      pass.progress({Phase::pack, waiting().second - n_before, n_all - n_before});
  }
  return report;
}

}  // namespace satchel::runtime
