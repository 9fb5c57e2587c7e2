// The logo of the program: a satchel with two lines of writing on its flap. Drawn as
// packaging/icons/satchel.svg is, so that no SVG library is needed.
#pragma once

#include <QIcon>

class QPainter;

namespace satchel::ui {

void drawLogo(QPainter& painter, const QRectF& rect);
QPixmap logoPixmap(int side, double pixelRatio);
QIcon logoIcon();

}  // namespace satchel::ui
