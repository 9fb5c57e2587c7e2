// The server for other programs.
#include <QPushButton>
#include <QShortcut>

#include "ui/model/engine_values.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/server_dialog.h"

namespace satchel::ui {

void MainWindow::connectServer() {
  m_server = new ServerSwitch(m_options.serverProgram, this);
  connect(new QShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), this),
          &QShortcut::activated, this, &MainWindow::showServer);
  connect(m_serving, &QAbstractButton::clicked, this, &MainWindow::showServer);
  connect(m_server, &ServerSwitch::changed, this, &MainWindow::refreshServer);
  refreshServer();
}

// Seen as long as it runs, wherever the user is.
void MainWindow::refreshServer() {
  m_serving->setVisible(m_server->isRunning());
  m_serving->setToolTip(m_server->text());
  m_serving->setAccessibleDescription(m_server->text());
}

void MainWindow::showServer() {
  if (m_serverDialog) return m_serverDialog->activateWindow();
  const auto what = [this] {
    const ChatSettings settings = m_state->memory()->nextSettings();
    return ServerStart{.model = textOf(m_state->model().path),
                       .recipe = settings.preset,
                       .limitBytes = settings.budgetBytes};
  };
  m_serverDialog = new ServerDialog(m_server, what, this);
  m_serverDialog->show();
}

}  // namespace satchel::ui
