// The tour: what it asks for and when it ends, without a window; then by the keyboard alone.
#include <gtest/gtest.h>

#include <QAccessible>
#include <QApplication>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "scenes.h"
#include "ui/model/tour.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chat_list_panel.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/memory/memory_panel.h"
#include "ui/widgets/question_card.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using Phase = AppState::Phase;

constexpr auto kTourModel = u"/models/notes-mini.gguf";

// What the engine says along the way.
void prepare(ScriptedEngine& engine, AppState& state) {
  engine.script.model = sampleModel();
  engine.script.previews = samplePreviews();
  engine.script.change = sampleLoss();
  engine.script.cache = sampleCache(u"full"_s, 1031, 0);
  engine.script.deltas = {u"In the "_s, u"blue tin."_s};
  engine.script.resume.n_chat_tokens = engine.script.resume.n_reused = 1031;
  engine.script.resume.ms = 12;
  state.memory()->plan()->setRest(std::chrono::milliseconds(0));
}

// Until nothing more comes of what was asked for; what the tour asks for is asked from the event
// loop.
void playOut(ScriptedEngine& engine) {
  for (int i = 0; i < 6; ++i) {
    Scene::settle();
    engine.playAll();
  }
  Scene::settle();
}

class TourTest : public testing::Test {
 protected:
  TourTest() { prepare(engine, state); }
  void play() { playOut(engine); }
  void begin() {
    tour.begin();
    play();
  }
  void next() {
    ASSERT_TRUE(tour.canGoOn()) << tour.title().toStdString();
    tour.next();
    play();
  }
  // The chat as the library has it, so that it can be opened again.
  void save() {
    QList<Message> messages;
    for (int row = 0; row < state.conversation()->rowCount(); ++row)
      messages.append(state.conversation()->message(row));
    engine.saveMessages(state.chat().id, messages);
  }

  StillClock clock;
  ScriptedEngine engine;
  AppState state{&engine, &clock};
  Tour tour{&state,
            {QString::fromUtf16(kTourModel), u"notes.txt"_s, u"The key is there."_s, u"Where?"_s}};
};

TEST_F(TourTest, leads_from_the_notes_to_the_chat_opened_again) {
  QSignalSpy memoryWanted(&tour, &Tour::memoryWanted);
  begin();
  EXPECT_EQ(engine.script.model.path, QString::fromUtf16(kTourModel).toStdString())
      << "none was open";
  EXPECT_EQ(engine.settings().preset, u"full"_s);
  ASSERT_EQ(state.conversation()->rowCount(), 4);
  EXPECT_EQ(state.conversation()->message(2).text, u"Where?"_s);
  EXPECT_TRUE(tour.title().contains(u"1 of 5"_s)) << tour.title().toStdString();
  EXPECT_EQ(tour.text(), state.memory()->bytesText());
  next();
  EXPECT_EQ(memoryWanted.count(), 1);
  EXPECT_EQ(state.memory()->nextSettings().preset, u"compact"_s);
  EXPECT_TRUE(tour.text().endsWith(state.memory()->plan()->text())) << "measured on this chat";
  EXPECT_TRUE(tour.text().contains(u"34.2"_s)) << tour.text().toStdString();
  EXPECT_EQ(engine.settings().preset, u"full"_s) << "nothing is applied before it was seen";
  engine.script.cache = sampleCache(u"compact"_s, 1031, 0);
  next();
  EXPECT_EQ(engine.settings().preset, u"compact"_s);
  EXPECT_TRUE(tour.text().startsWith(state.memory()->bytesText()));
  next();
  ASSERT_EQ(state.conversation()->rowCount(), 6);
  EXPECT_EQ(state.conversation()->message(4).text, u"Where?"_s);
  EXPECT_TRUE(tour.text().startsWith(u"The answer is the same"_s)) << tour.text().toStdString();
  EXPECT_TRUE(tour.text().contains(state.memory()->fidelityText()));
  next();
  EXPECT_EQ(state.heldLook(), HeldLook::Fade);
  EXPECT_EQ(tour.text(), state.heldSummary());
  const ChatKey chat = state.chat().id;
  save();
  next();
  EXPECT_EQ(state.chat().id, chat);
  EXPECT_EQ(tour.text(), state.resume().text);
  EXPECT_TRUE(tour.text().contains(u"1,031"_s)) << tour.text().toStdString();
  next();
  EXPECT_FALSE(tour.isOn());
  EXPECT_EQ(state.conversation()->rowCount(), 6) << "the chat stays";
}

