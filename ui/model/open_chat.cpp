#include "ui/model/open_chat.h"

#include "runtime/governor/presets.h"
#include "ui/model/engine_errors.h"
#include "ui/model/engine_facts.h"

namespace satchel::ui {

Result<std::unique_ptr<OpenChat>> OpenChat::begin(const ChatSettings& settings) {
  SATCHEL_TRY_ASSIGN(kvcache::Recipe recipe,
                     runtime::resolve_recipe(settings.preset.toStdString()));
  std::unique_ptr<OpenChat> open(new OpenChat(std::move(recipe)));
  open->m_settings = settings;
  return open;
}

Result<std::unique_ptr<OpenChat>> OpenChat::of(const storage::Chat& chat) {
  SATCHEL_TRY_ASSIGN(kvcache::Recipe recipe, kvcache::Recipe::parse(chat.setup.recipe_json));
  std::unique_ptr<OpenChat> open(new OpenChat(std::move(recipe)));
  open->m_id = chat.id;
  open->m_system = chat.setup.system;
  open->m_settings = {presetOf(open->m_recipe), chat.setup.budget_bytes};
  return open;
}

Result<void> OpenChat::makeSession(ChatLibrary& chats, runtime::Engine& engine) {
  runtime::SessionOptions options(m_recipe);
  options.budget_bytes = m_settings.budgetBytes;
  options.system = m_system;
  options.chat = m_id;
  options.journal = &chats.library();
  options.blocks = chats.store().kv();
  SATCHEL_TRY_ASSIGN(m_session, engine.new_session(options));
  return {};
}

Result<void> OpenChat::enter(ChatLibrary& chats, runtime::Engine& engine,
                             const std::string& modelPath, const QString& title) {
  if (m_session) return {};
  SATCHEL_TRY_ASSIGN(m_id, chats.begin(title, setup(engine, modelPath)));
  Result<void> made = makeSession(chats, engine);
  // Why there is no session is what counts: a chat without messages is never listed.
  if (!made.ok()) (void)leave(chats);
  return made;
}

Result<void> OpenChat::leave(ChatLibrary& chats) {
  m_session.reset();
  const kvcache::ChatId id = std::exchange(m_id, {});
  return chats.store().delete_now(id);
}

Result<runtime::ResumeReport> OpenChat::resume(ChatLibrary& chats, runtime::Engine& engine,
                                               std::stop_token stop,
                                               const runtime::ProgressFn& progress) {
  SATCHEL_TRY(makeSession(chats, engine));
  Result<runtime::ResumeReport> report = m_session->resume(stop, progress);
  // Nobody may write to half a chat.
  if (!report.ok() && report.error().kind != ErrorKind::cancelled) m_session.reset();
  return report;
}

storage::ChatSetup OpenChat::setup(const runtime::Engine& engine,
                                   const std::string& modelPath) const {
  return {.model_fingerprint = engine.fingerprint(),
          .model_path = modelPath,
          .recipe_json = m_recipe.json(),
          .budget_bytes = m_settings.budgetBytes,
          .system = m_system};
}

// Only what differs: what is asked for as it is need not be decided again.
Result<runtime::MemoryWish> OpenChat::wishOf(const ChatSettings& settings) const {
  runtime::MemoryWish wish;
  if (settings.budgetBytes != m_settings.budgetBytes) wish.limit_bytes = settings.budgetBytes;
  if (settings.preset == m_settings.preset) return wish;
  SATCHEL_TRY_ASSIGN(wish.recipe, runtime::resolve_recipe(settings.preset.toStdString()));
  return wish;
}

Result<runtime::MemoryChange> OpenChat::preview(const ChatSettings& settings,
                                                std::stop_token stop) {
  SATCHEL_TRY_ASSIGN(const runtime::MemoryWish wish, wishOf(settings));
  if (!m_session && isSaved()) return memoryNotOpen();
  if (!m_session) return runtime::MemoryChange{};
  return m_session->preview_memory(wish, stop);
}

Result<runtime::MemoryChange> OpenChat::apply(const ChatSettings& settings, std::stop_token stop,
                                              const runtime::ProgressFn& progress) {
  SATCHEL_TRY_ASSIGN(const runtime::MemoryWish wish, wishOf(settings));
  Result<runtime::MemoryChange> change = runtime::MemoryChange{};
  const std::size_t limitBefore = m_session ? m_session->stats().pool_bytes : 0;
  if (m_session) change = m_session->change_memory(wish, stop, progress);
  if (change.ok()) {
    if (wish.recipe) m_recipe = *wish.recipe;
    m_settings = settings;
    return change;
  }
  // Stop or an error may have come when it had the new recipe or limit and was being read again: what
  // counts is what the session has.
  if (m_session->recipe().hash() != m_recipe.hash()) {
    m_recipe = m_session->recipe();
    m_settings.preset = settings.preset;
  }
  const std::size_t limit = m_session->stats().pool_bytes;
  // A limit that was reached is shown as it was asked for: the pool rounds it.
  const bool isReached = limit == kvcache::Arena::rounded_down(settings.budgetBytes);
  if (limit != limitBefore) m_settings.budgetBytes = isReached ? settings.budgetBytes : limit;
  return change;
}

OpenedChat OpenChat::opened() const {
  OpenedChat opened;
  opened.settings = m_settings;
  opened.recipe = QString::fromStdString(m_recipe.name());
  opened.keep = m_recipe.keep();
  return opened;
}

CacheState OpenChat::cacheState() const {
  CacheState state;
  state.stats = m_session->stats();
  state.fidelity = m_session->fidelity();
  state.readTokens = qint64(m_session->n_read());
  state.chatTokens = qint64(m_session->tokens().size());
  state.contextTokens = qint64(m_session->n_context());
  return state;
}

ChatLedger OpenChat::ledger() const {
  const auto entries = m_session->ledger();
  return {{entries.begin(), entries.end()}, m_session->recall()};
}

}  // namespace satchel::ui
