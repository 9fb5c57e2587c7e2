// ConversationModel: the messages of the open chat, one row each.
//   states     at most one row streams, and it is the last one
//   invariant  a delta changes the last row only: one dataChanged, no reset
#pragma once

#include <QAbstractListModel>
#include <QList>

#include "ui/model/engine_types.h"

namespace satchel::ui {

class ConversationModel : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role {
    TextRole = Qt::UserRole,
    AuthorRole,         // int of runtime::Role
    StateRole,          // int of runtime::MessageState
    DocumentTitleRole,  // empty: not a document
    FootnoteRole,
    ThoughtsRole,      // what was thought before an answer; empty: nothing
    ThoughtNoteRole,   // over them, for people
    ThoughtsOpenRole,  // bool: they are shown, not only the note
    KeyRole,           // qint64, of this row and no other while the model lives
    ExpandedRole,      // bool: a long message is shown whole
  };

  using QAbstractListModel::QAbstractListModel;

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

  void load(const QList<Message>& messages);
  void append(const Message& message);
  // needs   no row streams
  void beginAnswer(const Message& answer);
  // needs   the last row streams
  void appendDelta(const QString& delta);
  void appendThought(const QString& delta);
  // Ends the streaming row; without one, does nothing. thoughtNote: where something was thought.
  void finishAnswer(runtime::MessageState state, const QString& footnote,
                    const QString& thoughtNote = {});
  // Of a message that is there.
  void setThoughts(const runtime::MessageThoughts& found);
  void setThoughtsOpen(int row, bool open);
  void setExpanded(int row, bool expanded);

  bool isStreaming() const;
  const Message& message(int row) const { return m_rows[row].message; }

 private:
  struct Row {
    Message message;
    qint64 key = 0;
    bool expanded = false;
    bool thoughtsOpen = false;
  };
  Row makeRow(const Message& message);

  QList<Row> m_rows;
  qint64 m_keysGiven = 0;
};

}  // namespace satchel::ui
