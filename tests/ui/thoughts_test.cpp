// What is thought before an answer: folded over it, opened by a click or a key, turned off by a
// switch.
#include <gtest/gtest.h>

#include <QPushButton>
#include <QTest>

#include "scenes.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

QString plain(QString text) {
  return text.replace(QChar(QChar::Nbsp), u' ');
}

class ThoughtsTest : public testing::Test {
 protected:
  void openModel(bool hasSwitch) {
    scene.engine.script.model.has_thinking_switch = hasSwitch;
    scene.engine.script.thoughts = {u"Hm, "_s, u"one plus one."_s};
    scene.engine.script.deltas = {u"Two."_s};
    scene.engine.script.answer.thoughts.n_tokens = 7;
    scene.engine.script.answer.thoughts.ms = 1500;
    scene.engine.script.answer.ms = 2000;
    scene.show();
    scene.openModel();
  }
  const Message& last() {
    auto* model = scene.state.conversation();
    return model->message(model->rowCount() - 1);
  }
  int height() {
    auto* model = scene.state.conversation();
    return scene.window->conversation()->layouts().height(model->index(model->rowCount() - 1));
  }
  QPushButton* toggle() { return scene.window->composer()->findChild<QPushButton*>(u"toggle"_s); }
  Scene scene;
};

TEST_F(ThoughtsTest, stand_folded_over_the_answer_and_are_no_part_of_it) {
  openModel(false);
  scene.state.send(u"1+1?"_s);
  scene.engine.play(4);  // enters the library, message, answer, first thought
  EXPECT_EQ(last().thoughtNote, u"Thinking…"_s);
  scene.engine.playAll();
  Scene::settle();
  EXPECT_EQ(last().text, u"Two."_s);
  EXPECT_EQ(last().thoughts, u"Hm, one plus one."_s);
  EXPECT_EQ(plain(last().thoughtNote), u"Thought for 1.5 s · 7 tokens"_s);
  EXPECT_EQ(plain(last().footnote), u"1 tokens · 2.0 tokens/s"_s)
      << "of the answer, without the time of its thoughts";
  EXPECT_FALSE(last().showsThoughts);
}

TEST_F(ThoughtsTest, open_by_key_and_by_click_and_fold_again) {
  openModel(false);
  scene.state.send(u"1+1?"_s);
  scene.engine.playAll();
  Scene::settle();
  const int folded = height();
  QTest::keyClick(scene.window.get(), Qt::Key_T, Qt::ControlModifier);
  Scene::settle();
  EXPECT_TRUE(last().showsThoughts);
  EXPECT_GT(height(), folded);
  ConversationView* view = scene.window->conversation();
  auto* model = scene.state.conversation();
  const QRect row = view->visualRect(model->index(model->rowCount() - 1));
  // The line over the answer, wherever the column begins.
  for (int x = row.left(); x < row.right(); x += 8) {
    const MessageHit hit =
        view->layouts().layout(model->index(model->rowCount() - 1)).hit(QPointF(x, 26));
    if (hit.kind != MessageHit::Thoughts) continue;
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, {row.left() + x, row.top() + 26});
    break;
  }
  Scene::settle();
  EXPECT_FALSE(last().showsThoughts);
  EXPECT_EQ(height(), folded);
}

TEST_F(ThoughtsTest, of_a_saved_chat_are_found_again) {
  openModel(false);
  Message answer = answerMessage(u"Two."_s);
  answer.id = 12;
  const ChatKey chat = scene.engine.addChat(u"sums"_s, QDateTime::currentDateTime(),
                                            {userMessage(u"1+1?"_s), answer});
  scene.state.openChat(chat);
  scene.engine.playAll();
  scene.engine.tell(runtime::MessageThoughts{{12}, {.text = "Hm.", .n_tokens = 3}});
  scene.engine.tell(runtime::MessageThoughts{{99}, {.text = "of no message", .n_tokens = 1}});
  EXPECT_EQ(last().thoughts, u"Hm."_s);
  EXPECT_EQ(plain(last().thoughtNote), u"Thought · 3 tokens"_s);
}

TEST_F(ThoughtsTest, have_a_switch_only_where_the_model_has_one) {
  openModel(false);
  ASSERT_TRUE(toggle());
  EXPECT_FALSE(toggle()->isVisible());
  scene.engine.script.model.has_thinking_switch = true;
  scene.openModel();
  EXPECT_TRUE(toggle()->isVisible());
  EXPECT_TRUE(scene.engine.thinks());
  QTest::mouseClick(toggle(), Qt::LeftButton);
  EXPECT_FALSE(scene.engine.thinks());
}

}  // namespace
}  // namespace satchel::ui
