// How the words of a chat are held in its cache, as the window shows it on them. Characters are
// those of QString.
#pragma once

#include <QList>
#include <QString>

#include "ui/model/quote_text.h"

namespace satchel::ui {

// What of it the conversation shows.
enum class HeldLook {
  Off,
  Fade,       // how much of each word is still held
  Precision,  // with how many bits
};

struct HeldStretch {
  qsizetype begin = 0, end = 0;
  kvcache::HeldToken held;
  friend bool operator==(const HeldStretch&, const HeldStretch&) = default;
};

// Of a message's text, in order; what lies between them has not been read.
QList<HeldStretch> heldStretches(const runtime::HeldMessage& message, const QString& text);
// Of what is shown of it, whole words, those that look alike together.
QList<HeldStretch> heldShown(const QList<HeldStretch>& stretches, const MarkdownStretch& markdown,
                             const QString& shown);
// The stretches' mean over [begin, end); share 0 and bits 0 where there are none.
kvcache::HeldToken heldBetween(const QList<HeldStretch>& stretches, qsizetype begin, qsizetype end);

// "Held by 43 % of the heads, at 4.5 bits"
QString heldText(const kvcache::HeldToken& held);
// Of a whole chat, in its mean.
QString heldSummary(const kvcache::HeldToken& held);

}  // namespace satchel::ui
