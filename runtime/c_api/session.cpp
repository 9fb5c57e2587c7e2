// Sessions: opened, saved as bytes, forked, listed, removed.
#include <algorithm>

#include "runtime/c_api/handles.h"
#include "runtime/c_api/json.h"

namespace satchel::c_api {
namespace {

using runtime::BeyondContext;
using runtime::ChatHandle;
using runtime::ChatStart;

Error unknown_value(const char* what) {
  return {ErrorKind::unsupported, "UNSUPPORTED_OPTION",
          std::string("This version of the library does not know that value of ") + what + "."};
}

Result<runtime::Thinking> thinking_of(std::uint32_t thinking) {
  if (thinking > SATCHEL_THINKING_OFF) return unknown_value("thinking");
  return static_cast<runtime::Thinking>(thinking);
}

Result<std::optional<BeyondContext>> beyond_of(std::uint32_t beyond) {
  if (beyond > SATCHEL_BEYOND_GOES_ON) return unknown_value("beyond");
  if (beyond == SATCHEL_BEYOND_AUTO) return std::optional<BeyondContext>();
  return std::optional(beyond == SATCHEL_BEYOND_ENDS ? BeyondContext::ends
                                                     : BeyondContext::episodes);
}

Result<ChatStart> start_of(const char* name, const satchel_session_options& options) {
  SATCHEL_TRY_ASSIGN(kvcache::Recipe recipe, recipe_of(options.recipe, options.keep));
  ChatStart start{.memory = {std::move(recipe), options.limit_bytes}};
  if (name != nullptr) start.name = name;
  if (options.system != nullptr) start.system = options.system;
  SATCHEL_TRY_ASSIGN(start.thinking, thinking_of(options.thinking));
  SATCHEL_TRY_ASSIGN(start.beyond, beyond_of(options.beyond));
  return start;
}

// Of a chat that has its own already.
Result<runtime::OpenOptions> reopening(const satchel_session_options& options) {
  if (options.system != nullptr || options.beyond == SATCHEL_BEYOND_ENDS)
    return Error{ErrorKind::invalid, "PARAM",
                 "A saved chat keeps its system prompt, and one that goes on beyond the context "
                 "goes on. Leave these options out."};
  if (options.keep != 0 && options.recipe == nullptr)
    return Error{ErrorKind::invalid, "PARAM",
                 "A share of tokens to keep is of a recipe: name one with it."};
  runtime::OpenOptions out;
  out.keeps_model = true;
  out.choices.limit_bytes = options.limit_bytes;
  SATCHEL_TRY_ASSIGN(out.choices.thinking, thinking_of(options.thinking));
  SATCHEL_TRY_ASSIGN(out.choices.beyond, beyond_of(options.beyond));
  if (options.recipe != nullptr) {
    SATCHEL_TRY_ASSIGN(out.choices.recipe, recipe_of(options.recipe, options.keep));
  }
  return out;
}

Result<runtime::Chat> chat_named(runtime::ChatService& service, const char* name) {
  if (name == nullptr) return missing("name");
  SATCHEL_TRY_ASSIGN(const std::vector<runtime::Chat> chats, service.chats());
  const auto found = std::ranges::find(chats, std::string_view(name), &runtime::Chat::name);
  if (found != chats.end()) return *found;
  return Error{ErrorKind::not_found, "CHAT_NOT_FOUND",
               "There is no chat \"" + std::string(name) + "\" in this store."};
}

satchel_session* made(const std::shared_ptr<Model>& model, ChatHandle chat) {
  return new satchel_session{std::make_shared<Session>(model, chat)};
}

Error no_store() {
  return {ErrorKind::invalid, "NO_STORE",
          "This model was loaded without a store: chats have no names."};
}

// Over the chat that `open` gives.
template <class Open>
Result<void> give_session(satchel_model* model, const satchel_listener& functions,
                          satchel_resume_report* report, satchel_session** session,
                          const Open& open) {
  Told told;
  Listener heard(functions);
  const runtime::ChatCall call{.stop = heard.stop().get_token(),
                               .sink = [&](ChatHandle, const runtime::ChatEvent& event) {
                                 told.hear(event);
                                 heard.hear(event);
                               }};
  SATCHEL_TRY_ASSIGN(const runtime::OpenReport opened, open(call));
  const auto out = std::make_shared<Session>(model->shared, opened.chat);
  out->told = told;
  SATCHEL_TRY_ASSIGN(const auto resumed, opened.resumed);
  if (resumed) give_resume(report, *resumed);
  *session = new satchel_session{out};
  return {};
}

const char* text_of(runtime::Role role) {
  switch (role) {
    case runtime::Role::system:
      return "system";
    case runtime::Role::user:
      return "user";
    case runtime::Role::assistant:
      return "assistant";
  }
  return "";
}

const char* text_of(runtime::MessageState state) {
  switch (state) {
    case runtime::MessageState::complete:
      return "complete";
    case runtime::MessageState::streaming:
      return "streaming";
    case runtime::MessageState::interrupted:
      return "interrupted";
    case runtime::MessageState::damaged:
      return "damaged";
  }
  return "";
}

}  // namespace
}  // namespace satchel::c_api

