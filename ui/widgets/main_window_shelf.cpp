// A new chat that begins with a document which another one has read.
#include <QPushButton>
#include <utility>

#include "ui/widgets/composer.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/shelf_popup.h"

namespace satchel::ui {

void MainWindow::connectShelf() {
  connect(m_empty, &EmptyState::shelfAsked, this, [this] {
    m_isShelfAsked = true;
    m_state->listShelf();
  });
  connect(m_state, &AppState::errorShown, this, [this] { m_isShelfAsked = false; });
  connect(m_state, &AppState::shelfListed, this, &MainWindow::showShelf);
}

// After it was changed it is listed too, and need not be shown again.
void MainWindow::showShelf(const runtime::ShelfListed& shelf) {
  if (!std::exchange(m_isShelfAsked, false)) return;
  auto* popup = new ShelfPopup(shelf.documents, this);
  connect(popup, &ShelfPopup::chosen, this, [this](const QString& id, const QString& title) {
    m_state->attachShelved(id, title);
    m_composer->setFocus();
  });
  connect(popup, &ShelfPopup::keepAsked, m_state, &AppState::keepDocument);
  connect(popup, &ShelfPopup::removeAsked, m_state, &AppState::removeDocument);
  const QPushButton* button = m_empty->shelfButton();
  popup->showAt(button->mapToGlobal(QPoint(0, 0)));
}

}  // namespace satchel::ui
