// The window on a scripted engine, driven by keys and the mouse, without a screen.
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QListWidget>
#include <QPointer>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>
#include <QTextBlock>

#include "scenes.h"
#include "ui/model/format.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chat_list_panel.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/conversation/document_style.h"
#include "ui/widgets/deleted_chats_popup.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/memory/memory_panel.h"
#include "ui/widgets/memory/preset_table.h"
#include "ui/widgets/shelf_popup.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using runtime::ChatTask;

class WindowTest : public testing::Test {
 protected:
  WindowTest() {
    scene.engine.script.deltas = {u"One "_s, u"two."_s};
    scene.show();
    scene.openModel();
  }
  void type(const QString& text) { QTest::keyClicks(scene.window->composer()->edit(), text); }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(scene.window->composer()->edit(), key, modifiers);
    Scene::settle();
  }
  void openLong(int count) {
    QList<Message> messages;
    for (int i = 0; i < count; ++i) {
      messages.append(userMessage(u"Question %1?"_s.arg(i)));
      messages.append(answerMessage(sampleMarkdown()));
    }
    const ChatKey chat = scene.engine.addChat(u"long"_s, QDateTime::currentDateTime(), messages);
    scene.state.openChat(chat);
    scene.engine.playAll();
    Scene::settle();
  }
  // In the window.
  QRect placeOf(QWidget* widget) {
    return {widget->mapTo(scene.window.get(), QPoint()), widget->size()};
  }
  QRect rowPlace(int row) {
    const QRect rect = view()->visualRect(scene.state.conversation()->index(row));
    return rect.translated(view()->viewport()->mapTo(scene.window.get(), QPoint()));
  }
  ConversationView* view() { return scene.window->conversation(); }
  QScrollBar* bar() { return view()->verticalScrollBar(); }
  Scene scene;
};

TEST_F(WindowTest, enter_sends_and_shift_enter_makes_a_line) {
  type(u"first"_s);
  press(Qt::Key_Return, Qt::ShiftModifier);
  type(u"second"_s);
  press(Qt::Key_Return);
  scene.engine.playAll();
  ASSERT_EQ(scene.state.conversation()->rowCount(), 2);
  EXPECT_EQ(scene.state.conversation()->message(0).text, u"first\nsecond"_s);
  EXPECT_EQ(scene.state.conversation()->message(1).text, u"One two."_s);
  EXPECT_TRUE(scene.window->composer()->edit()->toPlainText().isEmpty());
}

TEST_F(WindowTest, escape_stops_an_answer_and_what_is_written_stays) {
  type(u"hello"_s);
  press(Qt::Key_Return);
  scene.engine.play(4);
  type(u"next"_s);
  press(Qt::Key_Escape);
  scene.engine.playAll();
  EXPECT_EQ(scene.engine.stopsAsked(), 1);
  EXPECT_EQ(scene.state.conversation()->message(1).text, u"One "_s);
  EXPECT_EQ(scene.window->composer()->edit()->toPlainText(), u"next"_s);
}

TEST_F(WindowTest, nothing_is_sent_while_it_answers) {
  type(u"hello"_s);
  press(Qt::Key_Return);
  scene.engine.play(4);
  type(u"too early"_s);
  press(Qt::Key_Return);
  scene.engine.playAll();
  EXPECT_EQ(scene.state.conversation()->rowCount(), 2);
  EXPECT_EQ(scene.window->composer()->edit()->toPlainText(), u"too early"_s);
}

TEST_F(WindowTest, an_error_is_a_banner_with_its_code_and_the_text_comes_back) {
  scene.engine.script.errors.append(
      {ChatTask::send,
       {ErrorKind::invalid, "DISK_FULL", "The message was not saved. Free 20 MB."}});
  type(u"precious"_s);
  press(Qt::Key_Return);
  scene.engine.playAll();
  Scene::settle();
  EXPECT_TRUE(scene.window->banner()->isVisible());
  EXPECT_EQ(scene.window->banner()->text(), u"The message was not saved. Free 20 MB."_s);
  EXPECT_EQ(scene.window->composer()->edit()->toPlainText(), u"precious"_s);
  press(Qt::Key_Escape);
  EXPECT_FALSE(scene.window->banner()->isVisible());
}

