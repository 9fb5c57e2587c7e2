// The models of this machine.
#include <QShortcut>

#include "ui/model/engine_values.h"
#include "ui/model/model_library.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/models_dialog.h"

namespace satchel::ui {

void MainWindow::connectModels() {
  m_options.modelTools.list = m_options.models;
  m_library = new ModelLibrary(m_options.modelTools, this);
  connect(new QShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_M), this),
          &QShortcut::activated, this, &MainWindow::showLibrary);
}

// What is being fetched goes on when it is closed.
void MainWindow::showLibrary() {
  if (m_models) return m_models->activateWindow();
  m_models =
      new ModelsDialog(m_library, m_options.modelFolder, textOf(m_state->model().path), this);
  connect(m_models, &ModelsDialog::opened, m_state, &AppState::openModel);
  m_models->show();
}

}  // namespace satchel::ui
