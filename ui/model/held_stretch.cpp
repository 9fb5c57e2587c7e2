#include "ui/model/held_stretch.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "ui/model/shown_words.h"

namespace satchel::ui {
namespace {

using kvcache::HeldToken;

// Coarser than people can tell apart; so that long texts have few stretches.
constexpr float kShareSteps = 16, kBitSteps = 2;

QString tr(const char* text) {
  return QCoreApplication::translate("HeldText", text);
}

HeldToken rounded(HeldToken held) {
  const bool isHeld = held.share > 0;
  held.share = std::round(held.share * kShareSteps) / kShareSteps;
  if (isHeld && held.share == 0) held.share = 1 / kShareSteps;  // gone is another thing
  held.bits = std::round(held.bits * kBitSteps) / kBitSteps;
  return held;
}

QString percentOf(float share) {
  if (share > 0 && share < 0.01f) return tr("less than 1 %");
  return tr("%1 %").arg(int(std::lround(std::floor(share * 100))));
}

QString bitsOf(float bits) {
  return QString::number(double(bits), 'f', bits == std::floor(bits) ? 0 : 1);
}

}  // namespace

QList<HeldStretch> heldStretches(const runtime::HeldMessage& message, const QString& text) {
  QList<HeldStretch> stretches;
  stretches.reserve(qsizetype(message.words.size()));
  CharacterWalk walk(text);
  for (const runtime::HeldWords& words : message.words) {
    const qsizetype begin = walk.to(words.words.begin);
    stretches.append({begin, walk.to(words.words.end), words.held});
  }
  return stretches;
}

HeldToken heldBetween(const QList<HeldStretch>& stretches, qsizetype begin, qsizetype end) {
  HeldToken sum;
  float n = 0;
  auto next = std::ranges::upper_bound(stretches, begin, {}, &HeldStretch::end);
  for (; next != stretches.end() && next->begin < end; ++next) {
    const auto shared = float(std::min(end, next->end) - std::max(begin, next->begin));
    sum.share += shared * next->held.share;
    sum.bits += shared * next->held.share * next->held.bits;
    sum.is_resting = sum.is_resting || next->held.is_resting;
    n += shared;
  }
  if (sum.share > 0) sum.bits /= sum.share;
  if (n > 0) sum.share /= n;
  return sum;
}

QList<HeldStretch> heldShown(const QList<HeldStretch>& stretches, const MarkdownStretch& markdown,
                             const QString& shown) {
  QList<HeldStretch> found;
  if (stretches.isEmpty()) return found;
  for (const ShownWord& word : shownWords(markdown.text, shown)) {
    const qsizetype begin = markdown.begin + word.written;
    if (begin >= stretches.back().end) break;
    const HeldToken held = rounded(heldBetween(stretches, begin, begin + word.end - word.begin));
    if (!found.isEmpty() && found.back().held == held)
      found.back().end = word.end;
    else
      found.append({word.begin, word.end, held});
  }
  return found;
}

QString heldText(const HeldToken& held) {
  if (held.is_resting && held.share == 0)
    return tr("Kept aside: it is fetched where a question needs it");
  if (held.share == 0) return tr("Not held any more");
  if (held.share == 1 && held.bits == 16) return tr("Held exactly");
  const QString bits = held.bits == 16 ? tr("exactly") : tr("at %1 bits").arg(bitsOf(held.bits));
  if (held.share == 1) return tr("Held by all heads, %1").arg(bits);
  return tr("Held by %1 of the heads, %2").arg(percentOf(held.share), bits);
}

QString heldSummary(const HeldToken& held) {
  if (held.share == 0) return tr("Nothing has been read yet.");
  if (held.share == 1 && held.bits == 16) return tr("All of it is held exactly.");
  return tr("On average, a word is held by %1 of the heads at %2 bits.")
      .arg(percentOf(held.share), bitsOf(std::round(held.bits * 10) / 10));
}

}  // namespace satchel::ui
