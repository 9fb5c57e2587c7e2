// How the words of a chat are held in its cache, and what the newest answer looked at, as the
// window shows it on them. Characters are those of QString.
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
  Heat,       // what the newest answer looked at
};

// What words got of the newest answer's attention.
struct Attended {
  float share = 0;  // of all of it
  float times = 0;  // that, in shares of a token if all had the same
  friend bool operator==(const Attended&, const Attended&) = default;
};

struct HeldStretch {
  qsizetype begin = 0, end = 0;
  kvcache::HeldToken held = {};
  Attended attended = {};  // for Heat, in place of `held`
  friend bool operator==(const HeldStretch&, const HeldStretch&) = default;
};

// What the newest answer looked at, of the whole chat.
struct AttendedSums {
  bool hasAnswer = false;
  std::size_t n_queries = 0;      // of its tokens, looked at again; 0: it is not in memory
  double before = 0, itself = 0;  // of its attention, on the words before it, and on its own
};

// Of a message's text, in order; what lies between them has not been read.
QList<HeldStretch> heldStretches(const runtime::HeldMessage& message, const QString& text);
QList<HeldStretch> attendedStretches(const runtime::AttendedMessage& message,
                                     std::size_t chatTokens, const QString& text);
AttendedSums attendedSums(const runtime::AttendedText& text);
// Of what is shown of it, whole words, those that look alike together.
QList<HeldStretch> heldShown(const QList<HeldStretch>& stretches, const MarkdownStretch& markdown,
                             const QString& shown);
// How characters are held in the mean; of none, share 0 and bits 0.
class HeldMean {
 public:
  void add(const kvcache::HeldToken& held, float characters);
  kvcache::HeldToken mean() const;

 private:
  kvcache::HeldToken m_sum;
  float m_characters = 0;
};
// The stretches' mean over [begin, end).
kvcache::HeldToken heldBetween(const QList<HeldStretch>& stretches, qsizetype begin, qsizetype end);
// Their sum, and the mean of `times`.
Attended attendedBetween(const QList<HeldStretch>& stretches, qsizetype begin, qsizetype end);
// How hot words are, 0 … 1: from an even share on, by the logarithm, to kHottest times as much.
inline constexpr float kHottest = 64;
float heatOf(const Attended& attended);
// That of the hottest stretch in [begin, end).
float heatBetween(const QList<HeldStretch>& stretches, qsizetype begin, qsizetype end);

// "Held by 43 % of the heads, at 4.5 bits"
QString heldText(const kvcache::HeldToken& held);
// "0.8 % of the newest answer's attention, 31 times an even share"
QString attendedText(const Attended& attended);
// Of a whole chat, in its mean.
QString heldSummary(const kvcache::HeldToken& held);
QString attendedSummary(const AttendedSums& sums);

}  // namespace satchel::ui
