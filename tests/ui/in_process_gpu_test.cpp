// A GPU that is lost in the middle of a chat (tests/libraries), on the real runtime: the message is
// kept, and answered by the CPU when the user says so.
#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <cstdlib>

#include "life.h"

namespace satchel::ui {
namespace {

const std::vector<std::filesystem::path> kFakeGpu = {SATCHEL_TEST_LIBRARIES "/fake"};

class LostGpu : public testing::Test {
 protected:
  ~LostGpu() override { unsetenv("SATCHEL_TEST_GPU_LOST_AT"); }
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
    QSignalSpy offered(&life.state, &AppState::cpuOffered);
    life.state.send(question);
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return !offered.isEmpty() && life.state.phase() == Life::Phase::Ready; }, kWaitMs));
    life.errors.clear();
    QSignalSpy answered(&life.engine, &EngineClient::answerFinished);
    life.state.useCpu();
    ASSERT_TRUE(life.wait([&] { return !answered.isEmpty(); })) << life.error();
    EXPECT_EQ(life.state.deviceName(), u"CPU"_s);
    ASSERT_EQ(life.state.conversation()->rowCount(), 2) << "lost at " << lostAt;
    EXPECT_EQ(life.state.conversation()->message(0).text, question);
    EXPECT_EQ(life.state.conversation()->message(1).text, want) << "lost at " << lostAt;
  }
}

}  // namespace
}  // namespace satchel::ui
