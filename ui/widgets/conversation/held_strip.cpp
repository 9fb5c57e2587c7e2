#include "ui/widgets/conversation/held_strip.h"

#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <vector>

#include "ui/model/conversation_model.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/conversation/held_overlay.h"

namespace satchel::ui {
namespace {

constexpr int kStripWidth = 12;
constexpr int kStripStep = 2;  // pixels that have one colour

}  // namespace

HeldStrip::HeldStrip(ConversationView* view) : QWidget(view), m_view(view) {
  view->installEventFilter(this);
  setCursor(Qt::PointingHandCursor);
  setAccessibleName(tr("The words of the whole chat, coloured as they are"));
  setToolTip(tr("The whole chat, from top to bottom"));
  connect(view->conversation(), &ConversationModel::heldChanged, this,
          qOverload<>(&QWidget::update));
  const QScrollBar* bar = view->verticalScrollBar();
  connect(bar, &QScrollBar::valueChanged, this, qOverload<>(&QWidget::update));
  connect(bar, &QScrollBar::rangeChanged, this, qOverload<>(&QWidget::update));
  hide();
}

void HeldStrip::setLook(HeldLook look) {
  m_look = look;
  setGeometry(1, 0, kStripWidth, m_view->height());
  setVisible(look != HeldLook::Off);
  update();
}

// As high as the view.
bool HeldStrip::eventFilter(QObject* view, QEvent* event) {
  if (event->type() == QEvent::Resize) setGeometry(1, 0, kStripWidth, m_view->height());
  return QWidget::eventFilter(view, event);
}

void HeldStrip::paintEvent(QPaintEvent*) {
  const Theme& theme = themeOf(palette());
  QPainter painter(this);
  painter.setPen(Qt::NoPen);
  const ConversationModel& model = *m_view->conversation();
  double all = 0;
  std::vector<double> ends;  // of the rows, in pixels of the view
  for (int row = 0; row < model.rowCount(); ++row)
    ends.push_back(all += m_view->layouts().height(model.index(row)));
  for (int y = 0; y < height() && all > 0; y += kStripStep) {
    const double at = y * all / height(), next = (y + kStripStep) * all / height();
    const auto row = int(std::ranges::upper_bound(ends, at) - ends.begin());
    if (row >= model.rowCount()) break;
    const double begin = row > 0 ? ends[std::size_t(row) - 1] : 0;
    const double perPixel =
        double(model.message(row).text.size()) / std::max(1.0, ends[std::size_t(row)] - begin);
    const qsizetype first = qsizetype((at - begin) * perPixel);
    const qsizetype end = std::max(qsizetype((next - begin) * perPixel), qsizetype(1));
    const QList<HeldStretch> stretches = model.stretches(row, m_look);
    const QColor color = m_look == HeldLook::Heat
                             ? heatColor(heatBetween(stretches, first, end), 1, theme)
                             : heldColor(heldBetween(stretches, first, end), m_look, theme);
    painter.fillRect(QRect(3, y, kStripWidth - 6, kStripStep), color);
  }
  const QScrollBar* bar = m_view->verticalScrollBar();
  const double range = bar->maximum() + bar->pageStep();
  if (range <= 0 || bar->maximum() == 0) return;
  painter.setPen(theme.muted);
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(QRectF(0.5, height() * bar->value() / range, kStripWidth - 1,
                                 std::max(6.0, height() * bar->pageStep() / range - 1)),
                          3, 3);
}

void HeldStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) goTo(event->position().y());
}

void HeldStrip::mouseMoveEvent(QMouseEvent* event) {
  if ((event->buttons() & Qt::LeftButton) != 0) goTo(event->position().y());
}

void HeldStrip::goTo(double y) {
  QScrollBar* bar = m_view->verticalScrollBar();
  const double range = bar->maximum() + bar->pageStep();
  bar->setValue(int(y / std::max(1, height()) * range - bar->pageStep() / 2.0));
}

}  // namespace satchel::ui
