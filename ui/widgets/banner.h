// Banner: one message across the conversation that stays until it is closed, or, an error, until it
// is no longer about what is being done: an error with its code, a notice, or the chip of a resumed
// chat. Never a box that must be clicked away.
#pragma once

#include "ui/widgets/card.h"

class QLabel;
class QPushButton;

namespace satchel::ui {

class IconButton;

class Banner : public Card {
  Q_OBJECT

 public:
  explicit Banner(QWidget* parent = nullptr);

  void showError(const QString& code, const QString& message);
  void showNotice(const QString& text);
  void showGood(const QString& text);
  // Offers to undo or to try again; a later show… takes the offer away.
  void setAction(const QString& label);
  bool hasAction() const;  // it is shown, and offers something
  QString text() const;
  // An error goes; what else is shown stays until it is closed.
  void dropError();

 Q_SIGNALS:
  void actionChosen();
  void closed();

 private:
  void showText(Tone tone, const QString& text, const QString& code);

  bool m_isError = false;
  QLabel* m_text;
  QLabel* m_code;
  QPushButton* m_action;
  IconButton* m_close;
};

}  // namespace satchel::ui
