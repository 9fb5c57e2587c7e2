// Documents read beside the window: their order, Stop, and the end of the window.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QFile>
#include <QSemaphore>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <functional>
#include <stop_token>

#include "scenes.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/composer.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using Phase = AppState::Phase;

constexpr int kHangMs = 60'000;  // no slowness

// Its .pdf files are read when the test lets them, or stopped.
class ImportsTest : public testing::Test {
 protected:
  ImportsTest() {
    scene.show();
    DocumentReader reader;
    reader.endings = {u"pdf"_s};
    reader.read = [this](const QString& path, const std::stop_token& stop) -> Result<QString> {
      begun.release();
      const std::stop_callback wake(stop, [this] { mayEnd.release(); });
      mayEnd.acquire();
      if (!stop.stop_requested()) return QString(u"text of "_s + path);
      stopped.release();
      return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
    };
    scene.state.setDocumentReader(reader);
  }
  // What waits for a test that failed would wait for ever.
  ~ImportsTest() override { mayEnd.release(100); }

  bool hasBegun() { return begun.tryAcquire(1, kHangMs); }
  bool wasStopped() { return stopped.tryAcquire(1, kHangMs); }
  bool wait(const std::function<bool()>& done) {
    const auto isDone = [&] {
      scene.engine.playAll();
      return done();
    };
    return QTest::qWaitFor(isDone, kHangMs);
  }
  bool haveCome(int rows) {
    return wait([&] { return scene.state.conversation()->rowCount() == rows; });
  }
  QString titleOf(int row) { return scene.state.conversation()->message(row).documentTitle; }
  QString write(const QString& name, const QByteArray& bytes) {
    QFile file(folder.filePath(name));
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(bytes);
    return file.fileName();
  }

  QSemaphore begun, mayEnd, stopped;
  QTemporaryDir folder;
  Scene scene;
};

TEST_F(ImportsTest, are_attached_in_the_order_in_which_they_were_dropped) {
  scene.openModel();
  const QString text = write(u"two.txt"_s, "two");
  scene.window->openAnything({u"/a/one.pdf"_s, text, u"/a/three.pdf"_s});
  ASSERT_TRUE(hasBegun());
  scene.state.send(u"Who?"_s);
  ASSERT_TRUE(haveCome(2)) << "the window answers meanwhile";
  EXPECT_FALSE(begun.tryAcquire()) << "one after the other";
  mayEnd.release(2);
  ASSERT_TRUE(haveCome(8));
  EXPECT_EQ(titleOf(2), u"one.pdf"_s);
  EXPECT_EQ(scene.state.conversation()->message(2).text, u"text of /a/one.pdf"_s);
  EXPECT_EQ(titleOf(4), u"two.txt"_s);
  EXPECT_EQ(titleOf(6), u"three.pdf"_s);
  EXPECT_FALSE(scene.state.canStop());
}

TEST_F(ImportsTest, are_stopped_by_the_button_and_the_chat_is_as_before) {
  scene.openModel();
  EXPECT_FALSE(scene.state.canStop());
  scene.state.attachFile(u"/a/one.pdf"_s);
  ASSERT_TRUE(hasBegun());
  EXPECT_TRUE(scene.state.canStop());
  EXPECT_TRUE(scene.state.canSend());
  EXPECT_EQ(scene.window->banner()->text(), u"Reading the text of \"one.pdf\"."_s);
  scene.window->composer()->sendButton()->click();
  EXPECT_TRUE(wasStopped());
  EXPECT_EQ(scene.window->banner()->text(), u"\"one.pdf\" was stopped and not attached."_s);
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
  EXPECT_FALSE(scene.state.canStop());
  EXPECT_EQ(scene.engine.stopsAsked(), 0) << "the engine has nothing to stop";
  scene.state.attachFile(u"/a/two.pdf"_s);
  mayEnd.release();
  ASSERT_TRUE(haveCome(2));
  EXPECT_EQ(titleOf(0), u"two.pdf"_s) << "what was stopped never comes";
}

TEST_F(ImportsTest, that_wait_are_stopped_with_the_one_that_is_read) {
  scene.openModel();
  scene.window->openAnything({u"/a/one.pdf"_s, u"/a/two.pdf"_s});
  ASSERT_TRUE(hasBegun());
  QTest::keyClick(scene.window->composer()->edit(), Qt::Key_Escape);
  EXPECT_TRUE(wasStopped());
  EXPECT_EQ(scene.window->banner()->text(), u"2 documents were stopped and not attached."_s);
  scene.state.attachFile(write(u"three.txt"_s, "three"));
  ASSERT_TRUE(haveCome(2));
  EXPECT_EQ(titleOf(0), u"three.txt"_s);
  EXPECT_FALSE(begun.tryAcquire()) << "the second is never begun";
}

// A message beside it is sent by Enter and the button; with nothing written, the button stops.
TEST_F(ImportsTest, let_a_message_be_sent_meanwhile) {
  scene.openModel();
  scene.state.attachFile(u"/a/one.pdf"_s);
  ASSERT_TRUE(hasBegun());
  QTest::keyClicks(scene.window->composer()->edit(), u"Who?"_s);
  scene.window->composer()->sendButton()->click();
  ASSERT_TRUE(haveCome(2));
  EXPECT_TRUE(scene.state.canStop()) << "the document is still being read";
  mayEnd.release();
  ASSERT_TRUE(haveCome(4));
  EXPECT_EQ(titleOf(2), u"one.pdf"_s);
}

TEST_F(ImportsTest, end_with_the_window) {
  scene.openModel();
  scene.state.attachFile(u"/a/one.pdf"_s);
  ASSERT_TRUE(hasBegun());
  scene.window->close();
  EXPECT_TRUE(wasStopped());
}

TEST_F(ImportsTest, end_with_the_state) {
  StillClock clock;
  ScriptedEngine engine;
  auto state = std::make_unique<AppState>(&engine, &clock);
  DocumentReader reader;
  reader.endings = {u"pdf"_s};
  reader.read = [this](const QString&, const std::stop_token& stop) -> Result<QString> {
    const std::stop_callback wake(stop, [this] { mayEnd.release(); });
    begun.release();
    mayEnd.acquire();
    return QString();
  };
  state->setDocumentReader(reader);
  state->openModel(u"/m.gguf"_s);
  state->attachFile(u"/a/one.pdf"_s);
  ASSERT_TRUE(hasBegun());
  state.reset();  // waits for the reader
  EXPECT_EQ(mayEnd.available(), 0) << "which was stopped";
}

TEST_F(ImportsTest, are_refused_at_once_where_no_model_is_open) {
  const QSignalSpy errors(&scene.state, &AppState::errorShown);
  scene.state.attachFile(u"/a/one.pdf"_s);
  ASSERT_EQ(errors.count(), 1);
  EXPECT_EQ(errors[0][0].toString(), u"NO_MODEL"_s);
  EXPECT_FALSE(scene.state.canStop());
  EXPECT_FALSE(begun.tryAcquire());
}

TEST_F(ImportsTest, that_fail_are_told_and_the_next_ones_come) {
  scene.openModel();
  const QSignalSpy errors(&scene.state, &AppState::errorShown);
  scene.window->openAnything({write(u"bad.txt"_s, QByteArray("a\0b", 3)), write(u"b.md"_s, "b")});
  ASSERT_TRUE(haveCome(2));
  ASSERT_EQ(errors.count(), 1);
  EXPECT_EQ(errors[0][0].toString(), u"DOC_TYPE"_s);
  EXPECT_EQ(titleOf(0), u"b.md"_s);
}

}  // namespace
}  // namespace satchel::ui
