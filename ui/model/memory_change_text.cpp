#include "ui/model/memory_change_text.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/model/fidelity_text.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

using runtime::MemoryChange;

QString tr(const char* text) {
  return QCoreApplication::translate("MemoryChange", text);
}

bool isAsItWas(const MemoryChange& change) {
  return change.n_lowered + change.n_evicted + change.n_reread == 0;
}

bool isEmpty(const MemoryChange& change) {
  return isAsItWas(change) && change.n_lane_tokens == 0;
}

QString tooSmallText(const ChatPreview& preview) {
  return tr("This chat does not fit into %1 with these settings. The least limit that holds it is "
            "%2.")
      .arg(formatBytes(preview.settings.budgetBytes), formatBytesUp(preview.change.limit_least));
}

QString costText(const runtime::Fidelity& cost) {
  if (cost.n_tokens == 0) return tr("What that costs in accuracy is not measured yet.");
  return tr("Measured on this chat's last %1 tokens: %2.")
      .arg(formatCount(qint64(cost.n_tokens)), fidelityFigures(cost));
}

// What a limit does that may be too low for all that is read again.
QString roomText(const MemoryChange& change) {
  if (change.limit_all == 0) return {};
  const QString limit = formatBytesUp(change.limit_all);
  if (change.bytes_all <= change.bytes_after)
    return u' ' +
           tr("Under this limit text may become coarser again while it is read; a limit of %1 "
              "holds all of it.")
               .arg(limit);
  return u' ' + tr("Under this limit text becomes coarser again: all of it would take %1, and a "
                   "limit of %2 holds it.")
                    .arg(formatBytes(change.bytes_all), limit);
}

QString rereadText(const ChatPreview& preview) {
  const MemoryChange& change = preview.change;
  const QString tokens = formatCount(qint64(change.n_reread));
  QString text = change.reread_ms > 0
                     ? tr("%1 tokens have to be read again, which takes about %2.")
                           .arg(tokens, formatSeconds(change.reread_ms / 1000))
                     : tr("%1 tokens have to be read again; how long that takes is not known yet.")
                           .arg(tokens);
  text += u' ' + tr("Then this chat takes %1 instead of %2, estimated.")
                     .arg(formatBytes(change.bytes_after), formatBytes(change.bytes_before));
  text += roomText(change);
  if (change.cost.n_tokens > 0 || preview.settings.preset != QStringLiteral("full"))
    text += u' ' + costText(change.cost);
  return text;
}

// "62 % of what it holds is kept more coarsely, 25 % is gone"
QString lossText(const MemoryChange& change) {
  const auto share = [&change](std::size_t count) {
    return formatShare(double(count) / double(std::max<std::size_t>(change.n_lane_tokens, 1)));
  };
  if (change.n_evicted == 0)
    return tr("%1 of what it holds is kept more coarsely").arg(share(change.n_lowered));
  if (change.n_lowered == 0) return tr("%1 of what it holds is gone").arg(share(change.n_evicted));
  return tr("%1 of what it holds is kept more coarsely, %2 is gone")
      .arg(share(change.n_lowered), share(change.n_evicted));
}

}  // namespace

QString changeText(const ChatPreview& preview) {
  const MemoryChange& change = preview.change;
  if (!change.fits) return tooSmallText(preview);
  if (isEmpty(change))
    return tr("Nothing has been read yet: this chat begins with these settings.");
  if (change.n_reread > 0) return rereadText(preview);
  if (isAsItWas(change) && change.bytes_after < change.bytes_before)
    return tr("This chat takes %1 instead of %2, estimated. There is no room to try beforehand "
              "what "
              "becomes coarser or goes.")
        .arg(formatBytes(change.bytes_after), formatBytes(change.bytes_before));
  if (isAsItWas(change))
    return tr("Nothing that this chat holds changes; it takes %1.")
        .arg(formatBytes(change.bytes_before));
  return tr("This chat takes %1 instead of %2, estimated: %3; only reading it again undoes that. "
            "%4")
      .arg(formatBytes(change.bytes_after), formatBytes(change.bytes_before), lossText(change),
           costText(change.cost));
}

QString appliedText(const AppliedSettings& applied) {
  const MemoryChange& change = applied.change;
  if (!applied.isWhole)
    return tr("The change was broken off. This chat has the recipe %1 and a limit of %2 now; what "
              "was "
              "not read again yet is read with the next message.")
        .arg(applied.recipe, formatBytes(applied.settings.budgetBytes));
  if (isAsItWas(change) && change.bytes_after == change.bytes_before)
    return tr("This chat has the new settings; what it holds is as it was.");
  const QString now = tr("takes %1 now, %2 before.")
                          .arg(formatBytes(change.bytes_after), formatBytes(change.bytes_before));
  if (change.n_reread == 0) return tr("This chat %1").arg(now);
  return tr("Read %1 tokens again; this chat %2").arg(formatCount(qint64(change.n_reread)), now);
}

}  // namespace satchel::ui
