#include "ui/widgets/composer.h"

#include <QAbstractTextDocumentLayout>
#include <QEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QTextDocument>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/widgets/icon_button.h"

namespace satchel::ui {
namespace {

constexpr int kLinesMax = 9;

}  // namespace

Composer::Composer(QWidget* parent)
    : Card(Field, parent),
      m_edit(new QPlainTextEdit(this)),
      m_attach(new IconButton(Icon::Attach, tr("Attach a text or Markdown file"), this)),
      m_think(new QPushButton(tr("Think first"), this)),
      m_send(new IconButton(Icon::Send, tr("Send (Enter)"), this, IconButton::Filled)),
      m_hint(new QLabel(tr("Enter to send · Shift+Enter for a new line"), this)) {
  m_edit->setPlaceholderText(tr("Write a message"));
  m_edit->setAccessibleName(tr("Message"));
  m_edit->setFrameShape(QFrame::NoFrame);
  m_edit->setTabChangesFocus(true);
  m_edit->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_edit->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_edit->document()->setDocumentMargin(2);
  m_edit->viewport()->setAutoFillBackground(false);
  m_edit->setAcceptDrops(false);  // files belong to the window
  m_edit->installEventFilter(this);
  m_think->setObjectName(QStringLiteral("toggle"));
  m_think->setCheckable(true);
  m_think->setChecked(true);
  m_think->setCursor(Qt::PointingHandCursor);
  m_think->setFont(scaledFont(font(), 0.86));
  m_think->setToolTip(tr("Let the model think before it answers: slower, often better"));
  m_think->setVisible(false);
  m_hint->setObjectName(QStringLiteral("muted"));
  m_hint->setFont(scaledFont(font(), 0.86));

  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(kGap);
  buttons->addWidget(m_attach);
  buttons->addWidget(m_think);
  buttons->addStretch();
  buttons->addWidget(m_hint);
  buttons->addWidget(m_send);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGap + 2, kGap + 4, kGap + 2, kGap);
  column->setSpacing(kGapSmall);
  auto* text = new QHBoxLayout;
  text->setContentsMargins(kGap, 0, kGap, 0);
  text->addWidget(m_edit);
  column->addLayout(text);
  column->addLayout(buttons);

  connect(m_edit, &QPlainTextEdit::textChanged, this, &Composer::refresh);
  connect(m_edit, &QPlainTextEdit::textChanged, this, &Composer::edited);
  connect(m_edit->document()->documentLayout(), &QAbstractTextDocumentLayout::documentSizeChanged,
          this, &Composer::fitHeight);
  connect(m_send, &QAbstractButton::clicked, this, [this] {
    if (stops()) {
      Q_EMIT stopAsked();
    } else {
      send();
    }
  });
  connect(m_think, &QAbstractButton::toggled, this, &Composer::thinkingSwitched);
  connect(m_attach, &QAbstractButton::clicked, this, &Composer::attachAsked);
  setFocusProxy(m_edit);
  fitHeight();
  refresh();
}

QAbstractButton* Composer::sendButton() {
  return m_send;
}

void Composer::giveBack(const QString& text) {
  const QString typed = m_edit->toPlainText();
  m_edit->setPlainText(typed.isEmpty() ? text : text + u'\n' + typed);
  m_edit->moveCursor(QTextCursor::End);
}

void Composer::beginEdit(qint64 message, const QString& text) {
  if (!isEditing()) m_draft = m_edit->toPlainText();
  m_editedMessage = message;
  m_edit->setPlainText(text);
  m_edit->moveCursor(QTextCursor::End);
  m_edit->setFocus();
  Q_EMIT editingChanged();
}

void Composer::endEdit() {
  if (!isEditing()) return;
  m_editedMessage = 0;
  m_edit->setPlainText(std::exchange(m_draft, {}));
  m_edit->moveCursor(QTextCursor::End);
  Q_EMIT editingChanged();
}

void Composer::setState(bool canSend, bool canStop) {
  m_canSend = canSend;
  m_canStop = canStop;
  refresh();
}

void Composer::setThinkingSwitch(bool isThere) {
  m_think->setVisible(isThere);
}

void Composer::setAnswers(bool answers) {
  if (m_answers == answers) return;  // a hint that someone else put there stays
  m_answers = answers;
  m_edit->setPlaceholderText(answers ? tr("Write a message") : tr("Write the beginning of a text"));
}

bool Composer::hasText() const {
  return !m_edit->toPlainText().trimmed().isEmpty();
}

void Composer::refresh() {
  m_send->setIconKind(stops() ? Icon::Stop : Icon::Send,
                      stops() ? tr("Stop (Esc)") : tr("Send (Enter)"));
  m_send->setEnabled(m_canStop || (m_canSend && hasText()));
  m_attach->setEnabled(m_canSend);
  m_hint->setText(!m_canStop  ? tr("Enter to send · Shift+Enter for a new line")
                  : m_canSend ? tr("Enter to send · Esc to stop")
                              : tr("Esc to stop"));
}

void Composer::send() {
  const QString text = m_edit->toPlainText();
  if (!m_canSend || text.trimmed().isEmpty()) return;
  if (const qint64 edited = m_editedMessage; edited != 0) {
    endEdit();
    Q_EMIT sentInstead(edited, text);
    return;
  }
  m_edit->clear();
  Q_EMIT sent(text);
}

// The document of a plain text edit measures itself in lines.
void Composer::fitHeight() {
  const double lines = std::clamp<double>(m_edit->document()->size().height(), 1, kLinesMax);
  const double line = QFontMetricsF(m_edit->font()).lineSpacing();
  m_edit->setFixedHeight(
      int(std::ceil(lines * line + 2 * m_edit->document()->documentMargin() + 2)));
  m_edit->setVerticalScrollBarPolicy(m_edit->document()->size().height() > kLinesMax
                                         ? Qt::ScrollBarAsNeeded
                                         : Qt::ScrollBarAlwaysOff);
}

bool Composer::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusIn) setLit(true);
  if (event->type() == QEvent::FocusOut) setLit(false);
  if (event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
    if (enter && (key->modifiers() & Qt::ShiftModifier) == 0) {
      send();
      return true;
    }
  }
  return Card::eventFilter(watched, event);
}

}  // namespace satchel::ui
