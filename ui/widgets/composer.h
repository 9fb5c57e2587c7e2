// Composer: where the user writes. Enter sends, Shift+Enter begins a line; grows with the text up
// to a third of the window.
#pragma once

#include <QPlainTextEdit>

#include "ui/widgets/card.h"

class QAbstractButton;
class QLabel;
class QPushButton;

namespace satchel::ui {

class IconButton;

class Composer : public Card {
  Q_OBJECT

 public:
  explicit Composer(QWidget* parent = nullptr);

  QPlainTextEdit* edit() { return m_edit; }
  QAbstractButton* sendButton();
  // Text that was sent and did not go: before what has been typed since.
  void giveBack(const QString& text);
  // An earlier message is edited: its text stands here until it is sent or endEdit(); what had been
  // written comes back then.
  void beginEdit(qint64 message, const QString& text);
  void endEdit();
  bool isEditing() const { return m_editedMessage != 0; }
  qint64 editedMessage() const { return m_editedMessage; }  // 0: none
  void send();                                              // what is written, if it may be sent
  // canSend: a chat is open and waits, or can be asked while it reads. canStop: the button stops
  // instead of sending, unless what is written can be sent.
  void setState(bool canSend, bool canStop);
  // Whether the switch for thinking is there at all.
  void setThinkingSwitch(bool isThere);
  // Whether the model answers, or only goes on with what is written.
  void setAnswers(bool answers);

 Q_SIGNALS:
  void sent(const QString& text);
  void sentInstead(qint64 message, const QString& text);
  void editingChanged();
  void edited();  // the text changed
  void stopAsked();
  void attachAsked();
  void thinkingSwitched(bool on);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fitHeight();
  void refresh();
  bool hasText() const;
  bool stops() const { return m_canStop && !(m_canSend && hasText()); }

  QPlainTextEdit* m_edit;
  IconButton* m_attach;
  QPushButton* m_think;
  IconButton* m_send;
  QLabel* m_hint;
  bool m_canSend = false;
  bool m_canStop = false;
  bool m_answers = true;
  qint64 m_editedMessage = 0;
  QString m_draft;  // what stood here before
};

}  // namespace satchel::ui
