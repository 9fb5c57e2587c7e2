// ServerDialog: switches the server for other programs on and off, with what they need to reach it
// and what it says (Ctrl+Shift+S). The server runs on when the dialog is closed.
#pragma once

#include <QDialog>
#include <functional>

#include "ui/model/server_switch.h"

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace satchel::ui {

class ServerDialog : public QDialog {
  Q_OBJECT

 public:
  // server: not owned. what: what would be served now, but for the port
  ServerDialog(ServerSwitch* server, std::function<ServerStart()> what, QWidget* parent = nullptr);

  QPushButton* switchButton() { return m_switch; }
  QSpinBox* port() { return m_port; }
  QLineEdit* address() { return m_address; }
  QLineEdit* token() { return m_token; }
  QPlainTextEdit* log() { return m_log; }
  QString stateText() const;

 private:
  void refresh();

  ServerSwitch* m_server;
  std::function<ServerStart()> m_what;
  QLabel* m_state;
  QPushButton* m_switch;
  QSpinBox* m_port;
  QLineEdit* m_address;
  QLineEdit* m_token;
  QPlainTextEdit* m_log;
};

}  // namespace satchel::ui
