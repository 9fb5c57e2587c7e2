#include "app/serve/desk.h"

#include <algorithm>
#include <utility>

#include "app/serve/stop_text.h"
#include "kernels/base/size_text.h"
#include "runtime/limits/presets.h"

namespace satchel::serve {
namespace {

using runtime::ChatCall;
using runtime::Role;

// What a message needs behind it is less, in every template.
constexpr std::size_t kLeastAnswer = 32;

bool lacks_memory(const Error& error) {
  return error.kind == ErrorKind::out_of_memory && error.code != "CONTEXT_FULL";
}

Error busy() {
  return {ErrorKind::invalid, "BUSY", "Too many requests wait. Try again in a moment."};
}

Error no_session(const std::string& id) {
  return {ErrorKind::not_found, "SESSION_NOT_FOUND", "There is no session \"" + id + "\"."};
}

// What an answer says on its way to the client: up to a stop text, and its calls by themselves.
class AnswerTeller {
 public:
  AnswerTeller(const ChatRequest& request, const Listener& listener)
      : listener_(listener), stops_(request.stop), reader_(!request.tools.empty()) {}

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
    tell(reader_.finish());
  }
  const StopText& stops() const { return stops_; }

  std::string raw, text, thoughts;  // raw: the text with its calls
  std::vector<ToolCall> calls;

 private:
  void show(const std::string& shown) {
    raw += shown;
    tell(reader_.push(shown));
  }
  void tell(const CallReader::Read& read) {
    text += read.said;
    if (!read.said.empty() && listener_.said) listener_.said(read.said);
    for (const ToolCall& call : read.calls) {
      calls.push_back(call);
      if (listener_.called) listener_.called(call);
    }
  }

  const Listener& listener_;
  StopText stops_;
  CallReader reader_;
  bool has_begun_ = false;
};

}  // namespace

Desk::Desk(runtime::ChatService& service, runtime::ChatStart start, Metrics& metrics)
    : service_(service),
      start_(std::move(start)),
      metrics_(metrics),
      idle_([this](const std::stop_token& stop) { work_while_idle(stop); }) {}

Desk::~Desk() {
  idle_.request_stop();
  idle_.join();
  for (KnownChat& chat : chats_) close(chat);
}

// --- the chats

Result<void> Desk::load() {
  if (service_.store() == nullptr) return {};
  SATCHEL_TRY_ASSIGN(const std::vector<runtime::Chat> rows, service_.chats());
  for (const runtime::Chat& row : rows) {
    KnownChat chat;
    read_name(row.name, chat);
    chat.system = row.setup.system;
    chat.recipe = row.setup.recipe_json;
    chat.saved = row.id;
    SATCHEL_TRY_ASSIGN(const auto messages, service_.store()->library().messages(row.id));
    for (const runtime::StoredMessage& message : messages)
      if (message.role != Role::system) chat.said.push_back({message.role, message.text});
    chats_.push_front(std::move(chat));  // the one used last is listed first
    chats_.front().used = 0;
  }
  for (KnownChat& chat : chats_) chat.used = ++n_uses_;
  metrics_.chats_known = chats_.size();
  return {};
}

Result<KnownChat*> Desk::find(const std::string& session) {
  const auto found = std::ranges::find(chats_, session, &KnownChat::id);
  if (found == chats_.end()) return no_session(session);
  return &*found;
}

Result<KnownChat*> Desk::find_open(const std::string& session, const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(KnownChat* const chat, find(session));
  SATCHEL_TRY(open(*chat, stop));
  return chat;
}

Result<kvcache::Recipe> Desk::recipe_of(const ChatRequest& request) const {
  if (request.recipe.empty()) return start_.memory.recipe;
  return runtime::resolve_recipe(request.recipe);
}

template <class Work>
auto Desk::with_room(KnownChat* chat, const Work& work) -> decltype(work()) {
  for (;;) {
    auto done = work();
    if (done.ok() || !lacks_memory(done.error()) || !close_least_used(chat)) return done;
  }
}

