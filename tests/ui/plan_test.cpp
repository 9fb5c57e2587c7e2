// The sliders on the open chat: what they would do is told first, and done when it is applied. On a
// scripted engine.
#include <gtest/gtest.h>

#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "runtime/limits/presets.h"
#include "scenes.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using runtime::ChatTask;
using Phase = AppState::Phase;

constexpr qint64 kTokens = 4218;

QString plain(QString text) {
  return text.replace(QChar(QChar::Nbsp), u' ');
}

// A window over a chat of 4,218 tokens under Full.
class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    scene.show();
    scene.openModel();
    memory()->plan()->setRest(std::chrono::milliseconds(0));
    scene.engine.script.cache = sampleCache(u"full"_s, kTokens, scene.clock.wall);
    scene.engine.script.change = sampleLoss();
    scene.state.send(u"hello"_s);
    scene.engine.playAll();
    Scene::settle();
  }
  MemoryPanelState* memory() { return scene.state.memory(); }
  QString text() { return plain(memory()->plan()->text()); }
  bool canApply() { return memory()->plan()->canApply(); }
  qsizetype asked() { return scene.engine.previewsAsked().size(); }
  // The sliders rest, all is answered, and what follows from that.
  void rest() {
    for (int i = 0; i < 3; ++i) {
      Scene::settle();
      scene.engine.playAll();
    }
    Scene::settle();
  }
  void choose(int preset) {
    memory()->setPresetIndex(preset);
    rest();
  }
  QPushButton* button(const QString& text) {
    for (QPushButton* found : scene.window->findChildren<QPushButton*>())
      if (found->text() == text) return found;
    return nullptr;
  }
  Scene scene;
};

TEST_F(PlanTest, nothing_is_asked_or_applied_while_the_sliders_say_what_the_chat_has) {
  EXPECT_EQ(asked(), 0);
  EXPECT_EQ(text(), u"This chat already has these settings."_s);
  EXPECT_FALSE(canApply());
  choose(2);
  EXPECT_TRUE(canApply());
  choose(0);
  EXPECT_FALSE(canApply());
  EXPECT_EQ(asked(), 1);
}

TEST_F(PlanTest, it_is_asked_for_once_when_the_sliders_have_rested) {
  for (const int preset : {1, 3, 2}) memory()->setPresetIndex(preset);
  memory()->setBudgetBytes(100'000'000);
  EXPECT_EQ(asked(), 0);
  EXPECT_FALSE(canApply());
  EXPECT_TRUE(text().startsWith(u"Estimating"_s));
  rest();
  ASSERT_EQ(asked(), 1);
  EXPECT_EQ(scene.engine.previewsAsked()[0], (ChatSettings{u"compact"_s, 100'000'000}));
}

TEST_F(PlanTest, going_down_says_what_it_takes_away_and_what_that_costs) {
  choose(2);
  EXPECT_EQ(text(),
            u"This chat will take 34.2 MB instead of 97.2 MB (estimated): 49 % of it at lower "
            "precision, 48 % dropped. Only rereading undoes that. Compared with the chat as it is "
            "now, on its last 128 tokens: 96.1 % same next token · KL 0.021 nats."_s);
}

TEST_F(PlanTest, a_cost_that_was_not_measured_is_no_figure) {
  scene.engine.script.change.cost = {};
  scene.engine.script.change.n_evicted = 0;
  choose(1);
  EXPECT_EQ(text(),
            u"This chat will take 34.2 MB instead of 97.2 MB (estimated): 49 % of it at lower "
            "precision. Only rereading undoes that. The effect on accuracy is not measured yet."_s);
}

TEST_F(PlanTest, going_up_says_what_is_read_again_and_how_long_that_takes) {
  scene.engine.script.change = sampleReread(kTokens);
  choose(2);  // so that the chat can go up to Full
  memory()->plan()->apply();
  rest();
  choose(0);
  EXPECT_EQ(text(),
            u"4,218 tokens must be reread, which takes about 58 s. The chat will then take "
            "97.2 MB instead of 34.2 MB (estimated)."_s);
  scene.engine.script.change.reread_ms = 0;
  choose(1);
  EXPECT_EQ(text(),
            u"4,218 tokens must be reread; how long that takes is not known yet. The chat will "
            "then take 97.2 MB instead of 34.2 MB (estimated). The effect on accuracy is not "
            "measured yet."_s);
}

