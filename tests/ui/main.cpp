// Runs the tests of the window without a screen.
#include <gtest/gtest.h>

#include <QApplication>

#include "ui/widgets/theme.h"

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleTest(&argc, argv);
  QApplication app(argc, argv);
  satchel::ui::applyAppearance(app, satchel::ui::Appearance::Light);
  return RUN_ALL_TESTS();
}
