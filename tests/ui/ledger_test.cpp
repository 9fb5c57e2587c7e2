// What made a chat smaller, as the window tells it: the table, the cards, the figures. On a
// scripted engine.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QDialog>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

#include "scenes.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using runtime::LedgerCause;

constexpr int kLanes = 90;

QString plain(QString text) {
  return text.replace(QChar(QChar::Nbsp), u' ');
}

QString cell(const LedgerModel& model, int row, int column) {
  return plain(model.index(row, column).data().toString());
}

TEST(LedgerModel, the_newest_step_comes_first_with_all_that_is_known_of_it) {
  LedgerModel model;
  const QAbstractItemModelTester laws(&model,
                                      QAbstractItemModelTester::FailureReportingMode::Fatal);
  const runtime::LedgerChanged ledger = sampleLedger(1'790'000'000'000);
  model.setEntries(ledger.entries, kLanes);
  ASSERT_EQ(model.rowCount(), int(ledger.entries.size()));
  EXPECT_EQ(cell(model, 0, LedgerModel::When), plain(formatMoment(ledger.entries.back().at_ms)));
  EXPECT_EQ(cell(model, 0, LedgerModel::Token), u"4,218"_s);
  EXPECT_EQ(cell(model, 0, LedgerModel::Why), u"memory limit"_s);
  EXPECT_EQ(cell(model, 0, LedgerModel::Coarser), u"11.5 %"_s);
  EXPECT_EQ(cell(model, 0, LedgerModel::Gone), u"< 0.1 %"_s);
  EXPECT_EQ(cell(model, 0, LedgerModel::Memory), u"52.0 MB → 47.8 MB"_s);
  EXPECT_EQ(cell(model, 0, LedgerModel::Measured), u"not measured"_s);
  const int oldest = model.rowCount() - 1;
  EXPECT_EQ(cell(model, oldest, LedgerModel::Why), u"new text"_s);
  EXPECT_EQ(cell(model, oldest, LedgerModel::Gone), u"none"_s);
  EXPECT_EQ(cell(model, oldest, LedgerModel::Measured),
            u"98.4 % same next token · KL 0.004 nats · 99.6 % attention"_s);
}

