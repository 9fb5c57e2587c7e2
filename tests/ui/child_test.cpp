// The engine in a process of its own, where that process ends: killed, crashed, never started.
#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <csignal>
#include <cstdlib>

#include "life.h"
#include "support/chain_model.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/main_window.h"

namespace satchel::ui {
namespace {

using Phase = AppState::Phase;

bool isThere(qint64 process) {
  return ::kill(pid_t(process), 0) == 0;
}

class ChildTest : public testing::Test {
 protected:
  ~ChildTest() override {
    unsetenv("SATCHEL_TEST_GPU_LOST_AT");
    unsetenv("SATCHEL_TEST_GPU_DRIVER");
  }
  static ChildEngine& child(const Life& life) { return dynamic_cast<ChildEngine&>(life.engine); }
  // The engine ends; the one error that this shows.
  static QString endsWith(Life& life, int signal) {
    EXPECT_EQ(::kill(pid_t(child(life).processId()), signal), 0);
    return waitEnded(life);
  }
  static QString waitEnded(Life& life) {
    EXPECT_TRUE(QTest::qWaitFor([&] { return !life.errors.isEmpty(); }, kWaitMs));
    EXPECT_EQ(life.errors.count(), 1);
    if (life.errors.isEmpty()) return {};
    const auto error = life.errors.takeFirst();
    EXPECT_EQ(error[0].toString(), u"ENGINE_ENDED"_s);
    EXPECT_EQ(life.state.phase(), Phase::NoModel);
    EXPECT_TRUE(life.state.isEngineLost());
    return error[1].toString();
  }
  static const Message& answer(Life& life) { return life.state.conversation()->message(1); }

  QTemporaryDir m_folder;
};

TEST_F(ChildTest, killed_while_idle_it_is_retried_and_the_chat_comes_from_its_saved_cache) {
  Life life(m_folder.path(), {}, "auto", EngineKind::Child);
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.send(u"Hello there."_s)) << life.error();
  const QString said = answer(life).text;
  const ChatKey chat = life.state.chat().id;
  const qint64 before = child(life).processId();
  EXPECT_TRUE(endsWith(life, SIGKILL).contains(u"signal 9"_s));
  EXPECT_FALSE(life.state.canSend());
  life.state.retry();
  ASSERT_TRUE(life.wait([&] { return life.resumed.count() == 1; })) << life.error();
  EXPECT_NE(child(life).processId(), before);
  EXPECT_EQ(life.resumed.first().n_reread, 0u);
  EXPECT_EQ(life.state.chat().id, chat);
  EXPECT_EQ(answer(life).text, said);
  EXPECT_FALSE(life.state.isEngineLost());
  EXPECT_TRUE(life.send(u"And now?"_s)) << life.error();
  EXPECT_EQ(life.state.conversation()->rowCount(), 4);
}

TEST_F(ChildTest, killed_while_a_model_is_opened_it_opens_it_when_it_is_retried) {
  Life life(m_folder.path(), {}, "auto", EngineKind::Child);
  life.state.openModel(QString::fromStdString(test::kBundledModel));
  endsWith(life, SIGKILL);
  life.state.retry();
  ASSERT_TRUE(life.waitReady()) << life.error();
  EXPECT_TRUE(life.send(u"Hello there."_s)) << life.error();
}

TEST_F(ChildTest, a_message_that_no_engine_took_goes_back_to_who_wrote_it) {
  Life life(m_folder.path(), {}, "auto", EngineKind::Child);
  ASSERT_TRUE(life.openModel()) << life.error();
  ::kill(pid_t(child(life).processId()), SIGSTOP);
  QSignalSpy refused(&life.state, &AppState::textRefused);
  life.state.send(u"Precious words"_s);
  endsWith(life, SIGKILL);
  ASSERT_EQ(refused.count(), 1);
  EXPECT_EQ(refused[0][0].toString(), u"Precious words"_s);
}

TEST_F(ChildTest, what_is_asked_of_the_library_starts_another_engine) {
  Life life(m_folder.path(), {}, "auto", EngineKind::Child);
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.send(u"Hello there."_s)) << life.error();
  const ChatKey chat = life.state.chat().id;
  EXPECT_TRUE(endsWith(life, SIGABRT).contains(u"signal 6, Aborted"_s));
  life.state.renameChat(chat, u"Another name"_s);
  ASSERT_TRUE(life.wait([&] { return life.state.chat().title == u"Another name"_s; }));
  life.state.openChat(chat);
  ASSERT_TRUE(life.wait([&] { return life.resumed.count() == 1; })) << life.error();
  EXPECT_EQ(life.state.conversation()->rowCount(), 2);
}

