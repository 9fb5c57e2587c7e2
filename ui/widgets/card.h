// Card: a rounded rectangle in a colour of the theme; the ground of the banner, the chip, the input
// box and the preview.
#pragma once

#include <QFrame>

#include "ui/widgets/theme.h"

namespace satchel::ui {

class Card : public QFrame {
  Q_OBJECT

 public:
  enum Tone { Field, Quiet, Good, Danger };

  explicit Card(Tone tone, QWidget* parent = nullptr);

  void setTone(Tone tone);
  void setLit(bool lit);  // the border in the accent colour: has the focus, or takes a drop

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Tone m_tone;
  bool m_isLit = false;
};

}  // namespace satchel::ui
