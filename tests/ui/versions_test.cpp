// Editing, answering again and going back: by keys, by the menu's signals and by the mouse.
#include <gtest/gtest.h>

#include <QPushButton>
#include <QTest>

#include "scenes.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using Phase = AppState::Phase;
using runtime::ChatTask;

// A document, a question with two versions and its answer.
class VersionsTest : public testing::Test {
 protected:
  VersionsTest() {
    scene.engine.script.deltas = {u"Otherwise."_s};
    scene.engine.script.replacedBehind = {2};
    scene.engine.script.nextId = 10;
    scene.show();
    scene.openModel();
    Message document = withId(userMessage(u"Many words."_s), 1);
    document.documentTitle = u"notes.md"_s;
    const ChatKey chat = scene.engine.addChat(
        u"chat"_s, QDateTime::currentDateTime(),
        {document, withId(answerMessage(u"Noted."_s), 2),
         withId(userMessage(u"What does it say?"_s), 5), withId(answerMessage(u"Words."_s), 6)});
    scene.state.openChat(chat);
    scene.engine.playAll();
    scene.engine.tell(runtime::VersionsChanged{{{{5}, {{3}, {5}}}}});
    Scene::settle();
  }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(edit(), key, modifiers);
    Scene::settle();
  }
  void play() {
    scene.engine.playAll();
    Scene::settle();
  }
  QPlainTextEdit* edit() { return scene.window->composer()->edit(); }
  ConversationModel& rows() { return *scene.state.conversation(); }
  QStringList texts() {
    QStringList all;
    for (int row = 0; row < rows().rowCount(); ++row) all.append(rows().message(row).text);
    return all;
  }
  // A click on what stands there in a row: found by trying, as a person looks for it.
  bool click(int row, MessageHit::Kind wanted) {
    ConversationView* view = scene.window->conversation();
    const QRect place = view->visualRect(rows().index(row));
    MessageLayout& layout = view->layouts().layout(rows().index(row));
    for (int y = 2; y < place.height(); y += 4)
      for (int x = 2; x < place.width(); x += 4)
        if (layout.hit(QPointF(x, y)).kind == wanted) {
          QTest::mouseClick(view->viewport(), Qt::LeftButton, Qt::NoModifier,
                            place.topLeft() + QPoint(x, y));
          Scene::settle();
          return true;
        }
    return false;
  }
  Scene scene;
};

TEST_F(VersionsTest, only_what_the_user_wrote_and_what_answers_it_can_be_replaced) {
  EXPECT_FALSE(rows().message(0).canReplace);
  EXPECT_FALSE(rows().message(1).canReplace);
  EXPECT_TRUE(rows().message(2).canReplace);
  EXPECT_TRUE(rows().message(3).canReplace);
  EXPECT_FALSE(click(0, MessageHit::Replace));
  EXPECT_FALSE(click(1, MessageHit::Replace));
}

TEST_F(VersionsTest, an_edit_begins_with_the_text_and_sends_it_in_its_place) {
  QTest::keyClicks(edit(), u"draft"_s);
  press(Qt::Key_E, Qt::ControlModifier);
  EXPECT_EQ(edit()->toPlainText(), u"What does it say?"_s);
  EXPECT_TRUE(scene.window->editingChip()->isVisible());
  QTest::keyClicks(edit(), u" Please."_s);
  press(Qt::Key_Return);
  EXPECT_EQ(scene.engine.replaceAsked(), u"instead 5: What does it say? Please."_s);
  EXPECT_EQ(scene.state.phase(), Phase::Reading);
  EXPECT_FALSE(scene.window->editingChip()->isVisible());
  EXPECT_EQ(edit()->toPlainText(), u"draft"_s) << "what had been written comes back";
  scene.engine.script.versions = {{{{10}, {{3}, {5}, {10}}}}};
  play();
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
  EXPECT_EQ(texts(), (QStringList{u"Many words."_s, u"Noted."_s, u"What does it say? Please."_s,
                                  u"Otherwise."_s}));
  EXPECT_EQ(rows().message(2).versions, (QList<qint64>{3, 5, 10}));
  EXPECT_TRUE(rows().message(3).canReplace);
}

