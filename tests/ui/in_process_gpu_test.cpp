// A GPU that is lost in the middle of a chat (tests/libraries), on the real runtime: the message is
// kept, and answered by the CPU when the user says so.
#include <gtest/gtest.h>

#include <QFile>
#include <QTemporaryDir>
#include <cstdlib>

#include "life.h"
#include "support/chain_model.h"

namespace satchel::ui {
namespace {

const std::vector<std::filesystem::path> kFakeGpu = {SATCHEL_TEST_LIBRARIES "/fake"};

class LostGpu : public testing::Test {
 protected:
  ~LostGpu() override {
    unsetenv("SATCHEL_TEST_GPU_LOST_AT");
    unsetenv("SATCHEL_TEST_GPU_BYTES");
  }
  // Sends, and waits until the GPU is lost or there is an answer; whether it was lost.
  static bool loses(Life& life, const QString& text) {
    QSignalSpy offered(&life.state, &AppState::cpuOffered);
    life.state.send(text);
    EXPECT_TRUE(QTest::qWaitFor([&] { return life.state.phase() == Life::Phase::Ready; }, kWaitMs));
    life.errors.clear();
    return !offered.isEmpty();
  }
  static void useCpu(Life& life) {
    EventSpy<runtime::GenerateReport> answered(&life.engine);
    life.state.useCpu();
    ASSERT_TRUE(life.wait([&] { return !answered.isEmpty(); })) << life.error();
  }
  QTemporaryDir m_folder, m_other;
};

TEST_F(LostGpu, is_left_for_the_cpu_which_gives_the_same_answer) {
  const QString question = u"What is a brass bell?"_s;
  Life whole(m_other.path());
  ASSERT_TRUE(whole.openModel()) << whole.error();
  EXPECT_EQ(whole.state.deviceName(), u"CPU"_s);
  EXPECT_TRUE(whole.state.deviceNote().contains(u"GPU_LIBRARY"_s));
  ASSERT_TRUE(whole.send(question)) << whole.error();
  const QString want = whole.state.conversation()->message(1).text;

  for (const char* lostAt : {"20", "150"}) {
    setenv("SATCHEL_TEST_GPU_LOST_AT", lostAt, 1);
    QTemporaryDir folder;
    Life life(folder.path(), kFakeGpu);
    ASSERT_TRUE(life.openModel()) << life.error();
    EXPECT_EQ(life.state.deviceName(), u"GPU"_s);
    ASSERT_TRUE(loses(life, question));
    useCpu(life);
    EXPECT_EQ(life.state.deviceName(), u"CPU"_s);
    ASSERT_EQ(life.state.conversation()->rowCount(), 2) << "lost at " << lostAt;
    EXPECT_EQ(life.state.conversation()->message(0).text, question);
    EXPECT_EQ(life.state.conversation()->message(1).text, want) << "lost at " << lostAt;
  }
}

// The message is still answered where the CPU is tried again.
TEST_F(LostGpu, is_no_way_back_where_the_cpu_cannot_open_the_model_until_it_can) {
  const QString model = m_other.filePath(u"model.gguf"_s), away = m_other.filePath(u"away"_s);
  ASSERT_TRUE(QFile::copy(QString::fromStdString(test::kBundledModel), model));
  setenv("SATCHEL_TEST_GPU_LOST_AT", "150", 1);
  Life life(m_folder.path(), kFakeGpu);
  ASSERT_TRUE(life.openModel(model)) << life.error();
  ASSERT_TRUE(loses(life, u"What is a brass bell?"_s));
  ASSERT_TRUE(QFile::rename(model, away));
  QSignalSpy offered(&life.state, &AppState::cpuOffered);
  EventSpy<runtime::Failed> failed(&life.engine);
  life.errors.clear();
  life.state.useCpu();
  life.state.newChat();  // fails after it, and says nothing
  ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == 2; }, 60'000));
  ASSERT_EQ(life.errors.count(), 1);
  EXPECT_EQ(life.errors.last()[0].toString(), u"MODEL_NOT_FOUND"_s);
  EXPECT_EQ(life.state.phase(), Life::Phase::NoModel);
  EXPECT_EQ(life.state.deviceName(), QString());
  EXPECT_EQ(offered.count(), 1);
  life.errors.clear();
  ASSERT_TRUE(QFile::rename(away, model));
  useCpu(life);
  EXPECT_EQ(life.state.deviceName(), u"CPU"_s);
  ASSERT_EQ(life.state.conversation()->rowCount(), 2);
  EXPECT_FALSE(life.state.conversation()->message(1).text.isEmpty());
}

// A card's memory is taken by the chats of the first model.
TEST_F(LostGpu, has_room_for_a_second_model_where_the_first_makes_way) {
  const QString other = m_other.filePath(u"other.gguf"_s);
  ASSERT_TRUE(QFile::copy(QString::fromStdString(test::kBundledModel), other));
  setenv("SATCHEL_TEST_GPU_BYTES", "8000000", 1);
  Life life(m_folder.path(), kFakeGpu);
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.send(u"Hello there."_s)) << life.error();
  const QString room = life.state.memory()->machineText();
  int loadings = 0;
  const EventSpy<runtime::Progress> loaded(&life.engine, [&](const runtime::Progress& progress) {
    loadings += progress.phase == runtime::Phase::load_model && progress.done == progress.total;
  });
  ASSERT_TRUE(life.openModel(other)) << life.error();
  EXPECT_EQ(loadings, 2) << "beside the first and without it, but not for the CPU";
  EXPECT_EQ(life.state.deviceName(), u"GPU"_s) << life.state.deviceNote().toStdString();
  EXPECT_EQ(life.state.memory()->machineText(), room) << "all that the first had";
  EXPECT_TRUE(life.send(u"Hello there."_s)) << life.error();
}

