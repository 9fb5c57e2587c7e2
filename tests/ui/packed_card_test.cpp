// The card of what the memory limit took: where it stands, and what can be done on it.
#include <gtest/gtest.h>

#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include "scenes.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/memory/memory_panel.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

class PackedCardTest : public testing::Test {
 protected:
  PackedCardTest() {
    scene.show(1280, 640);
    showPackedCard(scene);
    view = scene.window->conversation();
  }
  int cardRow() {
    const ConversationModel& rows = *scene.state.conversation();
    return rows.lastRow([](const Message& message) { return !message.packed.isEmpty(); });
  }
  // The button, where the mouse meets it.
  QPoint place(PackedAction action) {
    const QModelIndex row = scene.state.conversation()->index(cardRow());
    const QRect rect = view->visualRect(row);
    MessageLayout& layout = view->layouts().layout(row);
    for (int y = layout.height() - 1; y > 0; y -= 4)
      for (int x = 0; x < layout.width(); x += 6)
        if (const MessageHit hit = layout.hit(QPointF(x, y));
            hit.kind == MessageHit::Packed && hit.packed == action)
          return rect.topLeft() + QPoint(x + 3, y);
    return {};
  }
  void click(PackedAction action) {
    ASSERT_FALSE(place(action).isNull());
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, place(action));
    Scene::settle();
  }
  // Something more was taken.
  void tellStep() {
    scene.clock.wall += 1000;
    runtime::LedgerEntry step = sampleLedger(scene.clock.wall).entries.back();
    step.at_ms = scene.clock.wall;
    scene.engine.script.ledger.entries.push_back(step);
    scene.engine.tellLedger();
    Scene::settle();
  }

  Scene scene;
  ConversationView* view = nullptr;
};

TEST_F(PackedCardTest, it_stands_below_its_message_and_is_told_to_screen_readers) {
  ASSERT_GE(cardRow(), 0);
  const QModelIndex row = scene.state.conversation()->index(cardRow());
  const QString said = row.data(Qt::AccessibleTextRole).toString();
  EXPECT_TRUE(said.contains(u"Packed to stay within"_s)) << said.toStdString();
  for (const PackedAction action : kPackedActions) EXPECT_FALSE(place(action).isNull());
}

TEST_F(PackedCardTest, what_is_being_read_does_not_move_when_a_card_comes_or_grows) {
  QScrollBar* bar = view->verticalScrollBar();
  ASSERT_GT(bar->maximum(), 200);
  scene.engine.script.ledger.entries.clear();
  scene.state.send(u"and then?"_s);
  scene.engine.playAll();
  // Further up, where the card is out of sight, and where its message is in view but not the end.
  for (const int above : {bar->maximum() * 2 / 3, 60}) {
    bar->setValue(bar->maximum() - above);
    Scene::settle();
    const int before = bar->value();
    const QModelIndex first = view->indexAt({view->viewport()->width() / 2, 4});
    ASSERT_TRUE(first.isValid());
    const int top = view->visualRect(first).top(), end = bar->maximum();
    tellStep();
    EXPECT_EQ(bar->value(), before) << above;
    EXPECT_EQ(view->visualRect(first).top(), top) << above;
    EXPECT_GE(bar->maximum(), above == 60 ? end + 50 : end) << "the card is there";
    scene.state.send(u"and then?"_s);  // the next card is another
    scene.engine.playAll();
    Scene::settle();
  }
}

TEST_F(PackedCardTest, who_reads_at_the_end_stays_there) {
  QScrollBar* bar = view->verticalScrollBar();
  bar->setValue(bar->maximum());
  scene.state.send(u"and then?"_s);
  scene.engine.playAll();
  Scene::settle();
  tellStep();
  EXPECT_EQ(bar->value(), bar->maximum());
}

TEST_F(PackedCardTest, raise_the_limit_proposes_one_in_the_panel_and_changes_nothing_by_itself) {
  const ChatSettings before = scene.engine.settings();
  scene.window->findChild<MemoryPanel*>()->hide();
  scene.state.memory()->setPresetIndex(3);
  click(PackedAction::RaiseLimit);
  EXPECT_TRUE(scene.window->findChild<MemoryPanel*>()->isVisible());
  EXPECT_EQ(scene.state.memory()->nextSettings().preset, before.preset) << "as the chat has it";
  EXPECT_GT(scene.state.memory()->budgetBytes(), before.budgetBytes);
  EXPECT_EQ(scene.engine.settings(), before) << "a proposal, to be applied or not";
}

TEST_F(PackedCardTest, read_exactly_proposes_full_with_the_limit_that_it_needs) {
  click(PackedAction::ReadExactly);
  EXPECT_EQ(scene.state.memory()->nextSettings().preset, u"full"_s);
  EXPECT_GE(scene.state.memory()->budgetBytes(), scene.engine.settings().budgetBytes);
}

TEST_F(PackedCardTest, pin_passages_lists_messages_and_pins_the_chosen_one) {
  click(PackedAction::Pin);
  auto* menu = scene.window->findChild<QMenu*>(u"pins"_s);
  ASSERT_NE(menu, nullptr);
  QAction* last = menu->actions().last();
  EXPECT_TRUE(last->isCheckable());
  EXPECT_FALSE(last->isChecked());
  last->trigger();
  Scene::settle();
  const ConversationModel& rows = *scene.state.conversation();
  EXPECT_GE(
      rows.lastRow([](const Message& message) { return message.mark == MessageMark::Pinned; }), 0);
  menu->close();
}

TEST_F(PackedCardTest, the_keyboards_menu_has_the_same) {
  QMenu menu;
  view->addMessageActions(menu, cardRow());
  QStringList names;
  for (const QAction* action : menu.actions()) names.append(action->text());
  for (const PackedAction action : kPackedActions)
    EXPECT_TRUE(names.contains(packedActionText(action))) << names.join(u' ').toStdString();
}

}  // namespace
}  // namespace satchel::ui
