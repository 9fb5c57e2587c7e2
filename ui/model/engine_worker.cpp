#include "ui/model/engine_worker.h"

#include <exception>
#include <filesystem>
#include <utility>

#include "ui/model/engine_errors.h"
#include "ui/model/engine_facts.h"

namespace satchel::ui {

EngineWorker::EngineWorker(std::unique_ptr<storage::Store> store, const EngineHost& host)
    : m_chats(std::move(store)), m_measured(m_chats.library()), m_host(host) {}

EngineWorker::~EngineWorker() = default;

void EngineWorker::guard(Request request, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    tellError(request, outOfMemory());
  } catch (const std::exception& stranger) {
    tellError(request, unexpected(stranger));
  }
}

// However the model was lost, the window must not go on showing it.
void EngineWorker::tellError(Request request, const Error& error) {
  if (!m_engine && std::exchange(m_isModelTold, false)) Q_EMIT modelClosed();
  EngineError told = errorOf(request, error);
  // useCpu() is for the model that is open: it helps no other.
  const bool isAnothers = std::exchange(m_isAnothers, false);
  told.isGpus = m_engine != nullptr && !isAnothers && m_engine->could_be_the_gpus(error);
  Q_EMIT failed(told);
}

void EngineWorker::check(Request request, const Result<void>& done) {
  if (!done.ok()) tellError(request, done.error());
}

// What the user must know of the store, once.
void EngineWorker::tellStore() {
  for (const QString& notice : m_chats.notices()) Q_EMIT noticed(notice);
  check(Request::DeleteChat, m_chats.tidy());
}

void EngineWorker::openModel(const QString& path, std::stop_token stop) {
  if (std::exchange(m_isFirstModel, false)) tellStore();
  const Result<ModelInfo> model = loadModel(path.toStdString(), stop);
  if (model.ok()) m_open.reset();
  tell(Request::OpenModel, model, &EngineWorker::modelOpened);
}

// The model that is open stays open where the other one does not open. Its chat has no session where
// there is another engine afterwards.
Result<ModelInfo> EngineWorker::loadModel(const std::string& path, std::stop_token stop) {
  {
    Result<std::unique_ptr<runtime::Engine>> engine = openEngine(path);
    if (engine.ok() && !isCrowdedOut(engine)) return take(std::move(*engine), path);
    if (!isCrowdedOut(engine)) {
      m_isAnothers = m_engine != nullptr;
      return engine.error();
    }
  }
  letModelGo();
  Result<std::unique_ptr<runtime::Engine>> engine = openEngine(path);
  if (engine.ok()) return take(std::move(*engine), path);
  Error why = engine.error();
  const Result<void> back = takeModelBack(stop);
  if (!back.ok())
    why.message += " The model that was open did not come back: " + back.error().message;
  m_isAnothers = back.ok();
  return why;
}

Result<std::unique_ptr<runtime::Engine>> EngineWorker::openEngine(const std::string& path) {
  runtime::EngineOptions options;
  options.model = path;
  options.n_threads = m_host.threadCount;
  options.backend = m_host.backend;
  options.backend_folders = m_host.backendFolders;
  options.lane_tables = m_host.laneTables;
  options.progress = [this](const runtime::Progress& progress) {
    Q_EMIT progressed(progressOf(progress, 1));
  };
  return runtime::Engine::open(options);
}

// A card seldom holds two models: the chats of the first take what is left beside it.
bool EngineWorker::isCrowdedOut(const Result<std::unique_ptr<runtime::Engine>>& other) const {
  if (!m_engine || !m_engine->on_gpu()) return false;
  if (!other.ok()) return other.error().code == "GPU_MEMORY";
  const std::optional<Error>& why = (*other)->why_not_gpu();
  return why && why->code == "GPU_MEMORY";
}

void EngineWorker::letModelGo() {
  if (m_open) m_open->letGo();
  m_engine.reset();
}

// The one that was let go for another, which did not open even so.
Result<void> EngineWorker::takeModelBack(std::stop_token stop) {
  SATCHEL_TRY_ASSIGN(std::unique_ptr<runtime::Engine> engine, openEngine(m_modelPath));
  if (std::exchange(m_isModelTold, false)) Q_EMIT modelClosed();
  Q_EMIT modelSwitched(take(std::move(engine), m_modelPath));
  check(Request::OpenChat, reopenChat(stop));
  return {};
}

ModelInfo EngineWorker::take(std::unique_ptr<runtime::Engine> engine, const std::string& path) {
  letModelGo();
  m_engine = std::move(engine);
  m_modelPath = path;
  m_isModelTold = true;
  return modelInfoOf(*m_engine, m_modelPath);
}

void EngineWorker::useCpu(std::stop_token stop) {
  check(Request::UseCpu, moveToCpu(stop));
}

