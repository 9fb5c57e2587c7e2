// Requests: memory for each, and its answer.
#include <algorithm>
#include <utility>

#include "app/serve/desk.h"
#include "runtime/chat/chat_errors.h"
#include "runtime/sampler/stop_text.h"
#include "runtime/tools/call_reader.h"

namespace satchel::serve {
using runtime::Role;

// What an answer says on its way to the client: up to a stop text, and its calls by themselves.
class AnswerTeller {
 public:
  AnswerTeller(const ChatRequest& request, const Listener& listener)
      : listener_(listener), stops_(request.stop), form_(*request.form) {
    if (!request.tools.empty()) reader_.emplace(form_, request.tools);
  }

  void hear(const runtime::ChatEvent& event) {
    if (std::holds_alternative<runtime::Progress>(event) && listener_.reads) listener_.reads();
    if (std::holds_alternative<runtime::AnswerStarted>(event) && !std::exchange(has_begun_, true) &&
        listener_.begins)
      listener_.begins();
    const auto* delta = std::get_if<runtime::AnswerDelta>(&event);
    if (delta == nullptr) return;
    if (!delta->is_thought) return show(stops_.push(delta->text));
    thoughts += delta->text;
    if (listener_.thought) listener_.thought(delta->text);
  }
  void finish() {
    show(stops_.finish());
    if (reader_) tell(reader_->finish());
  }
  const runtime::StopText& stops() const { return stops_; }

  // As it is told to the model again.
  Said shown() const {
    if (calls.empty()) return {.role = Role::assistant, .text = raw};
    return said_with_calls(text, calls, form_);
  }

  std::string raw, text, thoughts;  // raw: the text with its calls
  std::vector<ToolCall> calls;

 private:
  void show(const std::string& shown) {
    raw += shown;
    if (reader_) return tell(reader_->push(shown));
    tell({.said = shown, .calls = {}});
  }
  void tell(runtime::CallReader::Read read) {
    text += read.said;
    if (!read.said.empty() && listener_.said) listener_.said(read.said);
    for (ToolCall& call : read.calls) {
      call.id = fresh_id("call_");
      calls.push_back(call);
      if (listener_.called) listener_.called(call);
    }
  }

