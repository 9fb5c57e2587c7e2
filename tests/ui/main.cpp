// Runs the tests of the window without a screen; or is the engine that one of them started.
#include <gtest/gtest.h>

#include <QApplication>

#include "ui/child/engine_child.h"
#include "ui/model/language.h"
#include "ui/widgets/theme.h"

int main(int argc, char** argv) {
  if (const int code = satchel::ui::engineChild(argc, argv); code >= 0) return code;
  qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleTest(&argc, argv);
  QApplication app(argc, argv);
  satchel::ui::applyAppearance(app, satchel::ui::Appearance::Light);
  satchel::ui::applyLanguage(app, satchel::ui::Language::English);
  return RUN_ALL_TESTS();
}
