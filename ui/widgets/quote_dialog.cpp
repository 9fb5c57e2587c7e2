#include "ui/widgets/quote_dialog.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTextBlock>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/model/conversation_model.h"
#include "ui/model/quote_text.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kWidth = 680, kHeight = 520;

QColor litColor(const Theme& theme) {
  QColor lit = theme.accent;
  lit.setAlphaF(theme.isDark ? 0.4f : 0.25f);  // as selected text in the conversation
  return lit;
}

}  // namespace

QuoteDialog::QuoteDialog(const ConversationModel* conversation, QWidget* parent)
    : QDialog(parent),
      m_conversation(conversation),
      m_source(new QLabel(this)),
      m_number(new QLabel(this)),
      m_text(new QPlainTextEdit(this)),
      m_previous(new QPushButton(tr("&Previous"), this)),
      m_next(new QPushButton(tr("&Next"), this)) {
  setWindowTitle(tr("Quoted passage"));
  setAttribute(Qt::WA_DeleteOnClose);
  m_source->setFont(scaledFont(font(), 1.1, QFont::DemiBold));
  m_source->setTextFormat(Qt::PlainText);
  m_number->setObjectName(QStringLiteral("muted"));
  m_text->setReadOnly(true);
  m_text->setFrameShape(QFrame::NoFrame);
  m_text->setAccessibleName(tr("Text of the document"));
  m_text->document()->setDocumentMargin(kGapLarge);
  auto* close = new QPushButton(tr("Close"), this);
  close->setObjectName(QStringLiteral("primary"));
  close->setDefault(true);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(kGap);
  buttons->addWidget(m_previous);
  buttons->addWidget(m_next);
  buttons->addStretch();
  buttons->addWidget(close);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGapHuge, kGapHuge, kGapHuge, kGapHuge);
  column->setSpacing(kGap);
  column->addWidget(m_source);
  column->addWidget(m_number);
  column->addWidget(m_text, 1);
  column->addSpacing(kGap);
  column->addLayout(buttons);
  resize(kWidth, kHeight);
  connect(close, &QPushButton::clicked, this, &QDialog::close);
  connect(m_previous, &QPushButton::clicked, this, [this] { step(-1); });
  connect(m_next, &QPushButton::clicked, this, [this] { step(1); });
  connect(conversation, &QAbstractItemModel::modelReset, this, &QuoteDialog::closeIfGone);
  connect(conversation, &QAbstractItemModel::rowsRemoved, this, &QuoteDialog::closeIfGone);
  connect(conversation, &QAbstractItemModel::dataChanged, this, &QuoteDialog::closeIfGone);
}

QString QuoteDialog::source() const {
  return m_source->text();
}

void QuoteDialog::showQuote(int row, int quote) {
  m_row = m_conversation->index(row);
  m_quote = quote;
  refresh();
}

void QuoteDialog::closeIfGone() {
  if (!m_row.isValid() || m_conversation->message(m_row.row()).quotes.size() <= m_quote) close();
}

void QuoteDialog::step(int by) {
  const auto n = int(m_conversation->message(m_row.row()).quotes.size());
  m_quote = std::clamp(m_quote + by, 0, std::max(n - 1, 0));
  refresh();
}

void QuoteDialog::refresh() {
  const QList<MessageQuote>& quotes = m_conversation->message(m_row.row()).quotes;
  if (m_quote >= quotes.size()) return;
  const MessageQuote& quote = quotes[m_quote];
  const Message* document = m_conversation->documentOf(quote);
  const ShownPassage shown =
      document != nullptr ? passageOf(quote, document->text) : ShownPassage();
  m_source->setText(sourceText(quote));
  m_number->setText(quotes.size() == 1
                        ? tr("The answer repeats this passage word for word")
                        : tr("Passage %1 of %2 that the answer repeats word for word")
                              .arg(m_quote + 1)
                              .arg(quotes.size()));
  for (QPushButton* button : {m_previous, m_next}) button->setVisible(quotes.size() > 1);
  m_previous->setEnabled(m_quote > 0);
  m_next->setEnabled(m_quote + 1 < quotes.size());
  m_text->setPlainText(shown.text);
  QTextCursor cursor(m_text->document());
  cursor.setPosition(int(shown.begin));
  m_text->setTextCursor(cursor);
  cursor.setPosition(int(shown.end), QTextCursor::KeepAnchor);
  QTextEdit::ExtraSelection lit;
  lit.cursor = cursor;
  lit.format.setBackground(litColor(themeOf(palette())));
  m_text->setExtraSelections({lit});
  m_text->centerCursor();
}

}  // namespace satchel::ui
