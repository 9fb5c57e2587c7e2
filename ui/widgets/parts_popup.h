// PartsPopup: the parts of a chat that is longer than the model's context, those ticked that an
// answer saw. Others can be ticked, for this question once more or for the next one; or a question
// is asked of all of them.
#pragma once

#include <QFrame>
#include <QList>

#include "ui/model/parts_text.h"

class QListWidget;
class QPushButton;

namespace satchel::ui {

class PartsPopup : public QFrame {
  Q_OBJECT

 public:
  PartsPopup(const PartsShown& shown, QWidget* parent);

  // Above this point of the screen, or where there is room for it.
  void showAt(const QPoint& point);
  QListWidget* list() { return m_list; }
  QPushButton* againButton() { return m_again; }
  QPushButton* nextButton() { return m_next; }
  QPushButton* allButton() { return m_all; }

 Q_SIGNALS:
  void askedAgain(const QList<int>& parts);
  void chosenForNext(const QList<int>& parts);
  void askedOfAll();

 private:
  QList<int> ticked() const;
  void refresh();

  QListWidget* m_list;
  QPushButton* m_again;
  QPushButton* m_next;
  QPushButton* m_all;
  bool m_canAskAgain;
};

}  // namespace satchel::ui