TEST(LedgerModel, text_that_was_moved_says_how_much_and_whether_that_paid) {
  runtime::LedgerEntry step;
  step.cause = LedgerCause::corrected;
  step.reuse = {.n_tokens = 5210, .n_read = 168, .ms = 900, .reading_ms = 12'000};
  LedgerModel model;
  model.setEntries({step}, kLanes);
  EXPECT_EQ(cell(model, 0, LedgerModel::Why), u"message corrected: 5,210 tokens moved, 168 read"_s);
  EXPECT_EQ(plain(model.index(0, LedgerModel::Why).data(Qt::ToolTipRole).toString()),
            u"message corrected: 5,210 tokens moved, 168 read in 0.90 s. Reading all of it would "
            u"have taken about 12 s."_s);
  EXPECT_EQ(cell(model, 0, LedgerModel::Measured), u"not measured"_s);
  step.reuse.ms = 13'000;
  model.setEntries({step}, kLanes + 1);
  EXPECT_TRUE(cell(model, 0, LedgerModel::Why).endsWith(u"168 read, no time saved"_s));
}

TEST(LedgerModel, a_figure_has_its_age_in_its_tip_and_steps_that_became_one_are_counted) {
  LedgerModel model;
  std::vector<runtime::LedgerEntry> entries = sampleLedger(1'790'000'000'000).entries;
  entries.front().n_steps = 4;
  model.setEntries(entries, kLanes);
  const QModelIndex oldest = model.index(model.rowCount() - 1, LedgerModel::Measured);
  EXPECT_EQ(plain(oldest.data(Qt::ToolTipRole).toString()),
            cell(model, oldest.row(), LedgerModel::Measured) + u", measured at token 3,102 on "_s +
                plain(formatMoment(entries.front().fidelity.measured_ms)));
  EXPECT_EQ(model.index(0, LedgerModel::Measured).data(Qt::ToolTipRole).toString(),
            u"not measured"_s);
  EXPECT_EQ(cell(model, oldest.row(), LedgerModel::Why), u"new text, with 3 steps before it"_s);
}

TEST(LedgerModel, what_is_told_again_does_not_move_the_table_and_a_late_measurement_does) {
  LedgerModel model;
  runtime::LedgerChanged ledger = sampleLedger(1'790'000'000'000);
  model.setEntries(ledger.entries, kLanes);
  QSignalSpy resets(&model, &QAbstractItemModel::modelReset);
  model.setEntries(ledger.entries, kLanes);
  EXPECT_EQ(resets.count(), 0);
  ledger.entries.back().fidelity = ledger.entries.front().fidelity;
  model.setEntries(ledger.entries, kLanes);
  EXPECT_EQ(resets.count(), 1);
}

TEST(LedgerModel, no_share_is_told_where_the_whole_is_not_known) {
  LedgerModel model;
  model.setEntries(sampleLedger(0).entries, 0);
  EXPECT_EQ(cell(model, 0, LedgerModel::Coarser), u"43,656"_s);
}

TEST(LedgerModel, new_steps_are_found_where_old_ones_have_become_one) {
  using Steps = std::vector<runtime::LedgerEntry>;
  const Steps steps = sampleLedger(1'790'000'000'000).entries;
  const auto first = [&steps](int n) { return Steps(steps.begin(), steps.begin() + n); };
  EXPECT_EQ(stepsSince({}, steps).size(), steps.size());
  EXPECT_EQ(stepsSince(steps, steps).size(), 0u);
  EXPECT_EQ(stepsSince(first(4), steps).size(), 2u);
  const Steps merged(steps.begin() + 1, steps.end());  // as many as before, one of them new
  ASSERT_EQ(stepsSince(first(5), merged).size(), 1u);
  EXPECT_EQ(stepsSince(first(5), merged)[0].at_ms, steps.back().at_ms);
  EXPECT_EQ(stepsSince(first(1), merged).size(), 5u) << "the one that was known is gone";
}

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() : notices(&scene.state, &AppState::noticeShown) {
    scene.show();
    scene.openModel();
    scene.engine.script.cache = sampleCache(u"compact"_s, 4218, scene.clock.wall);
  }
  // A step of that cause, just now.
  void addStep(LedgerCause cause) {
    runtime::LedgerEntry step = sampleLedger(scene.clock.wall).entries.back();
    step.at_ms = scene.clock.wall;
    step.cause = cause;
    scene.engine.script.ledger.entries.push_back(step);
  }
  void send() {
    scene.state.send(u"hello"_s);
    scene.engine.playAll();
    Scene::settle();
  }
  QString lastNotice() {
    return notices.isEmpty() ? QString() : plain(notices.last()[0].toString());
  }
  // The cards of the conversation, of the rows that have one.
  QStringList cards() {
    QStringList found;
    const ConversationModel& rows = *scene.state.conversation();
    for (int row = 0; row < rows.rowCount(); ++row)
      if (const PackedNote& note = rows.message(row).packed; !note.isEmpty())
        found.append(plain(note.title + u". "_s + note.text + u' ' + note.cost));
    return found;
  }
  Scene scene;
  QSignalSpy notices;
};

constexpr auto kPacked =
    u"Packed to stay within 210 MB. The chat's 4,218 tokens took 52.0 MB and now take 47.8 MB: "
    "11.5 % of it is now stored at lower precision, < 0.1 % was dropped from the model's memory. "
    "What that changed is not measured yet.";

