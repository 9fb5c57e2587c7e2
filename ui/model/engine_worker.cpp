#include "ui/model/engine_worker.h"

#include <QDateTime>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "runtime/governor/presets.h"

namespace satchel::ui {
namespace {

constexpr double kCacheEveryMs = 500;        // while an answer streams
constexpr std::size_t kSpeedTokensMin = 64;  // fewer say little about how fast a text is read
constexpr qsizetype kTitleMax = 60;

QString textOf(std::string_view text) {
  return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

std::string fidelityKey(kvcache::ChatId chat) {
  return "fidelity." + std::to_string(chat.value);
}

std::string speedKey(const runtime::Engine& engine) {
  return "read_ms_per_token." + engine.fingerprint();
}

ChatEntry entryFrom(const storage::Chat& chat) {
  const std::string& title = chat.title.empty() ? chat.name : chat.title;
  return {chat.id.value, textOf(title), QDateTime::fromMSecsSinceEpoch(chat.used_ms)};
}

// The preset a saved recipe is, if it is one.
QString presetOf(const kvcache::Recipe& recipe) {
  for (const runtime::Preset& preset : runtime::presets()) {
    const Result<kvcache::Recipe> known = runtime::resolve_recipe(preset.name);
    if (known.ok() && known->hash() == recipe.hash()) return textOf(preset.name);
  }
  return textOf(recipe.name());
}

Message messageFrom(const kvcache::StoredMessage& stored) {
  Message message;
  message.id = stored.id.value;
  message.role = stored.role;
  message.state = stored.state;
  message.text = textOf(stored.text);
  if (stored.kind == kvcache::MessageKind::document) message.documentTitle = textOf(stored.title);
  if (stored.state == kvcache::MessageState::damaged)
    message.text = EngineWorker::tr(
        "This message is damaged on the disk and cannot be shown. A backup of the library may have "
        "it.");
  return message;
}

QString titleFrom(const QString& text) {
  const QString line = text.trimmed().section(u'\n', 0, 0).simplified();
  if (line.size() <= kTitleMax) return line;
  const qsizetype blank = line.lastIndexOf(u' ', kTitleMax);
  return line.left(blank > kTitleMax / 2 ? blank : kTitleMax) + u'…';
}

}  // namespace

struct EngineWorker::Open {
  explicit Open(kvcache::Recipe recipe_in) : recipe(std::move(recipe_in)) {}
  kvcache::Recipe recipe;
  ChatSettings settings;
  std::optional<std::string> system;
  kvcache::ChatId id;  // 0: not in the library yet
  std::unique_ptr<runtime::Session> session;
  runtime::Fidelity fidelity;  // measured before the program started; the session's own is newer
};

EngineWorker::EngineWorker(std::unique_ptr<storage::Store> store, std::size_t threadCount)
    : m_store(std::move(store)), m_threadCount(threadCount) {}

EngineWorker::~EngineWorker() = default;

void EngineWorker::guard(Request request, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    tellError(request, {ErrorKind::out_of_memory, "MEMORY",
                        "The machine has no memory left for this. The chat is saved; close other "
                        "programs or choose a lower memory limit."});
  } catch (const std::exception& stranger) {
    tellError(request, {ErrorKind::internal, "INTERNAL",
                        std::string("Something unexpected happened: ") + stranger.what() +
                            ". The messages are saved."});
  }
}

void EngineWorker::tellError(Request request, const Error& error) {
  EngineError told;
  told.request = request;
  told.code = textOf(error.code);
  told.message = textOf(error.message);
  told.cancelled = error.kind == ErrorKind::cancelled;
  Q_EMIT failed(told);
}

// What the user must know of the store, once.
void EngineWorker::tellStore() {
  if (!m_store->cache_notice().empty()) Q_EMIT noticed(textOf(m_store->cache_notice()));
  if (const auto& why = m_store->library().report().read_only) {
    Q_EMIT noticed(textOf(why->message));
    return;
  }
  const Result<std::size_t> purged = m_store->purge_expired();
  if (!purged.ok()) tellError(Request::DeleteChat, purged.error());
}

void EngineWorker::openModel(const QString& path) {
  if (std::exchange(m_isFirstModel, false)) tellStore();
  const Result<ModelInfo> model = loadModel(path.toStdString());
  if (model.ok()) {
    Q_EMIT modelOpened(*model);
  } else {
    tellError(Request::OpenModel, model.error());
  }
}

// The model that is open stays open where the other one does not open.
Result<ModelInfo> EngineWorker::loadModel(const std::string& path) {
  runtime::EngineOptions options;
  options.model = path;
  options.n_threads = m_threadCount;
  options.progress = [this](const runtime::Progress& progress) {
    Q_EMIT progressed({progress.phase, qint64(progress.done), qint64(progress.total)});
  };
  SATCHEL_TRY_ASSIGN(std::unique_ptr<runtime::Engine> engine, runtime::Engine::open(options));
  m_open.reset();
  m_engine = std::move(engine);
  m_modelPath = path;
  ModelInfo info;
  info.path = textOf(path);
  info.title = textOf(std::filesystem::path(path).stem().string());
  info.device = textOf(m_engine->device());
  info.weightBytes = m_engine->weight_bytes();
  info.layerCount = int(m_engine->config().n_layers());
  info.contextTokens = int(m_engine->config().context);
  return info;
}

void EngineWorker::listChats() {
  const auto chats = m_store->library().chats();
  if (!chats.ok()) {
    tellError(Request::ListChats, chats.error());
    return;
  }
  QList<ChatEntry> entries;
  for (const storage::Chat& chat : *chats)
    if (chat.n_messages > 0) entries.append(entryFrom(chat));
  Q_EMIT chatsListed(entries);
}

void EngineWorker::newChat(const ChatSettings& settings) {
  const Result<void> begun = beginChat(settings);
  if (!begun.ok()) tellError(Request::NewChat, begun.error());
}

Result<void> EngineWorker::beginChat(const ChatSettings& settings) {
  if (!m_engine) return Error{ErrorKind::invalid, "NO_MODEL", "Open a model first."};
  SATCHEL_TRY_ASSIGN(kvcache::Recipe recipe,
                     runtime::resolve_recipe(settings.preset.toStdString()));
  m_open = std::make_unique<Open>(std::move(recipe));
  m_open->settings = settings;
  OpenedChat opened;
  opened.settings = settings;
  opened.recipe = textOf(m_open->recipe.name());
  opened.keep = m_open->recipe.keep();
  Q_EMIT chatOpened(opened);
  return {};
}

void EngineWorker::openChat(ChatKey chat, std::stop_token stop) {
  const Result<void> opened = openSaved(chat, stop);
  if (!opened.ok()) tellError(Request::OpenChat, opened.error());
}

Result<void> EngineWorker::openSaved(ChatKey key, std::stop_token stop) {
  SATCHEL_TRY_ASSIGN(const storage::Chat chat, m_store->library().chat({key}));
  SATCHEL_TRY(switchModelFor(chat));
  SATCHEL_TRY_ASSIGN(kvcache::Recipe recipe, kvcache::Recipe::parse(chat.setup.recipe_json));
  SATCHEL_TRY_ASSIGN(const auto stored, m_store->library().messages(chat.id));
  m_open = std::make_unique<Open>(std::move(recipe));
  m_open->id = chat.id;
  m_open->system = chat.setup.system;
  m_open->settings = {presetOf(m_open->recipe), chat.setup.budget_bytes};
  OpenedChat opened;
  opened.entry = entryFrom(chat);
  opened.settings = m_open->settings;
  opened.recipe = textOf(m_open->recipe.name());
  opened.keep = m_open->recipe.keep();
  for (const kvcache::StoredMessage& message : stored)
    if (message.role != kvcache::Role::system) opened.messages.append(messageFrom(message));
  Q_EMIT chatOpened(opened);
  return resumeOpen(stop);
}

Result<void> EngineWorker::resumeOpen(std::stop_token stop) {
  SATCHEL_TRY(makeSession());
  Result<runtime::ResumeReport> resumedNow = m_open->session->resume(stop, progressFn());
  if (!resumedNow.ok()) {
    // Cancelled: the words are loaded, not all are read. Else nobody may write to half a chat.
    if (resumedNow.error().kind != ErrorKind::cancelled) m_open->session.reset();
    return std::move(resumedNow).error();
  }
  runtime::ResumeReport report = std::move(*resumedNow);
  if (report.reread_ms_estimate <= 0)
    report.reread_ms_estimate = rememberedMsPerToken() * double(report.n_reused);
  m_open->fidelity = rememberedFidelity();
  Q_EMIT resumed(report);
  tellCache();
  if (report.n_reread > 0) save();
  return {};
}

// A chat goes on with the model it was held with: its tokens mean nothing to another.
Result<void> EngineWorker::switchModelFor(const storage::Chat& chat) {
  if (m_engine && m_engine->fingerprint() == chat.setup.model_fingerprint) return {};
  if (m_engine && m_modelPath == chat.setup.model_path) return {};  // the file was replaced
  std::error_code error;
  if (!std::filesystem::exists(chat.setup.model_path, error))
    return Error{ErrorKind::not_found, "MODEL_MISSING",
                 "This chat was held with the model \"" + chat.setup.model_path +
                     "\", which is not there any more. The chat is kept; put the file back to go "
                     "on with it."};
  SATCHEL_TRY_ASSIGN(const ModelInfo model, loadModel(chat.setup.model_path));
  Q_EMIT modelSwitched(model);
  return {};
}

Result<void> EngineWorker::makeSession() {
  runtime::SessionOptions options(m_open->recipe);
  options.budget_bytes = m_open->settings.budgetBytes;
  options.system = m_open->system;
  options.chat = m_open->id;
  options.journal = &m_store->library();
  options.blocks = m_store->kv();
  SATCHEL_TRY_ASSIGN(m_open->session, m_engine->new_session(options));
  return {};
}

Result<void> EngineWorker::enterLibrary(const QString& title) {
  if (!m_engine || !m_open)
    return Error{ErrorKind::invalid, "NO_CHAT", "No chat is open. Nothing was sent."};
  if (m_open->session) return {};
  storage::NewChat chat;
  chat.title = title.toStdString();
  chat.name = chat.title;
  chat.setup = {.model_fingerprint = m_engine->fingerprint(),
                .model_path = m_modelPath,
                .recipe_json = m_open->recipe.json(),
                .budget_bytes = m_open->settings.budgetBytes,
                .system = m_open->system};
  Result<kvcache::ChatId> id = m_store->library().create_chat(chat);
  if (!id.ok() && id.error().code == "CHAT_EXISTS") {
    // Names are for the command line and unique; titles need not be.
    chat.name += QDateTime::currentDateTime()
                     .toString(QStringLiteral(" yyyy-MM-dd HH:mm:ss.zzz"))
                     .toStdString();
    id = m_store->library().create_chat(chat);
  }
  if (!id.ok()) return std::move(id).error();
  m_open->id = *id;
  Result<void> made = makeSession();
  if (!made.ok()) leaveLibrary();
  return made;
}

void EngineWorker::leaveLibrary() {
  m_open->session.reset();
  const Result<void> gone = m_store->delete_now(m_open->id);
  if (!gone.ok()) tellError(Request::DeleteChat, gone.error());
  m_open->id = {};
}

Result<ChatEntry> EngineWorker::entryOf(ChatKey key) {
  SATCHEL_TRY_ASSIGN(const storage::Chat chat, m_store->library().chat({key}));
  return entryFrom(chat);
}

void EngineWorker::renameChat(ChatKey key, const QString& title) {
  const std::string text = title.toStdString();
  const Result<void> titled = m_store->library().set_title({key}, text);
  if (!titled.ok()) {
    tellError(Request::RenameChat, titled.error());
    return;
  }
  const Result<void> named = m_store->library().rename_chat({key}, text);
  // Another chat has that name: this one keeps its own for the command line.
  if (!named.ok() && named.error().code != "CHAT_EXISTS")
    tellError(Request::RenameChat, named.error());
  const Result<ChatEntry> entry = entryOf(key);
  if (entry.ok()) Q_EMIT chatChanged(*entry);
}

void EngineWorker::deleteChat(ChatKey key) {
  const Result<ChatEntry> entry = entryOf(key);
  const Result<void> removed =
      entry.ok() ? m_store->library().remove_chat({key}) : Result<void>(entry.error());
  if (!removed.ok()) {
    tellError(Request::DeleteChat, removed.error());
    return;
  }
  if (m_open && m_open->id.value == key) m_open.reset();
  Q_EMIT chatDeleted(*entry);
}

void EngineWorker::restoreChat(ChatKey key) {
  const Result<void> restored = m_store->library().restore_chat({key});
  const Result<ChatEntry> entry =
      restored.ok() ? entryOf(key) : Result<ChatEntry>(restored.error());
  if (entry.ok()) {
    Q_EMIT chatChanged(*entry);
  } else {
    tellError(Request::RestoreChat, entry.error());
  }
}

// Tokens, not token-layers, are what people count.
runtime::ProgressFn EngineWorker::progressFn(std::function<void()> onGenerate) {
  const auto layers = qint64(std::max<std::size_t>(m_engine->config().n_layers(), 1));
  return [this, layers, onGenerate = std::move(onGenerate)](const runtime::Progress& progress) {
    if (progress.phase == runtime::Phase::generate) {
      if (onGenerate) onGenerate();
      return;
    }
    const qint64 unit = progress.phase == runtime::Phase::read_prompt ? layers : 1;
    Q_EMIT progressed(
        {progress.phase, qint64(progress.done) / unit, qint64(progress.total) / unit});
  };
}

void EngineWorker::send(const QString& text, std::stop_token stop) {
  const Result<void> answered = answer(text, stop);
  if (!answered.ok()) tellError(Request::Send, answered.error());
}

Result<void> EngineWorker::answer(const QString& text, std::stop_token stop) {
  // A saved chat whose memory did not open before is tried again.
  if (m_open && m_open->id.value != 0 && !m_open->session) SATCHEL_TRY(resumeOpen(stop));
  const bool isFirst = !m_open || !m_open->session;
  SATCHEL_TRY(enterLibrary(titleFrom(text)));
  const Result<kvcache::MessageId> added = m_open->session->add_user(text.toStdString());
  if (!added.ok()) {
    if (isFirst) leaveLibrary();
    return added.error();
  }
  SATCHEL_TRY_ASSIGN(const ChatEntry entry, entryOf(m_open->id.value));
  if (isFirst) {
    Q_EMIT chatEntered(entry);
  } else {
    Q_EMIT chatChanged(entry);
  }
  Message message;
  message.id = added->value;
  message.text = text;
  Q_EMIT messageAdded(message);

  bool isStarted = false;
  const SystemClock clock;
  double told = clock.steady_ms();
  const auto start = [&] {
    if (isStarted) return;
    isStarted = true;
    tellCache();
    Message answer;
    const runtime::SessionMessage& last = m_open->session->messages().back();
    // Where there was no room for an answer, the question is the last message.
    if (last.role == kvcache::Role::assistant) answer.id = last.id.value;
    answer.role = kvcache::Role::assistant;
    Q_EMIT answerStarted(answer);
  };
  const auto onPiece = [&](std::string_view piece) {
    start();
    Q_EMIT pieceArrived(textOf(piece));
    if (const double now = clock.steady_ms(); now - told > kCacheEveryMs) {
      told = now;
      tellCache();
    }
    return true;
  };
  const Result<runtime::GenerateReport> report =
      m_open->session->generate(runtime::Sampling{}, onPiece, stop, progressFn(start));
  if (report.ok()) {
    start();
    remember(report->read);
    Q_EMIT answerFinished(*report);
  }
  tellCache();
  save();
  if (!report.ok()) return report.error();
  return {};
}

void EngineWorker::attachDocument(const QString& title, const QString& text, std::stop_token stop) {
  const Result<void> done = readDocument(title, text, stop);
  if (!done.ok()) tellError(Request::AttachDocument, done.error());
}

Result<void> EngineWorker::readDocument(const QString& title, const QString& text,
                                        std::stop_token stop) {
  // A saved chat whose memory did not open before is tried again.
  if (m_open && m_open->id.value != 0 && !m_open->session) SATCHEL_TRY(resumeOpen(stop));
  const bool isFirst = !m_open || !m_open->session;
  SATCHEL_TRY(enterLibrary(titleFrom(title)));
  const Result<runtime::DocumentIds> added =
      m_open->session->add_document(title.toStdString(), text.toStdString());
  if (!added.ok()) {
    if (isFirst) leaveLibrary();
    return added.error();
  }
  SATCHEL_TRY_ASSIGN(const ChatEntry entry, entryOf(m_open->id.value));
  if (isFirst) {
    Q_EMIT chatEntered(entry);
  } else {
    Q_EMIT chatChanged(entry);
  }
  Message document;
  document.id = added->document.value;
  document.documentTitle = title;
  document.text = text;
  Q_EMIT messageAdded(document);
  const Result<runtime::ReadReport> report = m_open->session->read(stop, progressFn());
  // The answer is in the library with the document, read or not.
  Message noted;
  noted.id = added->answer.value;
  noted.role = kvcache::Role::assistant;
  noted.text = textOf(runtime::kNoted);
  Q_EMIT messageAdded(noted);
  if (report.ok()) {
    remember(*report);
    Q_EMIT documentRead(*report);
  }
  tellCache();
  save();
  if (!report.ok()) return report.error();
  return {};
}

void EngineWorker::save() {
  const Result<kvcache::SaveReport> report = m_open->session->save();
  if (report.ok()) {
    Q_EMIT saved(*report);
  } else {
    tellError(Request::Save, report.error());
  }
}

void EngineWorker::tellCache() {
  if (!m_open || !m_open->session) return;
  const runtime::Session& session = *m_open->session;
  CacheState state;
  state.stats = session.stats();
  state.fidelity = session.fidelity().n_tokens > 0 ? session.fidelity() : m_open->fidelity;
  state.readTokens = qint64(session.n_read());
  state.chatTokens = qint64(session.tokens().size());
  state.contextTokens = qint64(session.n_context());
  Q_EMIT cacheChanged(state);
}

void EngineWorker::remember(const runtime::ReadReport& report) {
  const auto keep = [this](const std::string& key, const QString& value) {
    const Result<void> kept = m_store->library().set_setting(key, value.toStdString());
    if (!kept.ok()) tellError(Request::Save, kept.error());
  };
  if (report.n_tokens >= kSpeedTokensMin && report.ms > 0)
    keep(speedKey(*m_engine), QString::number(report.ms / double(report.n_tokens)));
  const runtime::Fidelity& fidelity = report.fidelity;
  if (fidelity.n_tokens > 0)
    keep(fidelityKey(m_open->id), QStringLiteral("%1 %2 %3 %4 %5")
                                      .arg(fidelity.n_tokens)
                                      .arg(fidelity.agreement, 0, 'g', 9)
                                      .arg(fidelity.kl, 0, 'g', 9)
                                      .arg(fidelity.measured_at)
                                      .arg(fidelity.measured_ms));
}

runtime::Fidelity EngineWorker::rememberedFidelity() {
  const auto value = m_store->library().setting(fidelityKey(m_open->id));
  if (!value.ok() || !value->has_value()) return {};
  const QStringList fields = textOf(**value).split(u' ');
  if (fields.size() != 5) return {};
  return {.n_tokens = fields[0].toULong(),
          .agreement = fields[1].toDouble(),
          .kl = fields[2].toDouble(),
          .measured_at = fields[3].toULong(),
          .measured_ms = fields[4].toLongLong()};
}

double EngineWorker::rememberedMsPerToken() {
  const auto value = m_store->library().setting(speedKey(*m_engine));
  if (!value.ok() || !value->has_value()) return 0;
  return std::max(0.0, textOf(**value).toDouble());
}

void EngineWorker::idle(std::stop_token stop) {
  if (stop.stop_requested() || !m_open || !m_open->session) return;
  if (!m_open->session->has_idle_work()) return;
  const Result<runtime::IdleReport> report =
      m_open->session->idle(stop, [this](const runtime::Progress&) { tellCache(); });
  tellCache();
  if (!report.ok()) {
    tellError(Request::Idle, report.error());
    return;
  }
  runtime::ReadReport measured;
  measured.fidelity = report->fidelity;
  remember(measured);
  save();
}

void EngineWorker::preview(quint64 budgetBytes) {
  const Result<Previews> previews = makePreviews(budgetBytes);
  if (previews.ok()) {
    Q_EMIT previewed(*previews);
  } else {
    tellError(Request::Preview, previews.error());
  }
}

Result<Previews> EngineWorker::makePreviews(quint64 budgetBytes) {
  if (!m_engine) return Error{ErrorKind::invalid, "NO_MODEL", "Open a model first."};
  Previews previews;
  SATCHEL_TRY_ASSIGN(previews.defaultBytes, runtime::default_budget(m_engine->config()));
  previews.budgetBytes = budgetBytes != 0 ? budgetBytes : previews.defaultBytes;
  previews.freeBytes = runtime::free_memory_bytes();
  for (const runtime::Preset& preset : runtime::presets()) {
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(preset.name));
    Preview preview;
    preview.preset = textOf(preset.name);
    SATCHEL_TRY_ASSIGN(
        preview.estimate,
        m_engine->estimate(recipe, {.n_tokens = 0, .budget_bytes = previews.budgetBytes}));
    previews.presets.append(preview);
  }
  return previews;
}

}  // namespace satchel::ui
