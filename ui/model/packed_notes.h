// PackedNotes: what the memory limit took of the open chat, each noted at the message that was the
// last one then. What it took before the chat was opened comes from the chat's ledger, which keeps
// when, but not at which message: that is the last one that had been written by then. Where all of
// them are newer, as in a branch, it is the one that the model had read up to.
//   invariant  a message has one note, of all that was taken at it
#pragma once

#include <vector>

#include "ui/model/conversation_model.h"

namespace satchel::ui {

class PackedNotes {
 public:
  // rows: not owned
  explicit PackedNotes(ConversationModel* rows) : m_rows(rows) {}

  // Another chat is open; the rows are these messages without those of the system.
  void load(const std::vector<runtime::StoredMessage>& messages);
  // Steps that have just been done, at least one; laneCount: of the model. At the last row.
  //   needs  a row
  void add(const std::vector<runtime::LedgerEntry>& steps, int laneCount, quint64 limitBytes);
  // Steps that were done before load(), oldest first. One that has no message is in the history
  // only.
  void restore(const std::vector<runtime::LedgerEntry>& steps, int laneCount);
  // Of the chat as it is now: what steps cost may have been measured since.
  void measure(const std::vector<runtime::LedgerEntry>& ledger);

 private:
  struct Note {
    qint64 key = 0;  // of its row
    std::vector<runtime::LedgerEntry> steps;
    int laneCount = 0;
    quint64 limitBytes = 0;  // 0: not known
    bool isPast = false;     // all of it was taken before the chat was opened
  };
  // A row as it was loaded.
  struct Place {
    qint64 key = 0;
    qint64 writtenMs = 0;       // since 1970; 0: not known
    std::size_t endTokens = 0;  // of the chat up to its end; 0: not known
  };
  Note& noteAt(qint64 key, int laneCount);
  const Place* placeOf(const runtime::LedgerEntry& step) const;  // nullptr: it has none
  void show(const Note& note);

  ConversationModel* m_rows;
  std::vector<Note> m_notes;
  std::vector<Place> m_places;
};

}  // namespace satchel::ui
