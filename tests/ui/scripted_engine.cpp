#include "scripted_engine.h"

#include <algorithm>
#include <utility>

#include "runtime/limits/presets.h"

namespace satchel::ui {
namespace {

using runtime::ChatTask;

// Chats made while playing are newer than any that was added, each newer than the one before.
QDateTime timeOf(ChatKey chat) {
  return QDateTime(QDate(2100, 1, 1), QTime(0, 0), Qt::UTC).addSecs(chat);
}

runtime::Chat rowOf(const ChatEntry& entry) {
  runtime::Chat chat;
  chat.id = {entry.id};
  chat.title = entry.title.toStdString();
  chat.used_ms = entry.changed.toMSecsSinceEpoch();
  chat.folder = entry.folder.toStdString();
  if (entry.isAtTop) chat.place = runtime::ListPlace::top;
  chat.stopped = {entry.stopped};
  return chat;
}

runtime::StoredMessage storedOf(const Message& message) {
  runtime::StoredMessage stored;
  stored.id = {message.id};
  stored.role = message.role;
  stored.state = message.state;
  stored.text = message.text.toStdString();
  if (message.documentTitle.isEmpty()) return stored;
  stored.kind = runtime::MessageKind::document;
  stored.title = message.documentTitle.toStdString();
  return stored;
}

constexpr qint64 kDocumentId = 1;  // of one in parts

Message notedMessage() {
  Message noted;
  noted.role = runtime::Role::assistant;
  noted.text = QStringLiteral("Noted.");
  return noted;
}

runtime::MemorySettings memoryOf(const ChatSettings& settings) {
  return {runtime::resolve_recipe(settings.preset.toStdString()).value(), settings.budgetBytes};
}

}  // namespace

runtime::ChatOpened ScriptedEngine::shownOf(const SavedChat& chat) const {
  runtime::ChatOpened opened{rowOf(chat.entry), memoryOf(chat.settings), {}, chat.answers};
  for (const Message& message : chat.messages) {
    const Script::Written written = script.written.value(qsizetype(opened.messages.size()));
    runtime::StoredMessage stored = storedOf(message);
    stored.created_ms = written.ms;
    stored.tokens.resize(written.n_tokens);
    opened.messages.push_back(std::move(stored));
  }
  return opened;
}

bool ScriptedEngine::begins(ChatTask task) {
  endPacking();
  m_isIdlePaused = false;
  const auto found =
      std::find_if(script.errors.begin(), script.errors.end(),
                   [task](const runtime::Failed& error) { return error.task == task; });
  if (found == script.errors.end()) return true;
  if (script.endsContext) thenTell(runtime::ContextEnded{});
  thenTell(script.errors.takeAt(found - script.errors.begin()));
  return false;
}

void ScriptedEngine::thenTell(runtime::ChatEvent event) {
  then([this, event = std::move(event)] { tell(event); });
}

void ScriptedEngine::tellModelSwitched() {
  tell(runtime::ModelSwitched{script.model});
}

void ScriptedEngine::tellLedger() {
  tell(script.ledger);
}

void ScriptedEngine::openModel(const QString& path) {
  m_steps.clear();
  m_open = {};
  if (!begins(ChatTask::open_model)) return;
  script.model.path = path.toStdString();
  then([this] { tell(runtime::ModelOpened{script.model}); });
}

void ScriptedEngine::listChats() {
  runtime::ChatsListed listed;
  for (const auto& [key, chat] : m_library) listed.chats.push_back(rowOf(chat.entry));
  tell(listed);
}

void ScriptedEngine::newChat(const ChatSettings& settings, const runtime::AnswerSettings& answers) {
  if (!begins(ChatTask::begin_chat)) return;
  m_open = {};
  m_open.settings = settings;
  m_open.answers = answers;
  tell(shownOf(m_open));
}

void ScriptedEngine::showHeld() {
  ++m_heldAsked;
  tell(script.held);
}

void ScriptedEngine::showAttended() {
  ++m_attendedAsked;
  if (begins(ChatTask::show_held)) thenTell(script.attended);
}

void ScriptedEngine::findQuotes(qint64 answer) {
  m_quotesAsked.append(answer);
  if (!script.quotes.empty()) tell(runtime::QuotesFound{{answer}, script.quotes});
}

void ScriptedEngine::useCpu() {
  const bool fails =
      std::any_of(script.errors.begin(), script.errors.end(),
                  [](const runtime::Failed& error) { return error.task == ChatTask::use_cpu; });
  if (fails) thenTell(runtime::ModelClosed{});
  if (!begins(ChatTask::use_cpu)) return;
  script.model.on_gpu = false;
  tellModelSwitched();
  tell(shownOf(m_open));
  if (m_open.messages.isEmpty()) return;
  playProgress();
  then([this] { tell(script.resume); });
  then([this] { tellCache(); });
}

void ScriptedEngine::openChat(ChatKey chat) {
  m_isOpening = true;
  const auto stopped = [](const runtime::Failed& failed) {
    return failed.task == ChatTask::open_chat && failed.error.kind == ErrorKind::cancelled;
  };
  const bool isStopped = std::ranges::any_of(script.errors, stopped);  // shows no words, either
  if (!begins(ChatTask::open_chat)) {
    then([this] { m_isOpening = false; });
    if (isStopped) return;
    const runtime::ChatOpened words = shownOf(m_library.at(chat));
    return tell(runtime::ChatShown{words.chat, words.messages});
  }
  m_open = m_library.at(chat);
  tell(shownOf(m_open));
  playProgress();
  if (script.resume.too_long) thenTell(runtime::ContextEnded{});
  then([this] {
    m_isOpening = false;
    tell(script.resume);
  });
  then([this] { tellCache(); });
}

void ScriptedEngine::renameChat(ChatKey chat, const QString& title) {
  ChatEntry& entry = m_library.at(chat).entry;
  entry.title = title;
  tell(runtime::ChatChanged{rowOf(entry)});
}

void ScriptedEngine::setFolder(ChatKey chat, const QString& folder) {
  ChatEntry& entry = m_library.at(chat).entry;
  entry.folder = folder;
  tell(runtime::ChatChanged{rowOf(entry)});
}

void ScriptedEngine::setAtTop(ChatKey chat, bool isAtTop) {
  ChatEntry& entry = m_library.at(chat).entry;
  entry.isAtTop = isAtTop;
  tell(runtime::ChatChanged{rowOf(entry)});
}

void ScriptedEngine::keepStopped(ChatKey chat, qint64 answer) {
  ChatEntry& entry = m_library.at(chat).entry;
  entry.stopped = answer;
  tell(runtime::ChatChanged{rowOf(entry)});
}

void ScriptedEngine::setAnswers(const runtime::AnswerSettings& answers) {
  if (!begins(ChatTask::set_answers)) return;
  m_open.answers = answers;
  tell(runtime::AnswersChanged{answers});
}

void ScriptedEngine::keepPrompt(const QString& name, const QString& text) {
  std::erase_if(m_prompts, [&](const auto& one) { return one.name == name.toStdString(); });
  m_prompts.push_back({name.toStdString(), text.toStdString()});
  listPrompts();
}

void ScriptedEngine::removePrompt(const QString& name) {
  std::erase_if(m_prompts, [&](const auto& one) { return one.name == name.toStdString(); });
  listPrompts();
}

void ScriptedEngine::deleteChat(ChatKey chat) {
  const auto found = m_library.find(chat);
  if (found == m_library.end()) return;
  const ChatEntry entry = found->second.entry;
  m_deleted.insert(m_library.extract(found));
  tell(runtime::ChatRemoved{rowOf(entry)});
}

void ScriptedEngine::restoreChat(ChatKey chat) {
  const auto found = m_deleted.find(chat);
  if (found == m_deleted.end()) return;
  const ChatEntry entry = found->second.entry;
  m_library.insert(m_deleted.extract(found));
  tell(runtime::ChatChanged{rowOf(entry)});
}

void ScriptedEngine::deleteCopy(const QString& name) {
  script.copies.removeIf(
      [&](const runtime::LibraryCopy& copy) { return copy.name == name.toStdString(); });
}

void ScriptedEngine::listDeleted() {
  ++m_deletedAsked;
  if (script.isDeletedListLate) return;
  runtime::ChatsListed listed{.chats = {}, .filter = runtime::ChatFilter::removed};
  listed.copies.assign(script.copies.begin(), script.copies.end());
  for (const auto& [key, chat] : m_deleted) {
    listed.chats.push_back(rowOf(chat.entry));
    listed.chats.back().removed_ms = listed.chats.back().used_ms;
  }
  tell(listed);
}

void ScriptedEngine::send(const QString& text) {
  makeWay();
  if (!begins(ChatTask::send)) return;
  enterLibrary(text.section(u'\n', 0, 0).left(60));
  Message message;
  message.text = text;
  thenTell(storedOf(message));
  answer();
}

void ScriptedEngine::sendInstead(qint64 id, const QString& text) {
  m_replaceAsked = QStringLiteral("instead %1: %2").arg(id).arg(text);
  if (!begins(ChatTask::send)) return;
  thenTell(runtime::MessagesReplaced{script.replacedBehind, {}});
  Message message;
  message.id = script.nextId++;
  message.text = text;
  thenTell(storedOf(message));
  answer(script.nextId++);
  then([this] { tell(script.versions); });
}

void ScriptedEngine::correct(qint64 id, const QString& text) {
  m_replaceAsked = QStringLiteral("correct %1: %2").arg(id).arg(text);
  if (!begins(ChatTask::correct)) return;
  playProgress();
  then([this] { tell(script.switched); });
  then([this] { tell(script.versions); });
  then([this] { tell(script.corrected); });
  then([this] { tellCache(); });
}

void ScriptedEngine::readExactly() {
  m_replaceAsked = QStringLiteral("exactly");
  if (!begins(ChatTask::correct)) return;
  playProgress();
  then([this] { tell(script.exact); });
  then([this] { tellCache(); });
}

void ScriptedEngine::answerAgain(qint64 id) {
  m_replaceAsked = QStringLiteral("again %1").arg(id);
  if (!begins(ChatTask::send)) return;
  thenTell(runtime::MessagesReplaced{script.replacedBehind, {}});
  answer(script.nextId++);
  then([this] { tell(script.versions); });
}

void ScriptedEngine::answerLast() {
  m_replaceAsked = QStringLiteral("last");
  if (begins(ChatTask::send)) answer(script.nextId++);
}

void ScriptedEngine::end(const std::string& why) {
  m_steps.clear();
  m_open = {};
  Q_EMIT ended({ErrorKind::internal, "ENGINE_ENDED", why});
}

void ScriptedEngine::setMark(qint64 message, MessageMark mark) {
  const runtime::MessageId id{message};
  for (auto* marked : {&m_marks.pinned, &m_marks.forgotten}) std::erase(*marked, id);
  if (mark == MessageMark::Pinned) m_marks.pinned.push_back(id);
  if (mark == MessageMark::Forgotten) m_marks.forgotten.push_back(id);
  tell(m_marks);
}

void ScriptedEngine::switchTo(qint64 version) {
  m_replaceAsked = QStringLiteral("switch %1").arg(version);
  if (!begins(ChatTask::edit)) return;
  then([this] { tell(script.switched); });
  then([this] { tell(script.versions); });
}

void ScriptedEngine::askAll(const QString& question) {
  m_askedAll = question;
  makeWay();
  if (!begins(ChatTask::send)) return;
  const std::size_t n = script.parts.parts.size();
  for (std::size_t part = 0; part < n; ++part)
    thenTell(runtime::Progress{runtime::Phase::ask_parts, part, n});
  Message message;
  if (!script.notes.empty()) {
    message.documentTitle = QString::fromUtf8(runtime::kPartNotesTitle.data());
    message.text = QString::fromStdString(script.notes);
    thenTell(storedOf(message));
    thenTell(storedOf(notedMessage()));
  }
  message.documentTitle.clear();
  message.text = question;
  thenTell(storedOf(message));
  answer();
}

void ScriptedEngine::answer(qint64 id) {
  playProgress();
  then([this, id] {
    m_isAnswering = true;
    m_answer.clear();
    m_thought.clear();
    m_deltaCount = 0;
    tell(runtime::AnswerStarted{{id}});
  });
  for (const QString& delta : script.thoughts)
    then([this, delta] {
      m_thought += delta;
      tell(runtime::AnswerDelta{delta.toStdString(), true});
    });
  for (const QString& delta : script.deltas)
    then([this, delta] {
      m_answer += delta;
      ++m_deltaCount;
      tell(runtime::AnswerDelta{delta.toStdString()});
    });
  then([this] { finishAnswer(script.answer.finish); });
  then([this] { tell(script.cache); });
}

void ScriptedEngine::attachDocument(const QString& title, const QString& text) {
  if (!begins(ChatTask::attach_document)) return;
  enterLibrary(title);
  Message document;
  document.documentTitle = title;
  document.text = text;
  const std::size_t n = script.n_document_parts;
  if (n > 1) document.id = kDocumentId;
  thenTell(storedOf(document));
  if (n > 1) {
    thenTell(runtime::DocumentParts{{document.id}, n});
    then([this, n] {
      m_readsParts = true;
      tellPartsRead(0, n);
    });
  }
  playProgress();
  for (std::size_t part = 1; n > 1 && part <= n; ++part)
    then([this, part, n] { tellPartsRead(part, n); });
  thenTell(storedOf(notedMessage()));
  then([this] {
    m_readsParts = false;
    tellLedger();
    tell(script.document);
  });
  then([this] { tell(script.cache); });
}

void ScriptedEngine::tellPartsRead(std::size_t n, std::size_t all) {
  script.cache.documents = {{.document = {kDocumentId}, .n_read = n, .n_all = all}};
  tell(script.cache);
}

void ScriptedEngine::makeWay() {
  if (!std::exchange(m_readsParts, false)) return;
  m_steps.clear();
  thenTell(storedOf(notedMessage()));
  thenTell(script.cache);
  thenTell(script.document);
}

void ScriptedEngine::goOn() {
  if (!begins(ChatTask::go_on)) return;
  script.endsContext = false;
  thenTell(runtime::WentOn{});
  thenTell(script.cache);
}

void ScriptedEngine::stop() {
  ++m_stopsAsked;
  m_steps.clear();
  if (std::exchange(m_readsParts, false)) {
    thenTell(storedOf(notedMessage()));
    thenTell(
        runtime::Failed{ChatTask::attach_document, {ErrorKind::cancelled, "STOPPED", "Stopped."}});
  } else if (m_isAnswering) {
    then([this] { finishAnswer(runtime::Finish::stopped); });
  } else {
    const ChatTask task = std::exchange(m_isOpening, false) ? ChatTask::open_chat : ChatTask::send;
    thenTell(runtime::Failed{task, {ErrorKind::cancelled, "STOPPED", "Stopped."}});
  }
}

void ScriptedEngine::estimatePresets(quint64 budgetBytes) {
  runtime::PresetEstimates estimates = script.previews;
  estimates.limit_bytes = budgetBytes != 0 ? budgetBytes : estimates.default_bytes;
  tell(estimates);
}

void ScriptedEngine::previewChat(const ChatSettings& settings) {
  m_previewsAsked.append(settings);
  if (!begins(ChatTask::preview_memory)) return;
  then([this, settings] { tell(runtime::MemoryPreviewed{memoryOf(settings), script.change}); });
}

void ScriptedEngine::applyToChat(const ChatSettings& settings) {
  if (!begins(ChatTask::change_memory)) return;
  if (script.change.n_reread > 0) playProgress();
  then([this, settings] {
    m_open.settings = settings;
    tell(runtime::MemoryChanged{memoryOf(settings), script.change});
  });
  then([this] { tellCache(); });
}

void ScriptedEngine::tellCache() {
  tell(script.cache);
  tellLedger();
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
  script.cache.is_packing = !script.packing.isEmpty();
  tell(script.cache);
  return true;
}

void ScriptedEngine::endPacking() {
  if (!script.cache.is_packing) return;
  script.cache.is_packing = false;
  tell(script.cache);
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
  SavedChat chat;
  chat.entry = {++m_lastKey, title, changed};
  chat.settings = settings;
  chat.messages = messages;
  m_library.emplace(m_lastKey, chat);
  return m_lastKey;
}

void ScriptedEngine::enterLibrary(const QString& title) {
  if (m_open.entry.id != 0) return;
  m_open.entry = {++m_lastKey, title, timeOf(m_lastKey)};
  m_library.emplace(m_open.entry.id, m_open);
  thenTell(runtime::ChatEntered{rowOf(m_open.entry)});
}

void ScriptedEngine::playProgress() {
  for (const runtime::Progress& progress : script.progress) thenTell(progress);
}

void ScriptedEngine::finishAnswer(runtime::Finish finish) {
  m_isAnswering = false;
  runtime::GenerateReport report = script.answer;
  report.finish = finish;
  report.text = m_answer.toStdString();
  report.thoughts.text = m_thought.toStdString();
  report.n_tokens = std::size_t(m_deltaCount);
  tellLedger();
  if (finish == runtime::Finish::context_full && script.endsContext) tell(runtime::ContextEnded{});
  tell(report);
}

}  // namespace satchel::ui
