#include "ui/widgets/held_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/widgets/conversation/held_overlay.h"
#include "ui/widgets/icon_button.h"

namespace satchel::ui {

// Sample words, from what is gone to what is held exactly, coloured as those of the chat are.
class HeldBar::Scale final : public QWidget {
 public:
  explicit Scale(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  }
  void setLook(HeldLook look) {
    m_look = look;
    updateGeometry();
    update();
  }
  QSize sizeHint() const override {
    int width = 0;
    for (const auto& [text, colors] : samples(lightTheme()))
      width += fontMetrics().horizontalAdvance(text) + 14;
    return {width, fontMetrics().height() + 6};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& theme = themeOf(palette());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    int x = 0;
    for (const auto& [text, colors] : samples(theme)) {
      const QRect place(x, 0, fontMetrics().horizontalAdvance(text) + 10, height());
      painter.setPen(Qt::NoPen);
      painter.setBrush(colors.behind.isValid() ? QBrush(colors.behind) : QBrush(Qt::NoBrush));
      painter.drawRoundedRect(place, 4, 4);
      painter.setPen(colors.text.isValid() ? colors.text : theme.text);
      painter.drawText(place, Qt::AlignCenter, text);
      x = place.right() + 5;
    }
  }

 private:
  QList<std::pair<QString, HeldColors>> samples(const Theme& theme) const {
    const auto held = [&](const kvcache::HeldToken& token) {
      return heldColors(token, m_look, theme);
    };
    const auto heat = [&](float times) {
      return HeldColors{.text = {}, .behind = heatColor(heatOf({0, times}), kMostHeat, theme)};
    };
    switch (m_look) {
      case HeldLook::Precision:
        return {{HeldBar::tr("gone"), held({0, 0})},
                {HeldBar::tr("2 bits"), held({1, 2})},
                {HeldBar::tr("4 bits"), held({1, 4})},
                {HeldBar::tr("8 bits"), held({1, 8})},
                {HeldBar::tr("exact"), held({1, 16})}};
      case HeldLook::Heat:
        return {{HeldBar::tr("an even share"), heat(1)},
                {HeldBar::tr("4 times"), heat(4)},
                {HeldBar::tr("16 times"), heat(16)},
                {HeldBar::tr("64 times"), heat(kHottest)}};
      default:
        return {{HeldBar::tr("gone"), held({0, 0})},
                {HeldBar::tr("a third"), held({0.33f, 4})},
                {HeldBar::tr("two thirds"), held({0.67f, 4})},
                {HeldBar::tr("all heads"), held({1, 4})}};
    }
  }

  HeldLook m_look = HeldLook::Fade;
};

HeldBar::HeldBar(QWidget* parent)
    : Card(Quiet, parent),
      m_fade(new QPushButton(tr("Fade"), this)),
      m_precision(new QPushButton(tr("Precision"), this)),
      m_heat(new QPushButton(tr("Heat"), this)),
      m_scale(new Scale(this)),
      m_summary(new QLabel(this)) {
  m_fade->setToolTip(tr("The more heads have dropped a word, the paler it is"));
  m_precision->setToolTip(tr("The more bits hold a word, the darker is the colour behind it"));
  m_heat->setToolTip(tr("The more the newest answer looked at a word, the warmer it is"));
  const std::pair<QPushButton*, HeldLook> buttons[] = {
      {m_fade, HeldLook::Fade}, {m_precision, HeldLook::Precision}, {m_heat, HeldLook::Heat}};
  auto* first = new QHBoxLayout;
  first->setSpacing(kGapSmall);
  for (const auto& [button, look] : buttons) {
    button->setObjectName(QStringLiteral("toggle"));
    button->setCheckable(true);
    button->setCursor(Qt::PointingHandCursor);
    button->setAccessibleDescription(button->toolTip());
    first->addWidget(button);
    connect(button, &QAbstractButton::clicked, this, [this, look = look] { Q_EMIT chosen(look); });
  }
  first->addSpacing(kGap);
  first->addWidget(m_scale);
  first->addStretch(1);
  auto* close = new IconButton(Icon::Close, tr("Show the plain text (Ctrl+H)"), this);
  first->addWidget(close);
  m_summary->setObjectName(QStringLiteral("muted"));
  m_summary->setFont(scaledFont(font(), 0.92));
  m_summary->setWordWrap(true);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGap, kGapSmall, kGapSmall, kGap);
  column->setSpacing(2);
  column->addLayout(first);
  column->addWidget(m_summary);
  connect(close, &QAbstractButton::clicked, this, [this] { Q_EMIT chosen(HeldLook::Off); });
  hide();
}

void HeldBar::show(HeldLook look, const QString& summary) {
  m_look = look;
  m_fade->setChecked(look == HeldLook::Fade);
  m_precision->setChecked(look == HeldLook::Precision);
  m_heat->setChecked(look == HeldLook::Heat);
  m_scale->setLook(look);
  m_summary->setText(summary);
  setVisible(look != HeldLook::Off);
}

QAbstractButton* HeldBar::fade() const {
  return m_fade;
}
QAbstractButton* HeldBar::precision() const {
  return m_precision;
}
QAbstractButton* HeldBar::heat() const {
  return m_heat;
}
QString HeldBar::summary() const {
  return m_summary->text();
}

}  // namespace satchel::ui
