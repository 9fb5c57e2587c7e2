// What is looked for in all chats, and the way to what was found.
#include <utility>

#include "ui/model/app_state.h"
#include "ui/model/engine_values.h"

namespace satchel::ui {
namespace {

constexpr qsizetype kLettersLeast = 2;  // one letter is found nearly everywhere

}  // namespace

void AppState::search(const QString& words) {
  const QString asked = words.trimmed();
  if (asked == m_searched) return;
  m_searched = asked;
  if (asked.size() >= kLettersLeast) return m_engine->search(asked);
  m_found.load({});
  Q_EMIT foundChanged();
}

void AppState::onFound(const runtime::PassagesFound& found) {
  if (textOf(found.words) != m_searched) return;  // something else is looked for meanwhile
  m_found.load(found.found);
  Q_EMIT foundChanged();
}

void AppState::openFound(int row) {
  if (row < 0 || row >= m_found.rowCount()) return;
  m_wanted = m_found.passage(row);
  if (m_wanted.chat == m_chat.id && m_phase != Phase::Opening) return showWanted();
  openChat(m_wanted.chat);
}

// Of a document in parts the message may be a later one: the last that begins before it.
void AppState::showWanted() {
  if (m_wanted.chat == 0 || m_wanted.chat != m_chat.id) return;
  const qint64 message = std::exchange(m_wanted, {}).message;
  const int row = m_conversation.lastRow(
      [message](const Message& shown) { return shown.id != 0 && shown.id <= message; });
  if (row >= 0) Q_EMIT messageWanted(row);
}

}  // namespace satchel::ui