TEST_F(VersionsTest, an_edit_can_be_left) {
  QTest::keyClicks(edit(), u"draft"_s);
  press(Qt::Key_E, Qt::ControlModifier);
  press(Qt::Key_Escape);
  EXPECT_EQ(edit()->toPlainText(), u"draft"_s);
  EXPECT_FALSE(scene.window->editingChip()->isVisible());
  press(Qt::Key_Return);
  play();
  EXPECT_EQ(texts().size(), 6) << "sent as a new message";
  EXPECT_EQ(scene.engine.replaceAsked(), u""_s);
}

TEST_F(VersionsTest, an_edit_ends_when_another_chat_is_opened) {
  press(Qt::Key_E, Qt::ControlModifier);
  ASSERT_TRUE(scene.window->composer()->isEditing());
  scene.state.newChat();
  play();
  EXPECT_FALSE(scene.window->composer()->isEditing());
  EXPECT_EQ(edit()->toPlainText(), u""_s);
}

TEST_F(VersionsTest, an_edit_that_is_refused_gives_the_text_back) {
  scene.engine.script.errors.append(
      {ChatTask::send, {ErrorKind::invalid, "SOME_CODE", "What happened."}});
  press(Qt::Key_E, Qt::ControlModifier);
  press(Qt::Key_Return);
  play();
  EXPECT_EQ(edit()->toPlainText(), u"What does it say?"_s);
  EXPECT_TRUE(scene.window->composer()->isEditing()) << "sent again it is the edit still";
  EXPECT_EQ(texts().size(), 4);
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
}

// A first question, its answer, and what stays behind them.
class CorrectedTest : public VersionsTest {
 protected:
  CorrectedTest() {
    scene.engine.tell(runtime::MessagesReplaced{{0}, {}});
    for (const auto& [id, text] : {std::pair(1, "The key is in the tin."), std::pair(2, "Noted."),
                                   std::pair(3, "Where is it?"), std::pair(4, "In the tin.")})
      scene.engine.tell(stored(id, text));
    Scene::settle();
  }
  static runtime::StoredMessage stored(int id, const char* text) {
    runtime::StoredMessage message;
    message.id = {id};
    message.role = id % 2 == 1 ? runtime::Role::user : runtime::Role::assistant;
    message.text = text;
    return message;
  }
  void edit_first(const QString& text) {
    scene.window->composer()->beginEdit(1, text);
    Scene::settle();
  }
  QPushButton* action(Banner* chip) {
    for (QPushButton* button : chip->findChildren<QPushButton*>())
      if (button->isVisible() && !button->text().isEmpty()) return button;
    return nullptr;
  }
};

TEST_F(CorrectedTest, an_earlier_message_is_corrected_and_what_follows_stays) {
  QTest::keyClicks(edit(), u"draft"_s);
  edit_first(u"The key is in the jug."_s);
  ASSERT_TRUE(scene.window->editingChip()->hasAction());
  scene.engine.script.switched = {{0},
                                  {stored(11, "The key is in the jug."), stored(12, "Noted."),
                                   stored(13, "Where is it?"), stored(14, "In the tin.")}};
  scene.engine.script.corrected = {.message = {11}, .n_read = 40, .n_placed = 5210};
  scene.engine.script.cache.n_placed = 5210;
  QTest::mouseClick(action(scene.window->editingChip()), Qt::LeftButton);
  EXPECT_EQ(scene.engine.replaceAsked(), u"correct 1: The key is in the jug."_s);
  EXPECT_EQ(scene.state.phase(), Phase::Reading);
  EXPECT_EQ(edit()->toPlainText(), u"draft"_s);
  play();
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
  EXPECT_EQ(texts(), (QStringList{u"The key is in the jug."_s, u"Noted."_s, u"Where is it?"_s,
                                  u"In the tin."_s}));
  Banner* placed = scene.window->placedChip();
  ASSERT_TRUE(placed->isVisible());
  EXPECT_TRUE(placed->text().startsWith(u"5,210 tokens"_s)) << placed->text().toStdString();

  scene.engine.script.cache.n_placed = 0;
  scene.engine.script.exact.read.n_tokens = 5338;
  QTest::mouseClick(action(placed), Qt::LeftButton);
  EXPECT_EQ(scene.engine.replaceAsked(), u"exactly"_s);
  play();
  EXPECT_FALSE(placed->isVisible());
  EXPECT_TRUE(scene.window->banner()->text().startsWith(u"Read 5,338 tokens"_s));
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
}

