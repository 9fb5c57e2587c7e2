#include "ui/model/held_stretch.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "ui/model/format.h"
#include "ui/model/shown_words.h"

namespace satchel::ui {
namespace {

using kvcache::HeldToken;

// Coarser than people can tell apart; so that long texts have few stretches.
constexpr float kShareSteps = 16, kBitSteps = 2;

class HeldWording {
  Q_DECLARE_TR_FUNCTIONS(HeldText)
};

QString shareText(double share) {
  if (share > 0 && share < 0.0005) return HeldWording::tr("less than 0.1 %");
  return HeldWording::tr("%1 %").arg(formatDecimal(share * 100, share < 0.0995 ? 1 : 0));
}

QString timesText(float times) {
  return formatDecimal(double(times), times < 9.95f ? 1 : 0);
}

// Calls see(stretch, characters of it) for what lies in [begin, end).
template <class See>
void eachBetween(const QList<HeldStretch>& stretches, qsizetype begin, qsizetype end,
                 const See& see) {
  auto next = std::ranges::upper_bound(stretches, begin, {}, &HeldStretch::end);
  for (; next != stretches.end() && next->begin < end; ++next)
    see(*next, float(std::min(end, next->end) - std::max(begin, next->begin)));
}

HeldToken rounded(HeldToken held) {
  const bool isHeld = held.share > 0;
  held.share = std::round(held.share * kShareSteps) / kShareSteps;
  if (isHeld && held.share == 0) held.share = 1 / kShareSteps;  // gone is another thing
  held.bits = std::round(held.bits * kBitSteps) / kBitSteps;
  return held;
}

QString percentOf(float share) {
  if (share > 0 && share < 0.01f) return HeldWording::tr("less than 1 %");
  return HeldWording::tr("%1 %").arg(int(std::lround(std::floor(share * 100))));
}

QString bitsOf(float bits) {
  return formatDecimal(double(bits), bits == std::floor(bits) ? 0 : 1);
}

}  // namespace

QList<HeldStretch> heldStretches(const runtime::HeldMessage& message, const QString& text) {
  QList<HeldStretch> stretches;
  stretches.reserve(qsizetype(message.words.size()));
  CharacterWalk walk(text);
  for (const runtime::HeldWords& words : message.words) {
    const qsizetype begin = walk.to(words.words.begin);
    stretches.append({begin, walk.to(words.words.end), words.held, {}});
  }
  return stretches;
}

QList<HeldStretch> attendedStretches(const runtime::AttendedMessage& message,
                                     std::size_t chatTokens, const QString& text) {
  QList<HeldStretch> stretches;
  stretches.reserve(qsizetype(message.words.size()));
  CharacterWalk walk(text);
  for (const runtime::AttendedWords& words : message.words) {
    const qsizetype begin = walk.to(words.words.begin);
    const float times = words.share * float(chatTokens) / float(words.n_tokens);
    stretches.append({begin, walk.to(words.words.end), {}, {words.share, times}});
  }
  return stretches;
}

AttendedSums attendedSums(const runtime::AttendedText& text) {
  AttendedSums sums{.hasAnswer = text.answer.value != 0, .n_queries = text.n_queries};
  for (const runtime::AttendedMessage& message : text.messages)
    for (const runtime::AttendedWords& words : message.words)
      (message.message == text.answer ? sums.itself : sums.before) += double(words.share);
  return sums;
}

void HeldMean::add(const HeldToken& held, float characters) {
  m_sum.share += characters * held.share;
  m_sum.bits += characters * held.share * held.bits;
  m_sum.is_resting = m_sum.is_resting || held.is_resting;
  m_characters += characters;
}

HeldToken HeldMean::mean() const {
  HeldToken mean = m_sum;
  if (mean.share > 0) mean.bits /= mean.share;
  if (m_characters > 0) mean.share /= m_characters;
  return mean;
}

HeldToken heldBetween(const QList<HeldStretch>& stretches, qsizetype begin, qsizetype end) {
  HeldMean sum;
  eachBetween(stretches, begin, end,
              [&sum](const HeldStretch& one, float shared) { sum.add(one.held, shared); });
  return sum.mean();
}

// A token's first characters may be a blank that no word has: what stands in the word counts.
Attended attendedBetween(const QList<HeldStretch>& stretches, qsizetype begin, qsizetype end) {
  Attended sum;
  float n = 0;
  eachBetween(stretches, begin, end, [&](const HeldStretch& one, float shared) {
    sum.share += one.attended.share * shared / float(one.end - one.begin);
    sum.times += one.attended.times * shared;
    n += shared;
  });
  if (n > 0) sum.times /= n;
  return sum;
}

float heatOf(const Attended& attended) {
  if (attended.times <= 1) return 0;
  return std::min(1.0f, std::log2(attended.times) / std::log2(kHottest));
}

float heatBetween(const QList<HeldStretch>& stretches, qsizetype begin, qsizetype end) {
  float most = 0;
  eachBetween(stretches, begin, end, [&most](const HeldStretch& one, float) {
    most = std::max(most, heatOf(one.attended));
  });
  return most;
}

QList<HeldStretch> heldShown(const QList<HeldStretch>& stretches, const MarkdownStretch& markdown,
                             const QString& shown) {
  QList<HeldStretch> found;
  if (stretches.isEmpty()) return found;
  for (const ShownWord& word : shownWords(markdown.text, shown)) {
    const qsizetype begin = markdown.begin + word.written;
    if (begin >= stretches.back().end) break;
    const qsizetype end = begin + word.end - word.begin;
    const HeldToken held = rounded(heldBetween(stretches, begin, end));
    const Attended attended = attendedBetween(stretches, begin, end);
    if (!found.isEmpty() && found.back().held == held && found.back().attended == attended)
      found.back().end = word.end;
    else
      found.append({word.begin, word.end, held, attended});
  }
  return found;
}

QString heldText(const HeldToken& held) {
  if (held.is_resting && held.share == 0)
    return HeldWording::tr("Kept aside: it is fetched where a question needs it");
  if (held.share == 0) return HeldWording::tr("Not held any more");
  if (held.share == 1 && held.bits == 16) return HeldWording::tr("Held exactly");
  const QString bits = held.bits == 16 ? HeldWording::tr("exactly")
                                       : HeldWording::tr("at %1 bits").arg(bitsOf(held.bits));
  if (held.share == 1) return HeldWording::tr("Held by all heads, %1").arg(bits);
  return HeldWording::tr("Held by %1 of the heads, %2").arg(percentOf(held.share), bits);
}

QString attendedText(const Attended& attended) {
  const QString share =
      HeldWording::tr("%1 of the newest answer's attention").arg(shareText(double(attended.share)));
  if (attended.times < 1) return HeldWording::tr("%1, less than an even share").arg(share);
  return HeldWording::tr("%1, %2 times an even share").arg(share, timesText(attended.times));
}

QString attendedSummary(const AttendedSums& sums) {
  if (!sums.hasAnswer)
    return HeldWording::tr("There is no answer yet. Heat shows what the newest answer looked at.");
  if (sums.n_queries == 0)
    return HeldWording::tr(
        "The newest answer has not been read again yet, so nothing is known of what it "
        "looked at.");
  const double rest = std::max(0.0, 1 - sums.before - sums.itself);
  return HeldWording::
      tr("Attention of the newest answer: %1 on the words before it, %2 on its own words, %3 on "
         "marks and instructions that are not shown. Measured on %4 of its tokens, in memory as "
         "it is now.")
          .arg(shareText(sums.before), shareText(sums.itself), shareText(rest))
          .arg(sums.n_queries);
}

QString heldSummary(const HeldToken& held) {
  if (held.share == 0) return HeldWording::tr("Nothing has been read yet.");
  if (held.share == 1 && held.bits == 16) return HeldWording::tr("All of it is held exactly.");
  return HeldWording::tr("On average, a word is held by %1 of the heads at %2 bits.")
      .arg(percentOf(held.share), bitsOf(std::round(held.bits * 10) / 10));
}

}  // namespace satchel::ui
