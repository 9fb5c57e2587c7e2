// How the words of the chat are held, shown on them.
#include <QShortcut>

#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/conversation/held_strip.h"
#include "ui/widgets/held_bar.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/main_window.h"

namespace satchel::ui {

void MainWindow::connectHeld() {
  const auto toggle = [this] {
    m_state->setHeldLook(m_state->heldLook() == HeldLook::Off ? HeldLook::Fade : HeldLook::Off);
  };
  connect(m_held, &QAbstractButton::clicked, this, toggle);
  connect(new QShortcut(QKeySequence(Qt::CTRL | Qt::Key_H), this), &QShortcut::activated, this,
          toggle);
  connect(m_heldBar, &HeldBar::chosen, m_state, &AppState::setHeldLook);
  connect(m_state, &AppState::heldLookChanged, this, &MainWindow::refreshHeld);
  connect(m_state->conversation(), &ConversationModel::heldChanged, this, &MainWindow::refreshHeld);
  refreshHeld();
}

void MainWindow::refreshHeld() {
  const HeldLook look = m_state->heldLook();
  m_held->setChecked(look != HeldLook::Off);
  m_conversation->setHeldLook(look);
  m_heldStrip->setLook(look);
  m_heldBar->show(look, look == HeldLook::Off ? QString() : m_state->heldSummary());
}

}  // namespace satchel::ui
