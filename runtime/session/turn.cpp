// Reading a prompt and answering it.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "kernels/base/size_text.h"
#include "runtime/model/scratch.h"
#include "runtime/session/session_state.h"
#include "runtime/session/turn.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kFidelityTokensMin = 64;  // chosen: fewer lie in the tail, which is exact

bool is_full(const Error& problem) {
  return problem.kind == ErrorKind::out_of_memory;
}

}  // namespace

Error Session::State::explain(Error problem) const {
  if (problem.code != "CACHE_FULL") return problem;
  problem.message = "The memory limit of " + size_text(cache->arena().bytes()) +
                    " is reached: " + count_text(n_read()) + " tokens are read, " +
                    count_text(n_unread()) + " wait. " + kept_text() +
                    "Raise the limit, choose a smaller preset or start a new chat.";
  return problem;
}

Error Session::State::explain_reread(Error problem) const {
  if (problem.kind != ErrorKind::cancelled) return problem;
  const double keep = options.recipe.keep();
  char share[32] = "";
  if (keep < 1) std::snprintf(share, sizeof share, " (keeps %.1f %%)", keep * 100);
  problem.message = "Stopped. The chat has recipe \"" + options.recipe.name() + "\"" + share +
                    " and a memory limit of " + size_text(cache->arena().bytes()) + " now; " +
                    count_text(n_read()) + " of its " + count_text(transcript.tokens().size()) +
                    " tokens are read, the others will be before the next answer.";
  return problem;
}

kvcache::SpanKind Session::State::kind_of(const SessionMessage& message) {
  if (message.role == kvcache::Role::system) return kvcache::SpanKind::kept;
  if (message.role == kvcache::Role::assistant) return kvcache::SpanKind::answer;
  return message.kind == kvcache::MessageKind::document ? kvcache::SpanKind::document
                                                        : kvcache::SpanKind::message;
}

TextPass Session::State::text_pass(std::stop_token stop, const ProgressFn& progress) const {
  return {.cache = *cache,
          .text = transcript.tokens(),
          .script = script,
          .stop = std::move(stop),
          .progress = progress};
}

Result<ReadReport> Session::State::read_span(const Span& span, std::stop_token stop,
                                             const ProgressFn& progress) {
  ReadReport report;
  report.n_tokens = span.end - n_read();
  if (report.n_tokens == 0) return report;
  take_lane_shares();
  const ModelConfig& config = engine.model->config();
  // A short question is hardly compressed: its figure would stand in place of its document's.
  const bool keeps =
      (span.kind == kvcache::SpanKind::document || span.kind == kvcache::SpanKind::message) &&
      report.n_tokens >= kFidelityTokensMin;
  if (keeps) drop_rows();  // the new ones replace them: they need not take room meanwhile
  const double began = clock.steady_ms();
  const Held before = held();
  TextRead read;
  {
    // What a measurement takes may be what is missing: then it is not made.
    Result<kvcache::Arena::Lease> rows =
        cache->arena().take_scratch(kept_bytes(config, report.n_tokens));
    const auto go_on = [&] {
      return read_text(*engine.model, text_pass(stop, progress),
                       {.end = span.end,
                        .kind = span.kind,
                        .kept = rows.ok() ? rows->data() : nullptr,
                        .logits = span.logits});
    };
    Result<TextRead> done = go_on();
    if (rows.ok() && !done.ok() && is_full(done.error())) {
      rows = done.error();
      done = go_on();
    }
    report.compressed = was_compressed_since(before);
    if (done.ok()) note(LedgerCause::limit, done->room, cache->stats().bytes + done->room_bytes);
    // What reading an answer did counts with its turn.
    if (span.kind != kvcache::SpanKind::answer) note_since(LedgerCause::read, before);
    if (!done.ok()) return std::move(done).error();
    read = *done;
    if (keeps && rows.ok()) SATCHEL_TRY(keep_rows(read.n_last, rows->data()));
  }
  report.n_evicted = read.compacted.n_evicted;
  report.ms = clock.steady_ms() - began;
  if (report.n_tokens >= kSpeedTokensMin)
    engine.read_ms_per_token = report.ms / static_cast<double>(report.n_tokens);
  return report;
}

Result<ReadReport> Session::State::read_unread(std::stop_token stop, const ProgressFn& progress) {
  ReadReport all;
  const std::size_t n_context = engine.model->config().context;
  if (transcript.tokens().size() > n_context)
    return Error{ErrorKind::out_of_memory, "CONTEXT_FULL",
                 "The chat has " + count_text(transcript.tokens().size()) +
                     " tokens, more than this model's context of " + count_text(n_context) +
                     ". It is kept; go on with a model of a longer context, or start a new chat."};
  const std::size_t n_layers = engine.model->config().n_layers();
  const std::size_t n_before = n_read(), n_all = transcript.tokens().size();
  for (const SessionMessage& message : transcript.messages()) {
    if (message.end <= n_read()) continue;
    const std::size_t at = n_read();
    const ProgressFn part = [&](const Progress& now) {
      progress({now.phase, (at - n_before) * n_layers + now.done, (n_all - n_before) * n_layers});
    };
    Result<ReadReport> report =
        read_span({.end = message.end, .kind = kind_of(message)}, stop, progress ? part : progress);
    if (!report.ok()) return explain(std::move(report).error());
    all.n_tokens += report->n_tokens;
    all.ms += report->ms;
    all.n_evicted += report->n_evicted;
    all.compressed = all.compressed || report->compressed;
    if (message.role != kvcache::Role::assistant) continue;
    SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport ended, end_turn());
    all.n_evicted += ended.n_evicted;
    all.compressed = all.compressed || ended.n_evicted + ended.n_lowered > 0;
  }
  return all;
}

