#include "app/cli/conversation.h"

#include <ctime>
#include <utility>

#include "app/cli/interrupt.h"
#include "app/cli/workbench.h"

namespace satchel::app {
namespace {

std::string name_by_date() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

Result<std::unique_ptr<storage::Store>> open_store(const Paths& paths) {
  storage::StoreOptions store;
  store.data_dir = paths.data_dir;
  store.cache_dir = paths.cache_dir;
  return storage::Store::open(std::move(store));
}

Result<std::unique_ptr<runtime::Engine>> open_engine_of_saved(const storage::Chat& chat,
                                                              const Options& options,
                                                              Console& console) {
  Result<std::unique_ptr<runtime::Engine>> opened =
      open_engine(options, console, chat.setup.model_path);
  if (opened.ok() || opened.error().code != "MODEL_NOT_FOUND") return opened;
  return Error{ErrorKind::not_found, "MODEL_MISSING",
               "The chat \"" + chat.name + "\" was held with the model \"" + chat.setup.model_path +
                   "\", which is not there any more. The chat is kept; put the file back, or go on "
                   "with another model: --model FILE."};
}

}  // namespace

Conversation::~Conversation() {
  session_.reset();
  if (is_new_) drop_if_empty(chat_);
}

bool Conversation::is_kept() const {
  if (store_ == nullptr || !is_new_) return store_ != nullptr;
  const auto said = store_->library().messages(chat_);
  return said.ok() && !said->empty();
}

void Conversation::drop_if_empty(kvcache::ChatId begun) {
  const auto said = store_->library().messages(begun);
  // A failure leaves an empty chat in the list, and nothing else.
  if (said.ok() && said->empty()) (void)store_->delete_now(begun);
}

Result<std::unique_ptr<Conversation>> Conversation::open(const Options& options,
                                                         const ConversationRequest& request,
                                                         Console& console) {
  auto opened = std::make_unique<Conversation>();
  SATCHEL_TRY(opened->open_chat(options, request, console));
  const Result<void> begun = opened->begin(request, console);
  if (begun.ok()) return opened;
  // No chat is left behind that cannot open.
  if (std::exchange(opened->is_new_, false)) SATCHEL_TRY(opened->store_->delete_now(opened->chat_));
  return begun.error();
}

Result<void> Conversation::begin(const ConversationRequest& request, Console& console) {
  Result<void> begun = open_session();
  if (begun.ok() && request.keep && !is_new_) begun = resume(console);
  if (!begun.ok() && request.keep && request.wants_cpu && could_be_the_gpus(begun.error()) &&
      request.wants_cpu(begun.error(), is_kept()))
    begun = move_to_cpu(console);
  SATCHEL_TRY(begun);
  if (!request.keep || is_new_) return {};
  return store_->library().set_setup(chat_, setup_);  // only now: the chat opens like this
}

Result<void> Conversation::resume(Console& console) {
  SATCHEL_TRY_ASSIGN(const auto messages, store_->library().messages(chat_));
  if (messages.empty()) return {};
  SATCHEL_TRY_ASSIGN(resumed_, session_->resume(begin_interruptible(), console.progress()));
  console.end_progress();
  return {};
}

// The lost engine goes first: the machine may not hold the model twice.
Result<void> Conversation::move_to_cpu(Console& console, kvcache::MessageId last) {
  SATCHEL_ASSERT(store_ != nullptr);
  session_.reset();
  engine_.reset();
  options_.backend = "cpu";
  SATCHEL_TRY_ASSIGN(engine_, open_engine(options_, console, setup_.model_path));
  console.end_progress();
  console.note("On the CPU (" + engine_->device() + ") now.");
  if (last.value != 0) SATCHEL_TRY(store_->library().truncate(chat_, last));
  resumed_.reset();
  const Result<void> opened = open_session();
  const Result<void> resumed = opened.ok() ? resume(console) : opened;
  if (!resumed.ok()) session_.reset();
  return resumed;
}

Result<void> Conversation::open_library(const Paths& paths, Console& console) {
  SATCHEL_TRY_ASSIGN(store_, open_store(paths));
  if (!store_->cache_notice().empty()) console.warning(store_->cache_notice());
  if (const auto& why = store_->library().report().read_only) {
    console.warning(why->message);
    return {};
  }
  const Result<std::size_t> purged = store_->purge_expired();
  if (!purged.ok()) console.warning(purged.error().message);
  return {};
}

Result<void> Conversation::open_chat(const Options& options, const ConversationRequest& request,
                                     Console& console) {
  options_ = options;
  const Paths paths = standard_paths(options.store);
  SATCHEL_TRY_ASSIGN(setup_.budget_bytes, chosen_budget(options));
  SATCHEL_TRY_ASSIGN(const std::filesystem::path model, chosen_model(paths, options.model));
  setup_.system = request.system;
  thinking_ = request.thinking;
  setup_.model_path = std::filesystem::absolute(model).string();
  std::optional<storage::Chat> saved;
  if (request.keep) {
    SATCHEL_TRY(open_library(paths, console));
    SATCHEL_TRY_ASSIGN(saved, store_->library().find_chat(request.name));
  }
  if (saved && !request.name.empty()) {
    if (options.model.empty()) setup_.model_path = saved->setup.model_path;
    if (options.recipe.empty()) {
      SATCHEL_TRY_ASSIGN(recipe_, kvcache::Recipe::parse(saved->setup.recipe_json));
      if (options.keep > 0) {
        SATCHEL_TRY_ASSIGN(recipe_, recipe_->with_keep(options.keep));
      }
    }
    if (setup_.budget_bytes == 0) setup_.budget_bytes = saved->setup.budget_bytes;
    setup_.system = saved->setup.system;
  } else if (request.must_exist) {
    return Error{
        ErrorKind::not_found, "CHAT_NOT_FOUND",
        "There is no chat named \"" + request.name + "\". `satchel chats` lists what is saved."};
  }
  if (!recipe_) {
    SATCHEL_TRY_ASSIGN(recipe_, chosen_recipe(options));
  }
  const bool has_its_own = saved && !request.name.empty() && options.model.empty();
  SATCHEL_TRY_ASSIGN(engine_, has_its_own ? open_engine_of_saved(*saved, options, console)
                                          : open_engine(options, console, setup_.model_path));
  console.end_progress();
  if (options.chat_template.empty() && engine_->chat_template().is_plain())
    console.note(
        "The model file has no chat template: it goes on with what you write, as a base model "
        "does. If it was made for chats, say how: --template NAME.");
  setup_.model_fingerprint = engine_->fingerprint();
  setup_.recipe_json = recipe_->json();
  name_ = request.name;
  if (!request.keep) return {};
  if (saved && !request.name.empty()) {
    chat_ = saved->id;
    return {};
  }
  if (name_.empty()) name_ = name_by_date();
  SATCHEL_TRY_ASSIGN(
      chat_, store_->library().create_chat({.name = name_, .title = name_, .setup = setup_}));
  is_new_ = true;
  return {};
}

Result<void> Conversation::open_session() {
  runtime::SessionOptions session(*recipe_);
  session.budget_bytes = setup_.budget_bytes;
  session.system = setup_.system;
  session.thinking = thinking_;
  session.chat = chat_;
  if (store_) {
    session.journal = &store_->library();
    session.blocks = store_->kv();
  }
  session_.reset();
  SATCHEL_TRY_ASSIGN(session_, engine_->new_session(session));
  return {};
}

Result<void> Conversation::set_thinking(runtime::Thinking thinking) {
  SATCHEL_TRY(session_->set_thinking(thinking));
  thinking_ = thinking;
  return {};
}

void Conversation::save(Console& console) {
  if (!store_ || store_->kv() == nullptr) return;
  const Result<kvcache::SaveReport> saved = session_->save();
  if (!saved.ok())
    console.warning("The chat is safe, its cache is not saved: " + saved.error().message + " [" +
                    saved.error().code + "]");
}

Error Conversation::unread(Error why, Console& console) {
  if (why.kind != ErrorKind::cancelled) return why;
  save(console);
  why.message += store_ ? " The chat \"" + name_ +
                              "\" has the document; what is unread of it is read with the next "
                              "message, or when the chat is opened again."
                        : " Nothing was kept.";
  return why;
}

Result<runtime::MemoryChange> Conversation::change_memory(const runtime::MemoryWish& wish,
                                                          Console& console) {
  const std::size_t limit_before = session_->stats().pool_bytes;
  Result<runtime::MemoryChange> change =
      session_->change_memory(wish, begin_interruptible(), console.progress());
  console.end_progress();
  // Stop or an error may have come when it had the new recipe or limit and was being read again: what
  // counts is what the session has.
  const std::size_t limit = session_->stats().pool_bytes;
  const bool limits = limit != limit_before || (change.ok() && wish.limit_bytes > 0);
  const bool recipes = session_->recipe().hash() != recipe_->hash();
  if (!change.ok() && !limits && !recipes) return change;
  if (limits) setup_.budget_bytes = limit;
  if (recipes && wish.recipe) {
    recipe_ = wish.recipe;
    setup_.recipe_json = recipe_->json();
  }
  if (store_) {
    const Result<void> kept = store_->library().set_setup(chat_, setup_);
    if (!kept.ok())
      console.warning("What was changed lasts until the chat is closed: " + kept.error().message);
  }
  save(console);
  return change;
}

Result<void> Conversation::start_over() {
  if (store_) {
    name_ = name_by_date();
    const kvcache::ChatId before = chat_;
    SATCHEL_TRY_ASSIGN(
        chat_, store_->library().create_chat({.name = name_, .title = name_, .setup = setup_}));
    session_.reset();
    if (std::exchange(is_new_, true)) drop_if_empty(before);
  }
  resumed_.reset();
  return open_session();
}

std::string describe(const runtime::ResumeReport& report) {
  if (report.too_long) return report.message;
  if (report.n_reread == 0 && report.outcome == kvcache::RestoreOutcome::restored) {
    std::string text =
        "Resumed " + with_thousands(report.n_reused) + " tokens in " + format_seconds(report.ms);
    if (report.reread_ms_estimate > 0)
      text += "; reading them again would take about " + format_seconds(report.reread_ms_estimate);
    return text + "." + (report.message.empty() ? "" : " ") + report.message;
  }
  return report.message + " Reused " + with_thousands(report.n_reused) + " tokens, read " +
         with_thousands(report.n_reread) + " again in " + format_seconds(report.ms) + ".";
}

}  // namespace satchel::app
