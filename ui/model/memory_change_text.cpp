#include "ui/model/memory_change_text.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/model/engine_values.h"
#include "ui/model/fidelity_text.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

using runtime::MemoryChange;

class ChangeText {
  Q_DECLARE_TR_FUNCTIONS(MemoryChange)
};

bool isAsItWas(const MemoryChange& change) {
  return change.n_lowered + change.n_evicted + change.n_reread == 0;
}

QString tooSmallText(const ChatSettings& requested, const MemoryChange& change) {
  return ChangeText::tr(
             "This chat does not fit into %1 with these settings. It needs a limit of at least %2.")
      .arg(formatBytes(requested.budgetBytes), formatBytesUp(change.limit_least));
}

QString costText(const runtime::Fidelity& cost) {
  if (cost.n_tokens == 0) return ChangeText::tr("The effect on accuracy is not measured yet.");
  return ChangeText::tr("Compared with the chat as it is now, on its last %1 tokens: %2.")
      .arg(formatCount(qint64(cost.n_tokens)), fidelityFigures(cost));
}

// The effect of a limit that may be too low for all the text to be reread.
QString reclaimText(const MemoryChange& change) {
  if (change.limit_all == 0) return {};
  const QString limit = formatBytesUp(change.limit_all);
  if (change.bytes_all <= change.bytes_after)
    return u' ' + ChangeText::tr(
                      "With this limit, text may drop to lower precision again while it is reread; "
                      "a limit "
                      "of %1 avoids that.")
                      .arg(limit);
  return u' ' + ChangeText::tr(
                    "With this limit, text drops to lower precision again instead of taking %1; a "
                    "limit of %2 avoids that.")
                    .arg(formatBytes(change.bytes_all), limit);
}

// Why, after a blank; empty: nothing is reread.
QString reasonText(const MemoryChange& change) {
  const QString text = textOf(kvcache::reread_text(kvcache::main_reason(change.reread)));
  return text.isEmpty() ? text : u' ' + text;
}

QString rereadText(const ChatSettings& requested, const MemoryChange& change) {
  const QString tokens = formatCount(qint64(change.n_reread));
  QString text =
      change.reread_ms > 0
          ? ChangeText::tr("%1 tokens must be reread, which takes about %2.")
                .arg(tokens, formatSeconds(change.reread_ms / 1000))
          : ChangeText::tr("%1 tokens must be reread; how long that takes is not known yet.")
                .arg(tokens);
  text += reasonText(change);
  text += u' ' + ChangeText::tr("The chat will then take %1 instead of %2 (estimated).")
                     .arg(formatBytes(change.bytes_after), formatBytes(change.bytes_before));
  text += reclaimText(change);
  if (change.cost.n_tokens > 0 || requested.preset != QStringLiteral("full"))
    text += u' ' + costText(change.cost);
  return text;
}

// "62 % of it at lower precision, 25 % dropped"
QString lossText(const MemoryChange& change) {
  const auto share = [&change](std::size_t count) {
    return formatShare(double(count) / double(std::max<std::size_t>(change.n_lane_tokens, 1)));
  };
  if (change.n_evicted == 0)
    return ChangeText::tr("%1 of it at lower precision").arg(share(change.n_lowered));
  if (change.n_lowered == 0) return ChangeText::tr("%1 of it dropped").arg(share(change.n_evicted));
  return ChangeText::tr("%1 of it at lower precision, %2 dropped")
      .arg(share(change.n_lowered), share(change.n_evicted));
}

}  // namespace

bool isNothingRead(const MemoryChange& change) {
  return isAsItWas(change) && change.n_lane_tokens == 0;
}

QString changeText(const ChatSettings& requested, const MemoryChange& change) {
  if (!change.fits) return tooSmallText(requested, change);
  if (isNothingRead(change))
    return ChangeText::tr("Nothing has been read yet. This chat will start with these settings.");
  if (change.n_reread > 0) return rereadText(requested, change);
  if (isAsItWas(change) && change.bytes_after < change.bytes_before)
    return ChangeText::tr(
               "This chat will take %1 instead of %2 (estimated). There is too little memory to "
               "measure beforehand what that changes.")
        .arg(formatBytes(change.bytes_after), formatBytes(change.bytes_before));
  if (isAsItWas(change))
    return ChangeText::tr("Nothing changes in this chat; it takes %1.")
        .arg(formatBytes(change.bytes_before));
  return ChangeText::tr(
             "This chat will take %1 instead of %2 (estimated): %3. Only rereading undoes that. %4")
      .arg(formatBytes(change.bytes_after), formatBytes(change.bytes_before), lossText(change),
           costText(change.cost));
}

QString appliedText(const runtime::MemoryChanged& changed) {
  const MemoryChange& change = changed.change;
  if (!changed.is_whole)
    return ChangeText::
        tr("The change was stopped. This chat now has the recipe %1 and a limit of %2; the rest "
           "is reread with your next message.")
            .arg(textOf(changed.memory.recipe.name()), formatBytes(changed.memory.limit_bytes));
  if (isAsItWas(change) && change.bytes_after == change.bytes_before)
    return ChangeText::tr("This chat has the new settings. Its contents did not change.");
  const QString now = ChangeText::tr("This chat now takes %1 instead of %2.")
                          .arg(formatBytes(change.bytes_after), formatBytes(change.bytes_before));
  if (change.n_reread == 0) return now;
  return ChangeText::tr("Reread %1 tokens.").arg(formatCount(qint64(change.n_reread))) +
         reasonText(change) + u' ' + now;
}

}  // namespace satchel::ui
