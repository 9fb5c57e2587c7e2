// What the window says of the device it computes on, and offers where that fails: on a scripted
// engine.
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
using runtime::ChatTask;
using Phase = AppState::Phase;

class DeviceStateTest : public testing::Test {
 protected:
  DeviceStateTest() : state(&engine, &clock) {
    engine.script.model = sampleModel();
    engine.script.previews = samplePreviews();
  }
  void openModel() {
    state.openModel(u"/m.gguf"_s);
    engine.playAll();
  }
  void failNext(ChatTask task, const char* code = "SOME_CODE") {
    engine.script.errors.append({task, {ErrorKind::invalid, code, "What happened."}});
  }
  // A chat with a message is on the screen, and no model is open any more.
  void loseModel() {
    openModel();
    state.send(u"hello"_s);
    engine.playAll();
    failNext(ChatTask::use_cpu);
    state.useCpu();
    engine.playAll();
    ASSERT_EQ(state.phase(), Phase::NoModel);
  }
  StillClock clock;
  ScriptedEngine engine;
  AppState state;
};

TEST_F(DeviceStateTest, says_what_it_runs_on_and_why_that_is_not_the_gpu) {
  EXPECT_EQ(state.deviceName(), QString());
  engine.script.model.gpu_fallback_reason = "No driver. [GPU_DRIVER]";
  openModel();
  EXPECT_EQ(state.deviceName(), u"CPU"_s);
  EXPECT_EQ(state.deviceNote(),
            u"Runs on the CPU: AVX-512 VNNI, 8 threads.\nNo driver. [GPU_DRIVER]"_s);
  engine.script.model.device = "NVIDIA RTX 4090";
  engine.script.model.on_gpu = true;
  engine.script.model.gpu_fallback_reason.clear();
  openModel();
  EXPECT_EQ(state.deviceNote(), u"Runs on the GPU: NVIDIA RTX 4090."_s);
}

TEST_F(DeviceStateTest, offers_the_cpu_only_where_the_gpu_failed) {
  engine.script.model.on_gpu = true;
  openModel();
  QSignalSpy offered(&state, &AppState::cpuOffered);
  failNext(ChatTask::send);
  state.send(u"hello"_s);
  engine.playAll();
  EXPECT_TRUE(offered.isEmpty());
  engine.script.errors.append(
      {ChatTask::send, {ErrorKind::invalid, "GPU_LOST", "It stopped."}, true});
  state.send(u"hello"_s);
  engine.playAll();
  ASSERT_EQ(offered.count(), 1);
  state.useCpu();
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
  EXPECT_EQ(state.deviceName(), u"CPU"_s);
  EXPECT_EQ(offered.count(), 1);
}

TEST_F(DeviceStateTest, a_cpu_that_fails_too_leaves_no_model_and_can_be_tried_again) {
  engine.script.model.on_gpu = true;
  openModel();
  QSignalSpy offered(&state, &AppState::cpuOffered);
  QSignalSpy errors(&state, &AppState::errorShown);
  engine.script.errors.append(
      {ChatTask::send, {ErrorKind::invalid, "GPU_LOST", "It stopped."}, true});
  state.send(u"hello"_s);
  engine.playAll();
  failNext(ChatTask::use_cpu);
  state.useCpu();
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::NoModel);
  EXPECT_FALSE(state.canSend());
  EXPECT_TRUE(state.model().path.empty());
  EXPECT_EQ(state.deviceName(), QString());
  EXPECT_EQ(errors.last()[0].toString(), u"SOME_CODE"_s) << "and nothing after it";
  EXPECT_EQ(offered.count(), 2);
  state.useCpu();
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
  EXPECT_EQ(state.deviceName(), u"CPU"_s);
}

TEST_F(DeviceStateTest, a_new_chat_asked_for_while_the_cpu_fails_does_not_make_it_ready) {
  openModel();
  state.send(u"hello"_s);
  engine.playAll();
  QSignalSpy errors(&state, &AppState::errorShown);
  failNext(ChatTask::use_cpu);
  failNext(ChatTask::begin_chat, "NO_MODEL");
  state.useCpu();
  state.newChat();
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::NoModel);
  ASSERT_EQ(errors.count(), 1) << "why there is no model, and not that there is none";
  EXPECT_EQ(errors[0][0].toString(), u"SOME_CODE"_s);
  EXPECT_EQ(state.conversation()->rowCount(), 2);
  state.useCpu();
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
}

TEST_F(DeviceStateTest, a_chat_deleted_where_no_model_is_open_leaves_the_screen) {
  loseModel();
  state.deleteChat(state.chat().id);
  engine.playAll();
  EXPECT_EQ(state.chat().id, 0);
  EXPECT_EQ(state.conversation()->rowCount(), 0);
  EXPECT_EQ(state.phase(), Phase::NoModel);
}

