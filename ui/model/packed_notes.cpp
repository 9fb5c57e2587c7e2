#include "ui/model/packed_notes.h"

#include <algorithm>

#include "ui/model/ledger_model.h"

namespace satchel::ui {

void PackedNotes::add(const std::vector<runtime::LedgerEntry>& steps, int laneCount,
                      quint64 limitBytes) {
  Q_ASSERT(!steps.empty() && m_rows->rowCount() > 0);
  const qint64 key = m_rows->message(m_rows->rowCount() - 1).key;
  if (m_notes.empty() || m_notes.back().key != key)
    m_notes.push_back({.key = key, .steps = {}, .laneCount = laneCount});
  Note& note = m_notes.back();
  note.steps.insert(note.steps.end(), steps.begin(), steps.end());
  note.limitBytes = limitBytes;
  show(note);
}

void PackedNotes::measure(const std::vector<runtime::LedgerEntry>& ledger) {
  for (Note& note : m_notes)
    for (runtime::LedgerEntry& step : note.steps) {
      const auto found = std::ranges::find_if(ledger, [&step](const runtime::LedgerEntry& entry) {
        return entry.at_ms == step.at_ms && entry.n_tokens == step.n_tokens &&
               entry.bytes_after == step.bytes_after;
      });
      if (found == ledger.end() || found->fidelity.n_tokens == 0 ||
          found->fidelity.measured_ms == step.fidelity.measured_ms)
        continue;
      step.fidelity = found->fidelity;
      show(note);
    }
}

void PackedNotes::show(const Note& note) {
  m_rows->setPacked(note.key, packedNote(note.steps, note.laneCount, note.limitBytes));
}

}  // namespace satchel::ui
