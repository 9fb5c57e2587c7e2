// Chats at the end of the model's context and beyond it: going on, and the parts that are seen.
#include <utility>

#include "ui/model/app_state.h"
#include "ui/model/engine_values.h"
#include "ui/model/format.h"

namespace satchel::ui {

void AppState::ask(ContextQuestion question) {
  m_question = std::move(question);
  Q_EMIT questionChanged();
}

void AppState::dropQuestion() {
  if (m_question.isAsked()) ask({});
}

void AppState::onContextEnded() {
  if (m_phase == Phase::Opening) return ask({.cause = ContextQuestion::Opened});
  if (m_phase == Phase::Answering) return ask({.cause = ContextQuestion::Answer});
  if (m_sentDocument.first.isEmpty()) return ask({.cause = ContextQuestion::Message});
  // Those behind it wait for the answer, too.
  ask({.cause = ContextQuestion::Document, .documents = {m_sentDocument}});
  m_question.documents += std::exchange(m_waiting, {});
}

void AppState::goOn() {
  if (!canSend() || !m_question.isAsked()) return;
  m_goingOn = m_question;
  dismissResume();
  setPhase(Phase::Reading);  // the question goes with it
  m_engine->goOn();
}

void AppState::stopHere() {
  dropQuestion();
}

// What had to wait for it is done now.
void AppState::onWentOn() {
  finishWork();
  const ContextQuestion asked = std::exchange(m_goingOn, {});
  if (asked.cause == ContextQuestion::Answer)
    Q_EMIT noticeShown(tr("The chat goes on. Type \"continue\" for the rest of the answer."));
  m_waiting = asked.documents + m_waiting;
  attachNext();
  if (asked.cause == ContextQuestion::Message) Q_EMIT sendAsked();
}

void AppState::listParts() {
  m_engine->listParts();
}

void AppState::nameParts(const QList<int>& parts) {
  m_engine->nameParts({parts.begin(), parts.end()});
  setNamed(parts);
}

void AppState::setNamed(const QList<int>& parts) {
  if (m_named == parts) return;
  m_named = parts;
  Q_EMIT namedChanged();
}

QString AppState::namedText() const {
  if (m_named.isEmpty()) return {};
  return tr("The next question is answered from %1 of the older chat.").arg(partsText(m_named));
}

void AppState::askAgain(int row, const QList<int>& parts) {
  if (!canSend()) return;
  while (row >= 0 && m_conversation.message(row).role != runtime::Role::user) --row;
  if (row < 0) return;
  nameParts(parts);
  send(m_conversation.message(row).text);
}

}  // namespace satchel::ui