TEST_F(PlanTest, reading_again_under_too_low_a_limit_says_so_and_names_one_that_would_do) {
  runtime::MemoryChange& change = scene.engine.script.change;
  change = sampleReread(kTokens);
  change.limit_all = 120'010'000;
  change.bytes_all = 110'000'000;
  choose(1);
  EXPECT_TRUE(
      text().contains(u"With this limit, text drops to lower precision again instead of taking "
                      "110 MB; a limit of 121 MB avoids that."_s))
      << text().toStdString();
  change.bytes_all = change.bytes_after;
  choose(2);
  EXPECT_TRUE(
      text().contains(u"may drop to lower precision again while it is reread; a limit of "
                      "121 MB"_s))
      << text().toStdString();
}

TEST_F(PlanTest, where_it_does_not_fit_the_least_limit_is_named_and_nothing_can_be_applied) {
  scene.engine.script.change.fits = false;
  scene.engine.script.change.limit_least = 41'210'000;
  memory()->setBudgetBytes(20'000'000);
  rest();
  EXPECT_EQ(text(),
            u"This chat does not fit into 20.0 MB with these settings. It needs a limit of at "
            "least 41.3 MB."_s);
  EXPECT_FALSE(canApply());
  memory()->plan()->apply();
  rest();
  EXPECT_EQ(scene.engine.settings().preset, u"full"_s);
  EXPECT_TRUE(memory()->differsFromChat());
}

TEST_F(PlanTest, a_limit_that_changes_nothing_held_says_so_and_can_be_applied) {
  scene.engine.script.change = {};
  scene.engine.script.change.bytes_before = scene.engine.script.change.bytes_after = 97'200'000;
  scene.engine.script.change.n_lane_tokens = 379'620;
  memory()->setBudgetBytes(150'000'000);
  rest();
  EXPECT_EQ(text(), u"Nothing changes in this chat; it takes 97.2 MB."_s);
  EXPECT_TRUE(canApply());
}

TEST_F(PlanTest, what_could_not_be_tried_beforehand_is_not_told_as_no_loss) {
  scene.engine.script.change.n_lowered = scene.engine.script.change.n_evicted = 0;
  scene.engine.script.change.cost = {};
  memory()->setBudgetBytes(50'000'000);
  rest();
  EXPECT_EQ(text(),
            u"This chat will take 34.2 MB instead of 97.2 MB (estimated). There is too little "
            "memory to measure beforehand what that changes."_s);
  EXPECT_TRUE(canApply());
}

TEST_F(PlanTest, a_chat_without_a_message_takes_them_at_once_and_without_a_word) {
  scene.state.newChat();
  scene.engine.script.change = {};
  scene.engine.script.cache = {};
  QSignalSpy notices(&scene.state, &AppState::noticeShown);
  choose(3);
  rest();
  EXPECT_EQ(scene.engine.settings().preset, u"extreme"_s);
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
  EXPECT_FALSE(memory()->differsFromChat());
  EXPECT_EQ(notices.count(), 0);
  QPushButton* apply = button(u"Apply to this chat"_s);
  EXPECT_FALSE(apply->isVisible()) << "there is nothing to apply";
  EXPECT_FALSE(button(u"New chat with these settings"_s)->isVisible()) << "it is one";
}

TEST_F(PlanTest, a_chat_without_a_message_keeps_its_settings_where_the_others_do_not_fit) {
  scene.state.newChat();
  const QString before = scene.engine.settings().preset;
  scene.engine.script.change = {.fits = false, .limit_least = 20'000'000};
  scene.engine.script.cache = {};
  choose(3);
  EXPECT_EQ(scene.engine.settings().preset, before);
  EXPECT_TRUE(button(u"Apply to this chat"_s)->isVisible()) << "the card says why";
  EXPECT_FALSE(canApply());
}

