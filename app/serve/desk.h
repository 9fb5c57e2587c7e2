// Desk: answers requests, each in the chat that it belongs to.
//   which chat   the one with the request's session id: cut to what they have in common, and read
//                on from there. Without an id: the chat whose messages are all in the request, in
//                its order and from its beginning; of several the longest. Where a chat has more
//                than the request (an answer made again, an edit), a branch of it goes on, and it
//                stays as it is
//   memory       all chats share the limit of the engine. Where the next answer may not fit, the
//                chat unused for longest is closed: with a store it is on disk and comes back.
//                Where that is not enough the answer waits until another one ends
//   order        chats answer at once and decode together; one chat answers one request after the
//                other. A request whose chat answers another one waits
//   threads      any. A Turn belongs to the thread that got it
//   errors       BUSY (too many wait), PARAM, those of ChatService
//   differs      arXiv:2411.18424 (FastSwitch) interrupts answers for fairness and swaps caches
//                ahead of need; here a chat makes way only between its answers
//   files        desk.cpp  the chats · desk_place.cpp  the chat of a request · desk_answer.cpp
//                memory for it, and its answer
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/serve/chat_request.h"
#include "app/serve/known_chat.h"
#include "app/serve/metrics.h"
#include "runtime/chat/call_queue.h"
#include "runtime/chat/chat_service.h"

namespace satchel::serve {

// That are answered, or wait. docs/server.md
inline constexpr std::size_t kRequestsMax = 24;

struct Outcome {
  std::string session;                       // the id of the chat
  std::size_t n_prompt = 0, n_cached = 0;    // tokens of the prompt; of them not read now
  std::size_t n_answer = 0, n_thoughts = 0;  // tokens made
  runtime::Finish finish = runtime::Finish::end_of_turn;
  std::string stop_text;  // that ended it; "": none
  std::string text, thoughts;
  std::string kept = {};             // the text as its chat has it; "": it has none
  std::vector<ToolCall> calls = {};  // they are no part of the text
  std::string message;               // for people, where it ended early
  double read_ms = 0, answer_ms = 0;
  std::vector<kvcache::Reread> reread;  // since the chat's last answer
  kvcache::CacheStats stats;
  runtime::Fidelity fidelity;
  runtime::SeenEpisodes episodes;

  bool is_cut() const {  // by a limit, not by its end
    return finish != runtime::Finish::end_of_turn && stop_text.empty();
  }
};

// On the thread that asked.
struct Listener {
  std::function<void()> reads = {};   // now and then, while the prompt is read
  std::function<void()> begins = {};  // the first word comes
  std::function<void(std::string_view)> thought = {}, said = {};
  std::function<void(const ToolCall&)> called = {};
};

class AnswerTeller;

class Desk {
 public:
  // start   of the chats that begin here
  // service  its model is open; not owned
  Desk(runtime::ChatService& service, runtime::ChatStart start, Metrics& metrics);
  ~Desk();

  // What the store has; before anything else.
  Result<void> load();

  // The chat of a request, with all its messages. Others get theirs while it is answered.
  class Turn {
   public:
    const ChatRequest& request() const { return request_; }
    const std::string& session() const { return session_; }
    std::size_t n_prompt() const { return n_prompt_; }
    std::size_t n_unread() const { return n_unread_; }  // of them

   private:
    friend class Desk;
    explicit Turn(ChatRequest request) : request_(std::move(request)) {}
    std::optional<runtime::CallQueue::Permit> permit_;  // none: while it is answered
    std::shared_ptr<void> ticket_;
    ChatRequest request_;
    std::string session_;
    KnownChat* chat_ = nullptr;
    std::size_t n_prompt_ = 0, n_unread_ = 0;
    std::size_t needed_bytes_ = 0;             // at the end of its answer
    bool is_new_ = false, is_branch_ = false;  // it was made for it
    runtime::ResumeReport resumed_;            // when the chat was opened for it
  };
  Result<std::shared_ptr<Turn>> begin(ChatRequest request, const std::stop_token& stop);
  Result<Outcome> answer(Turn& turn, const Listener& listener, const std::stop_token& stop);

  // --- what is there
  // Works while nobody begins or ends a request; chats may answer.
  template <class Work>
  auto alone(const std::stop_token& stop, const Work& work) -> decltype(work()) {
    const auto permit = queue_.wait(stop);
    if (!permit.ok()) return permit.error();
    return work();
  }
  // The same, and the session does not answer.
  template <class Work>
  auto alone_with(const std::string& session, const std::stop_token& stop, const Work& work)
      -> decltype(work()) {
    const auto permit = wait_for([&] { return known(session); }, stop);
    if (!permit.ok()) return permit.error();
    return work();
  }
  // Between two tokens of those that answer: `work` may use what is below the service.
  template <class Work>
  auto look(const std::stop_token& stop, const Work& work) -> decltype(work()) {
    return look_by(&runtime::ChatService::look, stop, work);
  }
  // The same while a prompt is read as well: no chat, but the model and its tokenizer.
  template <class Work>
  auto look_aside(const std::stop_token& stop, const Work& work) -> decltype(work()) {
    return look_by(&runtime::ChatService::look_aside, stop, work);
  }
  // For work in alone():
  std::list<KnownChat>& chats() { return chats_; }
  Result<KnownChat*> find(const std::string& session);
  Result<KnownChat*> find_open(const std::string& session, const std::stop_token& stop);
  Result<void> remove(KnownChat& chat);  // for good
  // Of the request's prompt, as the model reads it.
  Result<std::size_t> count_tokens(const ChatRequest& request);
  runtime::ChatService& service() { return service_; }
  const runtime::ChatStart& start() const { return start_; }
  // Of all chats, also of those to come.
  void set_limit(std::size_t bytes) { start_.memory.limit_bytes = bytes; }

