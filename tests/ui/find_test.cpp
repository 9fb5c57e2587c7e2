// Finding words in the open chat, copying and exporting: by keys, on a scripted engine.
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include "life.h"
#include "scenes.h"
#include "ui/model/chat_finder.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/conversation/message_layout.h"
#include "ui/widgets/find_bar.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

TEST(ChatFinder, finds_in_upper_and_lower_case_and_through_marks_of_markdown) {
  ConversationModel conversation;
  conversation.load({userMessage(u"The Spare key? spare  KEY!"_s),
                     answerMessage(u"The **spare** key, a spare\nkey, a spare\n\nkey."_s)});
  ChatFinder finder(&conversation);
  finder.look(u" spare key "_s, 0);
  EXPECT_EQ(finder.count(), 4) << "an empty line ends a paragraph";
  EXPECT_EQ(finder.countText(), u"1 of 4"_s);
  finder.look(u"a.c"_s, 0);
  EXPECT_EQ(finder.countText(), u"Not found"_s) << "a dot is a dot";
  finder.look(u""_s, 0);
  EXPECT_FALSE(finder.isOn());
  EXPECT_TRUE(finder.countText().isEmpty());
}

TEST(ChatFinder, begins_where_the_user_is_and_goes_round) {
  ConversationModel conversation;
  conversation.load({userMessage(u"key"_s), answerMessage(u"none"_s), userMessage(u"key key"_s)});
  ChatFinder finder(&conversation);
  QSignalSpy moved(&finder, &ChatFinder::currentChanged);
  finder.look(u"key"_s, 1);
  EXPECT_EQ(finder.currentRow(), 2);
  EXPECT_EQ(finder.currentIn(2), 0);
  finder.step(1);
  EXPECT_EQ(finder.currentIn(2), 1);
  EXPECT_EQ(finder.currentIn(0), -1);
  finder.step(1);
  EXPECT_EQ(finder.currentRow(), 0);
  finder.step(-1);
  EXPECT_EQ(finder.countText(), u"3 of 3"_s);
  EXPECT_EQ(moved.count(), 4);
}

TEST(ChatFinder, follows_what_is_added_streams_and_goes) {
  ConversationModel conversation;
  conversation.load({userMessage(u"key"_s)});
  ChatFinder finder(&conversation);
  finder.look(u"key"_s, 0);
  conversation.append(userMessage(u"key?"_s));
  conversation.beginAnswer({});
  conversation.appendDelta(u"The ke"_s);
  EXPECT_EQ(finder.count(), 2);
  QSignalSpy moved(&finder, &ChatFinder::currentChanged);
  conversation.appendDelta(u"y."_s);
  EXPECT_EQ(finder.count(), 3);
  EXPECT_EQ(finder.countText(), u"1 of 3"_s);
  EXPECT_EQ(moved.count(), 0) << "an answer that comes does not move the reader";
  conversation.replaceBehind(0, {userMessage(u"no"_s)});
  EXPECT_EQ(finder.count(), 0);
  conversation.load({userMessage(u"another key"_s)});
  EXPECT_EQ(finder.countText(), u"1 of 1"_s);
}

class FindTest : public testing::Test {
 protected:
  FindTest() {
    scene.show();
    scene.openModel();
    QList<Message> messages;
    for (int i = 0; i < 40; ++i) {
      messages.append(withId(userMessage(u"Question %1?"_s.arg(i)), 2 * i + 1));
      messages.append(withId(answerMessage(sampleMarkdown()), 2 * i + 2));
    }
    messages[30].text = u"Far up: the **needle** is here."_s;
    const ChatKey key =
        scene.engine.addChat(u"a/b: long"_s, QDateTime::currentDateTime(), messages);
    scene.state.openChat(key);
    scene.engine.playAll();
    Scene::settle();
  }
  FindBar* bar() { return scene.window->findBar(); }
  void press(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(QApplication::focusWidget(), Qt::Key(key), modifiers);
    Scene::settle();
  }
  // The current place, on the screen; null: there is none, or it is out of sight.
  QRect shownPlace(int row) {
    ConversationView* view = scene.window->conversation();
    const QModelIndex index = scene.state.conversation()->index(row);
    const QRect line = view->layouts().layout(index).foundLine().toRect().translated(
        view->visualRect(index).topLeft());
    return line.intersected(view->viewport()->rect());
  }
  Scene scene;
};

TEST_F(FindTest, by_keys_alone) {
  scene.window->composer()->edit()->setFocus();
  press(Qt::Key_F, Qt::ControlModifier);
  ASSERT_TRUE(bar()->isVisible());
  ASSERT_TRUE(bar()->field()->hasFocus());
  QTest::keyClicks(bar()->field(), u"needle"_s);
  Scene::settle();
  EXPECT_EQ(bar()->countText(), u"1 of 1"_s);
  EXPECT_FALSE(shownPlace(30).isEmpty()) << "it is scrolled to";
  EXPECT_EQ(scene.engine.stopsAsked(), 0);
  press(Qt::Key_Escape);
  EXPECT_FALSE(bar()->isVisible());
  EXPECT_TRUE(shownPlace(30).isEmpty()) << "nothing is lit any more";
  EXPECT_TRUE(scene.window->composer()->edit()->hasFocus());
}