using namespace satchel;
using namespace satchel::c_api;

const char* satchel_reason_text(const char* reason) {
  using namespace kvcache;
  for (std::size_t i = 1; reason != nullptr && i < kRereadReasons; ++i) {
    const auto known = static_cast<RereadReason>(i);
    if (std::string_view(reason) == reread_word(known)) return reread_text(known);
  }
  return nullptr;
}

int32_t satchel_session_create(satchel_model* model, const char* name,
                               const satchel_session_options* options, satchel_session** session,
                               satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (session == nullptr) return missing("session");
    *session = nullptr;
    if (model == nullptr) return missing("model");
    SATCHEL_TRY_ASSIGN(const satchel_session_options given, taken(options));
    SATCHEL_TRY_ASSIGN(ChatStart start, start_of(name, given));
    runtime::ChatService& service = model->shared->service;
    if (name != nullptr && service.store() == nullptr) return no_store();
    std::size_t n_context = 0;
    SATCHEL_TRY(with_engine(*model->shared, [&](const runtime::Engine& engine) -> Result<void> {
      n_context = engine.config().context;
      return {};
    }));
    SATCHEL_TRY_ASSIGN(const ChatHandle chat, service.begin(std::move(start)));
    *session = made(model->shared, chat);
    (*session)->shared->told.memory.n_context = n_context;
    return {};
  });
}

int32_t satchel_session_open(satchel_model* model, const char* name,
                             const satchel_session_options* options,
                             const satchel_listener* listener, satchel_resume_report* report,
                             satchel_session** session, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (session == nullptr) return missing("session");
    *session = nullptr;
    if (model == nullptr) return missing("model");
    SATCHEL_TRY(clear(report));
    SATCHEL_TRY_ASSIGN(const satchel_session_options given, taken(options));
    SATCHEL_TRY_ASSIGN(const runtime::OpenOptions reopen, reopening(given));
    SATCHEL_TRY_ASSIGN(const satchel_listener functions, taken(listener));
    runtime::ChatService& service = model->shared->service;
    SATCHEL_TRY_ASSIGN(const runtime::Chat chat, chat_named(service, name));
    const auto open = [&](const runtime::ChatCall& call) -> Result<runtime::OpenReport> {
      return service.open(chat.id, reopen, call);
    };
    return give_session(model, functions, report, session, open);
  });
}

int32_t satchel_snapshot_save(satchel_session* session, satchel_buffer** bytes,
                              satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (bytes == nullptr) return missing("bytes");
    *bytes = nullptr;
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    SATCHEL_TRY_ASSIGN(std::string saved, call->service().to_bytes(call->chat(), call->call()));
    give_text(bytes, std::move(saved));
    return {};
  });
}