bool Desk::close_least_used(const KnownChat* but) {
  KnownChat* least = nullptr;
  for (KnownChat& chat : chats_)
    if (chat.is_open() && &chat != but && (least == nullptr || chat.used < least->used))
      least = &chat;
  if (least == nullptr) return false;
  ++metrics_.chats_closed;
  close(*least);
  if (least->saved.value == 0) forget(*least);
  return true;
}

void Desk::close(KnownChat& chat) {
  if (chat.is_open()) service_.close(std::exchange(chat.handle, {}));
  chat.ids.clear();
}

void Desk::forget(KnownChat& chat) {
  close(chat);
  std::erase_if(chats_, [&](const KnownChat& one) { return &one == &chat; });
  metrics_.chats_known = chats_.size();
}

Result<void> Desk::remove(KnownChat& chat) {
  close(chat);
  if (chat.saved.value != 0) SATCHEL_TRY(service_.store()->delete_now(chat.saved));
  forget(chat);
  return {};
}

Result<void> Desk::put_away(KnownChat& chat, const std::stop_token& stop) {
  if (chat.saved.value != 0) {
    const auto removed = service_.remove(chat.saved, {stop, {}});
    if (!removed.ok()) return removed.error();
    chat.handle = {};  // it closed it
  }
  forget(chat);
  return {};
}

// Before an answer, so that this chat's own text is not lowered for the sake of others' that rest.
void Desk::free_memory_for(const KnownChat& chat, std::size_t n_tokens) {
  runtime::Session* const session = service_.session(chat.handle);
  if (session == nullptr) return;
  const std::size_t n = std::min(n_tokens, session->n_context());
  const auto estimate =
      service_.engine()->estimate(session->recipe(), {.n_tokens = std::max<std::size_t>(n, 1)});
  if (!estimate.ok()) return;
  for (;;) {
    const kvcache::CacheStats stats = session->stats();
    const std::size_t needed = estimate->arena_bytes - std::min(estimate->arena_bytes, stats.bytes);
    if (stats.arena_used_bytes + needed <= stats.arena_bytes || !close_least_used(&chat)) return;
  }
}

Result<std::size_t> Desk::open(KnownChat& chat, const std::stop_token& stop) {
  chat.used = ++n_uses_;
  if (chat.is_open()) return std::size_t{0};
  SATCHEL_TRY_ASSIGN(const runtime::OpenReport opened, with_room(&chat, [&] {
                       auto report = service_.open(
                           chat.saved,
                           {.keeps_model = true, .limit_bytes = start_.memory.limit_bytes},
                           {stop, {}});
                       if (!report.ok() || report->resumed.ok()) return report;
                       service_.close(report->chat);
                       return Result<runtime::OpenReport>(report->resumed.error());
                     }));
  chat.handle = opened.chat;
  learn_ids(chat);
  const auto& resumed = *opened.resumed;
  return resumed ? resumed->n_reread : 0;
}

// The session's messages but the system text are those of `said`.
void Desk::learn_ids(KnownChat& chat) {
  chat.ids.clear();
  const runtime::Session* session = service_.session(chat.handle);
  if (session == nullptr) return;
  for (const runtime::SessionMessage& message : session->messages())
    if (message.role != Role::system) chat.ids.push_back(message.id);
  if (const runtime::OpenChat* open = service_.chat(chat.handle)) chat.saved = open->id();
}

Result<KnownChat*> Desk::begin_chat(const ChatRequest& request, const kvcache::Recipe& recipe,
                                    const std::stop_token& stop) {
  KnownChat chat;
  chat.id = request.session.empty() ? fresh_id("chat-") : request.session;
  chat.group = request.group;
  chat.system = request.system;
  chat.recipe = recipe.json();
  runtime::ChatStart start = start_;
  start.memory.recipe = recipe;
  start.name = name_of(chat);
  start.system = request.system;
  SATCHEL_TRY_ASSIGN(chat.handle, service_.begin(std::move(start), {}, {stop, {}}));
  chats_.push_back(std::move(chat));
  chats_.back().used = ++n_uses_;
  return &chats_.back();
}

