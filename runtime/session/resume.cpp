// Saving a conversation's cache, and coming back to it in another process.
#include "kernels/base/size_text.h"
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
    case RestoreOutcome::partly:
      return "partly";
    case RestoreOutcome::damaged:
      return "damaged";
  }
  return "unknown";
}

std::string messages_text(std::size_t n) {
  return count_text(n) + (n == 1 ? " message" : " messages");
}

// What people must know of the messages that did not come back as they were.
std::vector<std::string> texts_of(const Transcript::Loaded& loaded) {
  std::vector<std::string> texts;
  if (loaded.n_anew > 0)
    texts.push_back(messages_text(loaded.n_anew) + (loaded.n_anew == 1 ? " was" : " were") +
                    " written with another tokenizer, so the text was tokenized again for this "
                    "model.");
  if (loaded.n_damaged > 0)
    texts.push_back(messages_text(loaded.n_damaged) + " of this chat " +
                    (loaded.n_damaged == 1 ? "is" : "are") +
                    " damaged on disk: the model does not see what was said there. A backup of the "
                    "library may still have it.");
  return texts;
}

void add_notes(std::string& message, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) message += (message.empty() ? "" : " ") + note;
}

std::string too_long_text(std::size_t n_tokens, std::size_t n_context) {
  return "The chat has " + count_text(n_tokens) + " tokens, this model's context is " +
         count_text(n_context) +
         ". You can read it, but not continue it with this model. Let it go on beyond "
         "the context with Compact or Extreme, open it with a model that has a longer context, or "
         "start a new chat.";
}

// What was read again, and what that left out.
void add_read_text(ResumeReport& report) {
  if (report.n_reread > 0 && report.message.empty())
    report.message = count_text(report.n_reread) + " of " + count_text(report.n_chat_tokens) +
                     " tokens were not in the saved cache and were read.";
  if (report.n_evicted > 0)
    add_notes(report.message, {count_text(report.n_evicted) +
                               " keys and values were left out again, as the recipe requires."});
}

}  // namespace

Result<kvcache::SaveReport> Session::save() {
  State& state = *state_;
  state.meter.save();
  // A saved cache that is ahead of the journal would not match the chat when it is opened again.
  if (state.cache.is_lost() || state.cache.has_store()) SATCHEL_TRY(state.transcript.settle());
  if (state.cache.is_lost()) return state.cache.lost({ErrorKind::invalid, "CACHE_LOST", ""});
  if (!state.cache.has_store() || n_read() == 0) return kvcache::SaveReport{};
  SATCHEL_TRY_ASSIGN(const kvcache::SaveReport report, state.cache.save(tokens()));
  state.engine.record(LogLevel::info, "saved tokens=" + std::to_string(report.n_tokens) +
                                          " bytes=" + std::to_string(report.bytes_written));
  return report;
}

Result<ResumeReport> Session::resume(std::stop_token stop, const ProgressFn& progress) {
  State& state = *state_;
  const double began = state.clock.steady_ms();
  ResumeReport report;
  if (state.options.journal == nullptr)
    return Error{ErrorKind::invalid, "PARAM", "This session has no journal to resume from."};
  if (!state.transcript.empty())
    return Error{ErrorKind::invalid, "PARAM",
                 "This session has messages already: resume a new session over the same chat."};
  SATCHEL_TRY(state.prefill.need_cache());
  SATCHEL_TRY_ASSIGN(const Transcript::Loaded loaded, state.transcript.load());
  SATCHEL_TRY(state.meter.load());
  SATCHEL_TRY_ASSIGN(const auto beyond,
                     state.options.journal->note(state.options.chat, kBeyondNote));
  if (beyond && *beyond == beyond_name(BeyondContext::episodes))
    state.past.set_beyond(BeyondContext::episodes);
  report.n_chat_tokens = state.transcript.tokens().size();
  const std::vector<std::string> notes = texts_of(loaded);
  if (report.n_chat_tokens > n_context() && state.past.beyond() == BeyondContext::ends) {
    report.too_long = true;
    report.message = too_long_text(report.n_chat_tokens, n_context());
    add_notes(report.message, notes);
    return report;
  }
  const kvcache::RestoreReport restored = state.cache.restore(tokens());
  report.outcome = restored.outcome;
  report.bytes_read = restored.bytes_read;
  report.message = restored.message;
  report.n_reused = n_read();
  if (report.n_reused == 0) state.meter.forget_measured();
  SATCHEL_TRY(state.prefill.need_script());
  SATCHEL_TRY_ASSIGN(const ReadReport read, state.prefill.prefill_unread(stop, progress, true));
  report.n_reread = read.n_tokens;
  report.n_evicted = read.n_evicted;
  report.ms = state.clock.steady_ms() - began;
  report.reread_ms_estimate = state.engine.read_ms_per_token * static_cast<double>(report.n_reused);
  add_read_text(report);
  add_notes(report.message, notes);
  state.engine.record(LogLevel::info, "resumed outcome=" + outcome_text(report.outcome) +
                                          " reused=" + std::to_string(report.n_reused) +
                                          " reread=" + std::to_string(report.n_reread));
  return report;
}

}  // namespace satchel::runtime
