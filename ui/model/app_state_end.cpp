// The engine's process ended: what was being done is over, and all can be opened again.
#include <utility>

#include "ui/model/app_state.h"
#include "ui/model/engine_values.h"

namespace satchel::ui {

void AppState::onEngineEnded(const Error& error) {
  m_isEngineLost = true;
  ++m_endsInARow;
  if (!m_model.device.empty()) m_isKnownOnCpu = !m_model.on_gpu;
  m_model = {};
  m_memory.setModel({});
  m_memory.endPacking();
  m_memory.plan()->fail(error);
  m_heldDue.stop();
  forgetAttended();
  Q_EMIT heldLookChanged();
  m_goingOn = {};
  m_isAnswerOffered = false;
  m_conversation.finishAnswer(runtime::MessageState::interrupted, {});
  if (!m_sentText.isEmpty()) refuseText();
  QStringList notAttached;
  for (const auto& document : std::exchange(m_waiting, {})) notAttached.append(document.first);
  const QString reading = std::exchange(m_sentDocument, {}).first;
  if (!reading.isEmpty()) notAttached.prepend(reading);
  m_searched.clear();
  m_found.load({});
  Q_EMIT foundChanged();
  Q_EMIT listingFailed();
  setPhase(Phase::NoModel);
  QString message = textOf(error.message);
  for (const QString& title : std::as_const(notAttached))
    message += u' ' + tr("\"%1\" was not attached.").arg(title);
  showError(textOf(error.code), message);
}

// A second end in a row may be the GPU's driver.
void AppState::offerRetry() {
  m_endsInARow > 1 && !m_isKnownOnCpu ? Q_EMIT cpuOffered() : Q_EMIT retryOffered();
}

void AppState::retry() {
  if (m_modelAsked.isEmpty()) return m_engine->listChats();
  const ChatKey chat = m_chat.id;
  openModel(m_modelAsked);
  setPhase(Phase::Opening);  // so that the model does not begin a chat of its own
  // A new one is in no library: how it is answered would be lost.
  if (chat == 0) return m_engine->newChat(m_memory.nextSettings(), m_answers);
  m_isAnswerOffered = true;
  m_chatAsked = chat;
  m_engine->openChat(chat);
}

// To the last message of a chat that has been opened, where it has no whole one.
void AppState::offerAnswer() {
  const int row = m_conversation.rowCount() - 1;
  const bool wasTaken = std::exchange(m_isAnswerOffered, false);  // by the engine's end
  if (!canReplace(row) || m_question.isAsked()) return;
  const Message& last = m_conversation.message(row);
  const bool wasStopped = m_chat.stopped != 0 && last.id == m_chat.stopped;  // it is done
  const bool isCut = last.state == runtime::MessageState::interrupted && !wasStopped;
  const QString part = tr("The last answer ended early. What had come of it is kept.");
  if (last.role == runtime::Role::user)
    Q_EMIT answerOffered(tr("Your last message has no answer yet."), tr("Answer"));
  else if (isCut && wasTaken)
    Q_EMIT answerOffered(part, tr("Answer again"));
  else if (isCut)
    Q_EMIT continuationOffered(part);
}

void AppState::continueAnswer() {
  send(tr("continue"));
}

void AppState::answerLast() {
  const int row = m_conversation.rowCount() - 1;
  if (!canReplace(row)) return;
  if (m_conversation.message(row).role != runtime::Role::user) return answerAgain(row);
  beginAsking({});
  m_engine->answerLast();
}

}  // namespace satchel::ui
