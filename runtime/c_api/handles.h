// What the handles of satchel.h hold. Each is a reference that the host owns; behind it stands what
// several handles may share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "runtime/c_api/guard.h"
#include "runtime/chat/chat_service.h"

namespace satchel::c_api {

struct Runtime {
  LogSink log;
  std::vector<std::filesystem::path> backend_folders;
  std::filesystem::path profile_folder;
};

// A store that models use one after the other.
struct Store {
  std::unique_ptr<runtime::ChatStore> chats;
  std::atomic<bool> is_used = false;
};

struct Model {
  std::shared_ptr<const Runtime> runtime;
  runtime::ChatService service;
  std::string device = {};
};

// What calls told of a chat.
struct Told {
  void hear(const runtime::ChatEvent& event);
  // What the last call read again, and opening the chat before it.
  std::vector<kvcache::Reread> with_resumed(std::vector<kvcache::Reread> reread) const;
  runtime::ChatMemory memory = {};
  runtime::RecallProbe recall = {};
  std::optional<runtime::ResumeReport> resumed = {};  // by the last call
};

struct Session {
  Session(std::shared_ptr<Model> model_in, runtime::ChatHandle chat_in)
      : model(std::move(model_in)), chat(chat_in) {}
  Session(Session&&) = delete;
  ~Session() { model->service.close(chat); }

  const std::shared_ptr<Model> model;
  const runtime::ChatHandle chat;
  std::atomic<bool> is_busy = false;
  std::mutex mutex;                         // of what follows
  std::stop_source stop{std::nostopstate};  // of the call that runs
  Told told = {};
};

// The host's functions on the events of one call, which they may stop.
class Listener {
 public:
  explicit Listener(const satchel_listener& functions) : functions_(functions) {}
  Listener(Listener&&) = delete;

  void hear(const runtime::ChatEvent& event);
  const std::stop_source& stop() const { return stop_; }
  runtime::ChatCall call();

 private:
  void stop_unless(int32_t answer);

  const satchel_listener functions_;
  std::stop_source stop_;
};

// A call that runs on a session: nobody else's does, cancel() reaches it, and its events come to
// the host.
class SessionCall {
 public:
  //   errors  SESSION_BUSY
  static Result<std::unique_ptr<SessionCall>> begin(satchel_session* session,
                                                    const satchel_listener* listener = nullptr);
  SessionCall(Session& session, const satchel_listener& listener);
  SessionCall(SessionCall&&) = delete;
  ~SessionCall();

  runtime::ChatService& service() { return session_.model->service; }
  runtime::ChatHandle chat() const { return session_.chat; }
  runtime::ChatCall call();
  const std::stop_source& stop() const { return listener_.stop(); }
  Session& session() { return session_; }

 private:
  Session& session_;
  Listener listener_;
};

const char* reason_of(kvcache::RereadReason reason);  // as reports name it
int32_t outcome_of(const runtime::ResumeReport& report);
void give_resume(satchel_resume_report* out, const runtime::ResumeReport& report);
// A preset's or recipe's name, or its JSON; NULL: "full". keep 0: the recipe's own share.
Result<kvcache::Recipe> recipe_of(const char* recipe, double keep = 0);

// Between two tokens, also while another session prefills; NO_MODEL after a satchel_use_cpu that
// failed.
template <class Work>
Result<void> with_engine(Model& model, const Work& work) {
  return model.service.look_aside([&]() -> Result<void> {
    const runtime::Engine* const engine = model.service.engine();
    return engine != nullptr ? work(*engine) : runtime::no_model();
  });
}

}  // namespace satchel::c_api

struct satchel_runtime {
  std::shared_ptr<const satchel::c_api::Runtime> shared;
};
struct satchel_store {
  std::shared_ptr<satchel::c_api::Store> shared;
};
struct satchel_model {
  std::shared_ptr<satchel::c_api::Model> shared;
};
struct satchel_session {
  std::shared_ptr<satchel::c_api::Session> shared;
};
