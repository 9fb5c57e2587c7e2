// The mark of the program: a satchel with two lines of writing on its flap. Drawn as
// packaging/icons/satchel.svg is, so that no SVG library is needed.
#pragma once

#include <QIcon>

class QPainter;

namespace satchel::ui {

void drawMark(QPainter& painter, const QRectF& rect);
QPixmap markPixmap(int side, double pixelRatio);
QIcon markIcon();

}  // namespace satchel::ui