Result<KnownChat*> Desk::branch(KnownChat& from, const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(const runtime::ChatHandle handle, with_room(&from, [&] {
                       return service_.branch(from.handle, {stop, {}});
                     }));
  KnownChat chat = from;
  chat.id = fresh_id("chat-");
  chat.handle = handle;
  chat.saved = {};
  chat.used = ++n_uses_;
  learn_ids(chat);
  if (chat.saved.value != 0) {
    const auto named = service_.rename(chat.saved, name_of(chat), {stop, {}});
    if (!named.ok()) {
      service_.close(handle);
      return named.error();
    }
  }
  chats_.push_back(std::move(chat));
  return &chats_.back();
}

Result<void> Desk::cut(KnownChat& chat, std::size_t n, const std::stop_token& stop) {
  if (n >= chat.said.size()) return {};
  if (n == 0 && chat.ids.empty()) return {};
  runtime::MessageId last = n > 0 ? chat.ids.at(n - 1) : runtime::MessageId{};
  // The system text stays read, but where it is the beginning of the first message.
  const auto messages = service_.session(chat.handle)->messages();
  if (n == 0 && !service_.engine()->chat_template().system_in_first_turn() && !messages.empty() &&
      messages.front().role == Role::system)
    last = messages.front().id;
  SATCHEL_TRY(service_.truncate(chat.handle, last, {stop, {}}));
  chat.said.resize(n);
  chat.ids.resize(n);
  return {};
}

Result<void> Desk::add(const Turn& turn, const std::stop_token& stop) {
  KnownChat& chat = *turn.chat_;
  const ChatRequest& request = turn.request_;
  if (turn.is_branch_) SATCHEL_TRY(cut(chat, n_common(chat.said, request.messages), stop));
  std::vector<runtime::MessageText> texts;
  for (std::size_t i = chat.said.size(); i < request.messages.size(); ++i)
    texts.push_back({request.messages[i].role, request.messages[i].text});
  if (texts.empty()) return {};
  const auto appended = with_room(&chat, [&] {
    return service_.append(chat.handle, texts, {stop, {}});
  });
  if (!appended.ok()) return appended.error();
  chat.said = request.messages;
  learn_ids(chat);
  return {};
}

// --- requests

Result<KnownChat*> Desk::choose(Turn& turn, const std::stop_token& stop) {
  const ChatRequest& request = turn.request_;
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, recipe_of(request));
  const Wanted wanted{request, request.recipe.empty() ? "" : recipe.json()};
  if (!request.session.empty()) {
    const auto found = find(request.session);
    if (found.ok() && fits(**found, {request, ""})) {  // a recipe is of a chat that begins
      KnownChat& chat = **found;
      SATCHEL_TRY_ASSIGN(turn.n_read_again_, open(chat, stop));
      const std::size_t n = n_common(chat.said, request.messages);
      const runtime::Session* session = service_.session(chat.handle);
      const bool goes_on = session != nullptr && session->beyond() != runtime::BeyondContext::ends;
      if (n < chat.said.size()) SATCHEL_TRY(check_fits(request, goes_on ? n : 0));
      SATCHEL_TRY(cut(chat, n, stop));
      return &chat;
    }
    // It was another conversation: its id is this one's now.
    if (found.ok()) {
      SATCHEL_TRY(check_fits(request, 0));
      SATCHEL_TRY(put_away(**found, stop));
    }
    return begin_chat(request, recipe, stop);
  }
  KnownChat* match = best_match(chats_, wanted);
  if (match == nullptr) match = same_system(chats_, wanted);
  if (match == nullptr) return begin_chat(request, recipe, stop);
  SATCHEL_TRY_ASSIGN(turn.n_read_again_, open(*match, stop));
  const std::size_t n = n_common(match->said, request.messages);
  if (n == match->said.size()) return match;
  const auto branched = branch(*match, stop);
  if (branched.ok()) {
    turn.is_branch_ = true;
    return *branched;
  }
  // There is no memory for two: this one goes on.
  if (!lacks_memory(branched.error())) return branched.error();
  SATCHEL_TRY(check_fits(request, 0));
  SATCHEL_TRY(cut(*match, n, stop));
  return match;
}