TEST_F(TourTest, says_so_where_the_second_answer_differs) {
  begin();
  next();
  next();
  engine.script.deltas = {u"On the shelf."_s};
  next();
  EXPECT_TRUE(tour.text().startsWith(u"The answer differs"_s)) << tour.text().toStdString();
}

TEST_F(TourTest, follows_who_does_by_hand_what_it_is_about) {
  begin();
  state.memory()->setPresetIndex(3);
  play();
  EXPECT_TRUE(tour.title().contains(u"2 of 5"_s)) << tour.title().toStdString();
  state.memory()->plan()->apply();
  play();
  EXPECT_TRUE(tour.title().contains(u"3 of 5"_s)) << tour.title().toStdString();
  next();
  state.setHeldLook(HeldLook::Precision);
  play();
  EXPECT_TRUE(tour.title().contains(u"4 of 5"_s)) << tour.title().toStdString();
  EXPECT_EQ(state.heldLook(), HeldLook::Precision);
}

TEST_F(TourTest, leaves_later_chats_the_preset_that_was_chosen) {
  MemoryPanelState* const memory = state.memory();
  memory->setPresetIndex(1);
  for (const int steps : {0, 1, 3}) {
    begin();
    for (int i = 0; i < steps; ++i) next();
    ASSERT_TRUE(tour.isOn());
    ASSERT_NE(memory->presetIndex(), 1);
    tour.end();
    EXPECT_EQ(memory->presetIndex(), 1) << steps;
    play();
  }
  begin();
  memory->setPresetIndex(3);
  play();
  tour.end();
  EXPECT_EQ(memory->presetIndex(), 3) << "by hand, meanwhile";
}

TEST_F(TourTest, takes_the_model_that_is_open_where_it_is_the_right_one) {
  state.openModel(QString::fromUtf16(kTourModel));
  play();
  tour.begin();
  EXPECT_NE(state.phase(), Phase::Loading);
  play();
  EXPECT_EQ(state.conversation()->rowCount(), 4);
}

TEST_F(TourTest, goes_on_where_a_setting_is_refused_and_applies_nothing) {
  begin();
  engine.script.change.fits = false;
  engine.script.change.limit_least = 1'000'000;
  next();
  EXPECT_TRUE(tour.text().endsWith(state.memory()->plan()->text()));
  EXPECT_EQ(tour.nextLabel(), u"Go on without it"_s);
  next();
  EXPECT_TRUE(tour.title().contains(u"3 of 5"_s)) << tour.title().toStdString();
  EXPECT_EQ(engine.settings().preset, u"full"_s);
  next();
  EXPECT_EQ(tour.nextLabel(), u"Next: what is held"_s);
  EXPECT_FALSE(tour.text().contains(u"The answer"_s)) << "both are of the same settings";
}

TEST_F(TourTest, ends_with_an_error_another_chat_and_an_answer_that_was_stopped) {
  engine.script.errors.append(
      {runtime::ChatTask::attach_document, {ErrorKind::storage, "DISK_FULL", "Full."}});
  begin();
  EXPECT_FALSE(tour.isOn());
  EXPECT_EQ(state.conversation()->rowCount(), 0);

  begin();
  ASSERT_TRUE(tour.isOn());
  const ChatKey other =
      engine.addChat(u"other"_s, QDateTime::fromMSecsSinceEpoch(0), {userMessage(u"Hi"_s)});
  state.openChat(other);
  play();
  EXPECT_FALSE(tour.isOn());
  EXPECT_EQ(state.conversation()->rowCount(), 1) << "nothing is asked there";

  begin();
  next();
  next();
  tour.next();
  engine.play(3);
  ASSERT_EQ(state.phase(), Phase::Answering);
  state.stop();
  play();
  EXPECT_FALSE(tour.isOn());
}

TEST_F(TourTest, needs_notes_and_a_model) {
  EXPECT_TRUE(tour.canBegin());
  EXPECT_FALSE(Tour(&state, {QString::fromUtf16(kTourModel), {}, {}, {}}).canBegin());
  const Tour open(&state, {{}, u"notes.txt"_s, u"The key is there."_s, u"Where?"_s});
  EXPECT_FALSE(open.canBegin());
  state.openModel(u"/models/own.gguf"_s);
  play();
  EXPECT_TRUE(open.canBegin());
}

