// What is said in the open chat: messages and documents, and the answers to them.
#include <utility>

#include "ui/model/engine_errors.h"
#include "ui/model/engine_facts.h"
#include "ui/model/engine_worker.h"

namespace satchel::ui {
namespace {

constexpr double kCacheEveryMs = 500;  // while an answer streams

}  // namespace

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

// Where there is a switch it is never refused, so nothing has to be taken back.
Result<void> EngineWorker::applyThinking() {
  if (!m_engine->chat_template().has_thinking_switch()) return {};
  return m_open->session()->set_thinking(m_thinks ? runtime::Thinking::automatic
                                                  : runtime::Thinking::off);
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
