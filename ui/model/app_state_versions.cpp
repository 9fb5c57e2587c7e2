// What is said otherwise: a message that is edited, an answer given again, and going back; what is
// pinned or forgotten.
#include <utility>

#include "runtime/chat/correct_text.h"
#include "ui/model/app_state.h"
#include "ui/model/engine_values.h"

namespace satchel::ui {

bool AppState::sendInstead(qint64 message, const QString& text) {
  if (m_phase != Phase::Ready || text.trimmed().isEmpty()) return false;
  beginAsking(text);
  m_replacedMessage = message;
  m_engine->sendInstead(message, text);
  return true;
}

bool AppState::correct(qint64 message, const QString& text) {
  if (m_phase != Phase::Ready || text.trimmed().isEmpty()) return false;
  beginAsking(text);
  m_replacedMessage = message;
  m_engine->correct(message, text);
  return true;
}

void AppState::readExactly() {
  if (m_phase != Phase::Ready) return;
  beginAsking({});
  m_engine->readExactly();
}

void AppState::onCorrected(const runtime::CorrectReport& report) {
  m_sentText.clear();
  finishWork();
  // What was placed is said as long as it is.
  const bool isLoss = runtime::is_loss({.ms = report.ms, .reading_ms = report.reading_ms});
  if (report.n_placed == 0 || isLoss) Q_EMIT noticeShown(textOf(runtime::describe(report)));
  attachNext();
}

void AppState::onReadExactly(const runtime::ExactReport& report) {
  finishWork();
  Q_EMIT noticeShown(textOf(runtime::describe(report)));
  attachNext();
}

void AppState::answerAgain(int row) {
  if (!canReplace(row)) return;
  const Message& answer = m_conversation.message(row);
  if (answer.role == runtime::Role::user) return;
  beginAsking({});
  m_engine->answerAgain(answer.id);
}

void AppState::switchVersion(int row, int step) {
  if (m_phase != Phase::Ready || row < 0) return;
  const qint64 version = m_conversation.version(row, step);
  if (version == 0) return;
  dismissResume();
  m_switchedRow = row;
  m_engine->switchTo(version);
}

bool AppState::canMark(int row) const {
  if (m_phase != Phase::Ready || row < 0) return false;
  const Message& message = m_conversation.message(row);
  return message.id != 0 && message.documentParts == 1 && message.mark != MessageMark::Forgotten &&
         message.state != runtime::MessageState::damaged;
}

void AppState::setMark(int row, MessageMark mark) {
  if (!canMark(row)) return;
  m_engine->setMark(m_conversation.message(row).id, mark);
}

void AppState::onReplaced(const runtime::MessagesReplaced& replaced) {
  m_conversation.replaceBehind(replaced.last.value, shownOf(replaced.messages));
  if (m_phase == Phase::Ready) dropQuestion();  // else it is asked of what is being sent
  setNamed({});
  // Its arrows stay where they can be clicked again.
  const int row = std::exchange(m_switchedRow, -1);
  if (row >= 0 && row < m_conversation.rowCount()) Q_EMIT messageWanted(row);
}

}  // namespace satchel::ui
