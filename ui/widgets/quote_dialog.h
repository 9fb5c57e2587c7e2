// QuoteDialog: the passages of documents that an answer repeats word for word, one at a time, each
// lit in the text around it. Stays open beside the window, and goes when its answer does.
#pragma once

#include <QDialog>
#include <QPersistentModelIndex>

class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace satchel::ui {

class ConversationModel;

class QuoteDialog : public QDialog {
  Q_OBJECT

 public:
  // conversation: not owned
  explicit QuoteDialog(const ConversationModel* conversation, QWidget* parent = nullptr);

  // needs  the row has that quote
  void showQuote(int row, int quote);
  const QPlainTextEdit* text() const { return m_text; }
  QString source() const;

 private:
  void step(int by);
  void refresh();
  void closeIfGone();

  const ConversationModel* m_conversation;
  QPersistentModelIndex m_row;
  int m_quote = 0;
  QLabel* m_source;
  QLabel* m_number;
  QPlainTextEdit* m_text;
  QPushButton* m_previous;
  QPushButton* m_next;
};

}  // namespace satchel::ui