TEST_F(FindTest, enter_and_f3_go_on_and_shift_goes_back) {
  bar()->open();
  QTest::keyClicks(bar()->field(), u"Question 1"_s);
  EXPECT_EQ(bar()->countText(), u"1 of 10"_s) << "1, and 10 to 19 without 15";
  press(Qt::Key_Return);
  EXPECT_EQ(bar()->countText(), u"2 of 10"_s);
  press(Qt::Key_F3);
  EXPECT_EQ(bar()->countText(), u"3 of 10"_s);
  press(Qt::Key_Return, Qt::ShiftModifier);
  press(Qt::Key_F3, Qt::ShiftModifier);
  press(Qt::Key_Up);
  EXPECT_EQ(bar()->countText(), u"10 of 10"_s);
}

TEST_F(FindTest, a_place_in_code_and_one_in_a_long_message_that_was_cut_short_are_shown) {
  bar()->open();
  QTest::keyClicks(bar()->field(), u"sorted(visits"_s);
  Scene::settle();
  ASSERT_GE(bar()->finder()->currentRow(), 0);
  EXPECT_FALSE(shownPlace(bar()->finder()->currentRow()).isEmpty());
  bar()->field()->clear();
  scene.state.conversation()->append(
      withId(userMessage(u"word "_s.repeated(2000) + u"haystack"_s), 1000));
  QTest::keyClicks(bar()->field(), u"haystack"_s);
  Scene::settle();
  const int row = scene.state.conversation()->rowCount() - 1;
  EXPECT_TRUE(scene.state.conversation()->message(row).isExpanded);
  EXPECT_FALSE(shownPlace(row).isEmpty());
}

TEST_F(FindTest, every_control_has_a_name) {
  for (const QWidget* widget : bar()->findChildren<QWidget*>())
    if (widget->focusPolicy() != Qt::NoFocus && widget->isEnabled() && widget->parent() == bar()) {
      EXPECT_FALSE(widget->accessibleName().isEmpty()) << widget->metaObject()->className();
    }
}

// What the menu of the message in the middle offers; the one called `choose` is taken.
QStringList menuOf(ConversationView* view, const QString& choose) {
  QStringList names;
  QTimer::singleShot(0, view, [&] {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    if (menu == nullptr) return;
    QAction* chosen = nullptr;
    for (QAction* action : menu->actions()) {
      names.append(action->text());
      if (action->text() == choose) chosen = action;
    }
    if (chosen != nullptr) chosen->trigger();
    menu->close();
  });
  QContextMenuEvent event(QContextMenuEvent::Keyboard, {}, {});
  QApplication::sendEvent(view->viewport(), &event);
  return names;
}

TEST_F(FindTest, messages_and_blocks_of_code_are_copied_by_keys) {
  const QString code = u"```python\nprint(1)\n```\nand\n```\nls -l\n```"_s;
  scene.state.conversation()->append(withId(answerMessage(code), 1000));
  Scene::settle();
  press(Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(QApplication::clipboard()->text(), code);
  scene.state.conversation()->load({withId(answerMessage(code), 1)});
  Scene::settle();
  ConversationView* view = scene.window->conversation();
  const QStringList names = menuOf(view, u"Copy code 2 (ls -l)"_s);
  EXPECT_TRUE(names.contains(u"Copy message"_s)) << names.join(u", "_s).toStdString();
  EXPECT_TRUE(names.contains(u"Copy code 1 (python)"_s));
  EXPECT_EQ(QApplication::clipboard()->text(), u"ls -l"_s);
}

TEST_F(FindTest, the_icon_by_an_answer_copies_it) {
  ConversationView* view = scene.window->conversation();
  scene.state.conversation()->load({withId(answerMessage(u"In the **tin**."_s), 1)});
  Scene::settle();
  const QModelIndex index = scene.state.conversation()->index(0);
  const QRect rect = view->visualRect(index);
  QPoint place;
  for (int y = 0; y < rect.height() && place.isNull(); ++y)
    for (int x = 0; x < rect.width() && place.isNull(); x += 4)
      if (view->layouts().layout(index).hit(QPointF(x, y)).kind == MessageHit::CopyMessage)
        place = rect.topLeft() + QPoint(x + 4, y + 4);
  ASSERT_FALSE(place.isNull());
  QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, place);
  EXPECT_EQ(QApplication::clipboard()->text(), u"In the **tin**."_s);
}

TEST(ExportInProcess, writes_the_open_chat_and_says_so) {
  QTemporaryDir folder;
  Life life(folder.path());
  std::string exported;
  dynamic_cast<InProcessEngine&>(life.engine)
      .setChatWriter([&](runtime::ChatLibrary& library, const runtime::Chat& chat,
                         const QString& path) -> Result<WrittenChat> {
        if (path.isEmpty()) return Error{ErrorKind::storage, "STORAGE", "No place."};
        SATCHEL_TRY_ASSIGN(const auto messages, library.messages(chat.id));
        exported = chat.shown_name() + " " + path.toStdString();
        return WrittenChat{messages.size(), 1};
      });
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.send(u"Hello"_s)) << life.error();
  QSignalSpy notices(&life.state, &AppState::noticeShown);
  life.state.exportChat(life.state.chat().id, u"/a/b.md"_s);
  ASSERT_TRUE(life.wait([&] { return !notices.isEmpty(); })) << life.error();
  EXPECT_EQ(exported, "Hello /a/b.md");
  EXPECT_EQ(notices[0][0].toString(),
            u"Wrote 2 messages to \"/a/b.md\". 1 damaged messages were left out."_s);
  life.state.exportChat(life.state.chat().id, {});
  EXPECT_FALSE(life.wait([] { return false; }));
  EXPECT_EQ(life.errors[0][0].toString(), u"STORAGE"_s);
}

}  // namespace
}  // namespace satchel::ui
