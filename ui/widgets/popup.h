// Popup: a frame over the window, which a click elsewhere closes.
#pragma once

#include <QFrame>

class QVBoxLayout;

namespace satchel::ui {

class Popup : public QFrame {
  Q_OBJECT

 public:
  Popup(const QString& title, const QString& note, QWidget* parent);

  // Above this point of the screen, or where there is room for it.
  void showAt(const QPoint& point);

 protected:
  QVBoxLayout* column() { return m_column; }  // title and note stand in it

 private:
  QVBoxLayout* m_column;
};

}  // namespace satchel::ui
