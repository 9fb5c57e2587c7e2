// LedgerDialog: each step that made the open chat smaller: when, why, what it lowered or dropped,
// and what was measured afterwards (Ctrl+L). Stays open beside the window and follows the chat.
#pragma once

#include <QDialog>

class QLabel;
class QStackedWidget;

namespace satchel::ui {

class MemoryPanelState;

class LedgerDialog : public QDialog {
  Q_OBJECT

 public:
  // state: not owned
  explicit LedgerDialog(MemoryPanelState* state, QWidget* parent = nullptr);

 private:
  QWidget* makeTable();
  void refresh();

  MemoryPanelState* m_state;
  QStackedWidget* m_stack;
  QLabel* m_recall;
};

}  // namespace satchel::ui
