// HeldBar: above the conversation while it shows how its words are held or what the newest answer
// looked at: which of the looks it is, what the colours mean, and a sentence about the whole chat.
#pragma once

#include "ui/model/held_stretch.h"
#include "ui/widgets/card.h"

class QAbstractButton;
class QLabel;
class QPushButton;

namespace satchel::ui {

class HeldBar : public Card {
  Q_OBJECT

 public:
  explicit HeldBar(QWidget* parent = nullptr);

  void show(HeldLook look, const QString& summary);
  HeldLook look() const { return m_look; }
  QAbstractButton* fade() const;
  QAbstractButton* precision() const;
  QAbstractButton* heat() const;
  QString summary() const;

 Q_SIGNALS:
  void chosen(satchel::ui::HeldLook look);  // Off: the bar was closed

 private:
  class Scale;  // draws the colours

  HeldLook m_look = HeldLook::Off;
  QPushButton* m_fade;
  QPushButton* m_precision;
  QPushButton* m_heat;
  Scale* m_scale;
  QLabel* m_summary;
};

}  // namespace satchel::ui