TEST_F(WindowTest, text_that_comes_back_stands_before_what_was_typed_meanwhile) {
  scene.engine.script.errors.append(
      {ChatTask::send, {ErrorKind::invalid, "GPU_LOST", "The GPU stopped."}, true});
  type(u"precious"_s);
  press(Qt::Key_Return);
  type(u"and more"_s);
  scene.engine.playAll();
  EXPECT_EQ(scene.window->composer()->edit()->toPlainText(), u"precious\nand more"_s);
}

TEST_F(WindowTest, an_error_goes_when_something_else_is_begun_and_a_notice_stays) {
  const auto isShown = [this] { return scene.window->banner()->isVisible(); };
  scene.engine.script.errors.append(
      {ChatTask::send, {ErrorKind::invalid, "GPU_LOST", "The GPU stopped."}, true});
  type(u"precious"_s);
  press(Qt::Key_Return);
  scene.engine.playAll();
  ASSERT_TRUE(isShown());
  press(Qt::Key_Return);  // the text has come back
  EXPECT_FALSE(isShown());
  scene.engine.playAll();
  Q_EMIT scene.state.noticeShown(u"To be read."_s);
  type(u"more"_s);
  press(Qt::Key_Return);
  EXPECT_TRUE(isShown());
}

TEST_F(WindowTest, the_resume_chip_shows_and_goes_with_the_next_message) {
  scene.engine.script.resume.n_reused = 31'904;
  scene.engine.script.resume.ms = 210;
  openLong(2);
  EXPECT_TRUE(scene.window->resumeChip()->isVisible());
  type(u"go on"_s);
  press(Qt::Key_Return);
  EXPECT_FALSE(scene.window->resumeChip()->isVisible());
}

TEST_F(WindowTest, the_preset_slider_and_the_table_are_one_choice) {
  auto* table = scene.window->findChild<PresetTable*>();
  ASSERT_NE(table, nullptr);
  Q_EMIT table->chosen(3);
  EXPECT_EQ(scene.state.memory()->presetIndex(), 3);
  QSlider* slider = nullptr;
  for (QSlider* found : scene.window->findChildren<QSlider*>())
    if (found->maximum() == 3) slider = found;
  ASSERT_NE(slider, nullptr);
  EXPECT_EQ(slider->value(), 3);
  slider->setValue(1);
  EXPECT_EQ(scene.state.memory()->presetIndex(), 1);
  EXPECT_NE(scene.engine.settings().preset, u"balanced"_s) << "only a new chat takes it";
}

TEST_F(WindowTest, control_n_begins_a_chat_with_the_chosen_settings) {
  scene.state.memory()->setPresetIndex(2);
  QTest::keyClick(scene.window.get(), Qt::Key_N, Qt::ControlModifier);
  EXPECT_EQ(scene.engine.settings().preset, u"compact"_s);
}

// Longer than the two clicks of a double-click are apart.
void waitAsForAnotherClick() {
  QTest::qWait(QApplication::doubleClickInterval() + 20);
}