TEST_F(LedgerTest, what_the_limit_took_is_one_card_where_it_was_taken) {
  send();
  addStep(LedgerCause::limit);
  send();
  EXPECT_EQ(cards(), QStringList(QString::fromUtf16(kPacked)));
  EXPECT_FALSE(scene.state.conversation()->message(3).packed.isEmpty()) << "under the answer";
  EXPECT_EQ(notices.count(), 0) << "told once, in one way";
  send();
  EXPECT_EQ(cards().size(), 1);
}

TEST_F(LedgerTest, what_is_taken_for_one_message_is_one_card_and_for_the_next_one_another) {
  send();
  addStep(LedgerCause::limit);
  scene.engine.tellLedger();
  scene.clock.wall += 1000;
  addStep(LedgerCause::limit);
  scene.engine.script.ledger.entries.back().bytes_before = 47'800'000;
  scene.engine.script.ledger.entries.back().bytes_after = 40'000'000;
  scene.engine.tellLedger();
  ASSERT_EQ(cards().size(), 1);
  EXPECT_TRUE(cards()[0].contains(u"took 52.0 MB and now take 40.0 MB: 23 % of it"_s))
      << cards()[0].toStdString();
  scene.clock.wall += 1000;
  addStep(LedgerCause::limit);
  send();
  EXPECT_EQ(cards().size(), 2);
}

TEST_F(LedgerTest, a_cost_measured_later_comes_onto_the_card_with_its_age) {
  addStep(LedgerCause::limit);
  send();
  runtime::Fidelity& cost = scene.engine.script.ledger.entries.back().fidelity;
  cost.n_tokens = 128;
  cost.agreement = 0.961;
  cost.kl = 0.021;
  cost.measured_at = 4218;
  cost.measured_ms = scene.clock.wall + 60'000;
  scene.engine.tellLedger();
  ASSERT_EQ(cards().size(), 1);
  EXPECT_TRUE(
      cards()[0].endsWith(u"96.1 % same next token · KL 0.021 nats, measured at token 4,218 on "_s +
                          plain(formatMoment(cost.measured_ms))))
      << cards()[0].toStdString();
}

TEST_F(LedgerTest, what_the_recipe_does_by_itself_needs_no_card) {
  for (const LedgerCause cause :
       {LedgerCause::read, LedgerCause::turn, LedgerCause::idle, LedgerCause::asked})
    addStep(cause);
  send();
  EXPECT_EQ(cards(), QStringList());
}

TEST_F(LedgerTest, what_a_saved_chat_has_been_through_is_not_told_as_new) {
  const ChatKey saved =
      scene.engine.addChat(u"saved"_s, QDateTime::currentDateTime(), sampleConversation());
  addStep(LedgerCause::limit);
  scene.clock.wall += 1000;
  scene.state.openChat(saved);
  scene.engine.playAll();
  EXPECT_EQ(cards(), QStringList()) << "when its messages were written is not known";
  EXPECT_EQ(scene.state.memory()->ledger()->rowCount(), 1);
  addStep(LedgerCause::limit);
  send();
  EXPECT_EQ(cards().size(), 1);
}

