#include "ui/widgets/theme.h"

#include <QApplication>
#include <QStyle>
#include <QStyleFactory>
#include <QStyleHints>

namespace satchel::ui {
namespace {

Theme makeLight() {
  Theme theme;
  theme.window = QColor(0xf6, 0xf5, 0xf2);
  theme.base = QColor(0xff, 0xff, 0xff);
  theme.surface = QColor(0xf1, 0xf0, 0xec);
  theme.raised = QColor(0xe8, 0xe7, 0xe2);
  theme.border = QColor(0xdf, 0xdd, 0xd7);
  theme.text = QColor(0x21, 0x23, 0x26);
  theme.muted = QColor(0x66, 0x69, 0x6d);
  theme.accent = QColor(0x1f, 0x6f, 0x68);
  theme.onAccent = QColor(0xff, 0xff, 0xff);
  theme.accentSoft = QColor(0xe3, 0xef, 0xec);
  theme.code = QColor(0xf6, 0xf5, 0xf2);
  theme.danger = QColor(0xa6, 0x2b, 0x2b);
  theme.dangerSoft = QColor(0xfb, 0xea, 0xe8);
  theme.good = QColor(0x2a, 0x6b, 0x3c);
  theme.goodSoft = QColor(0xe6, 0xf2, 0xe8);
  return theme;
}

Theme makeDark() {
  Theme theme;
  theme.isDark = true;
  theme.window = QColor(0x1a, 0x1c, 0x1e);
  theme.base = QColor(0x20, 0x23, 0x25);
  theme.surface = QColor(0x2a, 0x2e, 0x31);
  theme.raised = QColor(0x33, 0x38, 0x3c);
  theme.border = QColor(0x39, 0x3e, 0x42);
  theme.text = QColor(0xe6, 0xe6, 0xe3);
  theme.muted = QColor(0xa1, 0xa6, 0xaa);
  theme.accent = QColor(0x6c, 0xbf, 0xb4);
  theme.onAccent = QColor(0x10, 0x1c, 0x1b);
  theme.accentSoft = QColor(0x2a, 0x3d, 0x3c);
  theme.code = QColor(0x18, 0x1a, 0x1c);
  theme.danger = QColor(0xf2, 0x9b, 0x93);
  theme.dangerSoft = QColor(0x42, 0x29, 0x28);
  theme.good = QColor(0x92, 0xd0, 0xa0);
  theme.goodSoft = QColor(0x25, 0x38, 0x2a);
  return theme;
}

}  // namespace

const Theme& lightTheme() {
  static const Theme theme = makeLight();
  return theme;
}

const Theme& darkTheme() {
  static const Theme theme = makeDark();
  return theme;
}

const Theme& themeOf(const QPalette& palette) {
  return palette.color(QPalette::WindowText).lightness() >
                 palette.color(QPalette::Window).lightness()
             ? darkTheme()
             : lightTheme();
}

QPalette paletteOf(const Theme& theme) {
  QPalette palette;
  palette.setColor(QPalette::Window, theme.window);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.base);
  palette.setColor(QPalette::AlternateBase, theme.surface);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::PlaceholderText, theme.muted);
  palette.setColor(QPalette::Button, theme.surface);
  palette.setColor(QPalette::ButtonText, theme.text);
  palette.setColor(QPalette::BrightText, theme.danger);
  palette.setColor(QPalette::Light, theme.raised);
  palette.setColor(QPalette::Midlight, theme.surface);
  palette.setColor(QPalette::Mid, theme.border);
  palette.setColor(QPalette::Dark, theme.border);
  palette.setColor(QPalette::Shadow, theme.border);
  palette.setColor(QPalette::Highlight, theme.accent);
  palette.setColor(QPalette::HighlightedText, theme.onAccent);
  palette.setColor(QPalette::Link, theme.accent);
  palette.setColor(QPalette::LinkVisited, theme.accent);
  palette.setColor(QPalette::ToolTipBase, theme.surface);
  palette.setColor(QPalette::ToolTipText, theme.text);
  for (const QPalette::ColorRole role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    QColor faded = theme.muted;
    faded.setAlphaF(0.6f);
    palette.setColor(QPalette::Disabled, role, faded);
  }
  return palette;
}

