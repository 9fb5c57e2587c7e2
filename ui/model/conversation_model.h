// ConversationModel: the messages of the open chat, one row each.
//   states     at most one row streams, and it is the last one
//   invariant  a delta changes the last row only: one dataChanged, no reset
#pragma once

#include <QAbstractListModel>
#include <QHash>
#include <QList>
#include <functional>

#include "ui/model/engine_types.h"
#include "ui/model/held_stretch.h"

namespace satchel::ui {

class ConversationModel : public QAbstractListModel {
  Q_OBJECT

 public:
  using QAbstractListModel::QAbstractListModel;

  int rowCount(const QModelIndex& parent = {}) const override;
  // Only what screen readers say; the view asks for message().
  QVariant data(const QModelIndex& index, int role) const override;

  void load(const QList<Message>& messages);
  void append(const Message& message);
  // What stands behind the message with this id, as the chat has it now; 0: all.
  void replaceBehind(qint64 last, const QList<Message>& messages);
  void setVersions(const std::vector<runtime::MessageVersions>& messages);
  void setMarks(const runtime::MarksChanged& marks);
  // Of that answer, or of all of them.
  void setQuotes(const runtime::QuotesFound& found);
  // How the words of its messages are held, and what the newest answer looked at; a row's heights
  // do not change with it.
  void setHeld(const runtime::HeldText& text);
  void setAttended(const runtime::AttendedText& text);
  QList<HeldStretch> held(int row) const { return m_held.value(m_rows[row].id); }
  QList<HeldStretch> attended(int row) const { return m_attended.value(m_rows[row].id); }
  QList<HeldStretch> stretches(int row, HeldLook look) const {
    return look == HeldLook::Off    ? QList<HeldStretch>()
           : look == HeldLook::Heat ? attended(row)
                                    : held(row);
  }
  const AttendedSums& attendedSums() const { return m_attendedSums; }
  kvcache::HeldToken heldInMean() const;
  // The document that a quote is from; nullptr: it is not here.
  const Message* documentOf(const MessageQuote& quote) const;
  // The id of the version `step` further than the row's; 0: there is none.
  qint64 version(int row, int step) const;
  // The last row that something can be done with; -1: none.
  int lastRow(const std::function<bool(const Message&)>& fits) const;
  // needs   no row streams
  void beginAnswer(const Message& answer);
  // needs   the last row streams
  void appendDelta(const QString& delta);
  void appendThought(const QString& delta);
  // Of the streaming row; without one, does nothing. Shown when the answer is finished.
  void setSeen(const runtime::SeenEpisodes& episodes);
  // Ends the streaming row; without one, does nothing. thoughtNote: where something was thought.
  void finishAnswer(runtime::MessageState state, const QString& footnote,
                    const QString& thoughtNote = {});
  // Of a message that is there.
  void setParts(const runtime::DocumentParts& document);
  // Of those that are there as one message.
  void setPartsRead(const std::vector<runtime::PartsRead>& documents);
  void setThoughts(const runtime::MessageThoughts& found);
  void setThoughtsOpen(int row, bool open);
  void setExpanded(int row, bool expanded);
  // Of the row with this key, if it is there.
  void setPacked(qint64 key, const PackedNote& note);

  bool isStreaming() const;
  const Message& message(int row) const { return m_rows[row]; }

 Q_SIGNALS:
  void heldChanged();
  void answerFinished(int row);

 private:
  void add(const Message& message);
  void tellChanged(int row);
  int rowOf(runtime::MessageId id) const;  // -1: there is none

  QList<Message> m_rows;
  QHash<qint64, QList<HeldStretch>> m_held, m_attended;  // by their id
  AttendedSums m_attendedSums;
  qint64 m_keysGiven = 0;
};

}  // namespace satchel::ui
