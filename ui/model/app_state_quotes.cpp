// What answers repeat of documents: asked for when an answer is there, or a chat's words are.
#include "ui/model/app_state.h"

namespace satchel::ui {

void AppState::seeQuotes(const runtime::ChatEvent& event) {
  std::visit(runtime::Overloaded{
                 [this](const runtime::QuotesFound& found) { m_conversation.setQuotes(found); },
                 [this](const runtime::GenerateReport& report) {
                   if (report.answer.value != 0) findQuotes(report.answer);
                 },
                 [this](const runtime::ResumeReport&) { findQuotes({}); },
                 [this](const runtime::MessagesReplaced& replaced) {
                   if (!replaced.messages.empty()) findQuotes({});
                 },
                 [](const auto&) {}},
             event);
}

void AppState::findQuotes(runtime::MessageId answer) {
  const auto isDocument = [](const Message& message) { return !message.documentTitle.isEmpty(); };
  if (m_conversation.lastRow(isDocument) >= 0) m_engine->findQuotes(answer.value);
}

}  // namespace satchel::ui
