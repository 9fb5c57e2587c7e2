#include "ui/model/fidelity_text.h"

#include <QCoreApplication>

#include "ui/model/format.h"

namespace satchel::ui {
namespace {

class FidelityText {
  Q_DECLARE_TR_FUNCTIONS(Fidelity)
};

QString formatKl(double kl) {
  if (kl > 0 && kl < 0.0005) return QStringLiteral("< ") + formatDecimal(0.001, 3);
  return formatDecimal(kl, kl < 0.1 ? 3 : 2);
}

}  // namespace

QString fidelityFigures(const runtime::Fidelity& fidelity) {
  return FidelityText::tr("%1 same next token · KL %2 nats")
      .arg(formatPercent(fidelity.agreement), formatKl(fidelity.kl));
}

QString attentionText(const runtime::Fidelity& fidelity) {
  return FidelityText::tr("%1 of attention retained").arg(formatPercent(fidelity.attention_kept));
}

QString measuredText(std::size_t measuredAt, qint64 measuredMs, qint64 nowMs) {
  return FidelityText::tr("measured at token %1, %2")
      .arg(formatCount(qint64(measuredAt)), formatAge(nowMs - measuredMs));
}

QString recallText(const runtime::RecallProbe& recall) {
  if (recall.n_asked == 0) return {};
  return FidelityText::tr("%1 of %2 facts repeated correctly")
      .arg(formatCount(qint64(recall.n_said)), formatCount(qint64(recall.n_asked)));
}

}  // namespace satchel::ui
