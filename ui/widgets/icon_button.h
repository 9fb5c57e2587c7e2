// IconButton: a flat button that draws its own small line icon in the colours of the palette, so
// that light and dark need no picture files.
#pragma once

#include <QToolButton>

class QPainter;

namespace satchel::ui {

enum class Icon {
  Plus,
  Sidebar,
  Panel,
  Attach,
  Send,
  Stop,
  Close,
  Copy,
  Document,
  Edit,
  Again,
  Held,
  Up,
  Down,
  Top,
  More
};

// Draws on a grid of 20 x 20, scaled into `rect`.
void drawIcon(QPainter& painter, Icon icon, const QRectF& rect, const QColor& color);

class IconButton : public QToolButton {
  Q_OBJECT

 public:
  enum Look { Flat, Filled };

  // name: for the tool tip and for screen readers
  IconButton(Icon icon, const QString& name, QWidget* parent, Look look = Flat);

  void setIconKind(Icon icon, const QString& name);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Icon m_icon;
  Look m_look;
};

}  // namespace satchel::ui
