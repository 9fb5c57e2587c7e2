#include "ui/model/format.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QLocale>
#include <array>
#include <cmath>

namespace satchel::ui {
namespace {

// Three digits where they say something: 1.24, 31.0, 310.
QString threeDigits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return formatDecimal(value, decimals);
}

}  // namespace

QString formatBytes(quint64 bytes) {
  static constexpr std::array<const char*, 5> kUnits = {
      QT_TRANSLATE_NOOP("format", "B"), QT_TRANSLATE_NOOP("format", "kB"),
      QT_TRANSLATE_NOOP("format", "MB"), QT_TRANSLATE_NOOP("format", "GB"),
      QT_TRANSLATE_NOOP("format", "TB")};
  auto value = double(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  const QString number = unit == 0 ? QString::number(bytes) : threeDigits(value);
  return QStringLiteral("%1\u00a0%2")
      .arg(number, QCoreApplication::translate("format", kUnits[unit]));
}

QString formatBytesUp(quint64 bytes) {
  quint64 step = 1;
  while (bytes / step >= 1000) step *= 10;
  return formatBytes((bytes + step - 1) / step * step);
}

QString formatCount(qint64 count) {
  return QLocale().toString(count);
}

QString formatDecimal(double value, int decimals) {
  return QLocale().toString(value, 'f', decimals);
}

QString formatSeconds(double seconds) {
  if (seconds < 0.0095) return QStringLiteral("%1\u00a0ms").arg(formatDecimal(seconds * 1000, 1));
  if (seconds < 9.95)
    return QStringLiteral("%1\u00a0s").arg(formatDecimal(seconds, seconds < 0.995 ? 2 : 1));
  const auto whole = qint64(std::llround(seconds));
  if (whole < 60) return QStringLiteral("%1\u00a0s").arg(whole);
  if (whole < 3600)
    return QStringLiteral("%1\u00a0min\u00a0%2\u00a0s").arg(whole / 60).arg(whole % 60);
  return QStringLiteral("%1\u00a0h\u00a0%2\u00a0min").arg(whole / 3600).arg(whole % 3600 / 60);
}

QString formatPercent(double share) {
  const double percent = share * 100;
  // Never round up to a perfection that was not measured.
  if (share < 1 && percent > 99.9) return QStringLiteral("%1\u00a0%").arg(formatDecimal(99.9, 1));
  const bool whole = std::abs(percent - std::round(percent)) < 0.05;
  return QStringLiteral("%1\u00a0%").arg(formatDecimal(percent, whole ? 0 : 1));
}

QString formatShare(double share) {
  if (share <= 0) return QCoreApplication::translate("format", "none");
  if (share < 0.001) return QStringLiteral("<\u00a0%1\u00a0%").arg(formatDecimal(0.1, 1));
  return formatPercent(share);
}

QString partsText(const QList<int>& parts) {
  QStringList numbers;
  for (const int part : parts) numbers.append(QString::number(part + 1));
  if (numbers.isEmpty()) return {};
  const QString last = numbers.takeLast();
  if (numbers.isEmpty()) return QCoreApplication::translate("format", "part %1").arg(last);
  return QCoreApplication::translate("format", "parts %1 and %2")
      .arg(numbers.join(QStringLiteral(", ")), last);
}

QString formatMoment(qint64 wallMs) {
  //: The form of a date as QDateTime::toString() takes it: 22 Nov, 14:02
  const QString form = QCoreApplication::translate("format", "d\u00a0MMM, HH:mm");
  return QLocale().toString(QDateTime::fromMSecsSinceEpoch(wallMs), form);
}

QString formatAge(qint64 milliseconds) {
  const qint64 minutes = milliseconds / 60'000;
  if (minutes < 1) return QCoreApplication::translate("format", "just now");
  if (minutes < 60) return QCoreApplication::translate("format", "%1 min ago").arg(minutes);
  if (minutes < 60 * 24) return QCoreApplication::translate("format", "%1 h ago").arg(minutes / 60);
  const qint64 days = minutes / (60 * 24);
  return days == 1 ? QCoreApplication::translate("format", "1 day ago")
                   : QCoreApplication::translate("format", "%1 days ago").arg(days);
}

QString tipText(const QString& text) {
  return QStringLiteral("<p>%1</p>")
      .arg(text.toHtmlEscaped().replace(u'\n', QStringLiteral("<br>")));
}

// A host of other letters than ASCII is shown as it is asked for, so that none passes for another.
QString linkText(const QUrl& url) {
  constexpr int kShownMost = 120;
  const bool isPage =
      url.scheme() == QStringLiteral("https") || url.scheme() == QStringLiteral("http");
  const QString host = url.host(QUrl::FullyEncoded);
  if (!url.isValid() || !isPage || host.isEmpty() || !url.userInfo().isEmpty()) return {};
  const QString whole = url.toString(QUrl::FullyEncoded);
  return host + QStringLiteral(": ") +
         (whole.size() > kShownMost ? whole.left(kShownMost - 1) + u'…' : whole);
}

}  // namespace satchel::ui
