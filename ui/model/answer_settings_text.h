// What the settings of answers are called, and what they are now, in words.
#pragma once

#include <QString>
#include <QStringList>

#include "runtime/chat/answer_settings.h"

namespace satchel::ui {

// Creativity is the temperature, in hundredths on a slider.
inline constexpr int kCreativityMax = 150;  // chosen: above it small models write no sentences
int creativityOf(double temperature);
double temperatureOf(int creativity);
QString creativityText(int creativity);  // "0 · always the likeliest word"

// One text a line; "\n" and "\t" stand for an end of a line and a tab, "\\" for a backslash. Empty
// lines are none.
QStringList stopsOf(const QString& lines);
QString linesOf(const QStringList& stops);

// "Creativity 0.7 · at most 512 tokens · 2 stop texts"; empty: all is as for every new chat.
QString answersText(const runtime::AnswerSettings& answers);

}  // namespace satchel::ui