// The engine that failed goes first: the machine may not hold the model twice. The chat stays, also
// where the model does not open: all this can be tried again.
Result<void> EngineWorker::moveToCpu(std::stop_token stop) {
  if (m_modelPath.empty()) return noModel();
  letModelGo();
  m_host.backend = "cpu";
  SATCHEL_TRY_ASSIGN(const ModelInfo model, loadModel(m_modelPath, stop));
  Q_EMIT modelSwitched(model);
  if (m_open && m_unanswered.value != 0)
    SATCHEL_TRY(m_chats.library().truncate(m_open->id(), m_unanswered));
  SATCHEL_TRY(reopenChat(stop));
  if (m_unanswered.value == 0) return {};
  SATCHEL_TRY(applyThinking());
  return reply(stop);
}

Result<void> EngineWorker::reopenChat(std::stop_token stop) {
  if (!m_open || !m_open->isSaved()) return beginChat(m_open ? m_open->settings() : ChatSettings{});
  const kvcache::MessageId unanswered = m_unanswered;
  const Result<void> opened = openSaved(m_open->id().value, stop);
  m_unanswered = unanswered;  // still, whatever became of it
  return opened;
}

void EngineWorker::listChats() {
  tell(Request::ListChats, m_chats.entries(), &EngineWorker::chatsListed);
}

void EngineWorker::newChat(const ChatSettings& settings) {
  check(Request::NewChat, beginChat(settings));
}

Result<void> EngineWorker::beginChat(const ChatSettings& settings) {
  if (!m_engine) return noModel();
  SATCHEL_TRY_ASSIGN(m_open, OpenChat::begin(settings));
  m_unanswered = {};
  Q_EMIT chatOpened(m_open->opened());
  return {};
}

void EngineWorker::openChat(ChatKey chat, std::stop_token stop) {
  check(Request::OpenChat, openSaved(chat, stop));
}

Result<void> EngineWorker::openSaved(ChatKey key, std::stop_token stop) {
  SATCHEL_TRY_ASSIGN(const storage::Chat chat, m_chats.library().chat({key}));
  SATCHEL_TRY(switchModelFor(chat, stop));
  SATCHEL_TRY_ASSIGN(const QList<Message> messages, m_chats.messages(key));
  SATCHEL_TRY_ASSIGN(m_open, OpenChat::of(chat));
  m_unanswered = {};
  OpenedChat opened = m_open->opened();
  opened.entry = entryFrom(chat);
  opened.messages = messages;
  Q_EMIT chatOpened(opened);
  return resumeOpen(stop);
}

Result<void> EngineWorker::resumeOpen(std::stop_token stop) {
  SATCHEL_TRY_ASSIGN(runtime::ResumeReport report,
                     m_open->resume(m_chats, *m_engine, stop, progressFn()));
  if (report.reread_ms_estimate <= 0)
    report.reread_ms_estimate =
        m_measured.readMsPerToken(m_engine->fingerprint()) * double(report.n_reused);
  Q_EMIT resumed(report);
  tellThoughts();
  tellCache();
  if (report.n_reread > 0) save();
  return {};
}

// Of the answers of a saved chat; what cannot be found is not shown.
void EngineWorker::tellThoughts() {
  QList<MessageThoughts> found;
  for (const runtime::SessionMessage& message : m_open->session()->messages()) {
    const Result<runtime::Thoughts> thoughts = m_open->session()->thoughts(message.id);
    if (thoughts.ok() && !thoughts->text.empty())
      found.append(
          {message.id.value, QString::fromStdString(thoughts->text), qint64(thoughts->n_tokens)});
  }
  if (!found.isEmpty()) Q_EMIT thoughtsFound(found);
}

// A chat goes on with the model it was held with: its tokens mean nothing to another.
Result<void> EngineWorker::switchModelFor(const storage::Chat& chat, std::stop_token stop) {
  if (m_engine && m_engine->fingerprint() == chat.setup.model_fingerprint) return {};
  if (m_engine && m_modelPath == chat.setup.model_path) return {};  // the file was replaced
  std::error_code error;
  if (!std::filesystem::exists(chat.setup.model_path, error))
    return modelMissing(chat.setup.model_path);
  SATCHEL_TRY_ASSIGN(const ModelInfo model, loadModel(chat.setup.model_path, stop));
  m_open.reset();
  Q_EMIT modelSwitched(model);
  return {};
}

void EngineWorker::renameChat(ChatKey key, const QString& title) {
  tell(Request::RenameChat, m_chats.rename(key, title), &EngineWorker::chatChanged);
}

void EngineWorker::deleteChat(ChatKey key) {
  const Result<ChatEntry> removed = m_chats.remove(key);
  if (!removed.ok()) {
    tellError(Request::DeleteChat, removed.error());
    return;
  }
  if (m_open && m_open->id().value == key) m_open.reset();
  Q_EMIT chatDeleted(*removed);
}

void EngineWorker::restoreChat(ChatKey key) {
  tell(Request::RestoreChat, m_chats.restore(key), &EngineWorker::chatChanged);
}

}  // namespace satchel::ui
