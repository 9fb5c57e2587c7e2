// How figures read everywhere in the window: bytes in powers of 1,000, counts in groups, durations
// in the unit that keeps two to three digits. Number and unit stay on one line. Points and groups
// are those of QLocale(), which is of the window's language (language.h); here as in English.
#pragma once

#include <QList>
#include <QString>
#include <QUrl>

namespace satchel::ui {

QString formatBytes(quint64 bytes);                 // "1.24 GB", "310 MB", "4.4 MB"
QString formatBytesUp(quint64 bytes);               // never less than there are: what is enough
QString formatCount(qint64 count);                  // "31,904"
QString formatDecimal(double value, int decimals);  // "4.5"
QString formatSeconds(double seconds);              // "0.21 s", "58 s", "3 min 20 s"
QString formatPercent(double share);                // 0.973 -> "97.3 %", 1 -> "100 %"
QString formatShare(double share);                  // of a part: 0.0003 -> "< 0.1 %", 0 -> "none"
QString partsText(const QList<int>& parts);         // numbered from 0: "parts 3 and 7"
QString formatMoment(qint64 wallMs);                // "22 Nov, 14:02"
QString formatAge(qint64 milliseconds);  // "just now", "5 min ago", "2 h ago", "3 days ago"

// For a tip: it wraps, as plain text there does not, and none of it is taken for HTML.
QString tipText(const QString& text);
// What opening an address reaches, to be read before it is opened: its host first. Empty: it is not
// opened, since it is no page of the web, or carries a user's name, which can pass for a host.
QString linkText(const QUrl& url);

}  // namespace satchel::ui