// Before messages of a chat are given up for a request: that one is not refused then.
Result<void> Desk::check_fits(ChatRequest request, std::size_t n_held) const {
  request.messages.erase(request.messages.begin(),
                         request.messages.begin() + static_cast<std::ptrdiff_t>(n_held));
  SATCHEL_TRY_ASSIGN(const std::size_t n, count_tokens(request));
  const std::size_t n_most = service_.engine()->config().context;
  if (n + kLeastAnswer <= n_most) return {};
  return Error{ErrorKind::out_of_memory, "CONTEXT_FULL",
               "This needs " + count_text(n) + " tokens, but this model can read " +
                   count_text(n_most) + " at once. The session is as it was. Shorten it."};
}

Result<void> Desk::place(Turn& turn, const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(turn.chat_, choose(turn, stop));
  KnownChat& chat = *turn.chat_;
  const bool is_new = chat.said.empty();
  if (service_.engine()->chat_template().has_thinking_switch())
    SATCHEL_TRY(service_.set_thinking(
        chat.handle, turn.request_.thinks ? start_.thinking : runtime::Thinking::off, {stop, {}}));
  const Result<void> added = add(turn, stop);
  if (!added.ok() && is_new) forget(chat);
  if (!added.ok() && turn.is_branch_) SATCHEL_TRY(remove(chat));  // else nobody would
  SATCHEL_TRY(added);
  const runtime::Session& session = *service_.session(chat.handle);
  turn.n_prompt_ = session.tokens().size();
  turn.n_unread_ = turn.n_prompt_ - std::min(turn.n_prompt_, session.n_read());
  return {};
}

Result<std::shared_ptr<Desk::Turn>> Desk::begin(ChatRequest request, const std::stop_token& stop) {
  if (n_asked_.fetch_add(1) >= kRequestsMax) {
    --n_asked_;
    return busy();
  }
  const std::shared_ptr<void> ticket(nullptr, [this](void*) { --n_asked_; });
  SATCHEL_TRY(check(request.sampling));
  SATCHEL_TRY_ASSIGN(runtime::CallQueue::Permit permit, queue_.wait(stop));
  std::shared_ptr<Turn> turn(new Turn(std::move(permit), std::move(request)));
  turn->ticket_ = ticket;
  SATCHEL_TRY(place(*turn, stop));
  free_memory_for(*turn->chat_, turn->n_prompt_ + turn->request_.sampling.n_tokens_max);
  return turn;
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
    return service_.answer(chat.handle, turn.request_.sampling, {ends.get_token(), sink});
  });
  chat.used = ++n_uses_;
  {
    const std::lock_guard hold(idle_mutex_);
    chat.may_have_idle_work = has_idle_work_ = true;
  }
  idle_wakes_.notify_one();
  if (!report.ok()) {
    take_back(chat);
    return report.error();
  }
  if (report->answer.value != 0) {
    chat.said.push_back({Role::assistant, report->text});
    learn_ids(chat);
  }
  teller.finish();
  Outcome outcome = outcome_of(turn, *report);
  outcome.stop_text = teller.stops().met();
  outcome.text = std::move(teller.text);
  outcome.calls = std::move(teller.calls);
  outcome.thoughts = std::move(teller.thoughts);
  if (teller.stops().found()) SATCHEL_TRY(keep_shown(chat, teller.raw));
  ++metrics_.answers;
  metrics_.answers_cut += outcome.is_cut() ? 1 : 0;
  metrics_.clients_left += stop.stop_requested() ? 1 : 0;
  metrics_.prompt_tokens += outcome.n_prompt;
  metrics_.cached_tokens += outcome.n_cached;
  metrics_.answer_tokens += outcome.n_answer;
  metrics_.arena_bytes = outcome.stats.arena_bytes;
  metrics_.arena_used_bytes = outcome.stats.arena_used_bytes;
  metrics_.chats_known = chats_.size();
  metrics_.chats_open =
      static_cast<std::uint64_t>(std::ranges::count_if(chats_, &KnownChat::is_open));
  return outcome;
}

