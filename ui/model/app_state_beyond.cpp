// Chats at the end of the model's context and beyond it: going on, and the parts that are seen.
#include <algorithm>
#include <utility>

#include "ui/model/app_state.h"
#include "ui/model/engine_values.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

QString noPartsText() {
  return AppState::tr("The model sees all of this chat: it has no older parts.");
}

}  // namespace

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
  if (m_phase != Phase::Ready || !m_question.isAsked()) return;
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
  if (m_phase == Phase::NoModel) return;
  m_engine->listParts();
}

void AppState::onPartsListed(const runtime::OlderParts& parts) {
  if (parts.parts.empty()) Q_EMIT noticeShown(noPartsText());
  Q_EMIT partsListed(parts);
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

QString AppState::questionOf(int row) const {
  while (row >= 0 && m_conversation.message(row).role != runtime::Role::user) --row;
  if (row < 0 || !m_conversation.message(row).documentTitle.isEmpty()) return {};
  return m_conversation.message(row).text;
}

void AppState::askAgain(int row, const QList<int>& parts) {
  const QString question = questionOf(row);
  if (!canSend() || question.isEmpty()) return;
  nameParts(parts);
  send(question);
}

bool AppState::askAll(const QString& question) {
  if (!canSend()) return false;
  if (!hasParts()) {
    Q_EMIT noticeShown(noPartsText());
    return false;
  }
  if (question.trimmed().isEmpty()) {
    Q_EMIT noticeShown(tr("Write a question first. It is asked of each part of the chat."));
    return false;
  }
  beginAsking(question);
  m_engine->askAll(question);
  return true;
}

// The first part that is there makes the document one that can be asked.
void AppState::onMemory(const runtime::ChatMemory& memory) {
  m_memory.setCache(memory);
  m_conversation.setPartsRead(memory.documents);
  const auto isThere = [this](const runtime::PartsRead& document) {
    return document.document == m_partsReading.document && document.n_read > 0;
  };
  if (m_partsReading.hasPart || std::ranges::none_of(memory.documents, isThere)) return;
  m_partsReading.hasPart = true;
  Q_EMIT canSendChanged();
}

}  // namespace satchel::ui
