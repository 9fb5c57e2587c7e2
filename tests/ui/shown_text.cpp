#include "shown_text.h"

#include <QAbstractScrollArea>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QWidget>
#include <utility>

namespace satchel::ui {
namespace {

constexpr double kSlack = 1.5;  // pixels: what letters lean out

class TextRecorder final : public QPaintEngine {
 public:
  TextRecorder() : QPaintEngine(AllFeatures) {}
  bool begin(QPaintDevice*) override { return true; }
  bool end() override { return true; }
  void updateState(const QPaintEngineState& now) override {
    if ((now.state() & DirtyTransform) != 0) m_transform = now.transform();
  }
  void drawTextItem(const QPointF& at, const QTextItem& item) override {
    if (item.text().trimmed().isEmpty()) return;
    const QRectF place(at.x(), at.y() - item.ascent(), item.width(),
                       item.ascent() + item.descent());
    texts.append({item.text(), m_transform.mapRect(place)});
  }
  void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
  void drawTiledPixmap(const QRectF&, const QPixmap&, const QPointF&) override {}
  void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override {}
  void drawPath(const QPainterPath&) override {}
  void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
  void drawPolygon(const QPoint*, int, PolygonDrawMode) override {}
  void drawLines(const QLineF*, int) override {}
  void drawLines(const QLine*, int) override {}
  void drawRects(const QRectF*, int) override {}
  void drawRects(const QRect*, int) override {}
  void drawEllipse(const QRectF&) override {}
  void drawEllipse(const QRect&) override {}
  void drawPoints(const QPointF*, int) override {}
  void drawPoints(const QPoint*, int) override {}
  Type type() const override { return User; }

  QList<ShownText> texts;

 private:
  QTransform m_transform;
};

class RecordingDevice final : public QPaintDevice {
 public:
  explicit RecordingDevice(const QWidget* like) : m_like(like) {}
  QPaintEngine* paintEngine() const override { return &m_recorder; }
  QList<ShownText> texts() const { return m_recorder.texts; }

 protected:
  int metric(PaintDeviceMetric metric) const override {
    switch (metric) {
      case PdmWidth:
        return m_like->width();
      case PdmHeight:
        return m_like->height();
      case PdmDevicePixelRatio:
        return 1;
      case PdmDevicePixelRatioScaled:
        return int(devicePixelRatioFScale());
      case PdmDepth:
        return 32;
      case PdmDpiX:
      case PdmPhysicalDpiX:
        return m_like->logicalDpiX();
      case PdmDpiY:
      case PdmPhysicalDpiY:
        return m_like->logicalDpiY();
      default:
        return QPaintDevice::metric(metric);
    }
  }

 private:
  const QWidget* m_like;
  mutable TextRecorder m_recorder;
};

// In what scrolls, text that is cut off can be reached.
bool isScrolled(const QWidget* widget) {
  const auto* area = qobject_cast<const QAbstractScrollArea*>(widget->parentWidget());
  return area != nullptr && area->viewport() == widget;
}

QList<QWidget*> seenWidgets(QWidget* window) {
  QList<QWidget*> seen, all = window->findChildren<QWidget*>();
  all.append(window);
  for (QWidget* widget : std::as_const(all))
    if (widget->isVisibleTo(window) && !isScrolled(widget)) seen.append(widget);
  return seen;
}

// In its widget, and sideways in all that this lies in: what is too high can be scrolled to.
bool isWhole(const QRectF& place, QWidget* widget, QWidget* window) {
  const QRectF room = QRectF(widget->rect()).adjusted(-kSlack, -kSlack, kSlack, kSlack);
  bool isAll = room.contains(place);
  for (QWidget* outer = widget; outer != window && !outer->isWindow();) {
    outer = outer->parentWidget();
    const double left = place.left() + widget->mapTo(outer, QPoint()).x();
    isAll = isAll && left >= -kSlack && left + place.width() <= outer->width() + kSlack;
  }
  return isAll;
}

}  // namespace

QList<ShownText> textsOf(QWidget* widget) {
  RecordingDevice device(widget);
  widget->render(&device, {}, {}, QWidget::RenderFlags());
  return device.texts();
}

QStringList shownTexts(QWidget* window) {
  QStringList all;
  for (QWidget* widget : seenWidgets(window))
    for (const ShownText& shown : textsOf(widget)) all.append(shown.text);
  return all;
}

QStringList clippedTexts(QWidget* window) {
  QStringList clipped;
  for (QWidget* widget : seenWidgets(window)) {
    const QList<ShownText> texts = textsOf(widget);
    for (qsizetype i = 0; i < texts.size(); ++i) {
      const QRectF inner = texts[i].place.adjusted(kSlack, kSlack, -kSlack, -kSlack);
      bool fits = isWhole(texts[i].place, widget, window);
      for (qsizetype other = 0; other < i; ++other)
        fits = fits && !inner.intersects(texts[other].place);
      if (!fits)
        clipped.append(QLatin1String(widget->metaObject()->className()) + QStringLiteral(": ") +
                       texts[i].text);
    }
  }
  return clipped;
}

}  // namespace satchel::ui
