// What the window's lists and choices are made of: plain Qt values. All else that it shows are the
// runtime's own values, so that a figure keeps its name from where it was measured to where it is
// drawn.
#pragma once

#include <QDateTime>
#include <QList>
#include <QString>

#include "runtime/chat/chat_events.h"

namespace satchel::ui {

// A model file the user can pick.
struct ModelChoice {
  QString path, title;
  quint64 bytes = 0;
};

// A chat's id in the library; 0: a chat that has no message yet and is not in the library.
using ChatKey = qint64;

// What a chat begins with, and may be changed to.
struct ChatSettings {
  QString preset = QStringLiteral("full");  // as runtime::resolve_recipe takes it
  quint64 budgetBytes = 0;                  // 0: the default budget

  friend bool operator==(const ChatSettings&, const ChatSettings&) = default;
};

struct ChatEntry {
  ChatKey id = 0;
  QString title;
  QDateTime changed;
  QString folder = {};   // that people put it in; empty: none
  bool isAtTop = false;  // people keep it at the top of the list
  qint64 stopped = 0;    // its answer that people stopped; 0: none
};

// A copy of all chats that an update left.
struct CopyEntry {
  QString name;
  qint64 bytes = 0, writtenMs = 0;
};

// Of a chat that was written to a file.
struct WrittenChat {
  std::size_t messages = 0;
  std::size_t damaged = 0;  // left out
};

// What was deleted and is still kept.
struct DeletedList {
  QList<ChatEntry> chats;  // changed: when each was deleted
  QList<CopyEntry> copies;
  qint64 nowMs = 0;  // since 1970
};

// What a message is to the model's memory.
enum class MessageMark {
  None,
  Pinned,     // never compressed
  Forgotten,  // the model does not see it any more
};

// What an answer repeats of a document of its chat, word for word.
struct MessageQuote {
  qsizetype begin = 0, end = 0;                  // in the answer's text, in characters
  qint64 document = 0;                           // its message
  QString title;                                 // its
  std::size_t passageBegin = 0, passageEnd = 0;  // in its text, in bytes of UTF-8
  int page = 0;                                  // from 1; 0: not known

  friend bool operator==(const MessageQuote&, const MessageQuote&) = default;
};

// What the memory limit took of the chat, for people; all three are there or none.
struct PackedNote {
  QString title;  // "Packed to stay within 210 MB"
  QString text;   // how much, and how
  QString cost;   // measured, with its age, or that it was not
  bool isEmpty() const { return title.isEmpty(); }

  friend bool operator==(const PackedNote&, const PackedNote&) = default;
};

struct Message {
  qint64 id = 0;
  runtime::Role role = runtime::Role::user;
  runtime::MessageState state = runtime::MessageState::complete;
  QString text;
  QString documentTitle;       // empty: not a document
  int documentParts = 1;       // in which it is read
  int documentPartsRead = -1;  // of them; -1: not known yet
  QString footnote;            // measured, for people: "142 tokens · 31 tokens/s"
  // Of an answer where the chat is longer than the model's context.
  QList<int> partsSeen;    // of them, numbered from 0
  QList<int> partsQuoted;  // of those: the answer's own words stand there
  int partsAll = 0;
  QString thoughts;     // of an answer: what was thought before it
  QString thoughtNote;  // over them, for people: "Thought for 4.2 s · 123 tokens"
  // Ids of all that stood in its place, itself among them, oldest first; empty: nothing else did.
  QList<qint64> versions;
  QList<MessageQuote> quotes;  // of an answer, in order
  MessageMark mark = MessageMark::None;
  PackedNote packed;        // while it was the last one
  bool canReplace = false;  // it can be edited, or answered again; given by the model
  // As it is shown:
  qint64 key = 0;              // of its row and no other while the model lives; given by the model
  bool isExpanded = false;     // a long message is shown whole
  bool showsThoughts = false;  // not only the note over them

  friend bool operator==(const Message&, const Message&) = default;
};

}  // namespace satchel::ui