TEST_F(ChildTest, thinking_stays_off_in_the_next_engine) {
  const QString model = m_folder.filePath(u"chain.gguf"_s);
  ASSERT_TRUE(test::write_chain(test::thoughtful_chain(), model.toStdString()));
  Life life(m_folder.path(), {}, "auto", EngineKind::Child);
  ASSERT_TRUE(life.openModel(model)) << life.error();
  life.state.setThinking(false);
  endsWith(life, SIGKILL);
  life.state.retry();
  ASSERT_TRUE(life.waitReady()) << life.error();
  ASSERT_TRUE(life.send(u"Well?"_s)) << life.error();
  EXPECT_EQ(answer(life).thoughts, QString());
}

TEST_F(ChildTest, the_window_that_closes_while_it_answers_leaves_no_process) {
  qint64 process = 0;
  {
    Life life(m_folder.path(), {}, "auto", EngineKind::Child);
    ASSERT_TRUE(life.openModel()) << life.error();
    process = child(life).processId();
    ASSERT_TRUE(isThere(process));
    life.state.send(u"Hello there."_s);
  }
  EXPECT_FALSE(isThere(process));
  Life life(m_folder.path(), {}, "auto", EngineKind::Child);
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.wait([&] { return life.state.chats()->rowCount() == 1; }))
      << "the message was asked for before the window closed";
}

TEST_F(ChildTest, a_library_that_is_in_use_is_an_error_of_opening) {
  const Life first(m_folder.path(), {}, "auto", EngineKind::Child);
  ChildEngine second(Life::setup(m_folder.path()));
  const Result<void> opened = second.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, "LIBRARY_LOCKED");
  EXPECT_EQ(second.processId(), 0);
}

TEST_F(ChildTest, one_that_cannot_be_started_says_so) {
  ChildEngine engine(u"/nonexistent/engine"_s, {}, Life::setup(m_folder.path()));
  const Result<void> opened = engine.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, "ENGINE_ENDED");
  EXPECT_NE(opened.error().message.find("cannot be started"), std::string::npos);
}

TEST_F(ChildTest, one_that_says_what_cannot_be_understood_is_ended) {
  ChildEngine engine(u"/bin/cat"_s, {u"/proc/self/exe"_s}, Life::setup(m_folder.path()));
  const Result<void> opened = engine.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, "ENGINE_ENDED");
  EXPECT_NE(opened.error().message.find("cannot be understood"), std::string::npos);
}

TEST_F(ChildTest, one_that_always_ends_at_once_is_started_again_by_the_user_only) {
  SystemClock clock;
  ChildEngine engine(u"/bin/false"_s, {}, Life::setup(m_folder.path()));
  AppState state(&engine, &clock);
  QSignalSpy ended(&engine, &EngineClient::ended), errors(&state, &AppState::errorShown);
  const auto wait = [&](int n) {
    return QTest::qWaitFor([&] { return ended.count() == n; }, kWaitMs);
  };
  for (int n = 1; n <= 6; ++n) {
    engine.listChats();
    ASSERT_TRUE(wait(n)) << "a request that is not answered fails";
    EXPECT_EQ(engine.startsTried(), std::min(n, kStartsMost));
  }
  EXPECT_EQ(errors.count(), 6);
  EXPECT_TRUE(errors.last()[1].toString().contains(u"exit code 1"_s));
  state.openModel(u"/m.gguf"_s);
  ASSERT_TRUE(wait(7));
  EXPECT_EQ(engine.startsTried(), kStartsMost + 1);
  EXPECT_EQ(state.phase(), Phase::NoModel);
}

#ifdef SATCHEL_TEST_LIBRARIES
const std::vector<std::filesystem::path> kFakeGpu = {SATCHEL_TEST_LIBRARIES "/fake"};

