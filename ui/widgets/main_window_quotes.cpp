// Passages of documents that an answer repeats, shown where they stand.
#include <QShortcut>

#include "ui/widgets/banner.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/quote_dialog.h"

namespace satchel::ui {

void MainWindow::connectQuotes() {
  connect(m_conversation, &ConversationView::quoteAsked, this, &MainWindow::showQuote);
  auto* shortcut = new QShortcut(QKeySequence(Qt::CTRL | Qt::Key_D), this);
  connect(shortcut, &QShortcut::activated, this, [this] {
    showQuote(m_state->conversation()->lastRow(
                  [](const Message& message) { return !message.quotes.isEmpty(); }),
              0);
  });
}

void MainWindow::showQuote(int row, int quote) {
  if (row < 0) {
    m_banner->showNotice(tr("No answer in this chat repeats a document word for word."));
    return;
  }
  if (!m_quotes) m_quotes = new QuoteDialog(m_state->conversation(), this);
  m_quotes->showQuote(row, quote);
  m_quotes->show();
  m_quotes->raise();
  m_quotes->activateWindow();
}

}  // namespace satchel::ui
