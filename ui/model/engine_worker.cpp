#include "ui/model/engine_worker.h"

#include <exception>
#include <filesystem>
#include <utility>

#include "ui/model/engine_errors.h"
#include "ui/model/engine_facts.h"

namespace satchel::ui {
static constexpr double kCacheEveryMs = 500;  // while an answer streams

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

void EngineWorker::tellError(Request request, const Error& error) {
  EngineError told = errorOf(request, error);
  told.isGpus = m_engine != nullptr && m_engine->could_be_the_gpus(error);
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

void EngineWorker::openModel(const QString& path) {
  if (std::exchange(m_isFirstModel, false)) tellStore();
  tell(Request::OpenModel, loadModel(path.toStdString()), &EngineWorker::modelOpened);
}

// The model that is open stays open where the other one does not open.
Result<ModelInfo> EngineWorker::loadModel(const std::string& path) {
  runtime::EngineOptions options;
  options.model = path;
  options.n_threads = m_host.threadCount;
  options.backend = m_host.backend;
  options.backend_folders = m_host.backendFolders;
  options.lane_tables = m_host.laneTables;
  options.progress = [this](const runtime::Progress& progress) {
    Q_EMIT progressed(progressOf(progress, 1));
  };
  SATCHEL_TRY_ASSIGN(std::unique_ptr<runtime::Engine> engine, runtime::Engine::open(options));
  m_open.reset();
  m_engine = std::move(engine);
  m_modelPath = path;
  return modelInfoOf(*m_engine, path);
}

void EngineWorker::useCpu(std::stop_token stop) {
  check(Request::UseCpu, moveToCpu(stop));
}

// The engine that failed goes first: the machine may not hold the model twice. The chat stays, also
// where the model does not open: all this can be tried again.
Result<void> EngineWorker::moveToCpu(std::stop_token stop) {
  if (m_modelPath.empty()) return noModel();
  std::unique_ptr<OpenChat> open = std::move(m_open);
  if (open) open->letGo();
  m_engine.reset();
  m_host.backend = "cpu";
  const Result<ModelInfo> model = loadModel(m_modelPath);
  m_open = std::move(open);
  if (!model.ok()) {
    Q_EMIT modelClosed();
    return model.error();
  }
  Q_EMIT modelSwitched(*model);
  if (!m_open || !m_open->isSaved()) return beginChat(m_open ? m_open->settings() : ChatSettings{});
  const kvcache::MessageId unanswered = m_unanswered;
  if (unanswered.value != 0) SATCHEL_TRY(m_chats.library().truncate(m_open->id(), unanswered));
  const Result<void> opened = openSaved(m_open->id().value, stop);
  m_unanswered = unanswered;  // still, whatever became of it
  SATCHEL_TRY(opened);
  if (unanswered.value == 0) return {};
  SATCHEL_TRY(applyThinking());
  return reply(stop);
}

// Where there is a switch it is never refused, so nothing has to be taken back.
Result<void> EngineWorker::applyThinking() {
  if (!m_engine->chat_template().has_thinking_switch()) return {};
  return m_open->session()->set_thinking(m_thinks ? runtime::Thinking::automatic
                                                  : runtime::Thinking::off);
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
  SATCHEL_TRY(switchModelFor(chat));
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
Result<void> EngineWorker::switchModelFor(const storage::Chat& chat) {
  if (m_engine && m_engine->fingerprint() == chat.setup.model_fingerprint) return {};
  if (m_engine && m_modelPath == chat.setup.model_path) return {};  // the file was replaced
  std::error_code error;
  if (!std::filesystem::exists(chat.setup.model_path, error))
    return modelMissing(chat.setup.model_path);
  SATCHEL_TRY_ASSIGN(const ModelInfo model, loadModel(chat.setup.model_path));
  Q_EMIT modelSwitched(model);
  return {};
}

template <class Ids, class Add>
Result<Ids> EngineWorker::commit(const QString& title, std::stop_token stop, const Add& add) {
  if (!m_engine || !m_open) return noChat();
  // A saved chat whose memory did not open before is tried again.
  if (m_open->isSaved() && m_open->session() == nullptr) SATCHEL_TRY(resumeOpen(stop));
  const bool isFirst = m_open->session() == nullptr;
  SATCHEL_TRY(m_open->enter(m_chats, *m_engine, m_modelPath, title));
  // Before a document, too: how the chat begins and the answer given to it depend on this.
  SATCHEL_TRY(applyThinking());
  Result<Ids> added = add(*m_open->session());
  if (!added.ok()) {
    if (isFirst) check(Request::DeleteChat, m_open->leave(m_chats));
    return added;
  }
  SATCHEL_TRY_ASSIGN(const ChatEntry entry, m_chats.entry(m_open->id().value));
  if (isFirst) {
    Q_EMIT chatEntered(entry);
  } else {
    Q_EMIT chatChanged(entry);
  }
  return added;
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

runtime::ProgressFn EngineWorker::progressFn(std::function<void()> onGenerate) {
  const std::size_t layers = m_engine->config().n_layers();
  return [this, layers, onGenerate = std::move(onGenerate)](const runtime::Progress& progress) {
    if (progress.phase != runtime::Phase::generate) {
      Q_EMIT progressed(progressOf(progress, layers));
    } else if (onGenerate) {
      onGenerate();
    }
  };
}

void EngineWorker::send(const QString& text, std::stop_token stop) {
  check(Request::Send, answer(text, stop));
}

Result<void> EngineWorker::answer(const QString& text, std::stop_token stop) {
  Message message;
  message.text = text;
  SATCHEL_TRY_ASSIGN(
      const kvcache::MessageId id,
      commit<kvcache::MessageId>(titleFrom(text), stop, [&](runtime::Session& session) {
        return session.add_user(text.toStdString());
      }));
  message.id = id.value;
  m_unanswered = id;
  Q_EMIT messageAdded(message);
  return reply(stop);
}

Result<void> EngineWorker::reply(std::stop_token stop) {
  bool isStarted = false;
  const SystemClock clock;
  double told = clock.steady_ms();
  const auto start = [&] {
    if (std::exchange(isStarted, true)) return;
    tellCache();
    Message begun;
    begun.role = kvcache::Role::assistant;
    const runtime::SessionMessage& last = m_open->session()->messages().back();
    // Where there was no room for an answer, the question is the last message.
    if (last.role == kvcache::Role::assistant) begun.id = last.id.value;
    Q_EMIT answerStarted(begun);
  };
  const auto tellPiece = [&](std::string_view piece,
                             void (EngineWorker::*signal)(const QString& piece)) {
    start();
    Q_EMIT(this->*signal)(QString::fromUtf8(piece.data(), qsizetype(piece.size())));
    if (const double now = clock.steady_ms(); now - told > kCacheEveryMs) {
      told = now;
      tellCache();
    }
    return true;
  };
  const Result<runtime::GenerateReport> report = m_open->session()->generate(
      runtime::Sampling{},
      [&](std::string_view piece) { return tellPiece(piece, &EngineWorker::pieceArrived); }, stop,
      progressFn(start),
      [&](std::string_view piece) { return tellPiece(piece, &EngineWorker::thoughtArrived); });
  if (report.ok()) {
    m_unanswered = {};
    start();
  }
  tellCache();
  if (report.ok()) {
    keepMeasured(report->read);
    Q_EMIT answerFinished(*report);
  }
  save();
  if (!report.ok()) return report.error();
  return {};
}

void EngineWorker::attachDocument(const QString& title, const QString& text, std::stop_token stop) {
  check(Request::AttachDocument, readDocument(title, text, stop));
}

Result<void> EngineWorker::readDocument(const QString& title, const QString& text,
                                        std::stop_token stop) {
  Message document, noted;
  document.documentTitle = title;
  document.text = text;
  noted.role = kvcache::Role::assistant;
  noted.text = QString::fromUtf8(runtime::kNoted.data(), qsizetype(runtime::kNoted.size()));
  SATCHEL_TRY_ASSIGN(
      const runtime::DocumentIds ids,
      commit<runtime::DocumentIds>(titleFrom(title), stop, [&](runtime::Session& session) {
        return session.add_document(title.toStdString(), text.toStdString());
      }));
  m_unanswered = {};
  document.id = ids.document.value;
  noted.id = ids.answer.value;
  Q_EMIT messageAdded(document);
  const Result<runtime::ReadReport> report = m_open->session()->read(stop, progressFn());
  // The answer is in the library with the document, read or not.
  Q_EMIT messageAdded(noted);
  tellCache();
  if (report.ok()) {
    keepMeasured(*report);
    Q_EMIT documentRead(*report);
  }
  save();
  if (!report.ok()) return report.error();
  return {};
}

}  // namespace satchel::ui
