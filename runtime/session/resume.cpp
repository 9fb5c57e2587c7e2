// Saving a conversation's cache, and coming back to it in another process.
#include "kernels/base/size_text.h"
#include "runtime/session/first_document.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;

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

// The figure: docs/benchmarks/2026-11-disk.md, Thinned.
constexpr const char* kThinnedText =
    "Nobody used this chat for a long time, so its saved cache was thinned: it takes about half as "
    "much disk, and answers may differ a little (KL about .01).";

using Restore = std::function<kvcache::RestoreReport()>;

// Once a new session has the chat's words.
struct Resuming {
  Session::State& state;
  double began_ms;
  std::vector<std::string> notes;

  Result<ResumeReport> run(const Restore& restore, std::stop_token stop,
                           const ProgressFn& progress);
};

Result<ResumeReport> Resuming::run(const Restore& restore, std::stop_token stop,
                                   const ProgressFn& progress) {
  const std::size_t n_context = state.engine.model->config().context;
  ResumeReport report;
  report.n_chat_tokens = state.transcript.tokens().size();
  if (report.n_chat_tokens > n_context && !state.past.goes_on()) {
    report.too_long = true;
    report.message = too_long_text(report.n_chat_tokens, n_context);
    add_notes(report.message, notes);
    return report;
  }
  const kvcache::RestoreReport restored = restore();
  report.bytes_read = restored.bytes_read;
  report.n_thinned = restored.n_thinned;
  report.n_reused = state.cache.n_tokens();
  report.reason = restored.reason;
  if (report.reason == RereadReason::none && report.n_reused < report.n_chat_tokens)
    report.reason = RereadReason::not_saved;
  report.message = reread_text(report.reason, restored.detail);
  state.cache.rereads().lost({.begin = report.n_reused, .end = report.n_chat_tokens},
                             report.reason);
  if (report.n_reused == 0) state.meter.forget_measured();
  if (report.n_thinned > 0) {
    state.meter.note_thinned(report.n_thinned);
    notes.insert(notes.begin(), kThinnedText);
  }
  SATCHEL_TRY(state.prefill.need_script());
  SATCHEL_TRY_ASSIGN(const ReadReport read,
                     state.prefill.prefill_unread(std::move(stop), progress, true));
  report.n_reused += read.n_shelf;
  report.n_reread = read.n_tokens;
  report.reread = state.cache.take_rereads();
  report.n_evicted = read.n_evicted;
  report.ms = state.clock.steady_ms() - began_ms;
  report.reread_ms_estimate = state.engine.reading_ms(report.n_reused);
  if (report.n_evicted > 0)
    notes.insert(notes.begin(),
                 count_text(report.n_evicted) +
                     " keys and values were left out again, as the recipe requires.");
  add_notes(report.message, notes);
  state.engine.record(LogLevel::info, std::string("resumed reason=") +
                                          kvcache::reread_word(report.reason) +
                                          " reused=" + std::to_string(report.n_reused) +
                                          " reread=" + std::to_string(report.n_reread));
  return report;
}

Result<void> check_new(Session::State& state) {
  if (!state.transcript.empty())
    return Error{ErrorKind::invalid, "PARAM",
                 "This session has messages already: resume a new session over the same chat."};
  return state.prefill.need_cache();
}

// In a copy, whose ids mean nothing, a message is known by its number.
std::vector<MessageId> places(std::size_t n) {
  std::vector<MessageId> places;
  for (std::size_t i = 1; i <= n; ++i) places.push_back({static_cast<std::int64_t>(i)});
  return places;
}

bool goes_on(const std::optional<std::string>& note) {
  return note && *note == beyond_name(BeyondContext::episodes);
}

}  // namespace

