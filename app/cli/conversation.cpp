#include "app/cli/conversation.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <utility>

#include "app/cli/interrupt.h"
#include "app/cli/workbench.h"
#include "kernels/base/size_text.h"
#include "runtime/chat/chat_errors.h"
#include "runtime/chat/correct_text.h"
#include "runtime/limits/precision_floor.h"
#include "storage/store.h"

namespace satchel::app {
namespace {

using runtime::ChatEvent;
using runtime::ChatHandle;

// What failed beside a call. What the call itself failed at its caller says.
//   said  reasons that were told: where nothing can be saved, each part of a call finds it out
void show(const runtime::Failed& failed, std::set<std::string>& said, Console& console) {
  const std::string why = failed.error.message + " [" + failed.error.code + "]";
  if (failed.task == runtime::ChatTask::save)
    console.warning("The messages are saved, but the cache is not: " + why);
  if (failed.task == runtime::ChatTask::keep_settings && said.insert(failed.error.message).second)
    console.warning("The settings are not saved: " + why);
  if (failed.task == runtime::ChatTask::remove_chat) console.warning(failed.error.message);
}

// What the console shows of every call.
void show(const ChatEvent& event, std::set<std::string>& said, Console& console) {
  std::visit(
      runtime::Overloaded{[&](const runtime::Progress& now) {
                            if (const auto progress = console.progress()) progress(now);
                          },
                          [&](const runtime::Noticed& notice) {
                            said.insert(notice.text);
                            console.warning(notice.text);
                          },
                          [&](const runtime::ModelSwitched& now) {
                            console.end_progress();
                            console.note("Running on the CPU (" + now.model.device + ") now.");
                          },
                          [&](const runtime::Failed& failed) { show(failed, said, console); },
                          [](const auto&) {}},
      event);
}

Error saved_model_missing(const runtime::Chat& chat) {
  return {ErrorKind::not_found, "MODEL_MISSING",
          "The chat \"" + chat.name + "\" uses the model \"" + chat.setup.model_path +
              "\", which is no longer there. The chat is kept. Put the file back, or continue with "
              "another model: --model FILE."};
}

constexpr std::ptrdiff_t kNameMax = 200;  // characters; chosen: what a list can still show

// Of a chat that begins; one that is there is found by whatever name it has.
Result<void> check_new_name(const std::string& name) {
  SATCHEL_TRY(check_utf8("The name of the chat", name));
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  const auto begins = [](unsigned char c) { return (c & 0xc0) != 0x80; };
  if (std::ranges::none_of(name, is_control) && std::ranges::count_if(name, begins) <= kNameMax)
    return {};
  return Error{ErrorKind::invalid, "PARAM",
               "The name of a chat is one line of at most " + std::to_string(kNameMax) +
                   " characters, without control characters."};
}

Error far_not_encrypted() {
  return {ErrorKind::unsupported, "FAR_ENCRYPTED",
          "Chats of this store are encrypted, but what --on-disk writes would not be. Leave "
          "--on-disk out."};
}

}  // namespace

bool Conversation::is_kept() const {
  const runtime::OpenChat* chat = service_->chat(chat_);
  return chat != nullptr && chat->is_kept(service_->store());
}

runtime::AnswerSettings Conversation::answers() const {
  const runtime::OpenChat* chat = service_->chat(chat_);
  return chat == nullptr ? runtime::AnswerSettings() : chat->answers();
}

runtime::ChatCall Conversation::call() const {
  return {begin_interruptible(), sink_};
}

Result<std::unique_ptr<Conversation>> Conversation::open(const Options& options,
                                                         const ConversationRequest& request,
                                                         Console& console) {
  auto opened = std::make_unique<Conversation>();
  opened->console_ = &console;
  opened->sink_ = [&console, also = request.sink, said = std::make_shared<std::set<std::string>>()](
                      ChatHandle chat, const ChatEvent& event) {
    show(event, *said, console);
    if (also) also(chat, event);
  };
  SATCHEL_TRY(opened->open_chat(options, request));
  console.end_progress();
  return opened;
}

Result<void> Conversation::open_chat(const Options& options, const ConversationRequest& request) {
  const Paths paths = standard_paths(options.store);
  SATCHEL_TRY_ASSIGN(const std::size_t limit, chosen_budget(options));
  SATCHEL_TRY_ASSIGN(const std::filesystem::path model, chosen_model(paths, options.model));
  model_path_ = std::filesystem::absolute(model).string();
  std::optional<runtime::Chat> saved;
  if (request.keep) {
    SATCHEL_TRY_ASSIGN(storage::StoreOptions store, chosen_store(options));
    if (options.on_disk && !store.key.empty()) return far_not_encrypted();
    store.quota_bytes = request.cache_quota;
    store.thin_after_days = request.thin_after_days;
    SATCHEL_TRY_ASSIGN(opened_store_, storage::Store::open(std::move(store)));
    if (!request.name.empty()) {
      SATCHEL_TRY_ASSIGN(saved, opened_store_->library().find_chat(request.name));
    }
  }
  if (!saved && request.must_exist) return no_chat_named(request.name);
  if (!saved) SATCHEL_TRY(check_new_name(request.name));
  const bool has_own_recipe = saved && options.recipe.empty();
  SATCHEL_TRY_ASSIGN(kvcache::Recipe recipe, has_own_recipe
                                                 ? kvcache::Recipe::parse(saved->setup.recipe_json)
                                                 : chosen_recipe(options));
  if (has_own_recipe && options.keep > 0) {
    SATCHEL_TRY_ASSIGN(recipe, recipe.with_keep(options.keep));
  }
  start_ = runtime::ChatStart{.memory = {std::move(recipe), limit},
                              .name = request.name,
                              .system = saved ? saved->setup.system : request.system,
                              .thinking = request.thinking};
  service_ = std::make_unique<runtime::ChatService>(std::move(opened_store_),
                                                    engine_options(options, paths));
  SATCHEL_TRY(open_model(options, saved ? &*saved : nullptr));
  return saved ? or_with_cpu(open_saved(*saved, options), request) : begin(request);
}

Result<void> Conversation::open_model(const Options& options, const runtime::Chat* saved) {
  const Paths paths = standard_paths(options.store);
  if (!paths.notice.empty()) console_->warning(paths.notice);
  const bool is_its_own = saved != nullptr && options.model.empty();
  if (is_its_own) model_path_ = saved->setup.model_path;
  const auto opened = service_->open_model(model_path_, call());
  if (!opened.ok() && is_its_own && opened.error().code == "MODEL_NOT_FOUND")
    return saved_model_missing(*saved);
  if (!opened.ok()) return explain_not_opened(opened.error(), paths, model_path_);
  tell_what_is_missing(engine(), *console_);
  console_->end_progress();
  if (options.chat_template.empty() && !opened->has_chat_template)
    console_->note(
        "The model file has no chat template: the model continues what you write, as a base model "
        "does. If it was made for chats, name its template: --template NAME.");
  return {};
}

Result<void> Conversation::open_saved(const runtime::Chat& saved, const Options& options) {
  runtime::OpenOptions how{
      .keeps_model = true,
      .choices = {.limit_bytes = start_->memory.limit_bytes, .thinking = start_->thinking}};
  if (!options.recipe.empty() || options.keep > 0) how.choices.recipe = start_->memory.recipe;
  SATCHEL_TRY_ASSIGN(runtime::OpenReport opened, service_->open(saved.id, how, call()));
  chat_ = opened.chat;
  if (!opened.resumed.ok()) return std::move(opened.resumed).error();
  resumed_ = *opened.resumed;
  return {};
}

Result<void> Conversation::begin(const ConversationRequest& request) {
  SATCHEL_TRY_ASSIGN(chat_, service_->begin(*start_, chat_, call()));
  const runtime::PrecisionFloor* const floor =
      runtime::precision_floor(engine().config().architecture);
  if (floor != nullptr && !(service_->chat(chat_)->memory() == start_->memory))
    console_->note(std::string(floor->why));
  return or_with_cpu(service_->enter(chat_, call()), request);
}

Result<void> Conversation::or_with_cpu(Result<void> opened, const ConversationRequest& request) {
  if (opened.ok() || !request.keep || !request.wants_cpu || !is_gpu_failure(opened.error()) ||
      !request.wants_cpu(opened.error(), is_kept()))
    return opened;
  SATCHEL_TRY(use_cpu({}));
  return {};
}

Result<std::optional<runtime::GenerateReport>> Conversation::use_cpu(
    const runtime::Sampling& sampling) {
  SATCHEL_ASSERT(store() != nullptr);
  resumed_.reset();
  SATCHEL_TRY_ASSIGN(runtime::CpuMove moved, service_->use_cpu(chat_, sampling, call()));
  console_->end_progress();
  resumed_ = moved.resumed;
  // A chat that the GPU failed to begin is not in the library: the CPU begins it.
  if (!has_session()) SATCHEL_TRY(service_->enter(chat_, call()));
  return std::move(moved.answer);
}

Error Conversation::unread(Error why) const {
  if (why.kind != ErrorKind::cancelled) return why;
  why.message += service_->store() != nullptr
                     ? " The chat \"" + name() +
                           "\" has the document. The rest of it is read with your next message, or "
                           "when you open the chat again."
                     : " Nothing was saved.";
  return why;
}

Result<void> Conversation::start_over() {
  if (const runtime::OpenChat* before = service_->chat(chat_)) {
    SATCHEL_TRY(service_->save(chat_, call()));
    start_->memory = before->memory();
    start_->thinking = before->thinking();
    start_->sampling = before->answers().sampling;
  }
  start_->name.clear();
  resumed_.reset();
  SATCHEL_TRY_ASSIGN(chat_, service_->begin(*start_, chat_, call()));
  return service_->enter(chat_, call());
}

std::string describe(const runtime::ResumeReport& report) {
  if (report.too_long) return report.message;
  if (report.n_reread == 0 && report.reason == kvcache::RereadReason::none) {
    std::string text =
        "Resumed " + count_text(report.n_reused) + " tokens in " + duration_text(report.ms);
    if (report.reread_ms_estimate > 0)
      text += "; rereading them would take about " + duration_text(report.reread_ms_estimate);
    if (runtime::is_loss({.ms = report.ms, .reading_ms = report.reread_ms_estimate}))
      text += ", so resuming saved no time";
    return text + "." + (report.message.empty() ? "" : " ") + report.message;
  }
  return report.message + " Reused " + count_text(report.n_reused) + " tokens and reread " +
         count_text(report.n_reread) + " in " + duration_text(report.ms) + ".";
}

}  // namespace satchel::app
