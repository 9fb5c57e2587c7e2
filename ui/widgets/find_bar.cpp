#include "ui/widgets/find_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>

#include "ui/model/chat_finder.h"
#include "ui/widgets/icon_button.h"

namespace satchel::ui {

FindBar::FindBar(ChatFinder* finder, QWidget* parent)
    : Card(Quiet, parent),
      m_finder(finder),
      m_field(new QLineEdit(this)),
      m_count(new QLabel(this)),
      m_previous(new IconButton(Icon::Up, tr("Previous (Shift+F3)"), this)),
      m_next(new IconButton(Icon::Down, tr("Next (F3)"), this)) {
  m_field->setObjectName(QStringLiteral("field"));
  m_field->setPlaceholderText(tr("Find in this chat"));
  m_field->setAccessibleName(tr("Find in this chat"));
  m_field->installEventFilter(this);
  m_count->setObjectName(QStringLiteral("muted"));
  m_count->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("Not found  ")));
  m_count->setAlignment(Qt::AlignCenter);
  auto* close = new IconButton(Icon::Close, tr("Close (Esc)"), this);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(kGap, kGapSmall, kGapSmall, kGapSmall);
  row->setSpacing(kGapSmall);
  row->addWidget(m_field, 1);
  row->addWidget(m_count);
  row->addWidget(m_previous);
  row->addWidget(m_next);
  row->addWidget(close);
  connect(m_field, &QLineEdit::textChanged, this, &FindBar::lookedFor);
  connect(m_previous, &QAbstractButton::clicked, finder, [finder] { finder->step(-1); });
  connect(m_next, &QAbstractButton::clicked, finder, [finder] { finder->step(1); });
  connect(close, &QAbstractButton::clicked, this, &FindBar::close);
  connect(finder, &ChatFinder::changed, this, &FindBar::refresh);
  refresh();
  hide();
}

void FindBar::open() {
  show();
  m_field->setFocus(Qt::ShortcutFocusReason);
  m_field->selectAll();
  if (!m_field->text().isEmpty()) Q_EMIT lookedFor(m_field->text());
}

void FindBar::close() {
  if (isHidden()) return;
  hide();
  Q_EMIT lookedFor({});
  Q_EMIT closed();
}

QString FindBar::countText() const {
  return m_count->text();
}

void FindBar::refresh() {
  m_count->setText(m_finder->countText());
  for (IconButton* button : {m_previous, m_next}) button->setEnabled(m_finder->count() > 0);
}

bool FindBar::eventFilter(QObject* watched, QEvent* event) {
  if (watched != m_field || event->type() != QEvent::KeyPress)
    return Card::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  switch (key->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      m_finder->step((key->modifiers() & Qt::ShiftModifier) != 0 ? -1 : 1);
      return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
      m_finder->step(key->key() == Qt::Key_Up ? -1 : 1);
      return true;
    case Qt::Key_Escape:
      close();
      return true;
    default:
      return false;
  }
}

}  // namespace satchel::ui
