#include "ui/model/ledger_model.h"

#include <QCoreApplication>
#include <algorithm>
#include <iterator>

#include "ui/model/fidelity_text.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

using runtime::LedgerEntry;

class LedgerText {
  Q_DECLARE_TR_FUNCTIONS(Ledger)
};

QString reasonOf(runtime::LedgerCause cause) {
  static constexpr const char* kReasons[] = {QT_TRANSLATE_NOOP("Ledger", "new text"),
                                             QT_TRANSLATE_NOOP("Ledger", "turn ended"),
                                             QT_TRANSLATE_NOOP("Ledger", "idle time"),
                                             QT_TRANSLATE_NOOP("Ledger", "memory limit"),
                                             QT_TRANSLATE_NOOP("Ledger", "your request"),
                                             QT_TRANSLATE_NOOP("Ledger", "thinned on disk"),
                                             QT_TRANSLATE_NOOP("Ledger", "message corrected"),
                                             QT_TRANSLATE_NOOP("Ledger", "document moved here")};
  static_assert(std::size(kReasons) == runtime::kLedgerCauses);
  return LedgerText::tr(kReasons[std::size_t(cause)]);
}

// "message corrected: 1,234 tokens moved, 160 read"
QString stepText(const LedgerEntry& entry) {
  const runtime::Reuse& reuse = entry.reuse;
  const QString reason = reasonOf(entry.cause);
  if (reuse.n_tokens + reuse.n_read == 0) return reason;
  const QString text =
      LedgerText::tr("%1: %2 tokens moved, %3 read")
          .arg(reason, formatCount(qint64(reuse.n_tokens)), formatCount(qint64(reuse.n_read)));
  return reuse.saves_time() ? text : LedgerText::tr("%1, no time saved").arg(text);
}

QString stepTip(const LedgerEntry& entry) {
  const runtime::Reuse& reuse = entry.reuse;
  if (reuse.reading_ms == 0) return stepText(entry);
  return LedgerText::tr("%1 in %2. Reading all of it would have taken about %3.")
      .arg(stepText(entry), formatSeconds(reuse.ms / 1000), formatSeconds(reuse.reading_ms / 1000));
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

QString measuredAfter(const LedgerEntry& entry) {
  const runtime::Fidelity& fidelity = entry.fidelity;
  if (fidelity.n_tokens == 0) return LedgerText::tr("not measured");
  if (!makes_smaller(entry.cause)) return fidelityFigures(fidelity);
  return LedgerText::tr("%1 · %2 attention")
      .arg(fidelityFigures(fidelity), formatPercent(fidelity.attention_kept));
}

// "96.1 % same next token · KL 0.021 nats, measured at token 4,218 on 3 Apr, 14:32"
QString measuredOn(const QString& figures, const runtime::Fidelity& fidelity) {
  return LedgerText::tr("%1, measured at token %2 on %3")
      .arg(figures, formatCount(qint64(fidelity.measured_at)), formatMoment(fidelity.measured_ms));
}

bool wasFolded(const LedgerEntry& entry) {
  return entry.n_steps > 1;
}

// all: of one message's steps
QString packedText(const LedgerEntry& all, bool isFolded, int laneCount) {
  const QString tokens = formatCount(qint64(all.n_tokens));
  if (isFolded)
    return LedgerText::tr("The chat's %1 tokens took %2 afterwards.")
        .arg(tokens, formatBytes(all.bytes_after));
  const QString coarser = shareOf(all.n_lowered, all, laneCount);
  const QString gone = shareOf(all.n_evicted, all, laneCount);
  QString what;
  if (all.n_evicted == 0)
    what = LedgerText::tr("%1 of it is now stored at lower precision").arg(coarser);
  else if (all.n_lowered == 0)
    what = LedgerText::tr("%1 of it was dropped from the model's memory").arg(gone);
  else
    what = LedgerText::tr(
               "%1 of it is now stored at lower precision, %2 was dropped from the model's "
               "memory")
               .arg(coarser, gone);
  return LedgerText::tr("The chat's %1 tokens took %2 and now take %3: %4.")
      .arg(tokens, formatBytes(all.bytes_before), formatBytes(all.bytes_after), what);
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
  if (role == Qt::ToolTipRole && index.column() == Why) return stepTip(entry);
  const QString shown = text(entry, index.column());
  const bool isFigure = index.column() == Measured && entry.fidelity.n_tokens > 0;
  return role == Qt::ToolTipRole && isFigure ? measuredOn(shown, entry.fidelity) : shown;
}

QString LedgerModel::text(const LedgerEntry& entry, int column) const {
  switch (column) {
    case When:
      return formatMoment(entry.at_ms);
    case Token:
      return formatCount(qint64(entry.n_tokens));
    case Why:
      return entry.n_steps == 1 ? stepText(entry)
                                : LedgerText::tr("%1, with %2 steps before it")
                                      .arg(reasonOf(entry.cause))
                                      .arg(entry.n_steps - 1);
    case Coarser:
      return shareOf(entry.n_lowered, entry, m_laneCount);
    case Gone:
      return shareOf(entry.n_evicted, entry, m_laneCount);
    case Memory:
      return QStringLiteral("%1 → %2").arg(formatBytes(entry.bytes_before),
                                           formatBytes(entry.bytes_after));
    case Measured:
      return measuredAfter(entry);
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
  return section >= 0 && section < ColumnCount ? LedgerText::tr(kNames[section]) : QVariant();
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

PackedNote packedNote(const std::vector<LedgerEntry>& entries, int laneCount, quint64 limitBytes,
                      PackedCost cost) {
  Q_ASSERT(!entries.empty());
  LedgerEntry all = entries.back();
  all.bytes_before = entries.front().bytes_before;
  all.n_lowered = all.n_evicted = 0;
  for (const LedgerEntry& entry : entries) {
    all.n_lowered += entry.n_lowered;
    all.n_evicted += entry.n_evicted;
  }
  PackedNote note;
  note.title = limitBytes > 0
                   ? LedgerText::tr("Packed to stay within %1").arg(formatBytes(limitBytes))
                   : LedgerText::tr("Packed to stay within the memory limit");
  note.text = packedText(all, std::ranges::any_of(entries, wasFolded), laneCount);
  if (all.fidelity.n_tokens > 0)
    note.cost = measuredOn(fidelityFigures(all.fidelity), all.fidelity);
  else
    note.cost = cost == PackedCost::Due ? LedgerText::tr("What that changed is not measured yet.")
                                        : LedgerText::tr("What that changed was not measured.");
  return note;
}

}  // namespace satchel::ui
