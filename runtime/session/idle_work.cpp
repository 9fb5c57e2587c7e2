#include "runtime/session/idle_work.h"

#include <algorithm>
#include <utility>

namespace satchel::runtime {

bool IdleWork::is_due() const {
  if (parts_.cache.is_lost()) return false;
  const bool is_pending = std::ranges::any_of(parts_.cache->segments(), [](const auto& segment) {
    return segment.state == kvcache::SegmentState::pending;
  });
  const bool profiles = parts_.engine.can_profile && parts_.cache->needs_head_budgets();
  const bool reads = prefill_.past().goes_on() && prefill_.has_unread_document();
  return is_pending || profiles || reads || prefill_.past().next_unread().has_value() ||
         prefill_.past().is_due() || parts_.meter.can_measure() || recall_.is_due();
}

Result<IdleReport> IdleWork::run(const std::stop_token& stop, const ProgressFn& progress) {
  SATCHEL_TRY(prefill_.need_cache());
  SATCHEL_TRY(prefill_.need_script());
  IdleReport report;
  SATCHEL_TRY_ASSIGN(const bool compressed, compress(stop, progress, report));
  if (!compressed) return report;
  SATCHEL_TRY_ASSIGN(const bool read, read_rest(stop, progress));
  if (!read) return report;
  SATCHEL_TRY_ASSIGN(const bool gathered, gather(stop, report));
  if (!gathered) return report;
  SATCHEL_TRY_ASSIGN(const bool read_all, read_left(stop, progress, report));
  if (!read_all) return report;
  const bool measured = measure(stop, progress, report);
  const bool asked = measured && recall_.advance(stop, progress);
  report.recall = parts_.meter.recall();
  report.finished = asked && profile(stop, progress);
  return report;
}

Result<bool> IdleWork::compress(const std::stop_token& stop, const ProgressFn& progress,
                                IdleReport& report) {
  kvcache::CompactionReport done;
  const std::size_t bytes_before = parts_.cache->stats().bytes;
  for (bool goes_on = true; goes_on;) {
    if (stop.stop_requested()) return false;
    Result<bool> step = prefill_.compress_step(stop, done);
    if (!step.ok() && step.error().kind == ErrorKind::cancelled) return false;
    if (!step.ok()) return prefill_.explain(std::move(step).error());
    goes_on = *step;
    if (!goes_on || !progress) continue;
    const kvcache::CacheStats stats = parts_.cache->stats();
    progress({Phase::pack, stats.n_pending_probed, stats.n_pending});
  }
  report.n_evicted = done.n_evicted;
  report.n_lowered = done.n_lowered;
  parts_.meter.note(LedgerCause::idle, done, bytes_before);
  return true;
}

// What an answer left unread where memory was full has room now, and the parts of a document whose
// reading was stopped are left, to be read one by one.
Result<bool> IdleWork::read_rest(const std::stop_token& stop, const ProgressFn& progress) {
  if (prefill_.n_unread() == 0) return true;
  const SessionMessage& last = parts_.transcript.messages().back();
  if (last.role == Role::assistant && last.begin <= parts_.cache.n_tokens()) {
    SATCHEL_TRY(prefill_.prefill_rest());
    return true;
  }
  const Result<ReadReport> read = prefill_.prefill_unread(stop, progress, true);
  if (!read.ok() && read.error().kind == ErrorKind::cancelled) return false;
  SATCHEL_TRY(read);
  return true;
}

// One, so that it can be saved before the next.
Result<bool> IdleWork::read_left(const std::stop_token& stop, const ProgressFn& progress,
                                 IdleReport& report) {
  if (!prefill_.past().next_unread()) return true;
  const CacheContents before = parts_.meter.contents();
  const std::size_t n_unread = parts_.cache->stats().n_unread;
  const Result<void> done = prefill_.read_left(stop, progress);
  if (!done.ok() && done.error().kind == ErrorKind::cancelled) return false;
  if (!done.ok()) return prefill_.explain(done.error());
  report.n_read = n_unread - parts_.cache->stats().n_unread;
  report.n_evicted += done_between(before, parts_.meter.contents()).n_evicted;
  parts_.meter.note_since(LedgerCause::idle, before);
  SATCHEL_TRY(prefill_.rest_aged());
  return !prefill_.past().next_unread().has_value();
}

Result<bool> IdleWork::gather(const std::stop_token& stop, IdleReport& report) {
  while (prefill_.past().is_due()) {
    if (stop.stop_requested()) return false;
    const CacheContents before = parts_.meter.contents();
    const Result<void> done = prefill_.gather_aged(stop);
    if (!done.ok() && done.error().kind == ErrorKind::cancelled) return false;
    if (!done.ok()) return prefill_.explain(done.error());
    report.n_evicted += done_between(before, parts_.meter.contents()).n_evicted;
    parts_.meter.note_since(LedgerCause::idle, before);
  }
  const Result<void> rested = prefill_.rest_aged();
  if (!rested.ok()) return rested.error();
  return true;
}

// If there is no memory for it, the measurement is dropped.
bool IdleWork::measure(const std::stop_token& stop, const ProgressFn& progress,
                       IdleReport& report) {
  ChatMeter& meter = parts_.meter;
  if (!meter.can_measure()) return true;
  const Result<void> measured = meter.measure(parts_.transcript.tokens(), stop, progress);
  if (measured.ok())
    report.fidelity = meter.fidelity();
  else if (measured.error().kind == ErrorKind::cancelled)
    return false;
  else
    meter.drop_rows();
  return true;
}

bool IdleWork::profile(const std::stop_token& stop, const ProgressFn& progress) {
  parts_.cache.take_head_budgets();
  const auto tell = [&progress](double done) {
    if (progress) progress({Phase::profile, static_cast<std::size_t>(1000 * done), 1000});
  };
  while (parts_.engine.can_profile && parts_.cache->needs_head_budgets()) {
    if (stop.stop_requested()) return false;
    tell(parts_.engine.profile_done());
    const Result<double> done = parts_.engine.profile_step(stop);
    if (!done.ok()) return done.error().kind != ErrorKind::cancelled;
    tell(*done);
    parts_.cache.take_head_budgets();
  }
  return true;
}

}  // namespace satchel::runtime