TEST_F(PlanTest, applied_the_chat_has_them_and_the_panel_shows_the_new_state) {
  QSignalSpy notices(&scene.state, &AppState::noticeShown);
  choose(2);
  scene.engine.script.cache = sampleCache(u"compact"_s, kTokens, scene.clock.wall);
  scene.engine.script.cache.fidelity = {};
  memory()->plan()->apply();
  EXPECT_EQ(scene.state.phase(), Phase::Applying);
  EXPECT_EQ(text(), u"Applying these settings to this chat…"_s);
  EXPECT_FALSE(canApply());
  EXPECT_TRUE(scene.state.canStop());
  rest();
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
  EXPECT_EQ(scene.engine.settings().preset, u"compact"_s);
  EXPECT_FALSE(memory()->differsFromChat());
  EXPECT_EQ(text(), u"This chat already has these settings."_s);
  EXPECT_EQ(plain(memory()->recipeText()), u"Compact · recipe satchel, 50 % kept"_s);
  EXPECT_FALSE(memory()->bodyText().isEmpty());
  EXPECT_EQ(asked(), 1);
  ASSERT_EQ(notices.count(), 1);
  EXPECT_EQ(plain(notices[0][0].toString()), u"This chat now takes 34.2 MB instead of 97.2 MB."_s);
  EXPECT_EQ(memory()->nextSettings().preset, u"compact"_s) << "a new chat gets it, as before";
}

TEST_F(PlanTest, the_button_applies_and_is_off_while_it_must_be) {
  QPushButton* apply = button(u"Apply to this chat"_s);
  ASSERT_NE(apply, nullptr);
  EXPECT_FALSE(apply->isEnabled()) << "nothing differs";
  memory()->setPresetIndex(2);
  EXPECT_FALSE(apply->isEnabled()) << "nobody knows yet what it would do";
  rest();
  EXPECT_TRUE(apply->isEnabled());
  scene.state.send(u"more"_s);
  EXPECT_FALSE(apply->isEnabled()) << "an answer runs";
  rest();
  EXPECT_TRUE(apply->isEnabled());
  QTest::mouseClick(apply, Qt::LeftButton);
  EXPECT_FALSE(apply->isEnabled());
  rest();
  EXPECT_EQ(scene.engine.settings().preset, u"compact"_s);
  EXPECT_FALSE(apply->isEnabled());
}

TEST_F(PlanTest, while_an_answer_runs_it_is_not_asked_for_and_afterwards_it_is_anew) {
  scene.state.send(u"more"_s);
  memory()->setPresetIndex(2);
  Scene::settle();
  EXPECT_EQ(asked(), 0);
  EXPECT_EQ(text(), u"Satchel estimates the effect on this chat once it is idle."_s);
  rest();
  EXPECT_EQ(asked(), 1);
  scene.state.send(u"more"_s);
  EXPECT_FALSE(canApply()) << "it was of the chat before this message";
  rest();
  EXPECT_EQ(asked(), 2);
  EXPECT_TRUE(canApply());
}

TEST_F(PlanTest, another_chat_is_never_shown_the_plan_of_this_one) {
  const ChatKey saved = scene.engine.addChat(u"saved"_s, QDateTime::currentDateTime(),
                                             sampleConversation(), {u"full"_s, 210'000'000});
  choose(2);
  ASSERT_TRUE(canApply());
  scene.state.openChat(saved);
  EXPECT_FALSE(canApply());
  EXPECT_TRUE(text().startsWith(u"Satchel estimates the effect"_s));
  rest();
  EXPECT_EQ(asked(), 2);
}

TEST_F(PlanTest, an_answer_for_other_settings_is_not_shown) {
  choose(2);
  memory()->setPresetIndex(3);
  scene.engine.tell(runtime::MemoryPreviewed{
      {runtime::resolve_recipe("compact").value(), 210'000'000}, sampleLoss()});
  EXPECT_FALSE(canApply());
  EXPECT_TRUE(text().startsWith(u"Estimating"_s));
}

TEST_F(PlanTest, a_preview_that_made_way_is_asked_for_again) {
  scene.engine.script.errors.append(
      {ChatTask::preview_memory, {ErrorKind::cancelled, "STOPPED", "Stopped."}});
  choose(2);
  EXPECT_EQ(asked(), 2);
  EXPECT_TRUE(canApply());
}