int32_t satchel_snapshot_load(satchel_model* model, const void* bytes, size_t size,
                              const char* name, const satchel_session_options* options,
                              const satchel_listener* listener, satchel_resume_report* report,
                              satchel_session** session, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (session == nullptr) return missing("session");
    *session = nullptr;
    if (model == nullptr) return missing("model");
    if (bytes == nullptr) return missing("bytes");
    SATCHEL_TRY(clear(report));
    SATCHEL_TRY_ASSIGN(const satchel_session_options given, taken(options));
    SATCHEL_TRY_ASSIGN(const runtime::OpenOptions reopen, reopening(given));
    SATCHEL_TRY_ASSIGN(const satchel_listener functions, taken(listener));
    runtime::ChatService& service = model->shared->service;
    if (name != nullptr && service.store() == nullptr) return no_store();
    return give_session(model, functions, report, session, [&](const runtime::ChatCall& call) {
      return service.open_bytes({static_cast<const char*>(bytes), size},
                                name == nullptr ? "" : name, reopen, call);
    });
  });
}

int32_t satchel_session_fork(satchel_session* session, satchel_session** fork,
                             satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (fork == nullptr) return missing("fork");
    *fork = nullptr;
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    SATCHEL_TRY_ASSIGN(const ChatHandle branch, call->service().branch(call->chat(), call->call()));
    *fork = made(session->shared->model, branch);
    const std::scoped_lock lock(session->shared->mutex);
    (*fork)->shared->told = session->shared->told;
    return {};
  });
}

void satchel_session_free(satchel_session* session) {
  delete session;
}

void satchel_cancel(satchel_session* session) {
  if (session == nullptr) return;
  const std::scoped_lock lock(session->shared->mutex);
  session->shared->stop.request_stop();
}

int32_t satchel_chats(satchel_model* model, satchel_buffer** json, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (json == nullptr) return missing("json");
    *json = nullptr;
    if (model == nullptr) return missing("model");
    SATCHEL_TRY_ASSIGN(const std::vector<runtime::Chat> chats, model->shared->service.chats());
    nlohmann::json all = nlohmann::json::array();
    for (const runtime::Chat& chat : chats)
      all.push_back({{"name", chat.name},
                     {"title", chat.title},
                     {"messages", chat.n_messages},
                     {"tokens", chat.n_tokens},
                     {"used_ms", chat.used_ms}});
    give_json(json, all);
    return {};
  });
}

int32_t satchel_chat_remove(satchel_model* model, const char* name, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (model == nullptr) return missing("model");
    runtime::ChatService& service = model->shared->service;
    SATCHEL_TRY_ASSIGN(const runtime::Chat chat, chat_named(service, name));
    return service.look([&]() -> Result<void> {
      if (service.handle_of(chat.id)) return runtime::chat_is_open();
      return service.store()->library().remove_chat(chat.id);
    });
  });
}

int32_t satchel_messages(satchel_session* session, satchel_buffer** json, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (json == nullptr) return missing("json");
    *json = nullptr;
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    nlohmann::json all = nlohmann::json::array();
    runtime::ChatService& service = call->service();
    SATCHEL_TRY(service.look([&]() -> Result<void> {
      const runtime::OpenChat* chat = service.chat(call->chat());
      if (chat == nullptr || chat->session() == nullptr) return {};
      SATCHEL_TRY_ASSIGN(const auto stored, chat->session()->stored_messages());
      std::size_t at = 0;
      for (const runtime::SessionMessage& message : chat->session()->messages()) {
        const bool is_document = message.kind == runtime::MessageKind::document;
        nlohmann::json one = {{"id", message.id.value},
                              {"role", text_of(message.role)},
                              {"kind", is_document ? "document" : "text"},
                              {"state", text_of(message.state)},
                              {"tokens", message.end - message.begin}};
        if (is_document) one["title"] = message.title;
        one["text"] = stored[at++].text;
        all.push_back(std::move(one));
      }
      return {};
    }));
    give_json(json, all);
    return {};
  });
}