Result<kvcache::SaveReport> Session::save(const std::stop_token& stop) {
  State& state = *state_;
  state.meter.save();
  // A saved cache that is ahead of the journal would not match the chat when it is opened again.
  if (state.cache.is_lost() || state.cache.has_store()) SATCHEL_TRY(state.transcript.settle());
  if (state.cache.is_lost()) return state.cache.lost({ErrorKind::invalid, "CACHE_LOST", ""});
  if (!state.cache.has_store() || n_read() == 0) return kvcache::SaveReport{};
  SATCHEL_TRY_ASSIGN(const kvcache::SaveReport report, state.cache.save(tokens(), stop));
  offer_first_document(state.parts);
  state.engine.record(LogLevel::info, "saved tokens=" + std::to_string(report.n_tokens) +
                                          " bytes=" + std::to_string(report.bytes_written));
  return report;
}

Result<ResumeReport> Session::resume(std::stop_token stop, const ProgressFn& progress) {
  State& state = *state_;
  const double began = state.clock.steady_ms();
  if (state.options.journal == nullptr)
    return Error{ErrorKind::invalid, "PARAM", "This session has no journal to resume from."};
  SATCHEL_TRY(check_new(state));
  SATCHEL_TRY_ASSIGN(const Transcript::Loaded loaded, state.transcript.load());
  SATCHEL_TRY(state.meter.load());
  SATCHEL_TRY_ASSIGN(const auto beyond,
                     state.options.journal->note(state.options.chat, kBeyondNote));
  if (goes_on(beyond)) state.past.set_beyond(BeyondContext::episodes);
  const Restore restore = [&] { return state.prefill.restore(); };
  return Resuming{state, began, texts_of(loaded)}.run(restore, std::move(stop), progress);
}

Result<ChatCopy> Session::copy_to(kvcache::RecordStore& records) {
  State& state = *state_;
  SATCHEL_TRY(state.prefill.need_cache());
  SATCHEL_TRY(state.transcript.settle());
  ChatCopy copy;
  SATCHEL_TRY_ASSIGN(copy.messages, state.transcript.stored());
  copy.notes[std::string(kMeterNote)] = state.meter.text();
  if (!state.transcript.marks().empty()) {
    const std::vector<MessageId> ids = ids_of(messages());
    copy.notes[std::string(kMarksNote)] =
        state.transcript.marks().copied(ids, places(ids.size())).text();
  }
  if (const auto chosen = state.past.chosen())
    copy.notes[std::string(kBeyondNote)] = beyond_name(*chosen);
  const kvcache::CacheKey key = copy_key();
  if (n_read() > 0) SATCHEL_TRY(state.cache.save_copy({records, key}, tokens()));
  if (state.cache.has_store())
    state.past.copy_resting({state.cache.store(), state.cache.key()}, {records, key});
  return copy;
}

Result<ResumeReport> Session::resume_copy(const ChatCopy& copy, kvcache::RecordStore& records,
                                          std::stop_token stop, const ProgressFn& progress) {
  State& state = *state_;
  const double began = state.clock.steady_ms();
  SATCHEL_TRY(check_new(state));
  SATCHEL_TRY(state.transcript.restore(copy.messages));
  const auto note = [&](std::string_view name) {
    const auto found = copy.notes.find(name);
    return found == copy.notes.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto measured = note(kMeterNote)) (void)state.meter.restore(*measured);
  if (goes_on(note(kBeyondNote))) SATCHEL_TRY(set_beyond(BeyondContext::episodes));
  if (const auto marks = note(kMarksNote)) {
    const std::vector<MessageId> ids = ids_of(messages());
    SATCHEL_TRY(state.transcript.set_marks(Marks::of(*marks).copied(places(ids.size()), ids)));
  }
  const Restore restore = [&] {
    const kvcache::CacheKey key = copy_key();
    kvcache::RestoreReport restored = state.cache.restore_copy({records, key}, tokens());
    if (state.cache.has_store())
      state.past.copy_resting({records, key}, {state.cache.store(), state.cache.key()});
    state.prefill.mark_again();
    return restored;
  };
  return Resuming{state, began, {}}.run(restore, std::move(stop), progress);
}

Result<std::vector<StoredMessage>> Session::stored_messages() const {
  return state_->transcript.stored();
}

}  // namespace satchel::runtime
