// Cuts an answer into parts that can be laid out one by one: prose up to a place where Markdown
// starts afresh, one fenced code block, or one formula of its own (a block of the language
// "latex"). While an answer streams, only its last part changes.
//   invariant  the parts of a text that grew begin with the parts of the shorter text, but for the
//              last one
#pragma once

#include <QList>
#include <QString>

namespace satchel::ui {

struct MessagePart {
  enum Kind { Prose, Code };
  Kind kind = Prose;
  QString text;      // prose: Markdown; code: without its fences
  QString language;  // of code, as the fence names it
  friend bool operator==(const MessagePart&, const MessagePart&) = default;
};

QList<MessagePart> markdownParts(const QString& text);

}  // namespace satchel::ui