// In the window; begun by the keyboard.
class TourByKeys : public testing::Test {
 protected:
  TourByKeys() {
    scene.show();
    scene.openModel();
    prepare(scene.engine, scene.state);
    scene.window->activateWindow();
    Scene::settle();
  }
  static QString focusName() {
    QAccessibleInterface* const access =
        QAccessible::queryAccessibleInterface(QApplication::focusWidget());
    return access == nullptr ? QString() : access->text(QAccessible::Name);
  }
  void press(Qt::Key key) {
    QTest::keyClick(QApplication::focusWidget(), key);
    playOut(scene.engine);
  }
  void tabToButton() {
    for (int i = 0; i < 80 && focusName() != u"Show me in thirty seconds"_s; ++i)
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    ASSERT_EQ(focusName(), u"Show me in thirty seconds"_s);
  }
  void begin() {
    ASSERT_NO_FATAL_FAILURE(tabToButton());
    press(Qt::Key_Space);
  }
  Scene scene;
};

// No widget is touched but the one that has the focus.
TEST_F(TourByKeys, space_leads_through_all_of_it) {
  begin();
  QStringList labels;
  for (int i = 0; i < 5; ++i) {
    labels.append(focusName());
    if (i == 4) {  // what the library has of the chat, before it is closed
      QList<Message> messages;
      for (int row = 0; row < scene.state.conversation()->rowCount(); ++row)
        messages.append(scene.state.conversation()->message(row));
      scene.engine.saveMessages(scene.state.chat().id, messages);
    }
    press(Qt::Key_Space);
  }
  labels.append(focusName());
  EXPECT_EQ(labels,
            (QStringList{u"Next: less memory"_s, u"Apply"_s, u"Ask it again"_s,
                         u"Next: what is held"_s, u"Close and open this chat"_s, u"Done"_s}));
  EXPECT_TRUE(scene.window->tourCard()->isVisible());
  EXPECT_TRUE(scene.window->resumeChip()->isVisible());
  press(Qt::Key_Space);
  EXPECT_FALSE(scene.window->tourCard()->isVisible());
  EXPECT_TRUE(scene.window->composer()->edit()->hasFocus());
}

TEST_F(TourByKeys, escape_ends_it_also_while_the_notes_are_read) {
  begin();
  ASSERT_TRUE(scene.window->tourCard()->isVisible());
  press(Qt::Key_Escape);
  EXPECT_FALSE(scene.window->tourCard()->isVisible());
  EXPECT_EQ(scene.state.conversation()->rowCount(), 4);
  scene.state.newChat();
  scene.engine.playAll();
  Scene::settle();
  ASSERT_NO_FATAL_FAILURE(tabToButton());
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Space);
  ASSERT_TRUE(scene.window->tourCard()->isVisible());
  press(Qt::Key_Escape);
  EXPECT_FALSE(scene.window->tourCard()->isVisible());
  EXPECT_EQ(scene.engine.stopsAsked(), 1);
}

TEST_F(TourByKeys, a_narrow_window_does_not_grow_for_the_memory_panel) {
  auto* panel = scene.window->findChild<MemoryPanel*>();
  panel->hide();
  scene.window->resize(scene.window->minimumSizeHint());
  begin();
  const int width = scene.window->width();
  press(Qt::Key_Space);
  EXPECT_EQ(focusName(), u"Apply"_s);
  EXPECT_EQ(scene.window->width(), width);
}

TEST_F(TourByKeys, who_writes_meanwhile_keeps_the_focus_and_the_panel_is_shown) {
  auto* panel = scene.window->findChild<MemoryPanel*>();
  panel->hide();
  begin();
  scene.window->composer()->edit()->setFocus();
  QTest::keyClicks(QApplication::focusWidget(), u"and"_s);
  scene.window->tourCard()->yes()->click();
  playOut(scene.engine);
  EXPECT_TRUE(panel->isVisible());
  EXPECT_TRUE(scene.window->composer()->edit()->hasFocus());
  EXPECT_TRUE(scene.window->tourCard()->yes()->isEnabled());
}

}  // namespace
}  // namespace satchel::ui