TEST_F(WindowTest, a_double_click_deletes_no_chat_for_good) {
  scene.state.deleteChat(scene.engine.addChat(u"first"_s, QDateTime::currentDateTime(), {}));
  scene.window->findChild<ChatListPanel*>()->deletedButton()->click();
  auto* popup = scene.window->findChild<DeletedChatsPopup*>();
  ASSERT_NE(popup, nullptr);
  QSignalSpy deleted(popup, &DeletedChatsPopup::deleteAsked);
  QTest::mouseClick(popup->deleteButton(), Qt::LeftButton);
  QTest::mouseDClick(popup->deleteButton(), Qt::LeftButton);
  EXPECT_EQ(deleted.count(), 0);
  EXPECT_EQ(popup->list()->count(), 1);
  EXPECT_EQ(popup->deleteButton()->text(), u"Delete for good?"_s);
  waitAsForAnotherClick();
  QTest::mouseClick(popup->deleteButton(), Qt::LeftButton);
  EXPECT_EQ(deleted.count(), 1);
  EXPECT_FALSE(popup->deleteButton()->isEnabled());
  EXPECT_FALSE(popup->restoreButton()->isEnabled());
}

TEST_F(WindowTest, a_copy_that_an_update_left_is_shown_and_can_only_be_deleted) {
  scene.state.deleteChat(scene.engine.addChat(u"first"_s, QDateTime::currentDateTime(), {}));
  const std::int64_t threeDays = 3 * 86'400'000LL;
  scene.engine.script.copies = {{"library-before-2.db", 12'300'000, scene.clock.wall - threeDays}};
  scene.window->findChild<ChatListPanel*>()->deletedButton()->click();
  auto* popup = scene.window->findChild<DeletedChatsPopup*>();
  ASSERT_NE(popup, nullptr);
  ASSERT_EQ(popup->list()->count(), 2);
  EXPECT_TRUE(popup->restoreButton()->isEnabled());
  popup->list()->setCurrentRow(1);
  EXPECT_EQ(popup->list()->currentItem()->text(),
            u"Copy before an update · %1 · 3 days ago"_s.arg(formatBytes(12'300'000)));
  EXPECT_FALSE(popup->restoreButton()->isEnabled());
  popup->deleteButton()->click();
  waitAsForAnotherClick();
  popup->deleteButton()->click();
  EXPECT_EQ(popup->list()->count(), 1);
  EXPECT_TRUE(scene.engine.script.copies.isEmpty());
}

TEST_F(WindowTest, deleted_chats_that_come_late_are_asked_for_and_shown_once) {
  auto* panel = scene.window->findChild<ChatListPanel*>();
  const auto n_popups = [panel] { return panel->findChildren<DeletedChatsPopup*>().size(); };
  scene.engine.script.isDeletedListLate = true;
  for (int i = 0; i < 3; ++i) panel->deletedButton()->click();
  EXPECT_EQ(scene.engine.deletedAsked(), 1);
  EXPECT_FALSE(panel->deletedButton()->isEnabled());
  const runtime::ChatsListed listed{.chats = {}, .filter = runtime::ChatFilter::removed};
  for (int i = 0; i < 3; ++i) scene.engine.tell(listed);
  ASSERT_EQ(n_popups(), 1);
  EXPECT_TRUE(panel->deletedButton()->isEnabled());
  panel->findChild<DeletedChatsPopup*>()->close();
  Scene::settle();
  ASSERT_EQ(n_popups(), 0);

  panel->deletedButton()->click();
  scene.engine.tell(runtime::Failed{ChatTask::list_chats, {ErrorKind::storage, "STORAGE", ""}});
  EXPECT_TRUE(panel->deletedButton()->isEnabled());
  panel->deletedButton()->click();
  panel->hide();
  scene.engine.tell(listed);
  EXPECT_EQ(n_popups(), 0) << "the panel was folded meanwhile";
}