// The client knows nothing of the text that ended an answer: it will send back what it was shown.
Result<void> Desk::keep_shown(KnownChat& chat, const std::string& text) {
  if (chat.said.empty() || chat.said.back().role != Role::assistant) return {};
  SATCHEL_TRY(cut(chat, chat.said.size() - 1, {}));
  if (text.empty()) return {};
  const runtime::MessageText shown{.role = Role::assistant, .text = text};
  const auto added = service_.append(chat.handle, {&shown, 1});
  if (!added.ok()) return added.error();
  chat.said.push_back({Role::assistant, text});
  learn_ids(chat);
  return {};
}

// What came of an answer that failed: its words are not known here.
void Desk::take_back(KnownChat& chat) {
  const runtime::Session* session = service_.session(chat.handle);
  const bool is_whole = session != nullptr && !session->messages().empty() &&
                        session->messages().back().id == chat.ids.back();
  if (is_whole || service_.truncate(chat.handle, chat.ids.back()).ok()) return;
  close(chat);
  if (chat.saved.value == 0) forget(chat);
}

Outcome Desk::outcome_of(Turn& turn, runtime::GenerateReport report) const {
  const runtime::Session& session = *service_.session(turn.chat_->handle);
  const std::size_t n_read = report.read.n_tokens + turn.n_read_again_;
  return {.session = turn.chat_->id,
          .n_prompt = turn.n_prompt_,
          .n_cached = turn.n_prompt_ - std::min(turn.n_prompt_, n_read),
          .n_answer = report.n_tokens + report.thoughts.n_tokens,
          .n_thoughts = report.thoughts.n_tokens,
          .finish = report.finish,
          .stop_text = "",
          .text = "",
          .thoughts = "",
          .calls = {},
          .message = std::move(report.message),
          .read_ms = report.read.ms,
          .answer_ms = report.ms,
          .stats = session.stats(),
          .fidelity = session.fidelity(),
          .episodes = std::move(report.episodes)};
}

Result<std::size_t> Desk::count_tokens(const ChatRequest& request) const {
  using Ids = std::vector<runtime::TokenId>;
  const runtime::Engine& engine = *service_.engine();
  const runtime::ChatTemplate& form = engine.chat_template();
  const auto thinking =
      request.thinks || !form.has_thinking_switch() ? start_.thinking : runtime::Thinking::off;
  std::optional<std::string_view> system =
      request.system ? *request.system : form.default_system(thinking);
  SATCHEL_TRY_ASSIGN(const Ids opening, form.open_chat(engine.tokenizer(), system, thinking));
  std::size_t n = opening.size();
  for (const Said& said : request.messages) {
    const Result<Ids> ids =
        said.role == Role::user
            ? form.user_turn(engine.tokenizer(), said.text, std::exchange(system, {}))
            : form.assistant_turn(engine.tokenizer(), said.text, thinking);
    if (!ids.ok()) return ids.error();
    n += ids->size();
  }
  return n;
}

// --- idle work: what a recipe leaves for when nobody waits

void Desk::work_while_idle(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock hold(idle_mutex_);
      if (!idle_wakes_.wait(hold, stop, [this] { return has_idle_work_; })) return;
    }
    const std::stop_source makes_way;
    const std::stop_callback relay(stop,
                                   [&makes_way] { std::stop_source(makes_way).request_stop(); });
    const auto permit = queue_.wait_idle(stop, makes_way);
    if (!permit.ok()) return;
    bool is_done = true;
    for (KnownChat& chat : chats_) {
      if (!chat.is_open() || !chat.may_have_idle_work) continue;
      const auto report = service_.idle(chat.handle, {makes_way.get_token(), {}});
      chat.may_have_idle_work = report.ok() && !report->finished;
      is_done = is_done && !chat.may_have_idle_work;
      if (makes_way.stop_requested()) break;
    }
    const std::lock_guard hold(idle_mutex_);
    has_idle_work_ = !is_done || makes_way.stop_requested();
  }
}

}  // namespace satchel::serve
