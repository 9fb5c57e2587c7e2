// Packing as the window sees it, on a scripted engine: it is shown, makes way at once, goes on.
#include <gtest/gtest.h>

#include <QLabel>
#include <QTest>

#include "scenes.h"
#include "ui/widgets/composer.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using runtime::ChatTask;

constexpr qint64 kTokens = 4218;

QString plain(QString text) {
  return text.replace(QChar(QChar::Nbsp), u' ');
}

// A window over a document that has been read and is being packed: 20 %, 40 %, 60 %, done.
class PackingTest : public testing::Test {
 protected:
  PackingTest() {
    scene.show();
    scene.openModel();
    scene.state.memory()->setPresetIndex(2);
    scene.state.newChat();
    scene.engine.script.cache = samplePacking(0, kTokens);
    scene.state.attachDocument(u"notes.txt"_s, sampleDocument());
    scene.engine.playAll();
    scene.engine.script.packing = {samplePacking(20, kTokens), samplePacking(40, kTokens),
                                   samplePacking(60, kTokens),
                                   sampleCache(u"compact"_s, kTokens, scene.clock.wall)};
  }
  QString panel() { return plain(scene.state.memory()->packingText()); }
  // What stands beside the model's name, if anything does.
  QString status() {
    Scene::settle();
    for (const QLabel* label : scene.window->findChildren<QLabel*>(u"packing"_s))
      if (label->isVisible()) return plain(label->text());
    return {};
  }
  void type(const QString& text) { QTest::keyClicks(scene.window->composer()->edit(), text); }
  Scene scene;
};

TEST_F(PackingTest, the_panel_and_the_head_say_how_far_it_is) {
  EXPECT_EQ(panel(), u"paused at 0 %"_s);
  EXPECT_EQ(status(), QString());
  scene.engine.play(2);
  EXPECT_EQ(panel(), u"compressing… 40 %"_s);
  EXPECT_EQ(status(), u"compressing… 40 %"_s);
  EXPECT_NEAR(scene.state.memory()->packingShare(), 0.4, 0.001);
  EXPECT_EQ(scene.state.memory()->fidelityText(), u"Nothing compressed yet"_s);
}

TEST_F(PackingTest, when_it_is_done_the_figure_falls_and_nothing_is_said_any_more) {
  scene.engine.play(3);
  const QString before = scene.state.memory()->bytesText();
  scene.engine.playAll();
  EXPECT_EQ(panel(), QString());
  EXPECT_EQ(status(), QString());
  EXPECT_EQ(plain(before),
            u"Cache: 98.6 MB for 4,218 tokens, 23.4 MB per 1,000 (97.2 MB in fp16)"_s);
  EXPECT_EQ(plain(scene.state.memory()->bytesText()),
            u"Cache: 21.3 MB for 4,218 tokens, 5.04 MB per 1,000 (97.2 MB in fp16)"_s);
  EXPECT_FALSE(scene.state.memory()->fidelityAge().isEmpty());
}

TEST_F(PackingTest, it_stops_with_the_first_letter_and_goes_on_when_nothing_more_is_written) {
  scene.state.setTypingRest(std::chrono::hours(1));
  scene.engine.play(2);
  type(u"W"_s);
  EXPECT_EQ(panel(), u"paused at 40 %"_s);
  EXPECT_EQ(status(), QString());
  EXPECT_FALSE(scene.engine.play()) << "it must not go on while the user writes";
  scene.state.setTypingRest(std::chrono::milliseconds(0));
  type(u"h"_s);
  ASSERT_TRUE(QTest::qWaitFor([this] { return !scene.engine.isIdlePaused(); }));
  scene.engine.play();
  EXPECT_EQ(status(), u"compressing… 60 %"_s);
}

TEST_F(PackingTest, it_stops_when_a_message_is_sent_and_goes_on_after_the_answer) {
  scene.state.setTypingRest(std::chrono::hours(1));
  scene.engine.script.deltas = {u"One "_s, u"two."_s};
  scene.engine.play(2);
  type(u"Where is the key?"_s);
  QTest::keyClick(scene.window->composer()->edit(), Qt::Key_Return);
  EXPECT_EQ(panel(), u"paused at 40 %"_s);
  scene.engine.play(6);  // message, answer, two deltas, its end, the cache
  EXPECT_EQ(scene.state.phase(), AppState::Phase::Ready);
  EXPECT_EQ(scene.state.conversation()->message(3).text, u"One two."_s);
  EXPECT_EQ(panel(), u"paused at 40 %"_s);
  scene.engine.play();
  EXPECT_EQ(status(), u"compressing… 60 %"_s);
}

TEST_F(PackingTest, a_chat_that_was_closed_half_packed_says_so_and_goes_on) {
  ChatSettings settings;
  settings.preset = u"compact"_s;
  const ChatKey chat = scene.engine.addChat(u"saved"_s, QDateTime::currentDateTime(),
                                            sampleConversation(), settings);
  scene.engine.script.cache = samplePacking(40, kTokens);
  scene.engine.script.packing.removeFirst();
  scene.state.openChat(chat);
  scene.engine.play(2);  // resumed, the cache
  EXPECT_EQ(panel(), u"paused at 40 %"_s);
  scene.engine.play();
  EXPECT_EQ(status(), u"compressing… 40 %"_s);
  EXPECT_EQ(plain(scene.state.memory()->recipeText()), u"Compact · recipe satchel, 50 % kept"_s);
}

TEST_F(PackingTest, an_error_ends_it_until_the_next_request) {
  scene.state.setTypingRest(std::chrono::milliseconds(0));
  scene.engine.play(2);
  scene.engine.tell(
      runtime::Failed{ChatTask::idle, {ErrorKind::out_of_memory, "MEMORY", "No memory is left."}});
  EXPECT_EQ(panel(), u"paused at 40 %"_s);
  EXPECT_EQ(status(), QString());
  EXPECT_TRUE(scene.state.canSend());
  type(u"W"_s);
  Scene::settle();
  EXPECT_TRUE(scene.engine.isIdlePaused()) << "each pause in writing would show the error again";
  QTest::keyClick(scene.window->composer()->edit(), Qt::Key_Return);
  scene.engine.playAll();
  EXPECT_EQ(panel(), QString());
}

}  // namespace
}  // namespace satchel::ui