TEST_F(WindowTest, a_deleted_chat_comes_back_by_one_click_and_goes_for_good_by_two) {
  const QDateTime now = QDateTime::currentDateTime();
  for (const ChatKey chat : {scene.engine.addChat(u"first"_s, now, {}),
                             scene.engine.addChat(u"second"_s, now.addDays(-1), {})})
    scene.state.deleteChat(chat);
  scene.window->findChild<ChatListPanel*>()->deletedButton()->click();
  const QPointer<DeletedChatsPopup> popup = scene.window->findChild<DeletedChatsPopup*>();
  ASSERT_NE(popup, nullptr);
  ASSERT_EQ(popup->list()->count(), 2);
  popup->deleteButton()->click();
  EXPECT_EQ(popup->deleteButton()->text(), u"Delete for good?"_s);
  popup->list()->setCurrentRow(1);
  EXPECT_EQ(popup->deleteButton()->text(), u"Delete now"_s) << "another chat is another question";
  popup->restoreButton()->click();
  EXPECT_EQ(scene.state.chats()->rowCount(), 1);
  popup->deleteButton()->click();
  EXPECT_EQ(popup->list()->count(), 1);
  waitAsForAnotherClick();
  popup->deleteButton()->click();
  Scene::settle();
  EXPECT_TRUE(popup == nullptr || !popup->isVisible()) << "there is nothing left to choose";
  QSignalSpy listed(&scene.state, &AppState::deletedListed);
  scene.state.listDeleted();
  EXPECT_TRUE(listed.at(0).at(0).value<QList<ChatEntry>>().isEmpty());
  EXPECT_EQ(scene.state.chats()->data(scene.state.chats()->index(0), Qt::DisplayRole).toString(),
            u"second"_s);
}

TEST_F(WindowTest, a_chat_begins_with_a_document_of_the_shelf) {
  scene.engine.script.document.n_tokens = 0;
  scene.engine.script.document.n_shelf = 12'400;
  QPushButton* button = scene.window->emptyState()->shelfButton();
  button->click();
  auto* popup = scene.window->findChild<ShelfPopup*>();
  ASSERT_NE(popup, nullptr);
  ASSERT_EQ(popup->list()->count(), 2);
  EXPECT_EQ(popup->list()->item(0)->text(), u"handbook.md · 12,400 tokens"_s);
  EXPECT_EQ(popup->list()->item(1)->text(), u"minutes.txt · 3,120 tokens · kept"_s);
  popup->list()->setCurrentRow(1);
  EXPECT_FALSE(popup->keepButton()->isEnabled());
  popup->list()->setCurrentRow(0);
  popup->keepButton()->click();
  EXPECT_EQ(scene.engine.shelfAsked(), u"keep 0a"_s);
  Scene::settle();
  scene.engine.tell(scene.engine.script.shelf);  // it has changed
  EXPECT_EQ(scene.window->findChild<ShelfPopup*>(), nullptr) << "nobody asked to see it again";

  button->click();
  scene.window->findChild<ShelfPopup*>()->beginButton()->click();
  scene.engine.playAll();
  EXPECT_EQ(scene.window->banner()->text(), u"12,400 tokens taken from the shelf, nothing read."_s);
}

TEST_F(WindowTest, an_empty_shelf_says_what_comes_there) {
  scene.engine.script.shelf = {};
  scene.window->emptyState()->shelfButton()->click();
  auto* popup = scene.window->findChild<ShelfPopup*>();
  ASSERT_NE(popup, nullptr);
  EXPECT_FALSE(popup->beginButton()->isVisible());
}

TEST_F(WindowTest, both_sides_fold_by_key) {
  auto* memory = scene.window->findChild<MemoryPanel*>();
  EXPECT_TRUE(memory->isVisible());
  QTest::keyClick(scene.window.get(), Qt::Key_M, Qt::ControlModifier);
  EXPECT_FALSE(memory->isVisible());
  QTest::keyClick(scene.window.get(), Qt::Key_M, Qt::ControlModifier);
  EXPECT_TRUE(memory->isVisible());
}

TEST_F(WindowTest, only_messages_near_the_screen_are_laid_out) {
  openLong(500);
  EXPECT_GT(view()->layouts().size(), 0);
  EXPECT_LE(view()->layouts().size(), 64);
}

