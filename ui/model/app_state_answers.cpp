// How the open chat is answered, the texts that are kept for that, and where the list has a chat.
#include <variant>

#include "ui/model/app_state.h"

namespace satchel::ui {

void AppState::newChatWith(const runtime::AnswerSettings& answers) {
  if (m_phase == Phase::NoModel && m_model.path.empty()) return;
  leave();
  setPhase(Phase::Opening);
  m_engine->newChat(m_memory.nextSettings(), answers);
}

void AppState::newChat() {
  newChatWith({});
}

void AppState::setAnswers(const runtime::AnswerSettings& answers) {
  m_engine->setAnswers(answers);
}

void AppState::listPrompts() {
  m_engine->listPrompts();
}

void AppState::keepPrompt(const QString& name, const QString& text) {
  m_engine->keepPrompt(name.trimmed(), text);
}

void AppState::removePrompt(const QString& name) {
  m_engine->removePrompt(name);
}

void AppState::setFolder(ChatKey chat, const QString& folder) {
  m_engine->setFolder(chat, folder.simplified());
}

void AppState::setAtTop(ChatKey chat, bool isAtTop) {
  m_engine->setAtTop(chat, isAtTop);
}

void AppState::seeAnswerSettings(const runtime::ChatEvent& event) {
  const auto take = [this](const runtime::AnswerSettings& answers) {
    m_answers = answers;
    Q_EMIT answersChanged();
  };
  std::visit(runtime::Overloaded{
                 [&](const runtime::ChatOpened& opened) { take(opened.answers); },
                 [&](const runtime::AnswersChanged& changed) { take(changed.answers); },
                 [this](const runtime::PromptsListed& listed) { Q_EMIT promptsListed(listed); },
                 [](const auto&) {}},
             event);
}

}  // namespace satchel::ui
