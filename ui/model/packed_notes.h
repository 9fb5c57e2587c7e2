// PackedNotes: what the memory limit took of the open chat since it was opened, each noted at the
// message that was the last one then. A chat that is opened again has it in its history only.
//   invariant  a message has one note, of all that was taken at it
#pragma once

#include <vector>

#include "ui/model/conversation_model.h"

namespace satchel::ui {

class PackedNotes {
 public:
  // rows: not owned
  explicit PackedNotes(ConversationModel* rows) : m_rows(rows) {}

  // Steps that have just been done, at least one; laneCount: of the model. At the last row.
  //   needs  a row
  void add(const std::vector<runtime::LedgerEntry>& steps, int laneCount, quint64 limitBytes);
  // Of the chat as it is now: what steps cost may have been measured since.
  void measure(const std::vector<runtime::LedgerEntry>& ledger);
  // Another chat is open.
  void clear() { m_notes.clear(); }

 private:
  struct Note {
    qint64 key = 0;  // of its row
    std::vector<runtime::LedgerEntry> steps;
    int laneCount = 0;
    quint64 limitBytes = 0;
  };
  void show(const Note& note);

  ConversationModel* m_rows;
  std::vector<Note> m_notes;
};

}  // namespace satchel::ui