TEST_F(DeviceStateTest, whatever_is_refused_where_the_model_was_lost_offers_to_try_again) {
  loseModel();
  QSignalSpy offered(&state, &AppState::cpuOffered);
  state.attachDocument(u"notes.txt"_s, u"Some notes."_s);
  EXPECT_EQ(offered.count(), 1);
}

class DeviceWindowTest : public testing::Test {
 protected:
  DeviceWindowTest() {
    scene.show();
    scene.openModel();
  }
  void type(const QString& text) { QTest::keyClicks(scene.window->composer()->edit(), text); }
  void press(Qt::Key key) {
    QTest::keyClick(scene.window->composer()->edit(), key);
    Scene::settle();
  }
  QPushButton* button(const QString& text) {
    for (QPushButton* each : scene.window->findChildren<QPushButton*>())
      if (each->text() == text) return each;
    return nullptr;
  }
  Scene scene;
};

TEST_F(DeviceWindowTest, the_banner_of_a_gpu_that_failed_offers_the_cpu) {
  scene.state.openModel(u"/m.gguf"_s);
  scene.engine.script.model.on_gpu = true;
  scene.engine.playAll();
  scene.engine.tellModelSwitched();
  scene.engine.script.errors.append(
      {ChatTask::send, {ErrorKind::invalid, "GPU_LOST", "The GPU stopped."}, true});
  type(u"precious"_s);
  press(Qt::Key_Return);
  scene.engine.playAll();
  Scene::settle();
  auto* action = scene.window->banner()->findChild<QPushButton*>(u"quiet"_s);
  ASSERT_TRUE(action->isVisible());
  EXPECT_EQ(action->text(), u"Continue on the CPU"_s);
  action->click();
  scene.engine.playAll();
  EXPECT_FALSE(scene.window->banner()->isVisible());
  EXPECT_EQ(scene.state.deviceName(), u"CPU"_s);
}

TEST_F(DeviceWindowTest, a_cpu_that_fails_too_is_offered_again_with_its_error) {
  scene.engine.script.errors.append(
      {ChatTask::use_cpu, {ErrorKind::invalid, "MODEL_NOT_FOUND", "The file is gone."}});
  scene.state.useCpu();
  scene.engine.playAll();
  Scene::settle();
  EXPECT_EQ(scene.window->banner()->text(), u"The file is gone."_s);
  auto* action = scene.window->banner()->findChild<QPushButton*>(u"quiet"_s);
  ASSERT_TRUE(action->isVisible());
  EXPECT_EQ(action->text(), u"Try again"_s);
  action->click();
  scene.engine.playAll();
  EXPECT_TRUE(scene.state.canSend());
}

TEST_F(DeviceWindowTest, who_asks_what_it_runs_on_is_told_in_full) {
  scene.engine.script.model.gpu_fallback_reason = "The driver of \"R&D\" is too old. [GPU_DRIVER]";
  scene.engine.tellModelSwitched();
  QPushButton* device = button(u"CPU"_s);
  ASSERT_NE(device, nullptr);
  EXPECT_TRUE(device->toolTip().contains(u"&quot;R&amp;D&quot;"_s)) << "it wraps as rich text only";
  device->click();
  EXPECT_TRUE(scene.window->deviceNote()->isVisible());
  EXPECT_EQ(scene.window->deviceNote()->text(), scene.state.deviceNote());
}

TEST_F(DeviceWindowTest, what_an_error_offers_outlasts_a_look_at_the_device_and_escape) {
  scene.engine.script.errors.append(
      {ChatTask::send, {ErrorKind::invalid, "GPU_LOST", "The GPU stopped."}, true});
  type(u"precious"_s);
  press(Qt::Key_Return);
  scene.engine.playAll();
  button(u"CPU"_s)->click();
  EXPECT_TRUE(scene.window->deviceNote()->isVisible());
  press(Qt::Key_Escape);
  EXPECT_FALSE(scene.window->deviceNote()->isVisible());
  press(Qt::Key_Escape);
  EXPECT_EQ(scene.window->banner()->text(), u"The GPU stopped."_s);
  ASSERT_TRUE(button(u"Continue on the CPU"_s)->isVisible());
  scene.state.showError(u"OTHER"_s, u"Something else."_s);  // which offers nothing
  press(Qt::Key_Escape);
  EXPECT_FALSE(scene.window->banner()->isVisible());
}

TEST_F(DeviceWindowTest, what_was_said_of_a_device_goes_with_it) {
  button(u"CPU"_s)->click();
  ASSERT_TRUE(scene.window->deviceNote()->isVisible());
  scene.engine.script.model.device = "NVIDIA RTX 4090";
  scene.engine.script.model.on_gpu = true;
  scene.engine.tellModelSwitched();
  EXPECT_FALSE(scene.window->deviceNote()->isVisible());
}

}  // namespace
}  // namespace satchel::ui