// A chat of six messages, one a minute; the first of them was written an hour ago.
class ReopenedTest : public LedgerTest {
 protected:
  ReopenedTest() {
    for (int row = 0; row < 6; ++row) written(row, -60 + row, 700);
  }
  void written(int row, int minutes, std::size_t n_tokens) {
    scene.engine.script.written.resize(6);
    scene.engine.script.written[row] = {scene.clock.wall + minutes * 60'000, n_tokens};
  }
  void addStepAt(int minutes, std::size_t n_tokens, LedgerCause cause = LedgerCause::limit) {
    addStep(cause);
    scene.engine.script.ledger.entries.back().at_ms = scene.clock.wall + minutes * 60'000;
    scene.engine.script.ledger.entries.back().n_tokens = n_tokens;
  }
  void open() {
    scene.state.openChat(scene.engine.addChat(u"saved"_s, QDateTime::currentDateTime(), rows));
    scene.engine.playAll();
    Scene::settle();
  }
  QList<int> cardRows() {
    QList<int> found;
    for (int row = 0; row < scene.state.conversation()->rowCount(); ++row)
      if (!scene.state.conversation()->message(row).packed.isEmpty()) found.append(row);
    return found;
  }
  QList<Message> rows = sampleConversation();
};

TEST_F(ReopenedTest, the_card_is_back_at_its_message_with_what_the_ledger_has) {
  addStepAt(-57, 2700);
  open();
  EXPECT_EQ(cardRows(), QList<int>{3});
  EXPECT_EQ(
      cards(),
      QStringList(u"Packed to stay within the memory limit. The chat's 2,700 tokens took 52.0 MB "
                  "and now take 47.8 MB: 18 % of it is now stored at lower precision, < 0.1 % was "
                  "dropped from the model's memory. What that changed was not measured."_s));
  EXPECT_EQ(notices.count(), 0) << "it is not new";
}

TEST_F(ReopenedTest, what_was_measured_in_another_life_stands_on_the_card) {
  addStepAt(-57, 2700);
  scene.engine.script.ledger.entries.back().fidelity =
      sampleLedger(scene.clock.wall).entries.front().fidelity;
  open();
  ASSERT_EQ(cards().size(), 1);
  EXPECT_TRUE(cards()[0].contains(u"98.4 % same next token · KL 0.004 nats, measured at"_s))
      << cards()[0].toStdString();
}

TEST_F(ReopenedTest, what_was_taken_while_a_question_was_read_stands_below_it) {
  addStepAt(-58, 1500);  // when the question in row 2 was written
  open();
  EXPECT_EQ(cardRows(), QList<int>{2});
}

TEST_F(ReopenedTest, each_message_has_one_card_and_only_the_limits_steps_have_one) {
  addStepAt(-59, 1300);
  addStepAt(-59, 1400);
  addStepAt(-57, 2750, LedgerCause::turn);
  addStepAt(-55, 4100);
  open();
  EXPECT_EQ(cardRows(), (QList<int>{1, 5}));
  EXPECT_TRUE(cards()[0].contains(u"The chat's 1,400 tokens"_s)) << cards()[0].toStdString();
}

TEST_F(ReopenedTest, in_a_branch_whose_messages_are_newer_the_tokens_read_say_where) {
  for (int row = 0; row < 6; ++row) written(row, -1, 700);
  addStepAt(-30, 2500);
  open();
  EXPECT_EQ(cardRows(), QList<int>{3});
}

TEST_F(ReopenedTest, a_step_that_no_message_fits_has_no_card) {
  for (int row = 0; row < 6; ++row) written(row, -1, row == 1 ? 0 : 700);  // not known behind it
  addStepAt(-30, 2500);
  open();
  EXPECT_EQ(cards(), QStringList());
}

TEST_F(ReopenedTest, steps_that_became_one_do_not_say_what_was_taken_by_the_last_of_them) {
  addStepAt(-57, 2700);
  scene.engine.script.ledger.entries.back().n_steps = 3;
  open();
  ASSERT_EQ(cards().size(), 1);
  EXPECT_TRUE(cards()[0].contains(u". The chat's 2,700 tokens took 47.8 MB afterwards. "_s))
      << cards()[0].toStdString();
}

TEST_F(ReopenedTest, what_is_taken_next_comes_onto_the_card_of_its_message) {
  addStepAt(-55, 4100);
  open();
  scene.clock.wall += 1000;
  addStep(LedgerCause::limit);
  scene.engine.tellLedger();
  EXPECT_EQ(cardRows(), QList<int>{5});
  EXPECT_TRUE(cards()[0].startsWith(u"Packed to stay within 210 MB. The chat's 4,218 tokens"_s))
      << cards()[0].toStdString();
  EXPECT_TRUE(cards()[0].endsWith(u"not measured yet."_s)) << cards()[0].toStdString();
}

TEST_F(LedgerTest, what_the_limit_took_while_a_saved_chat_is_read_again_is_told) {
  const ChatKey saved =
      scene.engine.addChat(u"saved"_s, QDateTime::currentDateTime(), sampleConversation());
  scene.state.openChat(saved);
  scene.clock.wall += 1000;
  addStep(LedgerCause::limit);
  scene.engine.playAll();
  EXPECT_EQ(cards().size(), 1);
}

TEST_F(LedgerTest, a_notice_or_an_error_says_its_own_and_the_card_stays) {
  QSignalSpy errors(&scene.state, &AppState::errorShown);
  scene.engine.script.document.n_tokens = 3912;
  scene.engine.script.document.ms = 4000;
  addStep(LedgerCause::limit);
  scene.state.attachDocument(u"notes.txt"_s, sampleDocument());
  scene.engine.playAll();
  EXPECT_EQ(lastNotice(), u"Read 3,912 tokens in 4.0 s."_s);
  EXPECT_EQ(cards().size(), 1);
  scene.engine.script.answer.finish = runtime::Finish::cache_full;
  scene.engine.script.answer.message = "The memory is full.";
  send();
  ASSERT_EQ(errors.count(), 1);
  EXPECT_EQ(plain(errors[0][1].toString()), u"The memory is full."_s);
  EXPECT_EQ(cards().size(), 1);
}

TEST_F(LedgerTest, without_a_message_there_is_no_place_for_a_card_and_the_notice_says_it) {
  addStep(LedgerCause::limit);
  scene.engine.tellLedger();
  EXPECT_TRUE(lastNotice().startsWith(u"Packed to stay within 210 MB. "_s))
      << lastNotice().toStdString();
}

TEST_F(LedgerTest, control_l_shows_the_steps_and_they_go_on_with_the_chat) {
  const auto dialog = [this]() -> QDialog* {
    for (QDialog* found : scene.window->findChildren<QDialog*>())
      if (found->isVisible()) return found;
    return nullptr;
  };
  QTest::keyClick(scene.window.get(), Qt::Key_L, Qt::ControlModifier);
  ASSERT_NE(dialog(), nullptr);
  const auto* table = dialog()->findChild<QTableView*>();
  EXPECT_FALSE(table->isVisible()) << "nothing has been compressed";
  scene.engine.script.ledger = sampleLedger(scene.clock.wall);
  send();
  EXPECT_TRUE(table->isVisible());
  EXPECT_EQ(table->model()->rowCount(), int(scene.engine.script.ledger.entries.size()));
  QTest::keyClick(dialog(), Qt::Key_Escape);
  Scene::settle();
  EXPECT_EQ(dialog(), nullptr);
}

TEST_F(LedgerTest, attention_and_recall_are_shown_only_where_they_were_measured) {
  MemoryPanelState* memory = scene.state.memory();
  EXPECT_EQ(memory->attentionText(), QString());
  EXPECT_EQ(memory->recallText(), QString());
  scene.engine.script.ledger = sampleLedger(scene.clock.wall);
  send();
  EXPECT_EQ(plain(memory->attentionText()), u"98.7 % of attention retained"_s);
  EXPECT_EQ(memory->recallText(),
            u"27 of 30 facts repeated correctly, measured at token 4,102, 12 min ago"_s);
}

TEST_F(LedgerTest, a_figure_from_before_the_last_step_says_so) {
  send();
  const QString age = u"measured at token 4,218, 2 min ago"_s;
  EXPECT_EQ(scene.state.memory()->fidelityAge(), age);
  addStep(LedgerCause::corrected);
  send();
  const QString moved = age + u"; text corrected or moved since then"_s;
  EXPECT_EQ(scene.state.memory()->fidelityAge(), moved);
  addStep(LedgerCause::turn);
  send();
  EXPECT_EQ(scene.state.memory()->fidelityAge(), moved + u"; compressed further since then"_s);
}

}  // namespace
}  // namespace satchel::ui
