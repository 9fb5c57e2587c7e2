// MessageLayout: one message laid out for a width: a list of parts, each a QTextDocument with its
// place. When the message grows, the parts that did not change stay as they are.
//   owns     its documents
//   needs    the thread of the window
#pragma once

#include <QCoreApplication>
#include <QFont>
#include <QList>
#include <QRectF>
#include <QString>
#include <functional>
#include <memory>
#include <vector>

#include "ui/model/engine_types.h"
#include "ui/model/markdown_parts.h"
#include "ui/widgets/conversation/find_overlay.h"
#include "ui/widgets/conversation/held_overlay.h"
#include "ui/widgets/conversation/message_tools.h"
#include "ui/widgets/conversation/packed_card.h"
#include "ui/widgets/conversation/thought_block.h"
#include "ui/widgets/theme.h"

class QPainter;
class QTextDocument;

namespace satchel::ui {

// A place in a message: a part and a character in it. Orders as the text reads.
struct TextPlace {
  int part = 0, character = 0;
  friend auto operator<=>(const TextPlace&, const TextPlace&) = default;
};

struct MessageHit {
  enum Kind {
    Nothing,
    Text,
    Link,
    Quote,
    CopyCode,
    CopyMessage,
    Expand,
    Thoughts,
    Footnote,
    Replace,
    Older,
    Newer,
    Packed
  };
  Kind kind = Nothing;
  TextPlace place;
  QString address;  // of a link
  int quote = -1;   // of Message::quotes
  PackedAction packed = PackedAction::Pin;
};

class MessageLayout {
  Q_DECLARE_TR_FUNCTIONS(MessageLayout)

 public:
  MessageLayout(int width, const QFont& font, const Theme& theme);
  ~MessageLayout();

  void setContent(const Message& content);
  // What draw() shows of how its words are held; its height stays.
  void setHeld(HeldLook look, const QList<HeldStretch>& stretches);
  // In words, of those at a place; empty: it is not shown.
  QString heldTextAt(TextPlace place) const { return m_held.textAt(place.part, place.character); }
  // What of it is lit, as it is looked for.
  void setFind(const FindLook& look);
  // The line where the current place begins; null: there is none.
  QRectF foundLine() const;
  int height() const { return m_height; }
  int width() const { return m_width; }
  // Parts laid out since it was made: for tests of what streaming costs.
  int partsLaidOut() const { return m_partsLaidOut; }

  // Draws at the painter's origin; `from` and `to` bound what is selected (equal: nothing).
  // isNear: MessageTools::draw().
  void draw(QPainter& painter, const QRectF& visible, TextPlace from, TextPlace to,
            bool copyHovered, bool isNear) const;
  MessageHit hit(const QPointF& point) const;
  TextPlace begin() const { return {}; }
  TextPlace end() const;
  // The word around a place.
  std::pair<TextPlace, TextPlace> wordAt(TextPlace place) const;
  QString textBetween(TextPlace from, TextPlace to) const;
  QString codeOf(int part) const;
  // Its code, block by block.
  QList<MessagePart> codeParts() const;

  // The height of a message that was not laid out, from its length alone.
  static int estimate(const Message& content, int width, const QFont& font);

 private:
  struct Part {
    MessagePart source;
    std::unique_ptr<QTextDocument> document;
    QRectF text;   // of the document
    QRectF frame;  // the card around code or a bubble
  };

  bool isUser() const { return m_content.role == runtime::Role::user; }
  // Until the first delta of an answer, or of what is thought before it.
  bool showsDots() const { return m_parts.empty() && m_thoughts.isEmpty(); }
  void setParts(const QList<MessagePart>& parts);
  void linkQuotes();
  // Of each part that the message's text has, where it begins in it.
  void forEachSource(const std::function<void(Part& part, qsizetype begin)>& see);
  bool grow(Part& part, const MessagePart& source);
  Part makePart(const MessagePart& source);
  void place();
  void placeUser();
  void placeAnswer();
  void drawMark(QPainter& painter) const;
  void drawPart(QPainter& painter, int index, const QRectF& visible, TextPlace from, TextPlace to,
                bool copyHovered) const;
  void drawText(QPainter& painter, int index, const QRectF& clip, TextPlace from,
                TextPlace to) const;
  QRectF copyRect(const Part& part) const;

  int m_width;
  QFont m_font;
  Theme m_theme;
  Message m_content;
  bool m_isShortened = false;
  ThoughtBlock m_thoughts;
  MessageTools m_tools;
  PackedCard m_packed;
  std::vector<Part> m_parts;
  HeldOverlay m_held;
  FindOverlay m_find;
  QRectF m_bubble, m_expand;
  QRectF m_footnote;
  int m_height = 0;
  int m_partsLaidOut = 0;
};

}  // namespace satchel::ui
