#include "ui/widgets/question_card.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace satchel::ui {

QuestionCard::QuestionCard(const QString& yes, const QString& no, QWidget* parent)
    : Card(Quiet, parent),
      m_title(new QLabel(this)),
      m_text(new QLabel(this)),
      m_yes(new QPushButton(yes, this)),
      m_no(new QPushButton(no, this)) {
  m_title->setTextFormat(Qt::PlainText);
  m_title->setFont(scaledFont(font(), 1, QFont::DemiBold));
  m_text->setTextFormat(Qt::PlainText);
  m_text->setWordWrap(true);
  m_yes->setObjectName(QStringLiteral("primary"));
  m_no->setObjectName(QStringLiteral("quiet"));
  for (QPushButton* button : {m_yes, m_no}) button->setCursor(Qt::PointingHandCursor);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(kGap);
  buttons->addStretch();
  buttons->addWidget(m_no);
  buttons->addWidget(m_yes);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGapLarge, kGap + 4, kGap + 4, kGap + 4);
  column->setSpacing(kGapSmall);
  column->addWidget(m_title);
  column->addWidget(m_text);
  column->addSpacing(kGapSmall);
  column->addLayout(buttons);
  hide();
}

void QuestionCard::ask(const QString& title, const QString& text) {
  m_title->setText(title);
  m_text->setText(text);
  setAccessibleName(title + QStringLiteral(". ") + text);
  show();
}

}  // namespace satchel::ui
