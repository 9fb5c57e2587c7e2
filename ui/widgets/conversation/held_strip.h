// HeldStrip: the whole chat in the left margin of its view, coloured by how its words are held; a
// click goes there.
#pragma once

#include <QWidget>

#include "ui/model/held_stretch.h"

namespace satchel::ui {

class ConversationModel;
class ConversationView;

class HeldStrip : public QWidget {
  Q_OBJECT

 public:
  // view: its parent
  explicit HeldStrip(ConversationView* view);

  void setLook(HeldLook look);
  bool eventFilter(QObject* view, QEvent* event) override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  void goTo(double y);

  ConversationView* m_view;
  HeldLook m_look = HeldLook::Off;
};

}  // namespace satchel::ui
