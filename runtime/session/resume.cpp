// Saving a conversation's cache, and coming back to it in another process.
#include "runtime/gguf/size_text.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {
namespace {

using kvcache::RestoreOutcome;

std::string outcome_text(RestoreOutcome outcome) {
  switch (outcome) {
    case RestoreOutcome::restored:
      return "restored";
    case RestoreOutcome::nothing_saved:
      return "nothing_saved";
    case RestoreOutcome::other_model:
      return "other_model";
    case RestoreOutcome::other_recipe:
      return "other_recipe";
    case RestoreOutcome::other_tokens:
      return "other_tokens";
    case RestoreOutcome::other_format:
      return "other_format";
    case RestoreOutcome::damaged:
      return "damaged";
  }
  return "unknown";
}

}  // namespace

kvcache::SnapshotIdentity Session::State::identity(std::size_t n_tokens) const {
  return {.model = engine.fingerprint,
          .recipe = options.recipe.hash(),
          .tokens = transcript.tokens().first(n_tokens)};
}

// Message by message, so that no more memory is needed than the chat took when it grew.
Result<void> Session::State::read_again(std::stop_token stop, const ProgressFn& progress) {
  const std::size_t n_all = transcript.tokens().size(), n_layers = engine.model->config().n_layers;
  const std::size_t n_before = n_read();
  while (n_read() < n_all) {
    const std::size_t begin = n_read(), end = transcript.message_end(begin);
    const ProgressFn part = [&](const Progress& now) {
      progress(
          {now.phase, (begin - n_before) * n_layers + now.done, (n_all - n_before) * n_layers});
    };
    Result<ReadReport> report =
        read_span({.end = end, .measures = true}, stop, progress ? part : progress);
    if (!report.ok()) return explain(std::move(report).error());
  }
  return {};
}

Result<kvcache::SaveReport> Session::save() {
  if (!state_->snapshot) return kvcache::SaveReport{};
  SATCHEL_TRY_ASSIGN(const kvcache::SaveReport report,
                     state_->snapshot->save(state_->identity(state_->n_read())));
  state_->engine.record(LogLevel::info, "saved tokens=" + std::to_string(report.n_tokens) +
                                            " bytes=" + std::to_string(report.bytes_written));
  return report;
}

Result<ResumeReport> Session::resume(std::stop_token stop, const ProgressFn& progress) {
  State& state = *state_;
  const double began = state.clock.steady_ms();
  ResumeReport report;
  if (state.options.journal == nullptr)
    return Error{ErrorKind::invalid, "PARAM", "This session has no journal to resume from."};
  SATCHEL_TRY_ASSIGN(const std::size_t n_anew, state.transcript.load());
  report.n_chat_tokens = state.transcript.tokens().size();
  if (report.n_chat_tokens > n_context())
    return Error{ErrorKind::out_of_memory, "CONTEXT_FULL",
                 "The chat has " + count_text(report.n_chat_tokens) +
                     " tokens, this model's context is " + count_text(n_context()) +
                     ". The chat is kept; open it with a model of a longer context."};
  if (state.snapshot && report.n_chat_tokens > 0) {
    const Result<kvcache::RestoreReport> restored =
        state.snapshot->restore(state.identity(report.n_chat_tokens));
    if (restored.ok()) {
      report.outcome = restored->outcome;
      report.bytes_read = restored->bytes_read;
      report.message = restored->message;
    } else {  // a store that cannot be read costs time, never the chat
      state.cache->clear();
      report.outcome = RestoreOutcome::damaged;
      report.message = restored.error().message;
    }
  }
  report.n_reused = n_read();
  report.n_reread = report.n_chat_tokens - report.n_reused;
  SATCHEL_TRY(state.read_again(stop, progress));
  report.ms = state.clock.steady_ms() - began;
  report.reread_ms_estimate = state.engine.read_ms_per_token * static_cast<double>(report.n_reused);
  if (report.n_reread > 0 && report.message.empty())
    report.message = count_text(report.n_reread) + " of " + count_text(report.n_chat_tokens) +
                     " tokens were not in the saved cache and were read.";
  if (n_anew > 0)
    report.message += (report.message.empty() ? "" : " ") + count_text(n_anew) +
                      " messages were written with another tokenizer; their text was made into "
                      "this model's tokens.";
  state.engine.record(LogLevel::info, "resumed outcome=" + outcome_text(report.outcome) +
                                          " reused=" + std::to_string(report.n_reused) +
                                          " reread=" + std::to_string(report.n_reread));
  return report;
}

}  // namespace satchel::runtime
