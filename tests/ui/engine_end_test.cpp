// What the window says and offers where the engine's process ended: on a scripted engine.
#include <gtest/gtest.h>

#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "scenes.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/composer.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using Phase = AppState::Phase;

class EngineEndState : public testing::Test {
 protected:
  EngineEndState()
      : state(&engine, &clock),
        errors(&state, &AppState::errorShown),
        retries(&state, &AppState::retryOffered),
        cpu(&state, &AppState::cpuOffered) {
    engine.script.model = sampleModel();
    engine.script.previews = samplePreviews();
    engine.script.deltas = {u"One "_s, u"two "_s, u"three."_s};
    state.openModel(u"/m.gguf"_s);
    engine.playAll();
  }
  void sendAndPlay(int steps) {
    state.send(u"hello"_s);
    engine.play(steps);
  }
  // A saved chat is open, and its engine ends and is retried; how often an answer is offered.
  qsizetype offersAnswer(const QList<Message>& messages, qint64 stopped = 0) {
    const ChatKey chat = engine.addChat(u"Chat"_s, QDateTime::currentDateTime(), messages);
    engine.keepStopped(chat, stopped);
    engine.script.nextId = 10;
    state.openChat(chat);
    engine.playAll();
    engine.end();
    QSignalSpy offered(&state, &AppState::answerOffered);
    state.retry();
    EXPECT_FALSE(state.isEngineLost());
    engine.playAll();
    EXPECT_EQ(state.phase(), Phase::Ready);
    EXPECT_EQ(state.model().path, "/m.gguf");
    EXPECT_EQ(state.chat().id, chat);
    EXPECT_EQ(state.conversation()->rowCount(), messages.size());
    return offered.count();
  }
  static QList<Message> talk(runtime::MessageState answered) {
    Message answer = withId(answerMessage(u"One two"_s), 2);
    answer.state = answered;
    return {withId(userMessage(u"hello"_s), 1), answer};
  }
  StillClock clock;
  ScriptedEngine engine;
  AppState state;
  QSignalSpy errors, retries, cpu;
};

TEST_F(EngineEndState, keeps_what_was_said_and_offers_to_retry_once) {
  sendAndPlay(4);
  ASSERT_EQ(state.phase(), Phase::Answering);
  const QString part = state.conversation()->message(1).text;
  EXPECT_FALSE(part.isEmpty());
  engine.end();
  EXPECT_EQ(state.phase(), Phase::NoModel);
  EXPECT_EQ(errors.count(), 1);
  EXPECT_EQ(errors[0][0].toString(), u"ENGINE_ENDED"_s);
  EXPECT_EQ(retries.count(), 1);
  EXPECT_EQ(cpu.count(), 0);
  EXPECT_FALSE(state.canSend());
  EXPECT_TRUE(state.model().path.empty());
  ASSERT_EQ(state.conversation()->rowCount(), 2);
  EXPECT_EQ(state.conversation()->message(1).text, part);
  EXPECT_EQ(state.conversation()->message(1).state, runtime::MessageState::interrupted);
}

TEST_F(EngineEndState, gives_back_what_was_not_taken_and_names_documents_that_were_not) {
  QSignalSpy refused(&state, &AppState::textRefused);
  state.send(u"hello"_s);
  engine.end();
  ASSERT_EQ(refused.count(), 1);
  EXPECT_EQ(refused[0][0].toString(), u"hello"_s);
  state.retry();
  engine.playAll();
  state.attachDocument(u"a.txt"_s, u"A."_s);
  state.attachDocument(u"b.txt"_s, u"B."_s);
  engine.end();
  const QString said = errors.last()[1].toString();
  EXPECT_TRUE(said.contains(u"\"a.txt\" was not attached."_s)) << said.toStdString();
  EXPECT_TRUE(said.contains(u"\"b.txt\" was not attached."_s)) << said.toStdString();
}

TEST_F(EngineEndState, retried_offers_to_answer_again_where_the_answer_ended_early) {
  ASSERT_EQ(offersAnswer(talk(runtime::MessageState::interrupted)), 1);
  state.answerLast();
  EXPECT_EQ(engine.replaceAsked(), u"again 2"_s);
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
}

TEST_F(EngineEndState, retried_offers_the_answer_to_a_message_that_has_none) {
  ASSERT_EQ(offersAnswer({withId(userMessage(u"hello"_s), 1)}), 1);
  state.answerLast();
  EXPECT_EQ(engine.replaceAsked(), u"last"_s);
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
  EXPECT_EQ(state.conversation()->rowCount(), 2);
}

TEST_F(EngineEndState, a_chat_that_is_opened_offers_to_continue_an_answer_that_ended_early) {
  QSignalSpy offers(&state, &AppState::continuationOffered);
  for (const auto whole : {runtime::MessageState::complete, runtime::MessageState::interrupted}) {
    state.openChat(engine.addChat(u"Chat"_s, QDateTime::currentDateTime(), talk(whole)));
    engine.playAll();
    EXPECT_EQ(offers.count(), whole == runtime::MessageState::complete ? 0 : 1);
  }
  state.continueAnswer();
  engine.playAll();
  const ConversationModel& rows = *state.conversation();
  ASSERT_EQ(rows.rowCount(), 4);
  EXPECT_EQ(rows.message(1).state, runtime::MessageState::interrupted) << "its part stays";
  EXPECT_EQ(rows.message(2).text, u"continue"_s);
}

