// What was measured, in words. Every sentence with a figure says where it comes from, or is put
// beside one that does.
#pragma once

#include <QString>

#include "runtime/fidelity/fidelity.h"
#include "runtime/fidelity/recall_probe.h"

namespace satchel::ui {

// "96.1 % same next token · KL 0.021 nats"
//   needs  it was measured
QString fidelityFigures(const runtime::Fidelity& fidelity);
// "98.7 % of the exact attention is still there"
//   needs  it was measured
QString attentionText(const runtime::Fidelity& fidelity);
// "measured at token 3,904, 2 min ago"
QString measuredText(std::size_t measuredAt, qint64 measuredMs, qint64 nowMs);
// "27 of 30 facts of the text said again"; empty: nobody asked
QString recallText(const runtime::RecallProbe& recall);

}  // namespace satchel::ui
