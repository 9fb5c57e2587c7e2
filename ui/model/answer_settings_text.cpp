#include "ui/model/answer_settings_text.h"

#include <QCoreApplication>
#include <QLocale>
#include <algorithm>
#include <cmath>

#include "ui/model/format.h"

namespace satchel::ui {
namespace {

class AnswerText {
  Q_DECLARE_TR_FUNCTIONS(AnswerSettings)
};

}  // namespace

int creativityOf(double temperature) {
  return std::clamp(int(std::lround(temperature * 100)), 0, kCreativityMax);
}

double temperatureOf(int creativity) {
  return double(creativity) / 100;
}

QString creativityText(int creativity) {
  const QString number = QLocale().toString(temperatureOf(creativity), 'g', 3);
  const QString what = creativity == 0     ? AnswerText::tr("always the likeliest word")
                       : creativity <= 50  ? AnswerText::tr("close to the likeliest words")
                       : creativity <= 100 ? AnswerText::tr("varied")
                                           : AnswerText::tr("surprising, often wrong");
  return number + QStringLiteral(" · ") + what;
}

QStringList stopsOf(const QString& lines) {
  QStringList stops;
  for (const QString& line : lines.split(u'\n')) {
    QString stop;
    for (qsizetype i = 0; i < line.size(); ++i) {
      const bool isEscape = line[i] == u'\\' && i + 1 < line.size();
      const QChar next = isEscape ? line[i + 1] : QChar();
      const bool isKnown = next == u'n' || next == u't' || next == u'\\';
      if (!isKnown) {
        stop += line[i];
        continue;
      }
      stop += next == u'n' ? u'\n' : next == u't' ? u'\t' : u'\\';
      ++i;
    }
    if (!stop.isEmpty() && !stops.contains(stop)) stops.append(stop);
  }
  return stops;
}

QString linesOf(const QStringList& stops) {
  QStringList lines;
  for (QString stop : stops) {
    stop.replace(u'\\', QStringLiteral("\\\\"));
    stop.replace(u'\n', QStringLiteral("\\n"));
    stop.replace(u'\t', QStringLiteral("\\t"));
    lines.append(stop);
  }
  return lines.join(u'\n');
}

QString answersText(const runtime::AnswerSettings& answers) {
  const runtime::Sampling usual;
  const runtime::Sampling& now = answers.sampling;
  QStringList parts;
  if (answers.system) parts.append(AnswerText::tr("Own system prompt"));
  if (now.temperature != usual.temperature)
    parts.append(AnswerText::tr("Creativity %1").arg(QLocale().toString(now.temperature, 'g', 3)));
  if (now.top_k != usual.top_k || now.top_p != usual.top_p || now.min_p != usual.min_p ||
      now.repetition_penalty != usual.repetition_penalty)
    parts.append(AnswerText::tr("Other choice of words"));
  if (now.n_tokens_max != usual.n_tokens_max)
    parts.append(
        now.n_tokens_max == 0
            ? AnswerText::tr("Answers of any length")
            : AnswerText::tr("At most %1 tokens").arg(formatCount(qint64(now.n_tokens_max))));
  if (now.stops.size() == 1) parts.append(AnswerText::tr("1 stop text"));
  if (now.stops.size() > 1) parts.append(AnswerText::tr("%1 stop texts").arg(now.stops.size()));
  return parts.join(QStringLiteral(" · "));
}

}  // namespace satchel::ui
