// ShortcutsDialog: the list of keys (F1).
#pragma once

#include <QDialog>

namespace satchel::ui {

class ShortcutsDialog : public QDialog {
  Q_OBJECT

 public:
  explicit ShortcutsDialog(QWidget* parent = nullptr);
};

}  // namespace satchel::ui