TEST_F(WindowTest, a_bar_with_nothing_to_scroll_is_not_seen) {
  type(u"hello"_s);
  press(Qt::Key_Return);
  scene.engine.playAll();
  Scene::settle();
  ASSERT_EQ(bar()->maximum(), bar()->minimum());
  EXPECT_TRUE(bar()->property("idle").toBool());
  openLong(20);
  EXPECT_FALSE(bar()->property("idle").toBool());
}

TEST_F(WindowTest, a_chat_opens_at_its_end_and_stays_there_as_an_answer_grows) {
  openLong(20);
  EXPECT_EQ(bar()->value(), bar()->maximum());
  scene.engine.script.deltas = QStringList(40, u"word word word word\n\n"_s);
  scene.state.send(u"go on"_s);
  scene.engine.playAll();
  Scene::settle();
  EXPECT_EQ(bar()->value(), bar()->maximum());
}

TEST_F(WindowTest, what_is_read_further_up_does_not_move_while_an_answer_grows) {
  openLong(20);
  scene.engine.script.deltas = QStringList(40, u"word word word word\n\n"_s);
  scene.state.send(u"go on"_s);
  scene.engine.play(6);
  Scene::settle();
  bar()->setValue(bar()->maximum() / 2);
  Scene::settle();
  const QModelIndex read = view()->indexAt({view()->viewport()->width() / 2, 200});
  ASSERT_TRUE(read.isValid());
  const int before = view()->visualRect(read).top();
  scene.engine.playAll();
  Scene::settle();
  EXPECT_EQ(view()->visualRect(read).top(), before);
}

TEST_F(WindowTest, a_notice_hides_no_message_of_a_short_chat_and_moves_none) {
  type(u"hello"_s);
  press(Qt::Key_Return);
  scene.engine.playAll();
  Scene::settle();
  const QRect before = rowPlace(0).united(rowPlace(1));
  Q_EMIT scene.state.noticeShown(u"To be read."_s);
  Scene::settle();
  const QRect notice = placeOf(scene.window->banner());
  EXPECT_EQ(rowPlace(0).united(rowPlace(1)), before);
  EXPECT_FALSE(notice.intersects(before));
  EXPECT_LE(notice.bottom(), placeOf(view()).bottom()) << "above the input box";
  openLong(2);  // no room is left below
  EXPECT_LT(placeOf(scene.window->banner()).top(), notice.top());
}

TEST_F(WindowTest, below_a_notice_over_a_long_chat_the_first_message_can_be_scrolled_to) {
  openLong(20);
  bar()->setValue(40);
  Scene::settle();
  const QRect before = rowPlace(1);
  Q_EMIT scene.state.noticeShown(u"To be read."_s);
  Scene::settle();
  EXPECT_EQ(rowPlace(1), before);
  QTest::keyClick(view(), Qt::Key_Home);
  Scene::settle();
  EXPECT_GT(rowPlace(0).top(), placeOf(scene.window->banner()).bottom());
  scene.window->banner()->hide();
  Scene::settle();
  EXPECT_EQ(bar()->value(), 0);
  EXPECT_EQ(bar()->minimum(), 0);
}

TEST_F(WindowTest, text_is_selected_across_messages_and_copied) {
  openLong(2);
  bar()->setValue(0);
  Scene::settle();
  QWidget* screen = view()->viewport();
  const QRect first = view()->visualRect(scene.state.conversation()->index(0));
  const QRect second = view()->visualRect(scene.state.conversation()->index(1));
  QTest::mousePress(screen, Qt::LeftButton, {}, {2, first.top() + 2});
  QTest::mouseMove(screen, {screen->width() - 4, second.top() + 30});
  QTest::mouseRelease(screen, Qt::LeftButton, {}, {screen->width() - 4, second.top() + 30});
  const QString text = view()->selectedText();
  EXPECT_TRUE(text.startsWith(u"Question 0?"_s)) << text.toStdString();
  EXPECT_TRUE(text.contains(u"There are three visits this week."_s)) << text.toStdString();
  view()->copySelection();
  EXPECT_EQ(QApplication::clipboard()->text(), text);
}