constexpr const char* kStyleSheet = R"(
    QToolTip { color: @text; background: @surface; border: 1px solid @border; padding: 4px 6px; }
    QSplitter::handle { background: @border; }
    QScrollArea { border: none; background: transparent; }
    QMenu { background: @base; color: @text; border: 1px solid @border; border-radius: 8px;
          padding: 4px; }
    QMenu::item { padding: 6px 24px 6px 12px; border-radius: 5px; }
    QMenu::item:selected { background: @accentSoft; }
    QMenu::item:disabled { color: @muted; }
    QMenu::separator { height: 1px; background: @border; margin: 4px 8px; }
    QLineEdit#field { background: @base; color: @text; border: 1px solid @border;
          border-radius: 8px;
                      padding: 6px 10px; selection-background-color: @accent;
                      selection-color: @onAccent; }
    QLineEdit#field:focus { border-color: @accent; }
    QPushButton { background: @base; color: @text; border: 1px solid @border; border-radius: 8px;
          padding: 7px 14px; }
    QPushButton:hover { background: @raised; }
    QPushButton:focus { border-color: @accent; }
    QPushButton:disabled { color: @muted; background: @surface; }
    QPushButton#primary { background: @accent; color: @onAccent; border: 1px solid @accent;
          font-weight: 600; }
    QPushButton#primary:hover { background: @accentHover; }
    QPushButton#primary:disabled { background: @surface; color: @muted; border-color: @border; }
    QPushButton#toggle { background: transparent; color: @muted; border: 1px solid @border;
                         border-radius: 10px; padding: 4px 12px; }
    QPushButton#toggle:checked { background: @accentSoft; color: @accent;
          border-color: @accentSoft; }
    QPushButton#toggle:hover { border-color: @accent; }
    QPushButton#toggle:focus { border-color: @accent; }
    QPushButton#quiet { background: transparent; border: 1px solid transparent; padding: 6px 10px; }
    QPushButton#quiet:hover { background: @raised; }
    QPushButton#quiet:focus { border-color: @accent; }
    QLabel#muted, QLabel#packing { color: @muted; }
    QLabel#heading { color: @muted; font-weight: 600; }
    QScrollBar:vertical { background: transparent; width: 14px; margin: 2px 4px; }
    QScrollBar::handle:vertical { background: @handle; border-radius: 3px; min-height: 32px; }
    QScrollBar::handle:vertical:hover { background: @muted; }
    QScrollBar[idle="true"]::handle:vertical { background: transparent; }
    QScrollBar:horizontal { background: transparent; height: 10px; margin: 2px; }
    QScrollBar::handle:horizontal { background: @handle; border-radius: 3px; min-width: 32px; }
    QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page
      { background: none; border: none; width: 0; height: 0; }
    QTableView { background: transparent; color: @text; outline: none; }
    QTableView::item { padding: 0 10px; border-bottom: 1px solid @border; }
    QTableView::item:selected { background: @accentSoft; color: @text; }
    QHeaderView, QHeaderView::section { background: transparent; color: @muted; border: none; }
    QHeaderView::section { padding: 4px 13px 6px 13px; border-bottom: 1px solid @border; }
    QSlider:horizontal { min-height: 20px; }
    QSlider::groove:horizontal { background: @track; height: 4px; border-radius: 2px; }
    QSlider::sub-page:horizontal { background: @accent; height: 4px; border-radius: 2px; }
    QSlider::handle:horizontal { background: @base; border: 2px solid @accent; width: 12px;
          height: 12px;
                                 margin: -6px 0; border-radius: 8px; }
    QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus { background: @accentSoft; }
    QSlider::sub-page:horizontal:disabled { background: @track; }
    QSlider::handle:horizontal:disabled { border-color: @track; }
  )";

QString styleSheetOf(const Theme& theme) {
  QString sheet = QString::fromLatin1(kStyleSheet);
  const QColor handle = theme.isDark ? QColor(0x4a, 0x50, 0x55) : QColor(0xcb, 0xc9, 0xc2);
  const std::pair<const char*, QColor> colors[] = {
      {"@accentSoft", theme.accentSoft},
      {"@accentHover", theme.isDark ? theme.accent.lighter(110) : theme.accent.lighter(118)},
      {"@accent", theme.accent},
      {"@onAccent", theme.onAccent},
      {"@window", theme.window},
      {"@base", theme.base},
      {"@surface", theme.surface},
      {"@raised", theme.raised},
      {"@border", theme.border},
      {"@text", theme.text},
      {"@muted", theme.muted},
      {"@handle", handle},
      {"@track", handle},
  };
  for (const auto& [name, color] : colors) sheet.replace(QLatin1String(name), color.name());
  return sheet;
}

void applyAppearance(QApplication& app, Appearance appearance) {
  // The platform's palette, before ours was ever set.
  static const bool systemIsDark = themeOf(QApplication::palette()).isDark;
  const bool dark =
      appearance == Appearance::Dark || (appearance == Appearance::System && systemIsDark);
  const Theme& theme = dark ? darkTheme() : lightTheme();
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setPalette(paletteOf(theme));
  app.setStyleSheet(styleSheetOf(theme));
}

QFont scaledFont(const QFont& font, double factor, int weight) {
  QFont scaled = font;
  if (font.pointSizeF() > 0) {
    scaled.setPointSizeF(font.pointSizeF() * factor);
  } else {
    scaled.setPixelSize(int(font.pixelSize() * factor));
  }
  if (weight >= 0) scaled.setWeight(QFont::Weight(weight));
  return scaled;
}

}  // namespace satchel::ui
