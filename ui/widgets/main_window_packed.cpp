// What people do about what the memory limit took: pin what is to stay, or see in the memory panel
// what a higher limit or an exact reading would do.
#include <QMenu>

#include "ui/model/engine_values.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/memory/memory_panel.h"

namespace satchel::ui {
namespace {

constexpr int kMessagesMost = 12;  // the newest; those before them have menus of their own

QString nameOf(const Message& message, const QFontMetrics& metrics) {
  const QString text = !message.documentTitle.isEmpty() ? message.documentTitle
                                                        : message.text.simplified().left(200);
  const QString who = message.role == runtime::Role::user ? MainWindow::tr("You: %1")
                                                          : MainWindow::tr("Answer: %1");
  QString name = metrics.elidedText(who.arg(text), Qt::ElideRight, 420);
  return name.replace(u'&', QStringLiteral("&&"));
}

}  // namespace

void MainWindow::connectPacked() {
  using Proposal = MemoryPanelState::Proposal;
  connect(m_conversation, &ConversationView::packedAsked, this,
          [this](PackedAction action, const QPoint& global) {
            if (action == PackedAction::Pin) return showPinMenu(global);
            m_state->memory()->propose(action == PackedAction::ReadExactly ? Proposal::Exactly
                                                                           : Proposal::HigherLimit);
            m_memory->showPlan();
          });
}

// Messages that can be pinned, the newest first; those that are have a tick.
void MainWindow::showPinMenu(const QPoint& global) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setObjectName(QStringLiteral("pins"));
  menu->addAction(tr("Not compressed from now on:"))->setEnabled(false);
  const ConversationModel* rows = m_state->conversation();
  int count = 0;
  for (int row = rows->rowCount() - 1; row >= 0 && count < kMessagesMost; --row) {
    if (!m_state->canMark(row)) continue;
    ++count;
    const QPersistentModelIndex index = rows->index(row);
    QAction* pin = menu->addAction(nameOf(rows->message(row), menu->fontMetrics()));
    pin->setCheckable(true);
    pin->setChecked(rows->message(row).mark == MessageMark::Pinned);
    connect(pin, &QAction::triggered, this, [this, index](bool isPinned) {
      if (index.isValid())
        m_state->setMark(index.row(), isPinned ? MessageMark::Pinned : MessageMark::None);
    });
  }
  if (count == 0) menu->addAction(tr("No message can be pinned now"))->setEnabled(false);
  menu->popup(global);
}

}  // namespace satchel::ui
