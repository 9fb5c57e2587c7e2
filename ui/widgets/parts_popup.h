// PartsPopup: the parts of a chat that is longer than the model's context, those ticked that an
// answer saw. Others can be ticked, for this question once more or for the next one.
#pragma once

#include <QFrame>
#include <QList>

#include "ui/model/engine_types.h"

class QListWidget;
class QPushButton;

namespace satchel::ui {

class PartsPopup : public QFrame {
  Q_OBJECT

 public:
  // seen: numbered from 0. canAsk: a question may be sent now.
  PartsPopup(const runtime::OlderParts& parts, const QList<int>& seen, bool canAsk,
             QWidget* parent);

  // Above this point of the screen, or where there is room for it.
  void showAt(const QPoint& point);
  QListWidget* list() { return m_list; }
  QPushButton* againButton() { return m_again; }
  QPushButton* nextButton() { return m_next; }

 Q_SIGNALS:
  void askedAgain(const QList<int>& parts);
  void chosenForNext(const QList<int>& parts);

 private:
  QList<int> ticked() const;
  void refresh();

  QListWidget* m_list;
  QPushButton* m_again;
  QPushButton* m_next;
  bool m_canAsk;
};

}  // namespace satchel::ui
