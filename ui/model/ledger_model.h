// LedgerModel: the steps that made the open chat smaller, or moved its text, as a table: the newest
// comes first.
//   shares  of all lane-tokens that the chat had read then
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "ui/model/engine_types.h"

namespace satchel::ui {

class LedgerModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { When, Token, Why, Coarser, Gone, Memory, Measured, ColumnCount };

  using QAbstractTableModel::QAbstractTableModel;

  // entries: oldest first; laneCount: of the model
  void setEntries(const std::vector<runtime::LedgerEntry>& entries, int laneCount);
  const std::vector<runtime::LedgerEntry>& entries() const { return m_entries; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const runtime::LedgerEntry& entry, int column) const;

  std::vector<runtime::LedgerEntry> m_entries;
  int m_laneCount = 0;
};

// The steps of `now` that come after the last one of `before`. A long ledger makes its oldest steps
// one: counting them does not tell which are new.
std::vector<runtime::LedgerEntry> stepsSince(const std::vector<runtime::LedgerEntry>& before,
                                             const std::vector<runtime::LedgerEntry>& now);
// What a cost that was not measured is: Gone where it cannot be measured any more.
enum class PackedCost { Due, Gone };
// What was done without having been asked for, to stay within the limit (0: not known); the cost is
// what was measured after the last step. Of an entry that others became one with, what was taken is
// not told: it is theirs too.
//   needs  at least one entry
PackedNote packedNote(const std::vector<runtime::LedgerEntry>& entries, int laneCount,
                      quint64 limitBytes, PackedCost cost = PackedCost::Due);

}  // namespace satchel::ui