TEST_F(CorrectedTest, that_saved_no_time_is_told) {
  edit_first(u"The key is in the jug."_s);
  scene.engine.script.switched = {{0}, {stored(11, "The key is in the jug.")}};
  scene.engine.script.corrected = {
      .message = {11}, .n_read = 40, .n_placed = 5210, .ms = 2600, .reading_ms = 1200};
  scene.engine.script.cache.n_placed = 5210;
  QTest::mouseClick(action(scene.window->editingChip()), Qt::LeftButton);
  play();
  EXPECT_TRUE(scene.window->banner()->text().contains(
      u"No time was saved: it took 2.60 s, and reading would have taken about 1.20 s."_s))
      << scene.window->banner()->text().toStdString();
}

TEST_F(CorrectedTest, nothing_follows_the_last_answer) {
  scene.window->composer()->beginEdit(3, u"Where was it?"_s);
  Scene::settle();
  EXPECT_TRUE(scene.window->editingChip()->isVisible());
  EXPECT_FALSE(scene.window->editingChip()->hasAction());
}

TEST_F(CorrectedTest, a_correction_that_is_refused_gives_the_text_back) {
  scene.engine.script.errors.append(
      {ChatTask::correct, {ErrorKind::invalid, "SOME_CODE", "What happened."}});
  edit_first(u"The key is in the jug."_s);
  QTest::mouseClick(action(scene.window->editingChip()), Qt::LeftButton);
  play();
  EXPECT_EQ(edit()->toPlainText(), u"The key is in the jug."_s);
  EXPECT_EQ(scene.window->composer()->editedMessage(), 1);
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
  EXPECT_EQ(texts().size(), 4);
}

TEST_F(VersionsTest, an_answer_is_given_again_by_key_and_by_click) {
  scene.engine.script.replacedBehind = {5};
  scene.engine.script.versions = {{{{5}, {{3}, {5}}}, {{10}, {{6}, {10}}}}};
  press(Qt::Key_R, Qt::ControlModifier);
  EXPECT_EQ(scene.engine.replaceAsked(), u"again 6"_s);
  play();
  EXPECT_EQ(texts().last(), u"Otherwise."_s);
  EXPECT_EQ(rows().message(3).versions, (QList<qint64>{6, 10}));
  ASSERT_TRUE(click(3, MessageHit::Replace));
  EXPECT_EQ(scene.engine.replaceAsked(), u"again 10"_s);
}

TEST_F(VersionsTest, versions_are_switched_by_key_and_by_click) {
  runtime::StoredMessage before, answer;
  before.id = {3};
  before.text = "Before?";
  answer.id = {4};
  answer.role = runtime::Role::assistant;
  answer.text = "Before.";
  scene.engine.script.switched = {{2}, {before, answer}};
  scene.engine.script.versions = {{{{3}, {{3}, {5}}}}};
  press(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(scene.engine.replaceAsked(), u""_s) << "it is the newest";
  EXPECT_FALSE(click(2, MessageHit::Newer));
  press(Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(scene.engine.replaceAsked(), u"switch 3"_s);
  play();
  EXPECT_EQ(texts(), (QStringList{u"Many words."_s, u"Noted."_s, u"Before?"_s, u"Before."_s}));
  ASSERT_TRUE(click(2, MessageHit::Newer));
  EXPECT_EQ(scene.engine.replaceAsked(), u"switch 5"_s);
}

TEST_F(VersionsTest, screen_readers_say_which_version_it_is) {
  EXPECT_EQ(rows().data(rows().index(2), Qt::AccessibleTextRole).toString(),
            u"You: What does it say? Version 2 of 2."_s);
  EXPECT_EQ(rows().data(rows().index(3), Qt::AccessibleTextRole).toString(), u"Answer: Words."_s);
}

TEST_F(VersionsTest, nothing_is_replaced_while_an_answer_is_made) {
  scene.state.send(u"More?"_s);
  scene.engine.play(3);
  press(Qt::Key_R, Qt::ControlModifier);
  press(Qt::Key_E, Qt::ControlModifier);
  press(Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(scene.engine.replaceAsked(), u""_s);
  EXPECT_FALSE(scene.window->composer()->isEditing());
}

}  // namespace
}  // namespace satchel::ui