Message answer(const QString& text) {
  Message content;
  content.role = runtime::Role::assistant;
  content.text = text;
  return content;
}

TEST(MessageLayout, streaming_lays_out_only_the_part_that_grows) {
  MessageLayout layout(700, QApplication::font(), lightTheme());
  QString text;
  for (int i = 0; i < 20; ++i) text += u"Paragraph %1 of some words.\n\n"_s.arg(i);
  layout.setContent(answer(text));
  const int before = layout.partsLaidOut();
  text += u"The last one"_s;
  layout.setContent(answer(text));
  for (int i = 0; i < 10; ++i) {
    text += u" grows"_s;
    layout.setContent(answer(text));
  }
  EXPECT_EQ(layout.partsLaidOut() - before, 11);
}

TEST(MessageLayout, code_grows_at_its_end_without_being_laid_out_anew) {
  MessageLayout layout(700, QApplication::font(), lightTheme());
  QString text = u"```py\n"_s;
  layout.setContent(answer(text));
  const int height = layout.height();
  for (int i = 0; i < 50; ++i) {
    text += u"line %1\n"_s.arg(i);
    layout.setContent(answer(text));
  }
  EXPECT_EQ(layout.partsLaidOut(), 1);
  EXPECT_GT(layout.height(), height);
  EXPECT_TRUE(layout.codeOf(0).endsWith(u"line 49"_s));
}

TEST(MessageLayout, a_grown_message_is_as_high_as_one_laid_out_at_once) {
  MessageLayout grown(700, QApplication::font(), lightTheme());
  const QString text = sampleMarkdown();
  for (qsizetype length = 1; length <= text.size(); length += 3)
    grown.setContent(answer(text.left(length)));
  grown.setContent(answer(text));
  MessageLayout whole(700, QApplication::font(), lightTheme());
  whole.setContent(answer(text));
  EXPECT_EQ(grown.height(), whole.height());
}

TEST(MessageLayout, edges_do_not_fail) {
  MessageLayout layout(120, QApplication::font(), lightTheme());
  for (const QString& text : {u""_s, u"```"_s, u"| a |\n|---|"_s, u"\n\n\n"_s, u"# "_s})
    for (const auto role : {runtime::Role::assistant, runtime::Role::user}) {
      Message content = answer(text);
      content.role = role;
      layout.setContent(content);
      EXPECT_GT(layout.height(), 0);
      layout.hit({5, 5});
      layout.textBetween(layout.begin(), layout.end());
    }
}

TEST(DocumentStyle, tags_from_the_model_are_shown_not_obeyed) {
  ClosedDocument document;
  setMarkdown(document,
              u"a <b>bold</b> <img src=\"file:///etc/hostname\"> <script>x</script>\n\n"
              "<h1>block</h1>"_s,
              QApplication::font(), lightTheme());
  const QString text = document.toPlainText();
  EXPECT_TRUE(text.contains(u"<b>bold</b>"_s)) << text.toStdString();
  EXPECT_TRUE(text.contains(u"<script>x</script>"_s)) << text.toStdString();
  EXPECT_TRUE(text.contains(u"<h1>block</h1>"_s)) << text.toStdString();
  EXPECT_FALSE(text.contains(QChar(QChar::ObjectReplacementCharacter)));
}

TEST(DocumentStyle, pictures_are_named_and_never_loaded) {
  ClosedDocument document;
  setMarkdown(document,
              u"See ![the harbour](file:///etc/hostname) and ![](https://x.example/p.png)."_s,
              QApplication::font(), lightTheme());
  const QString text = document.toPlainText();
  EXPECT_TRUE(text.contains(u"[picture: the harbour]"_s)) << text.toStdString();
  EXPECT_FALSE(text.contains(QChar(QChar::ObjectReplacementCharacter)));
}

}  // namespace
}  // namespace satchel::ui
