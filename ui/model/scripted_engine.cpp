#include "ui/model/scripted_engine.h"

#include <algorithm>

namespace satchel::ui {
namespace {

// Chats made while playing are newer than any that was added, each newer than the one before.
QDateTime timeOf(ChatKey chat) {
  return QDateTime(QDate(2100, 1, 1), QTime(0, 0), Qt::UTC).addSecs(chat);
}

QString recipeOf(const QString& preset) {
  if (preset == QStringLiteral("full")) return preset;
  return preset == QStringLiteral("balanced") ? QStringLiteral("ladder-4")
                                              : QStringLiteral("kvzip");
}

double keepOf(const QString& preset) {
  if (preset == QStringLiteral("compact")) return 0.5;
  return preset == QStringLiteral("extreme") ? 0.25 : 1;
}

}  // namespace

bool ScriptedEngine::begins(Request request) {
  endPacking();
  m_isIdlePaused = false;
  const auto found =
      std::find_if(script.errors.begin(), script.errors.end(),
                   [request](const EngineError& error) { return error.request == request; });
  if (found == script.errors.end()) return true;
  const EngineError error = *found;
  script.errors.erase(found);
  then([this, error] { Q_EMIT failed(error); });
  return false;
}

void ScriptedEngine::openModel(const QString& path) {
  m_steps.clear();
  m_open = {};
  if (!begins(Request::OpenModel)) return;
  script.model.path = path;
  then([this] { Q_EMIT modelOpened(script.model); });
}

void ScriptedEngine::listChats() {
  QList<ChatEntry> chats;
  for (const auto& [key, chat] : m_library) chats.append(chat.entry);
  Q_EMIT chatsListed(chats);
}

void ScriptedEngine::newChat(const ChatSettings& settings) {
  if (!begins(Request::NewChat)) return;
  m_open = {};
  m_open.settings = settings;
  m_open.recipe = recipeOf(settings.preset);
  Q_EMIT chatOpened(m_open);
}

void ScriptedEngine::useCpu() {
  const bool fails =
      std::any_of(script.errors.begin(), script.errors.end(),
                  [](const EngineError& error) { return error.request == Request::UseCpu; });
  if (fails) then([this] { Q_EMIT modelClosed(); });
  if (!begins(Request::UseCpu)) return;
  script.model.onGpu = false;
  Q_EMIT modelSwitched(script.model);
  Q_EMIT chatOpened(m_open);
  if (m_open.messages.isEmpty()) return;
  playProgress();
  then([this] { Q_EMIT resumed(script.resume); });
  then([this] { tellCache(); });
}

void ScriptedEngine::openChat(ChatKey chat) {
  if (!begins(Request::OpenChat)) return;
  m_open = m_library.at(chat);
  Q_EMIT chatOpened(m_open);
  playProgress();
  then([this] { Q_EMIT resumed(script.resume); });
  then([this] { tellCache(); });
}

void ScriptedEngine::renameChat(ChatKey chat, const QString& title) {
  OpenedChat& entry = m_library.at(chat);
  entry.entry.title = title;
  Q_EMIT chatChanged(entry.entry);
}

void ScriptedEngine::deleteChat(ChatKey chat) {
  const auto found = m_library.find(chat);
  if (found == m_library.end()) return;
  const ChatEntry entry = found->second.entry;
  m_deleted.insert(m_library.extract(found));
  Q_EMIT chatDeleted(entry);
}

void ScriptedEngine::restoreChat(ChatKey chat) {
  const auto found = m_deleted.find(chat);
  if (found == m_deleted.end()) return;
  const ChatEntry entry = found->second.entry;
  m_library.insert(m_deleted.extract(found));
  Q_EMIT chatChanged(entry);
}

void ScriptedEngine::send(const QString& text) {
  if (!begins(Request::Send)) return;
  enterLibrary(text.section(u'\n', 0, 0).left(60));
  Message message;
  message.text = text;
  then([this, message] { Q_EMIT messageAdded(message); });
  playProgress();
  then([this] {
    m_isAnswering = true;
    m_answer.clear();
    m_thought.clear();
    m_pieceCount = 0;
    Q_EMIT answerStarted(Message{});
  });
  for (const QString& piece : script.thoughts)
    then([this, piece] {
      m_thought += piece;
      Q_EMIT thoughtArrived(piece);
    });
  for (const QString& piece : script.pieces)
    then([this, piece] {
      m_answer += piece;
      ++m_pieceCount;
      Q_EMIT pieceArrived(piece);
    });
  then([this] { finishAnswer(script.answer.finish); });
  then([this] { Q_EMIT cacheChanged(script.cache); });
}

void ScriptedEngine::attachDocument(const QString& title, const QString& text) {
  if (!begins(Request::AttachDocument)) return;
  enterLibrary(title);
  Message document;
  document.documentTitle = title;
  document.text = text;
  Message noted;
  noted.role = kvcache::Role::assistant;
  noted.text = QStringLiteral("Noted.");
  then([this, document] { Q_EMIT messageAdded(document); });
  playProgress();
  then([this, noted] { Q_EMIT messageAdded(noted); });
  then([this] {
    Q_EMIT ledgerChanged(script.ledger);
    Q_EMIT documentRead(script.document);
  });
  then([this] { Q_EMIT cacheChanged(script.cache); });
}

void ScriptedEngine::stop() {
  ++m_stopsAsked;
  m_steps.clear();
  if (m_isAnswering) {
    then([this] { finishAnswer(runtime::Finish::stopped); });
  } else {
    EngineError error;
    error.request = Request::Send;
    error.code = QStringLiteral("STOPPED");
    error.cancelled = true;
    then([this, error] { Q_EMIT failed(error); });
  }
}

void ScriptedEngine::preview(quint64 budgetBytes) {
  Previews previews = script.previews;
  previews.budgetBytes = budgetBytes != 0 ? budgetBytes : previews.defaultBytes;
  Q_EMIT previewed(previews);
}

void ScriptedEngine::previewChat(const ChatSettings& settings) {
  m_previewsAsked.append(settings);
  if (!begins(Request::PreviewChat)) return;
  then([this, settings] { Q_EMIT chatPreviewed({settings, script.change}); });
}

void ScriptedEngine::applyToChat(const ChatSettings& settings) {
  if (!begins(Request::ApplyToChat)) return;
  if (script.change.n_reread > 0) playProgress();
  then([this, settings] {
    m_open.settings = settings;
    m_open.recipe = recipeOf(settings.preset);
    m_open.keep = keepOf(settings.preset);
    Q_EMIT chatApplied({settings, m_open.recipe, m_open.keep, script.change, true});
  });
  then([this] { tellCache(); });
}

void ScriptedEngine::tellCache() {
  Q_EMIT cacheChanged(script.cache);
  Q_EMIT ledgerChanged(script.ledger);
}

bool ScriptedEngine::play(int steps) {
  for (int i = 0; i < steps; ++i) {
    if (m_steps.empty()) {
      if (!packOn()) return false;
      continue;
    }
    const auto step = std::move(m_steps.front());
    m_steps.pop_front();
    step();
  }
  return true;
}

bool ScriptedEngine::packOn() {
  if (m_isIdlePaused || script.packing.isEmpty()) return false;
  script.cache = script.packing.takeFirst();
  script.cache.isPacking = !script.packing.isEmpty();
  Q_EMIT cacheChanged(script.cache);
  return true;
}

void ScriptedEngine::endPacking() {
  if (!script.cache.isPacking) return;
  script.cache.isPacking = false;
  Q_EMIT cacheChanged(script.cache);
}

void ScriptedEngine::pauseIdle() {
  m_isIdlePaused = true;
  endPacking();
}

void ScriptedEngine::playAll() {
  while (play()) {
  }
}

ChatKey ScriptedEngine::addChat(const QString& title, const QDateTime& changed,
                                const QList<Message>& messages, const ChatSettings& settings) {
  OpenedChat chat;
  chat.entry = {++m_lastKey, title, changed};
  chat.settings = settings;
  chat.recipe = recipeOf(settings.preset);
  chat.keep = keepOf(settings.preset);
  chat.messages = messages;
  m_library.emplace(m_lastKey, chat);
  return m_lastKey;
}

void ScriptedEngine::enterLibrary(const QString& title) {
  if (m_open.entry.id != 0) return;
  m_open.entry = {++m_lastKey, title, timeOf(m_lastKey)};
  m_library.emplace(m_open.entry.id, m_open);
  then([this, entry = m_open.entry] { Q_EMIT chatEntered(entry); });
}

void ScriptedEngine::playProgress() {
  for (const ReadingProgress& progress : script.progress)
    then([this, progress] { Q_EMIT progressed(progress); });
}

void ScriptedEngine::finishAnswer(runtime::Finish finish) {
  m_isAnswering = false;
  runtime::GenerateReport report = script.answer;
  report.finish = finish;
  report.text = m_answer.toStdString();
  report.thoughts.text = m_thought.toStdString();
  report.n_tokens = std::size_t(m_pieceCount);
  Q_EMIT ledgerChanged(script.ledger);
  Q_EMIT answerFinished(report);
}

}  // namespace satchel::ui
