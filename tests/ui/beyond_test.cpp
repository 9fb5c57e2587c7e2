// Chats at the end of the model's context and beyond it: on the scripted engine, in the window, and
// with the bundled model.
#include <gtest/gtest.h>

#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>

#include "life.h"
#include "scenes.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/memory/meter.h"
#include "ui/widgets/parts_popup.h"
#include "ui/widgets/question_card.h"

namespace satchel::ui {
namespace {

using runtime::ChatTask;
using Phase = AppState::Phase;

class BeyondTest : public testing::Test {
 protected:
  BeyondTest() {
    scene.engine.script.deltas = {u"One "_s, u"two."_s};
    scene.show();
    scene.openModel();
  }
  // The next request of that kind is refused at the end of the context.
  void endContext(ChatTask task) {
    scene.engine.script.endsContext = true;
    scene.engine.script.errors.append({task, {ErrorKind::out_of_memory, "CONTEXT_FULL", "Full."}});
  }
  void send(const QString& text) {
    scene.window->composer()->edit()->setPlainText(text);
    scene.window->composer()->send();
    play();
  }
  void play() {
    scene.engine.playAll();
    Scene::settle();
  }
  // An answer that saw parts 2 and 4 of 5.
  void answerFromParts() {
    scene.engine.script.answer.episodes.n_all = 5;
    scene.engine.script.answer.episodes.seen = {1, 3};
    scene.engine.script.parts = sampleParts(5);
    send(u"Where is the key?"_s);
  }
  PartsPopup* openPopup() {
    QTest::keyClick(scene.window.get(), Qt::Key_P, Qt::ControlModifier);
    Scene::settle();
    return scene.window->findChild<PartsPopup*>();
  }
  static void tick(PartsPopup* popup, int part, bool on) {
    popup->list()->item(part)->setCheckState(on ? Qt::Checked : Qt::Unchecked);
  }
  QuestionCard* card() { return scene.window->question(); }
  ConversationModel* conversation() { return scene.state.conversation(); }
  Scene scene;
};

TEST_F(BeyondTest, a_message_refused_at_the_end_is_asked_about_in_place_and_goes_when_it_goes_on) {
  QSignalSpy errors(&scene.state, &AppState::errorShown);
  endContext(ChatTask::send);
  send(u"precious"_s);
  EXPECT_EQ(errors.count(), 0) << "the question says it";
  ASSERT_TRUE(card()->isVisible());
  EXPECT_TRUE(scene.state.questionText().startsWith(u"Your message was not sent."_s));
  EXPECT_TRUE(scene.state.questionText().contains(u"8,192 tokens"_s));
  EXPECT_EQ(scene.window->composer()->edit()->toPlainText(), u"precious"_s);
  card()->yes()->click();
  play();
  EXPECT_FALSE(card()->isVisible());
  ASSERT_EQ(conversation()->rowCount(), 2);
  EXPECT_EQ(conversation()->message(0).text, u"precious"_s);
  EXPECT_TRUE(scene.window->composer()->edit()->toPlainText().isEmpty());
}

TEST_F(BeyondTest, stopping_there_sends_nothing_and_what_was_written_stays) {
  endContext(ChatTask::send);
  send(u"precious"_s);
  card()->no()->click();
  play();
  EXPECT_FALSE(card()->isVisible());
  EXPECT_EQ(conversation()->rowCount(), 0);
  EXPECT_EQ(scene.window->composer()->edit()->toPlainText(), u"precious"_s);
  EXPECT_TRUE(scene.engine.script.endsContext) << "the chat was not changed";
}

TEST_F(BeyondTest, documents_that_were_refused_are_read_when_the_chat_goes_on) {
  endContext(ChatTask::attach_document);
  scene.state.attachDocument(u"a.txt"_s, u"A"_s);
  scene.state.attachDocument(u"b.txt"_s, u"B"_s);
  play();
  EXPECT_TRUE(scene.state.questionText().startsWith(u"\"a.txt\" was not read."_s));
  EXPECT_EQ(conversation()->rowCount(), 0);
  card()->yes()->click();
  play();
  ASSERT_EQ(conversation()->rowCount(), 4);
  EXPECT_EQ(conversation()->message(0).documentTitle, u"a.txt"_s);
  EXPECT_EQ(conversation()->message(2).documentTitle, u"b.txt"_s);
}

TEST_F(BeyondTest, an_answer_that_ended_early_is_asked_about_and_a_draft_is_not_sent) {
  scene.engine.script.endsContext = true;
  scene.engine.script.answer.finish = runtime::Finish::context_full;
  send(u"hello"_s);
  ASSERT_TRUE(card()->isVisible());
  EXPECT_TRUE(scene.state.questionText().startsWith(u"The answer ended early."_s));
  EXPECT_FALSE(scene.window->banner()->isVisible());
  scene.window->composer()->edit()->setPlainText(u"draft"_s);
  card()->yes()->click();
  play();
  EXPECT_EQ(conversation()->rowCount(), 2);
  EXPECT_EQ(scene.window->composer()->edit()->toPlainText(), u"draft"_s);
}

TEST_F(BeyondTest, a_chat_that_is_too_long_to_be_resumed_asks_in_place_of_its_chip) {
  const ChatKey chat =
      scene.engine.addChat(u"long"_s, QDateTime::currentDateTime(), sampleConversation());
  scene.engine.script.resume.too_long = true;
  scene.engine.script.resume.message = "You cannot go on.";
  scene.state.openChat(chat);
  play();
  ASSERT_TRUE(card()->isVisible());
  EXPECT_TRUE(scene.state.questionText().startsWith(u"You can read it here."_s));
  EXPECT_FALSE(scene.window->resumeChip()->isVisible()) << "it says the opposite";
  card()->yes()->click();
  play();
  EXPECT_FALSE(card()->isVisible());
  EXPECT_TRUE(scene.state.canSend());
}

TEST_F(BeyondTest, the_question_goes_when_something_else_is_begun) {
  endContext(ChatTask::send);
  send(u"precious"_s);
  ASSERT_TRUE(card()->isVisible());
  scene.state.newChat();
  Scene::settle();
  EXPECT_FALSE(card()->isVisible());
}

TEST_F(BeyondTest, where_going_on_fails_its_error_is_shown_and_it_can_be_tried_again) {
  endContext(ChatTask::send);
  send(u"precious"_s);
  scene.engine.script.errors.append({ChatTask::go_on, {ErrorKind::storage, "DISK_FULL", "Full."}});
  card()->yes()->click();
  play();
  EXPECT_TRUE(scene.window->banner()->isVisible());
  EXPECT_TRUE(scene.state.canSend());
  EXPECT_EQ(conversation()->rowCount(), 0);
  EXPECT_EQ(scene.window->composer()->edit()->toPlainText(), u"precious"_s);
  ASSERT_TRUE(card()->isVisible());
  card()->yes()->click();
  play();
  ASSERT_EQ(conversation()->rowCount(), 2);
  EXPECT_EQ(conversation()->message(0).text, u"precious"_s);
}

TEST_F(BeyondTest, documents_are_not_lost_where_going_on_fails_or_is_stopped) {
  endContext(ChatTask::attach_document);
  scene.state.attachDocument(u"a.txt"_s, u"A"_s);
  play();
  scene.engine.script.errors.append(
      {ChatTask::go_on, {ErrorKind::cancelled, "STOPPED", "Stopped."}});
  card()->yes()->click();
  play();
  EXPECT_FALSE(scene.window->banner()->isVisible());
  ASSERT_TRUE(card()->isVisible());
  card()->yes()->click();
  play();
  ASSERT_EQ(conversation()->rowCount(), 2);
  EXPECT_EQ(conversation()->message(0).documentTitle, u"a.txt"_s);
}

TEST_F(BeyondTest, a_document_in_parts_is_one_message_that_says_so) {
  scene.engine.script.n_document_parts = 12;
  scene.state.attachDocument(u"book.txt"_s, sampleDocument());
  play();
  ASSERT_EQ(conversation()->rowCount(), 2);
  EXPECT_EQ(conversation()->message(0).documentParts, 12);
}

TEST_F(BeyondTest, the_footnote_opens_the_parts_with_those_ticked_that_were_seen) {
  answerFromParts();
  ConversationView* view = scene.window->conversation();
  const QRect row = view->visualRect(conversation()->index(1));
  QPoint footnote;
  for (int y = 0; y < row.height() && footnote.isNull(); ++y)
    if (view->layouts().layout(conversation()->index(1)).hit(QPointF(30, y)).kind ==
        MessageHit::Footnote)
      footnote = row.topLeft() + QPoint(30, y + 2);
  ASSERT_FALSE(footnote.isNull());
  QTest::mouseClick(view->viewport(), Qt::LeftButton, Qt::NoModifier, footnote);
  Scene::settle();
  auto* popup = scene.window->findChild<PartsPopup*>();
  ASSERT_NE(popup, nullptr);
  ASSERT_EQ(popup->list()->count(), 5);
  for (int part = 0; part < 5; ++part)
    EXPECT_EQ(popup->list()->item(part)->checkState() == Qt::Checked, part == 1 || part == 3);
  EXPECT_TRUE(popup->list()->item(0)->text().contains(textOf(sampleParts(5).parts[0].beginning)));
}

TEST_F(BeyondTest, a_question_is_asked_again_with_the_parts_that_were_ticked) {
  answerFromParts();
  PartsPopup* popup = openPopup();
  ASSERT_NE(popup, nullptr);
  tick(popup, 1, false);
  tick(popup, 4, true);
  popup->againButton()->click();
  play();
  EXPECT_EQ(scene.engine.namedParts(), (std::vector<std::size_t>{3, 4}));
  ASSERT_EQ(conversation()->rowCount(), 4);
  EXPECT_EQ(conversation()->message(2).text, u"Where is the key?"_s);
  EXPECT_FALSE(scene.window->namedChip()->isVisible()) << "they were for that question";
}

TEST_F(BeyondTest, parts_named_for_the_next_question_are_shown_until_it_is_sent_or_taken_back) {
  answerFromParts();
  PartsPopup* popup = openPopup();
  ASSERT_NE(popup, nullptr);
  tick(popup, 1, false);
  popup->nextButton()->click();
  Scene::settle();
  Banner* chip = scene.window->namedChip();
  ASSERT_TRUE(chip->isVisible());
  EXPECT_EQ(chip->text(), u"The next question is answered from part 4 of the older chat."_s);
  EXPECT_EQ(scene.engine.namedParts(), (std::vector<std::size_t>{3}));
  send(u"And the map?"_s);
  EXPECT_FALSE(chip->isVisible());
  scene.state.nameParts({0, 2});
  EXPECT_EQ(chip->text(), u"The next question is answered from parts 1 and 3 of the older chat."_s);
  Q_EMIT chip->closed();
  EXPECT_TRUE(scene.engine.namedParts().empty());
  EXPECT_FALSE(chip->isVisible());
}

TEST_F(BeyondTest, a_click_anywhere_on_a_part_ticks_it_and_so_does_the_space_bar) {
  answerFromParts();
  PartsPopup* popup = openPopup();
  ASSERT_NE(popup, nullptr);
  const QRect part = popup->list()->visualItemRect(popup->list()->item(2));
  for (const int x : {part.left() + 8, part.left() + 120}) {
    const Qt::CheckState before = popup->list()->item(2)->checkState();
    QTest::mouseClick(popup->list()->viewport(), Qt::LeftButton, Qt::NoModifier,
                      {x, part.center().y()});
    EXPECT_NE(popup->list()->item(2)->checkState(), before) << x;
  }
  popup->list()->setCurrentRow(4);
  QTest::keyClick(popup->list(), Qt::Key_Space);
  EXPECT_EQ(popup->list()->item(4)->checkState(), Qt::Checked);
}

TEST_F(BeyondTest, without_a_ticked_part_there_is_nothing_to_choose) {
  answerFromParts();
  PartsPopup* popup = openPopup();
  ASSERT_NE(popup, nullptr);
  tick(popup, 1, false);
  EXPECT_TRUE(popup->nextButton()->isEnabled());
  tick(popup, 3, false);
  EXPECT_FALSE(popup->nextButton()->isEnabled());
  EXPECT_FALSE(popup->againButton()->isEnabled());
}

TEST_F(BeyondTest, the_context_bar_is_of_the_chat_where_it_is_longer_than_the_context) {
  MemoryPanelState* memory = scene.state.memory();
  runtime::ChatMemory cache = sampleCache(u"full"_s, 4096, 0);
  memory->setCache(cache);
  EXPECT_EQ(memory->contextText(), u"4,096 of 8,192 tokens"_s);
  EXPECT_DOUBLE_EQ(memory->contextShare(), 0.5);
  EXPECT_DOUBLE_EQ(memory->contextOlderShare(), 0);
  EXPECT_TRUE(memory->contextEnds());
  EXPECT_TRUE(memory->contextTip().contains(u"you are asked"_s));
  cache.goes_on = true;
  memory->setCache(cache);
  EXPECT_FALSE(memory->contextEnds());
  EXPECT_TRUE(memory->contextTip().contains(u"stay as parts"_s));
  cache.n_tokens = 32'768;
  memory->setCache(cache);
  EXPECT_EQ(memory->contextText(), u"4,096 of 32,768 tokens in reach"_s);
  EXPECT_DOUBLE_EQ(memory->contextShare(), 0.125);
  EXPECT_DOUBLE_EQ(memory->contextOlderShare(), 0.875);
  EXPECT_TRUE(memory->contextTip().contains(u"The other 28,672 are kept"_s));
}

QString bells(int n) {
  QString text;
  for (int i = 0; i < n; ++i) text += u"The brass bell hangs in room %1 of the tower.\n"_s.arg(i);
  return text;
}

TEST(BeyondInProcess, a_full_chat_goes_on_shows_its_parts_and_comes_back_with_one_document) {
  QTemporaryDir folder;
  ChatKey key = 0;
  int parts = 0;
  {
    Life life(folder.path());
    ASSERT_TRUE(life.openModel()) << life.error();
    life.state.attachDocument(u"bells.txt"_s, bells(300));  // 2,048 tokens hold about 140
    ASSERT_TRUE(life.wait([&] { return life.state.question().isAsked(); })) << life.error();
    ASSERT_TRUE(life.waitReady()) << life.error();
    life.state.goOn();
    ASSERT_TRUE(life.wait([&] {
      return life.state.phase() == Phase::Ready && life.state.conversation()->rowCount() == 2;
    })) << life.error();
    parts = life.state.conversation()->message(0).documentParts;
    EXPECT_GT(parts, 1);
    ASSERT_TRUE(life.send(u"Where is the brass bell of room 12?"_s)) << life.error();
    const Message answer = life.state.conversation()->message(3);
    EXPECT_EQ(answer.partsAll, parts - 1) << "the last one is no older text yet";
    EXPECT_FALSE(answer.partsSeen.isEmpty());
    EXPECT_FALSE(life.state.memory()->contextEnds());
    EXPECT_GT(life.state.memory()->contextOlderShare(), 0);
    qsizetype listed = 0;
    QObject::connect(&life.state, &AppState::partsListed, &life.state,
                     [&](const runtime::OlderParts& all) { listed = qsizetype(all.parts.size()); });
    life.state.listParts();
    ASSERT_TRUE(life.wait([&] { return listed > 0; })) << life.error();
    EXPECT_EQ(listed, parts - 1);
    life.state.askAgain(3, {parts - 2});
    ASSERT_TRUE(life.wait([&] {
      return life.state.phase() == Phase::Ready && life.state.conversation()->rowCount() == 6;
    })) << life.error();
    EXPECT_EQ(life.state.conversation()->message(5).partsSeen, QList<int>{parts - 2});
    key = life.state.chat().id;
  }
  Life life(folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  life.state.openChat(key);
  ASSERT_TRUE(life.wait([&] { return life.resumed.count() == 1; })) << life.error();
  ASSERT_EQ(life.state.conversation()->rowCount(), 6);
  EXPECT_EQ(life.state.conversation()->message(0).documentTitle, u"bells.txt"_s);
  EXPECT_EQ(life.state.conversation()->message(0).text, bells(300));
  EXPECT_EQ(life.state.conversation()->message(0).documentParts, parts);
  EXPECT_FALSE(life.state.question().isAsked()) << "it goes on, as was chosen";
}

}  // namespace
}  // namespace satchel::ui
