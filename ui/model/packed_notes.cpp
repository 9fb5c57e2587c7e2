#include "ui/model/packed_notes.h"

#include <algorithm>

#include "ui/model/ledger_model.h"

namespace satchel::ui {

void PackedNotes::load(const std::vector<runtime::StoredMessage>& messages) {
  m_notes.clear();
  m_places.clear();
  std::size_t end = 0;
  bool isEndKnown = true;
  int row = 0;
  for (const runtime::StoredMessage& message : messages) {
    end += message.tokens.size();
    isEndKnown = isEndKnown && !message.tokens.empty();  // a document in parts has none
    if (message.role == runtime::Role::system) continue;
    Q_ASSERT(row < m_rows->rowCount());
    m_places.push_back({.key = m_rows->message(row++).key,
                        .writtenMs = message.created_ms,
                        .endTokens = isEndKnown ? end : 0});
  }
}

PackedNotes::Note& PackedNotes::noteAt(qint64 key, int laneCount) {
  const auto found = std::ranges::find(m_notes, key, &Note::key);
  if (found != m_notes.end()) return *found;
  return m_notes.emplace_back(Note{.key = key, .steps = {}, .laneCount = laneCount});
}

void PackedNotes::add(const std::vector<runtime::LedgerEntry>& steps, int laneCount,
                      quint64 limitBytes) {
  Q_ASSERT(!steps.empty() && m_rows->rowCount() > 0);
  Note& note = noteAt(m_rows->message(m_rows->rowCount() - 1).key, laneCount);
  note.steps.insert(note.steps.end(), steps.begin(), steps.end());
  note.limitBytes = limitBytes;
  note.isPast = false;
  show(note);
}

void PackedNotes::restore(const std::vector<runtime::LedgerEntry>& steps, int laneCount) {
  for (const runtime::LedgerEntry& step : steps) {
    const Place* place = placeOf(step);
    if (place == nullptr) continue;
    Note& note = noteAt(place->key, laneCount);
    note.steps.push_back(step);
    note.isPast = true;
  }
  for (const Note& note : m_notes) show(note);
}

const PackedNotes::Place* PackedNotes::placeOf(const runtime::LedgerEntry& step) const {
  const auto wasThere = [&step](const Place& place) {
    return place.writtenMs != 0 && place.writtenMs <= step.at_ms;
  };
  const auto wasRead = [&step](const Place& place) { return place.endTokens >= step.n_tokens; };
  if (const auto last = std::find_if(m_places.rbegin(), m_places.rend(), wasThere);
      last != m_places.rend())
    return &*last;
  const auto first = std::ranges::find_if(m_places, wasRead);
  return first != m_places.end() ? &*first : nullptr;
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

// The rows to compare with are gone with the program that had them.
void PackedNotes::show(const Note& note) {
  m_rows->setPacked(note.key, packedNote(note.steps, note.laneCount, note.limitBytes,
                                         note.isPast ? PackedCost::Gone : PackedCost::Due));
}

}  // namespace satchel::ui
