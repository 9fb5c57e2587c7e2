// Reading a prompt and answering it.
#include <algorithm>

#include "runtime/gguf/size_text.h"
#include "runtime/session/answer.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {
namespace {

// Whether pages hold fewer bits than they were given.
bool is_packed(const kvcache::CacheStats& stats) {
  return std::any_of(stats.layers.begin(), stats.layers.end(),
                     [](const kvcache::LayerStats& layer) {
                       return layer.n_pages > 0 && (layer.k_bits < 16 || layer.v_bits < 16);
                     });
}

constexpr std::size_t kSpeedTokensMin = 64;  // fewer say little about how fast a text is read

bool is_full(const Error& problem) {
  return problem.kind == ErrorKind::out_of_memory;
}

}  // namespace

Error Session::State::explain(Error problem) const {
  if (problem.code != "CACHE_FULL") return problem;
  problem.message = "The memory limit of " + size_text(cache->pool().bytes()) +
                    " is reached: " + count_text(n_read()) + " tokens are read, " +
                    count_text(n_unread()) +
                    " wait. The chat is kept. Raise the limit, choose a smaller preset or start "
                    "a new chat. (" +
                    problem.message + ")";
  return problem;
}

Result<ReadReport> Session::State::read_span(const Span& span, std::stop_token stop,
                                             const ProgressFn& progress) {
  const std::span<const TokenId> ids = transcript.tokens().subspan(n_read(), span.end - n_read());
  ReadReport report;
  report.n_tokens = ids.size();
  if (ids.empty()) return report;
  const ModelConfig& config = engine.model->config();
  const double began = clock.steady_ms();
  const kvcache::CacheStats before = cache->stats();
  SATCHEL_TRY_ASSIGN(const kvcache::ScratchLease kept,
                     cache->pool().take_scratch(fidelity_bytes(config, ids.size())));
  const Rows rows{.exact = reinterpret_cast<float*>(kept.data()),
                  .packed = reinterpret_cast<float*>(kept.data() + kept.size() / 2)};
  SATCHEL_TRY(engine.model->read_prompt({.cache = *cache,
                                         .ids = ids,
                                         .stop = stop,
                                         .progress = progress,
                                         .last_rows = span.measures ? rows.exact : nullptr,
                                         .logits = span.logits}));
  const kvcache::CacheStats after = cache->stats();
  report.n_evicted = after.n_evicted - before.n_evicted;
  report.compressed =
      report.n_evicted > 0 || (after.body_bytes > before.body_bytes && is_packed(after));
  report.ms = clock.steady_ms() - began;
  if (ids.size() >= kSpeedTokensMin)
    engine.read_ms_per_token = report.ms / static_cast<double>(ids.size());
  if (!span.measures || !report.compressed) return report;
  // What was read stays read, whether or not the measurement comes to an end.
  if (measure(ids.size(), rows, stop, progress).ok()) report.fidelity = fidelity;
  return report;
}

Result<void> Session::State::measure(std::size_t n_tokens, const Rows& rows, std::stop_token stop,
                                     const ProgressFn& progress) {
  const std::size_t n = fidelity_rows(n_tokens);
  if (progress) progress({Phase::measure_fidelity, 0, n});
  const std::span<const TokenId> ids = transcript.tokens().subspan(n_read() - n, n);
  SATCHEL_TRY(
      engine.model->replay({.cache = *cache, .ids = ids, .stop = stop, .rows = rows.packed}));
  SATCHEL_TRY_ASSIGN(Fidelity measured,
                     engine.model->compare(cache->pool(), rows.exact, rows.packed, n));
  measured.measured_at = n_read();
  measured.measured_ms = clock.wall_ms();
  fidelity = measured;
  if (progress) progress({Phase::measure_fidelity, n, n});
  return {};
}

Result<ReadReport> Session::State::read_unread(std::stop_token stop, const ProgressFn& progress) {
  Result<ReadReport> report = read_span(
      {.end = transcript.tokens().size(), .logits = {}, .measures = true}, stop, progress);
  if (!report.ok()) return explain(std::move(report).error());
  return report;
}

Result<void> Session::State::read_rest() {
  const Result<ReadReport> report = read_span({.end = transcript.tokens().size()}, {}, {});
  if (report.ok() || is_full(report.error())) return {};  // full: the next turn will say so
  return report.error();
}

Result<ReadReport> Session::read(std::stop_token stop, const ProgressFn& progress) {
  return state_->read_unread(stop, progress);
}

Result<GenerateReport> Session::generate(const Sampling& sampling, const PieceFn& piece,
                                         std::stop_token stop, const ProgressFn& progress) {
  SATCHEL_TRY(check(sampling));
  if (state_->transcript.empty())
    return Error{ErrorKind::invalid, "PARAM", "There is no message to answer yet."};
  SATCHEL_TRY_ASSIGN(const ReadReport read, state_->read_unread(stop, progress));
  Answer answer(*state_, sampling, piece, stop, progress);
  SATCHEL_TRY_ASSIGN(GenerateReport report, answer.run());
  report.read = read;
  return report;
}

}  // namespace satchel::runtime