Result<void> Session::State::look_again(const std::stop_token& stop) {
  if (n_read() == 0)
    return Error{ErrorKind::invalid, "PARAM", "There is no text to go on with yet."};
  const std::size_t last = n_read() - 1;
  const auto look = [&] {
    return engine.model->replay({.cache = *cache,
                                 .ids = transcript.tokens().subspan(last, 1),
                                 .first = last,
                                 .stop = stop,
                                 .logits = logits});
  };
  Result<void> seen = look();
  if (seen.ok() || !is_full(seen.error())) return seen;
  SATCHEL_TRY_ASSIGN(const bool made, make_room(stop));
  return made ? look() : seen;
}

Result<kvcache::CompactionReport> Session::State::end_turn() {
  if (turn_began) note_since(LedgerCause::turn, *turn_began);
  turn_began.reset();
  const std::size_t bytes_before = cache->stats().bytes;
  SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport done, cache->end_turn());
  note(LedgerCause::turn, done, bytes_before);
  return done;
}

Result<void> Session::State::read_rest() {
  const auto read = [this] {
    return read_span({.end = transcript.tokens().size(), .kind = kvcache::SpanKind::answer}, {},
                     {});
  };
  Result<ReadReport> report = read();
  if (!report.ok() && is_full(report.error())) {
    const Result<bool> made = make_room({});
    if (made.ok() && *made) report = read();
  }
  if (!report.ok() && !is_full(report.error())) return report.error();
  // Full: the next turn will say so.
  const Result<kvcache::CompactionReport> ended = end_turn();
  if (!ended.ok() && !is_full(ended.error())) return ended.error();
  return {};
}

Result<bool> Session::State::make_room(std::stop_token stop) {
  const std::size_t before = cache->arena().used_bytes();
  drop_rows();
  SATCHEL_TRY(make_script());
  const std::size_t bytes_before = cache->stats().bytes;
  SATCHEL_TRY_ASSIGN(kvcache::CompactionReport made,
                     pack_all(*engine.model, text_pass(std::move(stop), {})));
  const auto add = [&made](const kvcache::CompactionReport& part) {
    made.n_evicted += part.n_evicted;
    made.n_lowered += part.n_lowered;
  };
  const auto is_full = [this] { return cache->arena().free_bytes() < cache->step_needs(); };
  if (is_full()) {
    SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport shrunk,
                       cache->make_room(cache->step_needs()));
    add(shrunk);
  }
  if (is_full()) {
    SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport lowered,
                       cache->compact(kvcache::Occasion::over_limit));
    add(lowered);
  }
  note(LedgerCause::limit, made, bytes_before);
  return cache->arena().used_bytes() < before;
}

Result<ReadReport> Session::read(std::stop_token stop, const ProgressFn& progress) {
  SATCHEL_TRY(state_->need_cache());
  SATCHEL_TRY(state_->make_script());
  SATCHEL_TRY_ASSIGN(ReadReport report, state_->read_unread(stop, progress));
  // What was read stays read, whether or not the measurement comes to an end.
  if (state_->measures_now() && state_->measure(stop, progress).ok())
    report.fidelity = state_->meter.fidelity;
  return report;
}

Result<void> Turn::read() {
  SATCHEL_TRY(check(request_.sampling));
  if (session_.transcript.empty())
    return Error{ErrorKind::invalid, "PARAM", "There is no message to answer yet."};
  SATCHEL_TRY(session_.need_cache());
  SATCHEL_TRY(session_.make_script());
  SATCHEL_TRY_ASSIGN(read_report_, session_.read_unread(request_.stop, request_.progress));
  session_.turn_began = session_.held();
  answer_.emplace(
      session_, request_.sampling,
      Answer::Listeners{
          .piece = request_.piece, .thought = request_.thought, .progress = request_.progress},
      request_.stop);
  answer_->begin();
  return {};
}

Result<GenerateReport> Turn::close() {
  SATCHEL_TRY(went_);
  Result<GenerateReport> answered = answer_->end();
  session_.turn_began.reset();
  SATCHEL_TRY_ASSIGN(GenerateReport report, std::move(answered));
  report.read = read_report_;
  return report;
}

// Only now, so that nobody waits for it.
Result<GenerateReport> Turn::measure(Result<GenerateReport> closed) {
  if (closed.ok() && session_.measures_now() && session_.measure(request_.stop, {}).ok())
    closed->read.fidelity = session_.meter.fidelity;
  return closed;
}

Result<GenerateReport> Session::generate(const Sampling& sampling, const PieceFn& piece,
                                         std::stop_token stop, const ProgressFn& progress,
                                         const PieceFn& thought) {
  const TurnRequest request{.session = this,
                            .sampling = sampling,
                            .piece = piece,
                            .stop = std::move(stop),
                            .progress = progress,
                            .thought = thought};
  Turn turn(*state_, request);
  turn.begin();
  while (const std::optional<TokenId> token = turn.choose()) turn.decoded(turn.decode(*token));
  return turn.measure(turn.close());
}

}  // namespace satchel::runtime