TEST_F(LostGpu, is_the_first_models_again_where_the_second_is_too_large_for_it) {
  const QString small = m_other.filePath(u"chain.gguf"_s);
  ASSERT_TRUE(test::write_chain(test::thoughtful_chain(), small.toStdString()));
  setenv("SATCHEL_TEST_GPU_BYTES", "3000000", 1);
  Life life(m_folder.path(), kFakeGpu, "cuda");
  ASSERT_TRUE(life.openModel(small)) << life.error();
  ASSERT_TRUE(life.send(u"Well?"_s)) << life.error();
  QSignalSpy offered(&life.state, &AppState::cpuOffered);
  EXPECT_FALSE(life.openModel());
  EXPECT_EQ(life.errors.last()[0].toString(), u"GPU_MEMORY"_s);
  EXPECT_TRUE(offered.isEmpty()) << "the CPU would open the first";
  EXPECT_EQ(life.state.phase(), Life::Phase::Ready);
  EXPECT_EQ(life.state.model().title, "chain");
  EXPECT_EQ(life.state.conversation()->rowCount(), 2);
  life.errors.clear();
  EXPECT_TRUE(life.send(u"Well?"_s)) << life.error();
  EXPECT_EQ(life.state.conversation()->rowCount(), 4);
}

// Lost while the prompt is read, or the answer made: at the n-th call.
TEST_F(LostGpu, does_not_turn_thinking_on_again) {
  const QString model = m_other.filePath(u"chain.gguf"_s);
  ASSERT_TRUE(test::write_chain(test::thoughtful_chain(), model.toStdString()));
  int lostCount = 0;
  for (int n = 2; lostCount == 0 && n < 200; n += 2) {
    setenv("SATCHEL_TEST_GPU_LOST_AT", std::to_string(n).c_str(), 1);
    QTemporaryDir folder;
    Life life(folder.path(), kFakeGpu);
    ASSERT_TRUE(life.openModel(model)) << life.error();
    life.state.setThinking(false);
    if (!loses(life, u"Well?"_s)) continue;
    ++lostCount;
    useCpu(life);
    EXPECT_EQ(life.state.conversation()->message(1).text, u"Yes"_s);
    EXPECT_EQ(life.state.conversation()->message(1).thoughts, QString()) << "lost at " << n;
  }
  EXPECT_EQ(lostCount, 1);
}

}  // namespace
}  // namespace satchel::ui