class ChildDriverTest : public ChildTest {
 protected:
  // Of every engine that is started from now on: the GPU's driver crashes, or hangs, in the middle
  // of a long answer.
  static void driveAs(const char* driver) {
    setenv("SATCHEL_TEST_GPU_LOST_AT", "400", 1);  // some calls a token
    setenv("SATCHEL_TEST_GPU_DRIVER", driver, 1);
  }
  static void beginAnswer(Life& life, const QString& folder) {
    const QString model = folder + u"/chain.gguf"_s;
    ASSERT_TRUE(test::write_chain(test::talkative_chain(), model.toStdString()));
    ASSERT_TRUE(life.openModel(model)) << life.error();
    ASSERT_EQ(life.state.deviceName(), u"GPU"_s) << life.state.deviceNote().toStdString();
    life.state.send(u"Say something."_s);
  }
  // The part of it comes back with retry(), and it is answered again on the user's word. What was
  // shown before may be more or less: the journal and the pipe are not equally quick.
  static void goOn(Life& life) {
    const bool isShown = life.state.conversation()->rowCount() == 2;
    const QString shown = isShown ? answer(life).text : QString();
    if (isShown) {
      EXPECT_EQ(answer(life).state, runtime::MessageState::interrupted);
    }
    unsetenv("SATCHEL_TEST_GPU_LOST_AT");
    QSignalSpy offered(&life.state, &AppState::answerOffered);
    life.state.retry();
    ASSERT_TRUE(life.wait([&] { return offered.count() == 1; })) << life.error();
    ASSERT_EQ(life.state.conversation()->rowCount(), 2);
    EXPECT_EQ(life.state.conversation()->message(0).text, u"Say something."_s);
    const Message kept = answer(life);
    EXPECT_EQ(kept.state, runtime::MessageState::interrupted);
    EXPECT_GE(kept.text.size(), 32) << "as the journal promises";
    EXPECT_TRUE(shown.startsWith(kept.text) || kept.text.startsWith(shown))
        << kept.text.toStdString();
    EventSpy<runtime::GenerateReport> answered(&life.engine);
    life.state.answerLast();
    ASSERT_TRUE(life.wait([&] { return !answered.isEmpty(); })) << life.error();
    EXPECT_EQ(answered.first().finish, runtime::Finish::repeats) << "a whole one";
    EXPECT_GT(answer(life).text.size(), kept.text.size());
    ASSERT_TRUE(life.wait([&] { return answer(life).versions.size() == 2; })) << "the part is kept";
  }
};

TEST_F(ChildDriverTest, that_crashes_leaves_the_part_of_the_answer) {
  driveAs("crashes");
  Life life(m_folder.path(), kFakeGpu, "auto", EngineKind::Child);
  QSignalSpy offered(&life.state, &AppState::retryOffered);
  beginAnswer(life, m_folder.path());
  EXPECT_TRUE(waitEnded(life).contains(u"crashed (signal 6, Aborted)"_s));
  EXPECT_EQ(offered.count(), 1);
  goOn(life);
}

TEST_F(ChildDriverTest, that_hangs_can_be_killed_while_the_answer_streams) {
  driveAs("hangs");
  Life life(m_folder.path(), kFakeGpu, "auto", EngineKind::Child);
  beginAnswer(life, m_folder.path());
  ASSERT_TRUE(life.wait([&] {
    return life.state.conversation()->rowCount() == 2 && answer(life).text.size() > 32;
  })) << life.error();
  QTest::qWait(50);  // what is under way arrives
  EXPECT_TRUE(endsWith(life, SIGKILL).contains(u"signal 9"_s));
  goOn(life);
}

TEST_F(ChildDriverTest, that_crashes_twice_is_left_for_the_cpu) {
  driveAs("crashes");
  Life life(m_folder.path(), kFakeGpu, "auto", EngineKind::Child);
  QSignalSpy cpu(&life.state, &AppState::cpuOffered);
  beginAnswer(life, m_folder.path());
  waitEnded(life);
  EXPECT_EQ(cpu.count(), 0);
  life.state.retry();
  ASSERT_TRUE(life.waitReady()) << life.error();
  life.state.answerLast();
  waitEnded(life);
  ASSERT_EQ(cpu.count(), 1);
  life.state.useCpu();
  ASSERT_TRUE(life.waitReady()) << life.error();
  EXPECT_EQ(life.state.deviceName(), u"CPU"_s);
  EventSpy<runtime::GenerateReport> answered(&life.engine);
  life.state.answerLast();
  ASSERT_TRUE(life.wait([&] { return !answered.isEmpty(); })) << life.error();
}
#endif

}  // namespace
}  // namespace satchel::ui
