#include "ui/model/ledger_model.h"

#include <QCoreApplication>
#include <algorithm>
#include <iterator>

#include "ui/model/fidelity_text.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

using runtime::LedgerEntry;

QString ledgerText(const char* text) {
  return QCoreApplication::translate("Ledger", text);
}

QString reasonOf(runtime::LedgerCause cause) {
  static constexpr const char* kReasons[] = {
      QT_TRANSLATE_NOOP("Ledger", "new text"),     QT_TRANSLATE_NOOP("Ledger", "turn ended"),
      QT_TRANSLATE_NOOP("Ledger", "idle time"),    QT_TRANSLATE_NOOP("Ledger", "memory limit"),
      QT_TRANSLATE_NOOP("Ledger", "your request"), QT_TRANSLATE_NOOP("Ledger", "thinned on disk")};
  static_assert(std::size(kReasons) == runtime::kLedgerCauses);
  return ledgerText(kReasons[std::size_t(cause)]);
}

QString shareOf(std::size_t count, const LedgerEntry& entry, int laneCount) {
  const double all = double(entry.n_tokens) * laneCount;
  return all > 0 ? formatShare(std::min(1.0, double(count) / all)) : formatCount(qint64(count));
}

Qt::Alignment alignmentOf(int column) {
  const bool isFigure = column == LedgerModel::Token || column == LedgerModel::Coarser ||
                        column == LedgerModel::Gone || column == LedgerModel::Memory;
  return (isFigure ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter;
}

QString measuredAfter(const runtime::Fidelity& fidelity) {
  if (fidelity.n_tokens == 0) return ledgerText("not measured");
  return ledgerText("%1 · %2 attention")
      .arg(fidelityFigures(fidelity), formatPercent(fidelity.attention_kept));
}

bool isSame(const LedgerEntry& a, const LedgerEntry& b) {
  return a.at_ms == b.at_ms && a.cause == b.cause && a.n_tokens == b.n_tokens &&
         a.n_lowered == b.n_lowered && a.n_evicted == b.n_evicted &&
         a.bytes_after == b.bytes_after && a.fidelity.measured_ms == b.fidelity.measured_ms;
}

}  // namespace

// The table keeps its place while an answer streams and nothing in it changes.
void LedgerModel::setEntries(const std::vector<LedgerEntry>& entries, int laneCount) {
  if (laneCount == m_laneCount &&
      std::equal(entries.begin(), entries.end(), m_entries.begin(), m_entries.end(), isSame))
    return;
  beginResetModel();
  m_entries = entries;
  m_laneCount = laneCount;
  endResetModel();
}

int LedgerModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(m_entries.size());
}

int LedgerModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : ColumnCount;
}

QVariant LedgerModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  if (role == Qt::TextAlignmentRole) return int(alignmentOf(index.column()));
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const LedgerEntry& entry = m_entries[m_entries.size() - 1 - std::size_t(index.row())];
  return text(entry, index.column());
}

QString LedgerModel::text(const LedgerEntry& entry, int column) const {
  switch (column) {
    case When:
      return formatMoment(entry.at_ms);
    case Token:
      return formatCount(qint64(entry.n_tokens));
    case Why:
      return reasonOf(entry.cause);
    case Coarser:
      return shareOf(entry.n_lowered, entry, m_laneCount);
    case Gone:
      return shareOf(entry.n_evicted, entry, m_laneCount);
    case Memory:
      return QStringLiteral("%1 → %2").arg(formatBytes(entry.bytes_before),
                                           formatBytes(entry.bytes_after));
    case Measured:
      return measuredAfter(entry.fidelity);
    default:
      return {};
  }
}

QVariant LedgerModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) return int(alignmentOf(section));
  if (role != Qt::DisplayRole) return {};
  static constexpr const char* kNames[] = {QT_TRANSLATE_NOOP("Ledger", "When"),
                                           QT_TRANSLATE_NOOP("Ledger", "At token"),
                                           QT_TRANSLATE_NOOP("Ledger", "Reason"),
                                           QT_TRANSLATE_NOOP("Ledger", "Lowered"),
                                           QT_TRANSLATE_NOOP("Ledger", "Dropped"),
                                           QT_TRANSLATE_NOOP("Ledger", "Memory"),
                                           QT_TRANSLATE_NOOP("Ledger", "Measured afterwards")};
  static_assert(std::size(kNames) == ColumnCount);
  return section >= 0 && section < ColumnCount ? ledgerText(kNames[section]) : QVariant();
}

std::vector<LedgerEntry> stepsSince(const std::vector<LedgerEntry>& before,
                                    const std::vector<LedgerEntry>& now) {
  if (before.empty()) return now;
  const LedgerEntry& last = before.back();
  const auto known = std::find_if(now.rbegin(), now.rend(), [&last](const LedgerEntry& step) {
    return step.at_ms == last.at_ms && step.n_tokens == last.n_tokens &&
           step.bytes_after == last.bytes_after;
  });
  if (known != now.rend()) return {known.base(), now.end()};
  std::vector<LedgerEntry>
      later;  // the last one has become one with an older one, or the ledger is new
  std::copy_if(now.begin(), now.end(), std::back_inserter(later),
               [&last](const LedgerEntry& step) { return step.at_ms > last.at_ms; });
  return later;
}

QString reclaimText(const std::vector<LedgerEntry>& entries, int laneCount, quint64 limitBytes) {
  Q_ASSERT(!entries.empty());
  LedgerEntry all = entries.back();
  all.bytes_before = entries.front().bytes_before;
  all.n_lowered = all.n_evicted = 0;
  for (const LedgerEntry& entry : entries) {
    all.n_lowered += entry.n_lowered;
    all.n_evicted += entry.n_evicted;
  }
  const QString coarser = shareOf(all.n_lowered, all, laneCount);
  const QString gone = shareOf(all.n_evicted, all, laneCount);
  QString what;
  if (all.n_evicted == 0) {
    what = ledgerText("%1 of this chat is now stored at lower precision").arg(coarser);
  } else if (all.n_lowered == 0) {
    what = ledgerText("%1 of this chat was dropped from the model's memory").arg(gone);
  } else {
    what = ledgerText(
               "%1 of this chat is now stored at lower precision, %2 was dropped from the model's "
               "memory")
               .arg(coarser, gone);
  }
  const QString limit = limitBytes > 0
                            ? ledgerText("To stay within %1, ").arg(formatBytes(limitBytes))
                            : ledgerText("To stay within the limit, ");
  return limit + what +
         ledgerText(" (%1 → %2).").arg(formatBytes(all.bytes_before), formatBytes(all.bytes_after));
}

}  // namespace satchel::ui
