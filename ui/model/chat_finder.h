// ChatFinder: where words stand in the open chat, as they are looked for with Ctrl+F; one of the
// places is the current one.
//   words    in upper or lower case; marks of Markdown around a word, and one end of a line between
//            two, do not hinder
//   follows  the conversation: what is added is looked through, what goes is not found any more
//   differs  the text as it was written is looked through, so that the address of a link is found
//            though only its words are shown
#pragma once

#include <QList>
#include <QObject>
#include <QRegularExpression>
#include <QString>

namespace satchel::ui {

class ConversationModel;

class ChatFinder : public QObject {
  Q_OBJECT

 public:
  // conversation: not owned
  explicit ChatFinder(const ConversationModel* conversation, QObject* parent = nullptr);

  // The first place from this row on is the current one; where there is none, the first of all.
  // Empty words: nothing is looked for.
  void look(const QString& words, int fromRow);
  // To the next place, or the one before (-1); from the last to the first.
  void step(int by);

  bool isOn() const { return !m_pattern.pattern().isEmpty(); }
  const QRegularExpression& pattern() const { return m_pattern; }
  qsizetype count() const { return m_places.size(); }
  int currentRow() const;  // -1: none
  // Which of the places in this row is the current one, from 0; -1: it stands elsewhere.
  int currentIn(int row) const;
  QString countText() const;  // "3 of 17", "Not found"; empty: nothing is looked for

 Q_SIGNALS:
  void changed();
  // The current place is another, and is to be shown.
  void currentChanged();

 private:
  struct Place {
    int row;
    qsizetype begin;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  void lookThrough(int first, int last);
  void lookThroughAll();
  void dropRows(int first, int last);
  void keepCurrent(const Place& before);

  const ConversationModel* m_conversation;
  QRegularExpression m_pattern;
  QList<Place> m_places;  // in order
  qsizetype m_current = -1;
};

}  // namespace satchel::ui