TEST_F(EngineEndState, an_answer_that_the_user_stopped_is_done_when_its_chat_is_opened_again) {
  QSignalSpy offers(&state, &AppState::continuationOffered);
  engine.script.answer.answer = {2};
  for (const bool byUser : {true, false}) {
    state.newChat();
    engine.playAll();
    sendAndPlay(4);  // … and the first delta
    byUser ? state.stop() : state.leave();
    engine.playAll();
    const ChatKey chat = state.chat().id;
    ASSERT_EQ(state.conversation()->message(1).state, runtime::MessageState::interrupted);
    engine.saveMessages(chat, talk(runtime::MessageState::interrupted));
    state.newChat();
    engine.playAll();
    state.openChat(chat);
    engine.playAll();
    EXPECT_EQ(offers.count(), byUser ? 0 : 1);
  }
}

TEST_F(EngineEndState, retried_offers_no_answer_where_the_user_stopped_the_last_one) {
  EXPECT_EQ(offersAnswer(talk(runtime::MessageState::interrupted), 2), 0);
}

TEST_F(EngineEndState, retried_offers_no_answer_where_the_last_one_is_whole) {
  EXPECT_EQ(offersAnswer(talk(runtime::MessageState::complete)), 0);
}

// Before its model is loaded: no next message can be sent.
TEST_F(EngineEndState, retried_and_stopped_offers_to_retry_again) {
  const ChatKey chat = engine.addChat(u"Chat"_s, QDateTime::currentDateTime(),
                                      talk(runtime::MessageState::complete));
  state.openChat(chat);
  engine.playAll();
  engine.end();
  ASSERT_EQ(retries.count(), 1);
  QSignalSpy notices(&state, &AppState::noticeShown);
  engine.script.errors.append(
      {runtime::ChatTask::open_chat, {ErrorKind::cancelled, "STOPPED", ""}});
  state.retry();
  state.stop();
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::NoModel);
  EXPECT_FALSE(state.canSend());
  ASSERT_EQ(notices.count(), 1);
  EXPECT_EQ(notices[0][0].toString(), u"Opening was stopped. Choose the chat again to open it."_s);
  EXPECT_EQ(retries.count(), 2);
  state.retry();
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
  EXPECT_EQ(state.chat().id, chat);
}

TEST_F(EngineEndState, in_a_new_chat_is_retried_into_a_new_chat) {
  engine.end();
  state.retry();
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
  EXPECT_EQ(state.chat().id, 0);
  EXPECT_TRUE(state.canSend());
}

TEST_F(EngineEndState, a_new_chat_keeps_its_system_prompt) {
  runtime::AnswerSettings answers;
  answers.system = "Speak of bells only.";
  state.newChatWith(answers);
  engine.playAll();
  engine.end();
  state.retry();  // this engine opens a new chat at once, also before the model
  EXPECT_EQ(state.answers().system, answers.system);
}

TEST_F(EngineEndState, whatever_is_refused_then_offers_to_retry) {
  engine.end();
  state.attachDocument(u"notes.txt"_s, u"Some notes."_s);
  EXPECT_EQ(retries.count(), 2);
}

TEST_F(EngineEndState, twice_in_a_row_offers_the_cpu_where_it_may_be_the_gpu) {
  engine.script.model.on_gpu = true;
  engine.tellModelSwitched();
  engine.end();
  EXPECT_EQ(cpu.count(), 0);
  state.retry();
  engine.playAll();
  engine.end();
  EXPECT_EQ(cpu.count(), 1);
  EXPECT_EQ(retries.count(), 1);
  state.useCpu();
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
}

TEST_F(EngineEndState, twice_in_a_row_on_the_cpu_offers_to_retry) {
  engine.end();
  state.retry();
  engine.playAll();
  engine.end();
  EXPECT_EQ(cpu.count(), 0);
  EXPECT_EQ(retries.count(), 2);
}

TEST_F(EngineEndState, lists_that_were_asked_for_end) {
  QSignalSpy listing(&state, &AppState::listingFailed), found(&state, &AppState::foundChanged);
  engine.script.isDeletedListLate = true;
  state.listDeleted();
  state.search(u"words"_s);
  engine.end();
  EXPECT_EQ(listing.count(), 1);
  EXPECT_EQ(found.count(), 1);
  state.search(u"words"_s);
  EXPECT_EQ(engine.searched(), (QStringList{u"words"_s, u"words"_s})) << "it is asked again";
}

TEST(EngineEndWindow, has_a_banner_that_retries_and_then_one_that_answers_again) {
  Scene scene;
  scene.show();
  scene.openModel();
  Message part = withId(answerMessage(u"One two"_s), 2);
  part.state = runtime::MessageState::interrupted;
  scene.engine.script.nextId = 10;
  scene.state.openChat(scene.engine.addChat(u"Chat"_s, QDateTime::currentDateTime(),
                                            {withId(userMessage(u"hello"_s), 1), part}));
  scene.engine.playAll();
  scene.engine.end();
  Scene::settle();
  auto* action = scene.window->banner()->findChild<QPushButton*>(u"quiet"_s);
  ASSERT_TRUE(action->isVisible());
  EXPECT_EQ(action->text(), u"Retry"_s);
  EXPECT_EQ(scene.window->banner()->text(), u"The engine crashed."_s);
  action->click();
  scene.engine.playAll();
  Scene::settle();
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
  ASSERT_TRUE(scene.window->banner()->isVisible());
  ASSERT_TRUE(action->isVisible());
  action->click();
  EXPECT_EQ(scene.engine.replaceAsked(), u"again 2"_s);
  EXPECT_FALSE(scene.window->banner()->isVisible());
}

}  // namespace
}  // namespace satchel::ui
