// Who does not see the window, or does not use a mouse: names, keys, contrast.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAccessible>
#include <QApplication>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QSet>
#include <QSignalSpy>
#include <QTest>
#include <cmath>

#include "scenes.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

// What a screen reader says.
QString nameOf(QWidget* widget) {
  QAccessibleInterface* const access = QAccessible::queryAccessibleInterface(widget);
  return access == nullptr ? QString() : access->text(QAccessible::Name);
}

bool isControl(const QWidget* widget) {
  return qobject_cast<const QAbstractButton*>(widget) != nullptr ||
         qobject_cast<const QLineEdit*>(widget) != nullptr ||
         qobject_cast<const QPlainTextEdit*>(widget) != nullptr ||
         qobject_cast<const QAbstractItemView*>(widget) != nullptr ||
         (qobject_cast<const QAbstractSlider*>(widget) != nullptr &&
          qobject_cast<const QScrollBar*>(widget) == nullptr);
}

// Of Qt's own making, inside one that has a name.
bool isPartOf(const QWidget* widget) {
  return widget->objectName().startsWith(u"qt_"_s) ||
         qobject_cast<const QLineEdit*>(widget->parentWidget()) != nullptr ||
         qobject_cast<const QAbstractItemView*>(widget->parentWidget()) != nullptr;
}

class AccessTest : public testing::Test {
 protected:
  AccessTest() {
    scene.show();
    openSample(scene, u"compact"_s);
    Scene::settle();
  }
  Scene scene;
};

TEST_F(AccessTest, every_control_has_a_name) {
  int seen = 0;
  for (QWidget* widget : scene.window->findChildren<QWidget*>()) {
    // A button of a banner has its text when it is shown.
    if (!isControl(widget) || isPartOf(widget) || !widget->isVisibleTo(scene.window.get()))
      continue;
    ++seen;
    EXPECT_FALSE(nameOf(widget).isEmpty()) << widget->metaObject()->className() << " in "
                                           << widget->parentWidget()->metaObject()->className();
  }
  EXPECT_GT(seen, 15);
}

TEST_F(AccessTest, tab_comes_to_every_control_that_is_seen) {
  scene.window->composer()->edit()->setFocus();
  QSet<QWidget*> reached;
  for (int i = 0; i < 200; ++i) {
    reached.insert(QApplication::focusWidget());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  }
  for (QWidget* widget : scene.window->findChildren<QWidget*>()) {
    if (!isControl(widget) || isPartOf(widget) || !widget->isVisible() || !widget->isEnabled())
      continue;
    EXPECT_TRUE(reached.contains(widget)) << nameOf(widget).toStdString();
  }
}

TEST_F(AccessTest, an_answer_is_announced_once_when_it_is_whole) {
  QSignalSpy finished(scene.state.conversation(), &ConversationModel::answerFinished);
  scene.engine.script.deltas = {u"One "_s, u"two "_s, u"three."_s};
  scene.state.send(u"count"_s);
  scene.engine.playAll();
  ASSERT_EQ(finished.count(), 1);
  const QModelIndex answer = scene.state.conversation()->index(finished[0][0].toInt());
  QAccessibleInterface* const view =
      QAccessible::queryAccessibleInterface(scene.window->conversation());
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->child(answer.row())->text(QAccessible::Name), u"Answer: One two three."_s);
}

double luminance(const QColor& color) {
  const auto linear = [](double part) {
    return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
         0.0722 * linear(color.blueF());
}

double contrast(const QColor& a, const QColor& b) {
  const double one = luminance(a), other = luminance(b);
  return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
}

// WCAG 2.1, 1.4.3: 4.5 for text; 1.4.11: 3 for what shows where the focus is.
TEST(Contrast, text_can_be_read_in_both_themes) {
  for (const Theme& theme : {lightTheme(), darkTheme()}) {
    SCOPED_TRACE(theme.isDark ? "dark" : "light");
    for (const QColor& ground : {theme.window, theme.base, theme.surface, theme.raised,
                                 theme.accentSoft, theme.code, theme.goodSoft, theme.dangerSoft})
      EXPECT_GE(contrast(theme.text, ground), 4.5) << ground.name().toStdString();
    for (const QColor& ground : {theme.window, theme.base, theme.surface})
      EXPECT_GE(contrast(theme.muted, ground), 4.5) << ground.name().toStdString();
    EXPECT_GE(contrast(theme.accent, theme.base), 4.5);
    EXPECT_GE(contrast(theme.onAccent, theme.accent), 4.5);
    EXPECT_GE(contrast(theme.danger, theme.base), 4.5);
    EXPECT_GE(contrast(theme.accent, theme.window), 3);
  }
}

}  // namespace
}  // namespace satchel::ui
