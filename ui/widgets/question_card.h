// QuestionCard: a question in place, above the input box: what happened, and two answers. It stays
// until one is chosen, or what it is about is over.
#pragma once

#include "ui/widgets/card.h"

class QLabel;
class QPushButton;

namespace satchel::ui {

class QuestionCard : public Card {
  Q_OBJECT

 public:
  // yes, no: on the buttons
  QuestionCard(const QString& yes, const QString& no, QWidget* parent = nullptr);

  void ask(const QString& title, const QString& text);
  QPushButton* yes() { return m_yes; }
  QPushButton* no() { return m_no; }

 private:
  QLabel* m_title;
  QLabel* m_text;
  QPushButton* m_yes;
  QPushButton* m_no;
};

}  // namespace satchel::ui
