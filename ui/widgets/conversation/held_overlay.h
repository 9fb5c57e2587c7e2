// HeldOverlay: how the words of a message are held, or what the newest answer looked at, drawn on
// them; and the colours that the strip beside the conversation and the bar above it share with it.
//   how  the words are drawn first, as without it: a layer of what they stand on makes them paler,
//        and colours are multiplied in (in the dark: screened), so that letters stay as they are.
//        Selections of Qt would have the text of every line drawn for each word
#pragma once

#include <QAbstractTextDocumentLayout>
#include <vector>

#include "ui/model/held_stretch.h"
#include "ui/widgets/theme.h"

class QPainter;
class QTextDocument;

namespace satchel::ui {

// Of words that are held so; each colour may be none.
struct HeldColors {
  QColor text, behind;
};
HeldColors heldColors(const kvcache::HeldToken& held, HeldLook look, const Theme& theme);
// The same as one colour, for a place too small for words.
QColor heldColor(const kvcache::HeldToken& held, HeldLook look, const Theme& theme);

// Behind words of this heat (heatOf()), at most so opaque.
inline constexpr float kMostHeat = 0.6f;
QColor heatColor(float heat, float most, const Theme& theme);

class HeldOverlay {
 public:
  // What the message's parts are held like; true: it is another than before.
  bool take(HeldLook look, const QList<HeldStretch>& stretches);
  // The message changed: its parts are placed anew.
  void clear() { m_parts.clear(); }
  bool isPlaced() const { return m_look == HeldLook::Off || !m_parts.empty(); }
  bool isOff() const { return m_look == HeldLook::Off; }
  // The next part of the message: its Markdown and what is shown of it.
  void placePart(const MarkdownStretch& source, const QString& shown);

  // Before a part is drawn: in the paragraphs in sight Qt keeps the shapes of their letters, which
  // it would make anew for draw(), and for each paint, of whole paragraphs.
  void keepShapes(int part, const QTextDocument& document, const QRectF& clip) const;
  // Over what was drawn of a part, in its coordinates: of the words in `context.clip` those that
  // are not in a selection of it.
  //   paper  what words stand on that have no background of their own
  void draw(QPainter& painter, const QAbstractTextDocumentLayout::PaintContext& context, int part,
            const QTextDocument& document, const QColor& paper, const Theme& theme) const;
  // What the words at a place are held like; empty: nothing is known of them.
  QString textAt(int part, int character) const;

 private:
  bool isShown(int part) const {
    return !isOff() && part < int(m_parts.size()) && !m_parts[std::size_t(part)].isEmpty();
  }

  HeldLook m_look = HeldLook::Off;
  QList<HeldStretch> m_stretches;
  std::vector<QList<HeldStretch>> m_parts;  // characters of what is shown
};

}  // namespace satchel::ui
