#include "ui/widgets/theme.h"

#include <QApplication>
#include <QStyle>
#include <QStyleFactory>
#include <QStyleHints>

namespace satchel::ui {

const Theme& lightTheme() {
  static const Theme theme{.window = 0xf6f5f2u,
                           .base = 0xffffffu,
                           .surface = 0xf1f0ecu,
                           .raised = 0xe8e7e2u,
                           .border = 0xdfddd7u,
                           .text = 0x212326u,
                           .muted = 0x66696du,
                           .accent = 0x1f6f68u,
                           .onAccent = 0xffffffu,
                           .accentSoft = 0xe3efecu,
                           .code = 0xf6f5f2u,
                           .codeKeyword = 0x8a3b8fu,
                           .codeString = 0x3b6e22u,
                           .codeNumber = 0xa3501eu,
                           .danger = 0xa62b2bu,
                           .dangerSoft = 0xfbeae8u,
                           .goodSoft = 0xe6f2e8u,
                           .found = 0xf2b134u,
                           .onFound = 0x212326u,
                           .foundSoft = 0xfbeccbu,
                           .heat = 0xe8891cu};
  return theme;
}

const Theme& darkTheme() {
  static const Theme theme{.isDark = true,
                           .window = 0x1a1c1eu,
                           .base = 0x202325u,
                           .surface = 0x2a2e31u,
                           .raised = 0x33383cu,
                           .border = 0x393e42u,
                           .text = 0xe6e6e3u,
                           .muted = 0xa1a6aau,
                           .accent = 0x6cbfb4u,
                           .onAccent = 0x101c1bu,
                           .accentSoft = 0x2a3d3cu,
                           .code = 0x181a1cu,
                           .codeKeyword = 0xd39bdau,
                           .codeString = 0x9ecb82u,
                           .codeNumber = 0xe0a878u,
                           .danger = 0xf29b93u,
                           .dangerSoft = 0x422928u,
                           .goodSoft = 0x25382au,
                           .found = 0xe0a63au,
                           .onFound = 0x1a1c1eu,
                           .foundSoft = 0x574a2au,
                           .heat = 0xe0801au};
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
  const std::pair<QPalette::ColorRole, QColor> colors[] = {
      {QPalette::Window, theme.window},       {QPalette::WindowText, theme.text},
      {QPalette::Base, theme.base},           {QPalette::AlternateBase, theme.surface},
      {QPalette::Text, theme.text},           {QPalette::PlaceholderText, theme.muted},
      {QPalette::Button, theme.surface},      {QPalette::ButtonText, theme.text},
      {QPalette::BrightText, theme.danger},   {QPalette::Light, theme.raised},
      {QPalette::Midlight, theme.surface},    {QPalette::Mid, theme.border},
      {QPalette::Dark, theme.border},         {QPalette::Shadow, theme.border},
      {QPalette::Highlight, theme.accent},    {QPalette::HighlightedText, theme.onAccent},
      {QPalette::Link, theme.accent},         {QPalette::LinkVisited, theme.accent},
      {QPalette::ToolTipBase, theme.surface}, {QPalette::ToolTipText, theme.text}};
  for (const auto& [role, color] : colors) palette.setColor(role, color);
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
    QLineEdit#field:focus, QPlainTextEdit#field:focus { border-color: @accent; }
    QPlainTextEdit#field { background: @base; color: @text; border: 1px solid @border;
          border-radius: 8px; padding: 4px 6px; selection-background-color: @accent;
          selection-color: @onAccent; }
    QListView#plain, QListView#plain::item { background: transparent; outline: none; }
    QListView#plain::item { padding: 6px 8px; border-radius: 6px; }
    QListView#plain::item:selected { background: @accentSoft; color: @text; }
    QSpinBox, QDoubleSpinBox, QComboBox { min-height: 26px; }
    QPushButton::menu-indicator { subcontrol-origin: padding; subcontrol-position: right center;
          right: 6px; }
    QProgressBar { background: @track; border: none; border-radius: 3px; }
    QProgressBar::chunk { background: @accent; border-radius: 3px; }
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
    QScrollBar:vertical { background: transparent; width: 14px; margin: 2px 4px; }
    QScrollBar::handle:vertical { background: @handle; border-radius: 3px; min-height: 32px; }
    QScrollBar::handle:vertical:hover { background: @muted; }
    QScrollBar[idle="true"]::handle:vertical { background: transparent; }
    QScrollBar:horizontal { background: transparent; height: 10px; margin: 2px; }
    QScrollBar::handle:horizontal { background: @handle; border-radius: 3px; min-width: 32px; }
    QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page
      { background: none; border: none; width: 0; height: 0; }
    QFrame#popup { background: @base; border: 1px solid @border; border-radius: 8px; }
    QFrame#popup QListView { outline: none; }
    QFrame#popup QListView::item { padding: 6px 8px; border-radius: 6px; }
    QFrame#popup QListView::item:selected { background: @accentSoft; color: @text; }
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
