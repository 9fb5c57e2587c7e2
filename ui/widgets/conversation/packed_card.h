// PackedCard: what the memory limit took of the chat, below the message that it was taken at, and
// what people can do about it.
//   needs    the thread of the window
#pragma once

#include <QFont>
#include <QRectF>
#include <array>

#include "ui/model/engine_types.h"
#include "ui/widgets/theme.h"

class QPainter;

namespace satchel::ui {

enum class PackedAction { Pin, ReadExactly, RaiseLimit };
inline constexpr std::array kPackedActions = {PackedAction::Pin, PackedAction::ReadExactly,
                                              PackedAction::RaiseLimit};
QString packedActionText(PackedAction action);

class PackedCard {
 public:
  explicit PackedCard(const QFont& font);

  void setContent(const PackedNote& note) { m_note = note; }
  bool isEmpty() const { return m_note.isEmpty(); }
  // Lays out at this place; where it ends. An empty one takes no room.
  double place(double left, double top, double width);
  void draw(QPainter& painter, const Theme& theme) const;
  // At a point, as its index in kPackedActions; -1: none.
  int hit(const QPointF& point) const;
  static double estimatedHeight(const QFont& font);

 private:
  QFont m_title, m_font, m_small;
  PackedNote m_note;
  QRectF m_card, m_head, m_text, m_cost;
  std::array<QRectF, kPackedActions.size()> m_buttons;
};

}  // namespace satchel::ui
