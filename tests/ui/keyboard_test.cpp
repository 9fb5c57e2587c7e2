// From the first start to a resumed chat by the keyboard alone: the window on the real engine with
// the bundled model. No widget is touched here but the one that has the focus.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAccessible>
#include <QApplication>
#include <QContextMenuEvent>
#include <QMenu>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <memory>

#include "life.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/memory/memory_panel.h"

namespace satchel::ui {
namespace {

using Phase = AppState::Phase;

constexpr auto kNotes =
    u"The code for the crimson chapel is 1171. Ada Halvorsen comes on Friday at 12. Quentin "
    "Ashford works as a pilot. Rita Krause is a sailor by trade. ";

// One start of the program.
class Desk {
 public:
  explicit Desk(const QString& folder) : life(folder) {
    WindowOptions options;
    options.sampleTitle = u"sample-notes.txt"_s;
    options.sampleText = QString::fromUtf16(kNotes).repeated(12);
    options.sampleQuestion = u"What is the code for the crimson chapel?"_s;
    options.tourModel = QString::fromStdString(test::kBundledModel);
    window = std::make_unique<MainWindow>(&life.state, options);
    window->show();
    window->activateWindow();
    QTest::qWait(1);
    EXPECT_TRUE(life.openModel()) << life.error();
  }

  static void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(focus(), key, modifiers);
    QCoreApplication::processEvents();
  }
  void type(const QString& text) {
    QTest::keyClicks(focus(), text);
    QCoreApplication::processEvents();
  }
  static QWidget* focus() {
    QWidget* const focus = QApplication::focusWidget();
    return focus != nullptr ? focus : QApplication::activeWindow();
  }
  static QString nameOf(QWidget* widget) {
    QAccessibleInterface* const access = QAccessible::queryAccessibleInterface(widget);
    return access == nullptr ? QString() : access->text(QAccessible::Name);
  }
  // Goes on until a control of that name has the focus; false: it is not to be reached.
  static bool tabTo(const QString& name) {
    for (int i = 0; i < 80; ++i) {
      if (nameOf(focus()) == name) return true;
      press(Qt::Key_Tab);
    }
    return false;
  }
  bool waitReady() { return life.waitReady(); }
  bool ask(const QString& question) {
    type(question);
    const auto before = life.saved.count();
    press(Qt::Key_Return);
    return waitReady() && life.wait([&] { return life.saved.count() > before; });
  }
  // Chooses in the menu of what has the focus; a menu waits in a loop of its own.
  static QStringList chooseInMenu(const QString& action) {
    QStringList seen;
    QTimer::singleShot(50, [&] {
      auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
      if (menu == nullptr) return;
      for (int i = 0; i < 30; ++i) {
        QTest::keyClick(menu, Qt::Key_Down);
        const QAction* active = menu->activeAction();
        if (active == nullptr) continue;
        seen.append(active->text());
        if (active->text() == action) return QTest::keyClick(menu, Qt::Key_Return);
      }
      QTest::keyClick(menu, Qt::Key_Escape);
    });
    // What the platform makes of Shift+F10 and of the menu key.
    QContextMenuEvent event(QContextMenuEvent::Keyboard, focus()->rect().center(),
                            focus()->mapToGlobal(focus()->rect().center()));
    QApplication::sendEvent(focus(), &event);
    return seen;
  }

