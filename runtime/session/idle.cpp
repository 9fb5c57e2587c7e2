// What may wait: the second pass, what packing cost, the recall probe, the model's lane table.
#include <algorithm>

#include "runtime/model/scratch.h"
#include "runtime/profile/lane_profiler.h"
#include "runtime/reading/repeat_script.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {

Result<void> Session::State::make_script() {
  if (!script.first.empty() || !cache->wants_second_pass()) return {};
  SATCHEL_TRY_ASSIGN(script, chat_script(*engine.tokenizer, *engine.chat_template));
  return {};
}

Result<void> Session::State::keep_rows(std::size_t n_tokens, const std::byte* kept) {
  SATCHEL_ASSERT(exact_rows.n == 0);
  const std::size_t n = fidelity_rows(n_tokens);
  const std::size_t bytes = kept_bytes(engine.model->config(), n);
  kvcache::Arena& arena = cache->arena();
  const Result<kvcache::ExtentId> extent = arena.take(bytes);
  if (!extent.ok()) return {};  // without room it is not measured
  const Result<void> copied = engine.backend->copy(arena.at(*extent), kept, bytes);
  if (!copied.ok()) {
    arena.give(*extent);
    return copied;
  }
  exact_rows = {.extent = *extent, .end = n_read(), .n = n};
  return {};
}

void Session::State::drop_rows() {
  if (exact_rows.n > 0) cache->arena().give(exact_rows.extent);
  exact_rows = {};
  meter.ledger.close();
}

bool Session::State::measures_now() const {
  if (exact_rows.n == 0) return false;
  const auto spans = cache->spans();
  return std::none_of(spans.begin(), spans.end(), [](const kvcache::TextSpan& span) {
    return span.state != kvcache::SpanState::done;
  });
}

bool Session::State::is_exact() const {
  const kvcache::CacheStats stats = cache->stats();
  return stats.n_evicted == 0 &&
         std::all_of(stats.layers.begin(), stats.layers.end(),
                     [](const auto& layer) { return layer.k_bits >= 16 && layer.v_bits >= 16; });
}

Result<Fidelity> Session::State::compare_rows(const std::stop_token& stop) {
  const ModelConfig& config = engine.model->config();
  const std::size_t n = exact_rows.n;
  const auto exact = [this, &config, n] {
    return kept_reading(config, n, cache->arena().at(exact_rows.extent));
  };
  Fidelity measured;
  {
    SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease lease,
                       cache->arena().take_scratch(n * config.width * sizeof(float)));
    auto* packed = reinterpret_cast<float*>(lease.data());
    SATCHEL_TRY(engine.model->replay({.cache = *cache,
                                      .ids = transcript.tokens().subspan(exact_rows.end - n, n),
                                      .first = exact_rows.end - n,
                                      .stop = stop,
                                      .rows = packed}));
    SATCHEL_TRY_ASSIGN(measured, engine.model->compare(
                                     cache->arena(), [&exact] { return exact().rows; }, packed, n));
  }
  SATCHEL_TRY_ASSIGN(measured.attention_kept,
                     engine.model->attention_kept({.cache = *cache,
                                                   .end = exact_rows.end,
                                                   .n_tokens = n,
                                                   .exact = [&exact] { return exact().samples; },
                                                   .stop = stop}));
  return measured;
}

Result<void> Session::State::measure(std::stop_token stop, const ProgressFn& progress) {
  const std::size_t n = exact_rows.n;
  if (is_exact()) {  // nothing was lost, so there is nothing to measure
    drop_rows();
    return {};
  }
  if (progress) progress({Phase::measure_fidelity, 0, n});
  SATCHEL_TRY_ASSIGN(Fidelity measured, compare_rows(stop));
  measured.measured_at = exact_rows.end;
  measured.measured_ms = clock.wall_ms();
  meter.fidelity = measured;
  meter.ledger.measured(measured);
  drop_rows();
  if (progress) progress({Phase::measure_fidelity, n, n});
  return {};
}

void Session::State::take_lane_shares() {
  const auto& shares = engine.model->config().lane_shares;
  if (shares != nullptr && cache->wants_lane_shares()) cache->set_lane_shares(shares);
}

bool Session::State::profile(const std::stop_token& stop, const ProgressFn& progress) {
  take_lane_shares();
  const auto tell = [&progress](double done) {
    if (progress) progress({Phase::profile, static_cast<std::size_t>(1000 * done), 1000});
  };
  while (engine.can_profile && cache->wants_lane_shares()) {
    if (stop.stop_requested()) return false;
    tell(engine.lane_profiler == nullptr ? 0 : engine.lane_profiler->done());
    const Result<double> done = engine.profile_step(stop);
    if (!done.ok()) return done.error().kind != ErrorKind::cancelled;
    tell(*done);
    take_lane_shares();
  }
  return true;
}

bool Session::has_idle_work() const {
  if (state_->cache == nullptr) return false;
  const auto spans = state_->cache->spans();
  const bool waits = std::any_of(spans.begin(), spans.end(), [](const kvcache::TextSpan& span) {
    return span.state == kvcache::SpanState::pending;
  });
  const bool profiles = state_->engine.can_profile && state_->cache->wants_lane_shares();
  return waits || profiles || state_->measures_now() || state_->recall_is_due();
}

Result<IdleReport> Session::idle(std::stop_token stop, const ProgressFn& progress) {
  State& s = *state_;
  SATCHEL_TRY(s.need_cache());
  SATCHEL_TRY(s.make_script());
  IdleReport report;
  kvcache::CompactionReport packed;
  const std::size_t bytes_before = s.cache->stats().bytes;
  const auto tell = [&] {
    if (!progress) return;
    const kvcache::CacheStats stats = s.cache->stats();
    progress({Phase::pack, stats.n_pending_probed, stats.n_pending});
  };
  for (bool goes_on = true; goes_on;) {
    if (stop.stop_requested()) return report;
    Result<bool> step = pack_step(*s.engine.model, s.text_pass(stop, {}), packed);
    if (!step.ok() && step.error().kind == ErrorKind::cancelled) return report;
    if (!step.ok()) return s.explain(std::move(step).error());
    goes_on = *step;
    if (goes_on) tell();
  }
  report.n_evicted = packed.n_evicted;
  report.n_lowered = packed.n_lowered;
  s.note(LedgerCause::idle, packed, bytes_before);
  // What an answer left unread where memory was full has room now.
  if (s.n_unread() > 0) SATCHEL_TRY(s.read_rest());
  s.measure_if_due(stop, progress, report);
  report.finished = report.finished && s.probe_recall(stop, progress);
  report.recall = s.meter.recall;
  report.finished = report.finished && s.profile(stop, progress);
  return report;
}

// Without room it is not measured, and nothing waits for it.
void Session::State::measure_if_due(std::stop_token stop, const ProgressFn& progress,
                                    IdleReport& report) {
  report.finished = true;
  if (!measures_now()) return;
  const Result<void> measured = measure(stop, progress);
  if (measured.ok()) {
    report.fidelity = meter.fidelity;
  } else if (measured.error().kind == ErrorKind::cancelled) {
    report.finished = false;
  } else {
    drop_rows();
  }
}

}  // namespace satchel::runtime
