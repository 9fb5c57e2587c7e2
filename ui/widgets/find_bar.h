// FindBar: the field of Ctrl+F above the conversation, with the way through what it finds.
//   keys  Enter and F3 go to the next place, with Shift to the one before; Esc closes
#pragma once

#include "ui/widgets/card.h"

class QLabel;
class QLineEdit;

namespace satchel::ui {

class ChatFinder;
class IconButton;

class FindBar : public Card {
  Q_OBJECT

 public:
  // finder: not owned
  explicit FindBar(ChatFinder* finder, QWidget* parent = nullptr);

  // Shown with the keyboard in its field, what was looked for marked.
  void open();
  void close();
  QLineEdit* field() { return m_field; }
  ChatFinder* finder() { return m_finder; }
  QString countText() const;

 Q_SIGNALS:
  void lookedFor(const QString& words);  // empty: for nothing any more
  void closed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();

  ChatFinder* m_finder;
  QLineEdit* m_field;
  QLabel* m_count;
  IconButton* m_previous;
  IconButton* m_next;
};

}  // namespace satchel::ui
