// PartsPopup: the parts of a chat that is longer than the model's context, those ticked that an
// answer saw. Others can be ticked, for this question once more or for the next one; or a question
// is asked of all of them.
#pragma once

#include <QList>

#include "ui/model/parts_text.h"
#include "ui/widgets/popup.h"

class QListWidget;
class QPushButton;

namespace satchel::ui {

class PartsPopup : public Popup {
  Q_OBJECT

 public:
  PartsPopup(const PartsShown& shown, QWidget* parent);

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
