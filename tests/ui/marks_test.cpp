// Messages that are pinned or forgotten: by the menu, with the mouse and with the keyboard.
#include <gtest/gtest.h>

#include <QContextMenuEvent>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QTest>
#include <QTimer>

#include "scenes.h"
#include "ui/widgets/conversation/conversation_view.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

// Two questions and their answers.
class MarksTest : public testing::Test {
 protected:
  MarksTest() {
    scene.show();
    scene.openModel();
    open({withId(userMessage(u"Where is the key?"_s), 1), withId(answerMessage(u"In a tin."_s), 2),
          withId(userMessage(u"And the other?"_s), 3), withId(answerMessage(u"With Ida."_s), 4)});
  }
  void open(const QList<Message>& messages) {
    scene.state.openChat(scene.engine.addChat(u"chat"_s, QDateTime::currentDateTime(), messages));
    scene.engine.playAll();
    Scene::settle();
  }
  QStringList actionsOf(int row) {
    QMenu menu;
    scene.window->conversation()->addMessageActions(menu, row);
    QStringList names;
    for (const QAction* action : menu.actions())
      if (!action->isSeparator()) names.append(action->text());
    return names;
  }
  void choose(int row, const QString& name) {
    QMenu menu;
    scene.window->conversation()->addMessageActions(menu, row);
    for (QAction* action : menu.actions())
      if (action->text() == name) action->trigger();
    Scene::settle();
  }
  // The box that asks first; null: there is none.
  QMessageBox* asked() {
    for (QMessageBox* box : scene.window->findChildren<QMessageBox*>())
      if (box->isVisible()) return box;
    return nullptr;
  }
  void answer(QMessageBox::StandardButton button) {
    ASSERT_NE(asked(), nullptr);
    asked()->button(button)->click();
    Scene::settle();
  }
  void forget(int row) {
    choose(row, u"Forget for good…"_s);
    answer(QMessageBox::Ok);
  }
  MessageMark markOf(int row) { return scene.state.conversation()->message(row).mark; }
  QString spoken(int row) {
    const ConversationModel& rows = *scene.state.conversation();
    return rows.data(rows.index(row), Qt::AccessibleTextRole).toString();
  }
  QImage picture(int row) {
    ConversationView* view = scene.window->conversation();
    return view->viewport()
        ->grab(view->visualRect(scene.state.conversation()->index(row)))
        .toImage();
  }
  Scene scene;
};

TEST_F(MarksTest, a_message_is_pinned_and_unpinned_by_its_menu) {
  ASSERT_TRUE(actionsOf(0).contains(u"Pin"_s));
  choose(0, u"Pin"_s);
  EXPECT_EQ(markOf(0), MessageMark::Pinned);
  EXPECT_EQ(markOf(1), MessageMark::None);
  EXPECT_TRUE(spoken(0).contains(u"Pinned"_s));
  EXPECT_FALSE(actionsOf(0).contains(u"Pin"_s));
  choose(0, u"Unpin"_s);
  EXPECT_EQ(markOf(0), MessageMark::None);
  EXPECT_FALSE(spoken(0).contains(u"Pinned"_s));
}

TEST_F(MarksTest, what_is_forgotten_stays_so) {
  choose(1, u"Pin"_s);
  forget(1);
  EXPECT_EQ(markOf(1), MessageMark::Forgotten);
  EXPECT_TRUE(spoken(1).contains(u"Forgotten"_s));
  const QStringList left = actionsOf(1);
  EXPECT_FALSE(left.contains(u"Pin"_s) || left.contains(u"Unpin"_s) ||
               left.contains(u"Forget for good…"_s));
}

TEST_F(MarksTest, nothing_is_forgotten_unless_the_user_agrees) {
  choose(1, u"Forget for good…"_s);
  const QMessageBox* const box = asked();
  ASSERT_NE(box, nullptr);
  EXPECT_EQ(markOf(1), MessageMark::None);
  EXPECT_EQ(box->defaultButton(), box->button(QMessageBox::Cancel));
  EXPECT_TRUE(box->informativeText().contains(u"no later answer can use"_s));
  EXPECT_TRUE(box->informativeText().contains(u"can't be undone"_s));
  answer(QMessageBox::Cancel);
  EXPECT_EQ(markOf(1), MessageMark::None);
  EXPECT_EQ(asked(), nullptr);
  choose(1, u"Forget for good…"_s);
  QTest::keyClick(asked(), Qt::Key_Escape);
  Scene::settle();
  EXPECT_EQ(markOf(1), MessageMark::None);
  EXPECT_EQ(asked(), nullptr);
  forget(1);
  EXPECT_EQ(markOf(1), MessageMark::Forgotten);
  EXPECT_EQ(markOf(0), MessageMark::None);
}

TEST_F(MarksTest, a_message_that_went_while_the_box_was_open_is_not_forgotten_for_another) {
  choose(1, u"Forget for good…"_s);
  open({withId(userMessage(u"Hello."_s), 7), withId(answerMessage(u"Hi."_s), 8)});
  answer(QMessageBox::Ok);
  EXPECT_EQ(markOf(0), MessageMark::None);
  EXPECT_EQ(markOf(1), MessageMark::None);
}

TEST_F(MarksTest, are_seen_beside_the_message) {
  for (const int row : {0, 1}) {
    const QImage before = picture(row);
    choose(row, u"Pin"_s);
    const QImage pinned = picture(row);
    EXPECT_NE(before, pinned) << row;
    EXPECT_EQ(before.size(), pinned.size()) << "nothing moves";
    forget(row);
    EXPECT_NE(pinned, picture(row)) << row;
  }
}

TEST_F(MarksTest, of_an_opened_chat_are_shown_and_go_with_it) {
  scene.engine.tell(runtime::MarksChanged{{{3}}, {{2}}});
  EXPECT_EQ(markOf(2), MessageMark::Pinned);
  EXPECT_EQ(markOf(1), MessageMark::Forgotten);
  open({withId(userMessage(u"Hello."_s), 7)});
  EXPECT_EQ(markOf(0), MessageMark::None);
}

TEST_F(MarksTest, nothing_is_marked_while_the_model_answers_and_no_document_in_parts) {
  scene.state.send(u"More?"_s);
  EXPECT_FALSE(actionsOf(0).contains(u"Pin"_s));
  scene.engine.playAll();
  EXPECT_TRUE(actionsOf(0).contains(u"Pin"_s));
  Message document = withId(userMessage(u"Many words."_s), 1);
  document.documentTitle = u"notes.md"_s;
  document.documentParts = 3;
  open({document, withId(answerMessage(u"Noted."_s), 5)});
  scene.engine.tell(runtime::DocumentParts{.document = {1}, .n_parts = 3});
  EXPECT_FALSE(actionsOf(0).contains(u"Pin"_s));
}

// The menu opens at once and would wait for its end.
TEST_F(MarksTest, the_keyboard_opens_the_menu_of_a_message) {
  ConversationView* view = scene.window->conversation();
  QStringList names;
  QTimer::singleShot(0, view, [&] {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    for (const QAction* action : menu->actions()) names.append(action->text());
    menu->close();
  });
  QContextMenuEvent asked(QContextMenuEvent::Keyboard, view->viewport()->rect().bottomRight(),
                          view->viewport()->mapToGlobal(QPoint(0, 0)));
  QApplication::sendEvent(view->viewport(), &asked);
  EXPECT_TRUE(names.contains(u"Pin"_s)) << "of the last message, as there is none in the middle";
}

}  // namespace
}  // namespace satchel::ui