  const Listener& listener_;
  runtime::StopText stops_;
  const ToolForm& form_;
  std::optional<runtime::CallReader> reader_;  // none: without tools all is text
  bool has_begun_ = false;
};

// What the answer may come to take beside what is taken and what others were promised.
Result<Desk::Fit> Desk::fit_of(Turn& turn) {
  const KnownChat& chat = *turn.chat_;
  const runtime::Session* const session = service_.session(chat.handle);
  if (session == nullptr) return Fit::enough;
  const std::size_t n =
      std::min(turn.n_prompt_ + turn.request_.sampling.n_tokens_max, session->n_context());
  const auto estimate =
      service_.engine()->estimate(session->recipe(), {.n_tokens = std::max<std::size_t>(n, 1)});
  if (!estimate.ok()) return Fit::enough;
  turn.needed_bytes_ = estimate->arena_bytes;
  const kvcache::CacheStats stats = session->stats();
  std::size_t needed =
      stats.arena_used_bytes + turn.needed_bytes_ - std::min(turn.needed_bytes_, stats.bytes);
  std::size_t resting = 0;
  for (const KnownChat& one : chats_) {
    const runtime::Session* const its = &one != &chat ? service_.session(one.handle) : nullptr;
    if (its == nullptr) continue;
    const std::size_t held = its->stats().bytes;
    needed += one.promised_bytes - std::min(one.promised_bytes, held);
    if (!one.is_taken) resting += held;
  }
  if (needed <= stats.arena_bytes) return Fit::enough;
  return needed <= stats.arena_bytes + resting ? Fit::if_some_close : Fit::if_some_end;
}

// Before an answer, so that this chat's own text is not lowered for the sake of others' that rest,
// and what those that answer still need is left to them. False: where an answer ends first.
bool Desk::free_memory_for(Turn& turn) {
  for (;;) {
    const Result<Fit> fit = look({}, [&] { return fit_of(turn); });
    if (!fit.ok() || *fit == Fit::enough) return true;
    if (*fit == Fit::if_some_end && n_answering_ > 0) return false;
    if (!close_least_used(turn.chat_)) return false;
  }
}

Result<void> Desk::await_memory(Turn& turn, const std::stop_token& stop) {
  KnownChat& chat = *turn.chat_;
  memory_line_.push_back(&turn);
  const auto must_wait = [&] {
    return n_answering_ > 0 && (memory_line_.front() != &turn || !free_memory_for(turn));
  };
  Result<void> waited;
  while (waited.ok() && must_wait()) {
    take(chat, stop);
    waited = wait_for_a_chat(turn.permit_, stop);
    turn.permit_.emplace(queue_.wait({}).value());
  }
  if (n_answering_ == 0) (void)free_memory_for(turn);
  std::erase(memory_line_, &turn);
  chat.is_taken = false;
  if (!waited.ok() || !memory_line_.empty()) give_back(chat);
  return waited;
}

void Desk::take(KnownChat& chat, const std::stop_token& client) {
  chat.is_taken = true;
  chat.client = client;
}

void Desk::give_back(KnownChat& chat) {
  chat.is_taken = false;
  chat.promised_bytes = 0;
  const std::lock_guard hold(mutex_);
  ++n_given_back_;
  given_back_.notify_all();
}

Result<void> Desk::wait_for_a_chat(std::optional<runtime::CallQueue::Permit>& permit,
                                   const std::stop_token& stop) {
  std::unique_lock hold(mutex_);
  const std::uint64_t n = n_given_back_;
  permit.reset();
  if (!given_back_.wait(hold, stop, [&] { return n_given_back_ != n; }))
    return runtime::call_stopped();
  return {};
}

// The permit is others' while the chat answers.
Result<runtime::GenerateReport> Desk::answer_beside(Turn& turn, const runtime::ChatCall& call,
                                                    const std::stop_token& client) {
  const runtime::ChatHandle handle = turn.chat_->handle;
  take(*turn.chat_, client);
  turn.chat_->promised_bytes = turn.needed_bytes_;
  ++n_answering_;
  turn.permit_.reset();
  // Whatever a listener throws, the permit comes back.
  Result<runtime::GenerateReport> report = runtime::caught<runtime::GenerateReport>(
      [&] { return service_.answer(handle, turn.request_.sampling, call); });
  turn.permit_.emplace(queue_.wait({}).value());
  --n_answering_;
  return report;
}

void Desk::end_answer(KnownChat& chat) {
  chat.used = ++n_uses_;
  chat.may_have_idle_work = true;
  give_back(chat);
  const std::lock_guard hold(mutex_);
  has_idle_work_ = true;
  idle_wakes_.notify_one();
}

Result<Outcome> Desk::answer(Turn& turn, const Listener& listener, const std::stop_token& stop) {
  KnownChat& chat = *turn.chat_;
  AnswerTeller teller(turn.request_, listener);
  std::stop_source ends;
  const std::stop_callback relay(stop, [&ends] { ends.request_stop(); });
  const runtime::ChatSink sink = [&](runtime::ChatHandle, const runtime::ChatEvent& event) {
    teller.hear(event);
    if (teller.stops().found()) ends.request_stop();
  };
  const auto report = with_room(&chat, [&] {
    return answer_beside(turn, {ends.get_token(), sink}, stop);
  });
  end_answer(chat);
  Result<Outcome> outcome = report.ok() ? told(turn, teller, *report) : report.error();
  if (!report.ok()) take_back(chat);
  if (outcome.ok()) count(*outcome, stop.stop_requested());
  turn.permit_.reset();
  return outcome;
}

Result<Outcome> Desk::told(Turn& turn, AnswerTeller& teller,
                           const runtime::GenerateReport& report) {
  KnownChat& chat = *turn.chat_;
  if (report.answer.value != 0) {
    chat.said.push_back({.role = Role::assistant, .text = report.text, .knows_marks = false});
    learn_ids(chat);
  }
  teller.finish();
  SATCHEL_TRY_ASSIGN(Outcome outcome, outcome_of(turn, report));
  outcome.stop_text = teller.stops().met();
  outcome.text = std::move(teller.text);
  outcome.calls = std::move(teller.calls);
  outcome.thoughts = std::move(teller.thoughts);
  if (teller.stops().found()) SATCHEL_TRY(keep_shown(chat, teller.shown()));
  if (chat.said.back().role == Role::assistant) outcome.kept = chat.said.back().text;
  return outcome;
}

void Desk::count(const Outcome& outcome, bool has_left) {
  ++metrics_.answers;
  metrics_.answers_cut += outcome.is_cut() ? 1 : 0;
  metrics_.clients_left += has_left ? 1 : 0;
  metrics_.prompt_tokens += outcome.n_prompt;
  metrics_.cached_tokens += outcome.n_cached;
  metrics_.answer_tokens += outcome.n_answer;
  metrics_.arena_bytes = outcome.stats.arena_bytes;
  metrics_.arena_used_bytes = outcome.stats.arena_used_bytes;
  metrics_.chats_known = chats_.size();
  metrics_.chats_open =
      static_cast<std::uint64_t>(std::ranges::count_if(chats_, &KnownChat::is_open));
}

// The client knows nothing of the text that ended an answer: it will send back what it was shown.
Result<void> Desk::keep_shown(KnownChat& chat, const Said& shown) {
  if (chat.said.empty() || chat.said.back().role != Role::assistant) return {};
  SATCHEL_TRY(cut(chat, chat.said.size() - 1, {}));
  if (shown.text.empty()) return {};
  const runtime::MessageText text{
      .role = Role::assistant, .text = shown.text, .marks = &shown.marks};
  const auto added = service_.append(chat.handle, {&text, 1});
  if (!added.ok()) return added.error();
  chat.said.push_back(shown);
  learn_ids(chat);
  return {};
}

// What came of an answer that failed: its words are not known here.
void Desk::take_back(KnownChat& chat) {
  const std::vector<runtime::MessageId> before = chat.ids;
  learn_ids(chat);
  if (!before.empty() && chat.ids == before) return;
  chat.ids = before;
  if (!before.empty() && service_.truncate(chat.handle, before.back()).ok()) return;
  close(chat);
  if (chat.saved.value == 0) forget(chat);
}

Result<Outcome> Desk::outcome_of(Turn& turn, const runtime::GenerateReport& report) {
  const std::size_t n_read = report.read.n_tokens + turn.resumed_.n_reread;
  Outcome outcome{.session = turn.session_,
                  .n_prompt = turn.n_prompt_,
                  .n_cached = turn.n_prompt_ - std::min(turn.n_prompt_, n_read),
                  .n_answer = report.n_tokens + report.thoughts.n_tokens,
                  .n_thoughts = report.thoughts.n_tokens,
                  .finish = report.finish,
                  .stop_text = "",
                  .text = "",
                  .thoughts = "",
                  .calls = {},
                  .message = report.message,
                  .read_ms = report.read.ms,
                  .answer_ms = report.ms,
                  .reread = report.read.reread,
                  .stats = {},
                  .fidelity = {},
                  .episodes = report.episodes};
  for (const kvcache::Reread& one : turn.resumed_.reread) kvcache::add(outcome.reread, one);
  return look({}, [&]() -> Result<Outcome> {
    const runtime::Session& session = *service_.session(turn.chat_->handle);
    outcome.stats = session.stats();
    outcome.fidelity = session.fidelity();
    return std::move(outcome);
  });
}

// --- idle work: what a recipe leaves for when nobody waits

void Desk::work_while_idle(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock hold(mutex_);
      if (!idle_wakes_.wait(hold, stop, [this] { return has_idle_work_; })) return;
    }
    const std::stop_source makes_way;
    const std::stop_callback relay(stop,
                                   [&makes_way] { std::stop_source(makes_way).request_stop(); });
    const auto permit = queue_.wait_idle(stop, makes_way);
    if (!permit.ok()) return;
    bool is_done = true;
    for (KnownChat& chat : chats_) {
      if (!chat.is_open() || chat.is_taken || !chat.may_have_idle_work) continue;
      const auto report = service_.idle(chat.handle, {makes_way.get_token(), {}});
      chat.may_have_idle_work = report.ok() && !report->finished;
      is_done = is_done && !chat.may_have_idle_work;
      if (makes_way.stop_requested()) break;
    }
    const std::lock_guard hold(mutex_);
    has_idle_work_ = !is_done || makes_way.stop_requested();
  }
}

}  // namespace satchel::serve
