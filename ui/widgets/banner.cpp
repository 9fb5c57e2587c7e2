#include "ui/widgets/banner.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include "ui/widgets/icon_button.h"

namespace satchel::ui {

Banner::Banner(QWidget* parent)
    : Card(Quiet, parent),
      m_text(new QLabel(this)),
      m_code(new QLabel(this)),
      m_action(new QPushButton(this)),
      m_close(new IconButton(Icon::Close, tr("Close"), this)) {
  m_text->setWordWrap(true);
  m_text->setTextFormat(Qt::PlainText);
  m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_text->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  m_code->setTextFormat(Qt::PlainText);
  m_code->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_code->setObjectName(QStringLiteral("muted"));
  m_code->setFont(scaledFont(font(), 0.86));
  m_action->setObjectName(QStringLiteral("quiet"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(kGap + 4, kGapSmall + 2, kGapSmall + 2, kGapSmall + 2);
  row->setSpacing(kGap);
  row->addWidget(m_text, 1);
  row->addWidget(m_code);
  row->addWidget(m_action);
  row->addWidget(m_close);
  connect(m_close, &QAbstractButton::clicked, this, [this] {
    hide();
    Q_EMIT closed();
  });
  connect(m_action, &QAbstractButton::clicked, this, &Banner::actionChosen);
  hide();
}

void Banner::showError(const QString& code, const QString& message) {
  showText(Danger, message, code);
}

void Banner::showNotice(const QString& text) {
  showText(Quiet, text, {});
}

void Banner::showGood(const QString& text) {
  showText(Good, text, {});
}

void Banner::setAction(const QString& label) {
  m_action->setText(label);
  m_action->setVisible(!label.isEmpty());
}

bool Banner::hasAction() const {
  return isVisible() && m_action->isVisible();
}

void Banner::dropError() {
  if (m_isError) hide();
}

QString Banner::text() const {
  return m_text->text();
}

void Banner::showText(Tone tone, const QString& text, const QString& code) {
  setTone(tone);
  m_isError = tone == Danger;
  m_text->setText(text);
  m_code->setText(code);
  m_code->setVisible(!code.isEmpty());
  m_action->hide();
  setAccessibleName(text);
  show();
}

}  // namespace satchel::ui