  std::size_t n_asked() const { return n_asked_; }  // that work or wait

 private:
  using Look = Result<void> (runtime::ChatService::*)(const std::function<Result<void>()>&,
                                                      const runtime::ChatCall&);
  template <class Work>
  auto look_by(Look look_of, const std::stop_token& stop, const Work& work) -> decltype(work()) {
    std::optional<decltype(work())> made;
    const Result<void> looked = (service_.*look_of)(
        [&]() -> Result<void> {
          made.emplace(work());
          return {};
        },
        {stop, {}});
    if (!looked.ok()) return looked.error();
    return std::move(*made);
  }
  Result<kvcache::Recipe> recipe_of(const ChatRequest& request) const;
  KnownChat* known(const std::string& session);  // nullptr: there is none
  // The permit, when the chat that `wanted` gives does not answer. It may be another one then.
  Result<runtime::CallQueue::Permit> wait_for(const std::function<KnownChat*()>& wanted,
                                              const std::stop_token& stop);
  // Lets go of the permit until a chat is given back.
  Result<void> wait_for_a_chat(std::optional<runtime::CallQueue::Permit>& permit,
                               const std::stop_token& stop);
  KnownChat* match_of(const ChatRequest& request, const kvcache::Recipe& recipe);
  Result<void> place(Turn& turn, const kvcache::Recipe& recipe, const std::stop_token& stop);
  Result<KnownChat*> choose(Turn& turn, const kvcache::Recipe& recipe, const std::stop_token& stop);
  Result<KnownChat*> choose_alike(Turn& turn, KnownChat& match, const std::stop_token& stop);
  Result<KnownChat*> begin_chat(Turn& turn, const kvcache::Recipe& recipe,
                                const std::stop_token& stop);
  // The chat's first n messages go on in another one.
  Result<KnownChat*> branch(KnownChat& from, std::size_t n, const std::stop_token& stop);
  runtime::MessageId last_of(const KnownChat& chat, std::size_t n) const;
  Result<runtime::ResumeReport> open(KnownChat& chat, const std::stop_token& stop);
  Result<void> cut(KnownChat& chat, std::size_t n, const std::stop_token& stop);
  Result<void> fill(const Turn& turn, const std::stop_token& stop);
  // The request's messages, behind those that its chat has in common with it.
  Result<void> add(const Turn& turn, const std::stop_token& stop);
  Result<std::size_t> tokens_of(const ChatRequest& request) const;
  // n_held  messages of the request need no more room
  Result<void> check_fits(ChatRequest request, std::size_t n_held);
  void learn_ids(KnownChat& chat);
  void close(KnownChat& chat);
  // As people remove a chat: `satchel chats --restore` brings it back.
  Result<void> put_away(KnownChat& chat, const std::stop_token& stop);
  void forget(KnownChat& chat);  // it has no place on disk, or should have none
  bool close_least_used(const KnownChat* but);
  // Waits where all that can be closed is not enough, as long as another chat answers; those that
  // wait come in the order in which they were asked.
  Result<void> await_memory(Turn& turn, const std::stop_token& stop);
  enum class Fit { enough, if_some_close, if_some_end };
  Result<Fit> fit_of(Turn& turn);
  bool free_memory_for(Turn& turn);
  void take(KnownChat& chat, const std::stop_token& client);
  void give_back(KnownChat& chat);  // to who waits for it, or for memory
  // Again after a chat was closed, as long as memory is what is missing.
  template <class Work>
  auto with_room(KnownChat* chat, const Work& work) -> decltype(work()) {
    for (;;) {
      auto done = work();
      if (done.ok() || !lacks_memory(done.error()) || !close_least_used(chat)) return done;
    }
  }
  static bool lacks_memory(const Error& error);
  Result<void> keep_shown(KnownChat& chat, const Said& shown);
  void take_back(KnownChat& chat);
  Result<runtime::GenerateReport> answer_beside(Turn& turn, const runtime::ChatCall& call,
                                                const std::stop_token& client);
  void end_answer(KnownChat& chat);
  Result<Outcome> told(Turn& turn, AnswerTeller& teller, const runtime::GenerateReport& report);
  Result<Outcome> outcome_of(Turn& turn, const runtime::GenerateReport& report);
  void count(const Outcome& outcome, bool has_left);
  void work_while_idle(const std::stop_token& stop);

  runtime::ChatService& service_;
  runtime::ChatStart start_;
  Metrics& metrics_;
  runtime::CallQueue queue_;
  std::atomic<std::size_t> n_asked_ = 0;
  std::list<KnownChat> chats_;
  std::uint64_t n_uses_ = 0;
  std::size_t n_answering_ = 0;
  std::vector<const Turn*> memory_line_;  // that wait for memory
  std::mutex mutex_;                      // of what follows
  std::condition_variable_any given_back_, idle_wakes_;
  std::uint64_t n_given_back_ = 0;
  bool has_idle_work_ = false;
  std::jthread idle_;
};

}  // namespace satchel::serve