TEST_F(PlanTest, a_preview_that_fails_says_why_in_its_place) {
  QSignalSpy errors(&scene.state, &AppState::errorShown);
  scene.engine.script.errors.append(
      {ChatTask::preview_memory, {ErrorKind::invalid, "CACHE", "The cache is damaged."}});
  choose(2);
  EXPECT_EQ(text(), u"The cache is damaged."_s);
  EXPECT_FALSE(canApply());
  EXPECT_EQ(errors.count(), 0);
  EXPECT_EQ(asked(), 1) << "it would fail again and again";
  choose(3);
  EXPECT_TRUE(canApply());
}

TEST_F(PlanTest, a_change_that_is_refused_leaves_the_chat_and_says_why) {
  QSignalSpy errors(&scene.state, &AppState::errorShown);
  choose(2);
  scene.engine.script.errors.append(
      {ChatTask::change_memory, {ErrorKind::invalid, "LIMIT", "It does not fit."}});
  memory()->plan()->apply();
  rest();
  ASSERT_EQ(errors.count(), 1);
  EXPECT_EQ(errors[0][0].toString(), u"LIMIT"_s);
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
  EXPECT_EQ(scene.engine.settings().preset, u"full"_s);
  EXPECT_TRUE(memory()->differsFromChat());
}

TEST_F(PlanTest, a_change_that_was_stopped_half_way_says_what_is_still_to_come) {
  QSignalSpy notices(&scene.state, &AppState::noticeShown);
  scene.engine.tell(runtime::MemoryChanged{
      {runtime::resolve_recipe("balanced").value(), 210'000'000}, {}, false});
  ASSERT_EQ(notices.count(), 1);
  EXPECT_EQ(notices[0][0].toString(),
            u"The change was stopped. This chat now has the recipe ladder-4 and a limit of "
            "210\u00a0MB; the rest is reread with your next message."_s);
  EXPECT_EQ(plain(memory()->recipeText()), u"Balanced · recipe ladder-4"_s);
}

TEST_F(PlanTest, packing_is_not_held_up_by_plans_and_the_plan_follows_when_it_is_done) {
  choose(2);
  EXPECT_EQ(asked(), 1);
  scene.engine.script.packing = {samplePacking(20, kTokens), samplePacking(60, kTokens),
                                 sampleCache(u"compact"_s, kTokens, scene.clock.wall)};
  scene.engine.play(2);
  Scene::settle();
  EXPECT_EQ(asked(), 1);
  rest();
  EXPECT_EQ(asked(), 2);
  EXPECT_TRUE(canApply());
}

TEST_F(PlanTest, packing_that_made_way_for_who_writes_is_not_woken_by_a_plan) {
  scene.state.setTypingRest(std::chrono::hours(1));
  scene.state.noteTyping();
  choose(2);
  EXPECT_TRUE(canApply());
  EXPECT_TRUE(scene.engine.isIdlePaused());
}

TEST_F(PlanTest, packing_that_waits_does_not_ask_for_plans) {
  choose(2);
  runtime::ChatMemory waits = samplePacking(60, kTokens);
  waits.stats.bytes -= 1'000'000;
  scene.engine.tell(waits);
  rest();
  EXPECT_EQ(asked(), 1);
}

TEST_F(PlanTest, a_figure_of_the_settings_before_is_not_given_to_the_new_ones) {
  choose(2);
  memory()->plan()->apply();
  scene.engine.script.cache = sampleCache(u"compact"_s, kTokens, scene.clock.wall);
  rest();
  ASSERT_TRUE(memory()->presetLine(2).isMeasured);
  choose(3);
  memory()->plan()->apply();
  rest();
  EXPECT_EQ(memory()->presetLine(3).fidelity, u"not measured"_s);
  scene.engine.script.cache.fidelity.measured_ms = scene.clock.wall + 5;
  scene.state.send(u"more"_s);
  rest();
  EXPECT_TRUE(memory()->presetLine(3).isMeasured);
}

}  // namespace
}  // namespace satchel::ui