  Life life;
  std::unique_ptr<MainWindow> window;
};

TEST(Keyboard, first_run_preset_pin_search_and_a_resumed_chat) {
  const QTemporaryDir folder;
  QString answer;
  {
    Desk desk(folder.path());
    const ConversationModel* messages = desk.life.state.conversation();
    // The empty chat takes a preset by the slider alone.
    ASSERT_TRUE(Desk::tabTo(u"Accuracy vs. memory"_s));
    Desk::press(Qt::Key_Right);
    ASSERT_TRUE(desk.life.wait([&] {
      return desk.life.state.phase() == Phase::Ready &&
             !desk.life.state.memory()->differsFromChat();
    })) << desk.life.error();
    const int chosen = desk.life.state.memory()->presetIndex();
    // A document, and a question.
    ASSERT_TRUE(Desk::tabTo(u"Try it with sample notes"_s));
    Desk::press(Qt::Key_Space);
    ASSERT_TRUE(desk.life.wait([&] { return messages->rowCount() > 0; })) << desk.life.error();
    ASSERT_TRUE(desk.waitReady()) << desk.life.error();
    ASSERT_TRUE(desk.ask(u"What is the code for the crimson chapel?"_s)) << desk.life.error();
    ASSERT_EQ(messages->rowCount(), 4);
    answer = messages->message(3).text;
    EXPECT_FALSE(answer.isEmpty());
    // The other way of the slider is previewed, and applied by the button.
    ASSERT_TRUE(Desk::tabTo(u"Accuracy vs. memory"_s));
    Desk::press(Qt::Key_Right);
    ASSERT_GT(desk.life.state.memory()->presetIndex(), chosen);
    ASSERT_TRUE(desk.life.wait([&] { return desk.life.state.memory()->plan()->canApply(); }))
        << desk.life.error();
    ASSERT_TRUE(Desk::tabTo(u"Apply to this chat"_s));
    Desk::press(Qt::Key_Space);
    ASSERT_TRUE(desk.life.wait([&] {
      return desk.life.state.phase() == Phase::Ready &&
             !desk.life.state.memory()->differsFromChat();
    })) << desk.life.error();
    // Pin the message in the middle.
    ASSERT_TRUE(Desk::tabTo(u"Conversation"_s));
    Desk::press(Qt::Key_Home);
    const QStringList menu = Desk::chooseInMenu(u"Pin"_s);
    EXPECT_TRUE(menu.contains(u"Pin"_s)) << menu.join(u", "_s).toStdString();
  }
  Desk desk(folder.path());
  ASSERT_TRUE(desk.life.wait([&] { return desk.life.state.chats()->rowCount() == 1; }));
  Desk::press(Qt::Key_K, Qt::ControlModifier);
  desk.type(u"chapel"_s);
  ASSERT_TRUE(desk.life.wait([&] { return desk.life.state.found()->rowCount() > 0; }))
      << "the words are in its messages";
  Desk::press(Qt::Key_Return);
  ASSERT_TRUE(desk.life.wait([&] { return desk.life.resumed.count() == 1; })) << desk.life.error();
  EXPECT_TRUE(desk.window->resumeChip()->isVisible());
  ASSERT_EQ(desk.life.state.conversation()->rowCount(), 4);
  EXPECT_EQ(desk.life.state.conversation()->message(3).text, answer);
  const runtime::ResumeReport resumed = desk.life.resumed.last();
  EXPECT_GT(resumed.n_reused, 0u);
  EXPECT_EQ(resumed.n_reread, 0u) << "nothing is read again";
}

TEST(Keyboard, the_tour_leads_to_a_resumed_chat_on_the_real_engine) {
  const QTemporaryDir folder;
  Desk desk(folder.path());
  ASSERT_TRUE(Desk::tabTo(u"Show me in thirty seconds"_s));
  Desk::press(Qt::Key_Space);
  for (const QString& label : {u"Next: less memory"_s, u"Apply"_s, u"Ask it again"_s,
                               u"Next: what is held"_s, u"Close and open this chat"_s, u"Done"_s}) {
    ASSERT_TRUE(desk.life.wait([&] { return Desk::nameOf(Desk::focus()) == label; }))
        << label.toStdString() << ": " << desk.life.error();
    if (label != u"Done"_s) Desk::press(Qt::Key_Space);
  }
  ASSERT_EQ(desk.life.resumed.count(), 1);
  EXPECT_GT(desk.life.resumed.last().n_reused, 0u);
  EXPECT_EQ(desk.life.resumed.last().n_reread, 0u);
  EXPECT_EQ(desk.life.state.conversation()->rowCount(), 6);
  EXPECT_LT(desk.life.cache().stats.body_bytes, desk.life.cache().stats.body_fp16_bytes);
}

}  // namespace
}  // namespace satchel::ui
