// Theme: the colours and measures of the window, light and dark. The palette says which one is on;
// who paints asks themeOf(palette()), so that nothing keeps a stale colour.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>

class QApplication;

namespace satchel::ui {

struct Theme {
  bool isDark = false;
  QColor window;   // side panels
  QColor base;     // the conversation
  QColor surface;  // cards, fields
  QColor raised;   // hovered
  QColor border;
  QColor text, muted;
  QColor accent, onAccent;
  QColor accentSoft;  // chosen rows, the user's messages
  QColor code;        // behind code
  QColor codeKeyword, codeString, codeNumber;
  QColor danger, dangerSoft;
  QColor goodSoft;
  QColor found, onFound, foundSoft;  // behind what is looked for; the current place, the others
  QColor heat;                       // behind words that an answer looked at
};

enum class Appearance { System, Light, Dark };

const Theme& lightTheme();
const Theme& darkTheme();
const Theme& themeOf(const QPalette& palette);
QPalette paletteOf(const Theme& theme);
QString styleSheetOf(const Theme& theme);

// System: as the platform's own palette is.
void applyAppearance(QApplication& app, Appearance appearance);

// Spacing in pixels, one scale for everything.
inline constexpr int kGapSmall = 4, kGap = 8, kGapLarge = 16, kGapHuge = 24;
inline constexpr int kRadius = 10;

QFont scaledFont(const QFont& font, double factor, int weight = -1);

}  // namespace satchel::ui
