// Documents in parts and what is asked of all parts of a chat: on the scripted engine, in the
// window.
#include <gtest/gtest.h>

#include <QAction>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTest>

#include "scenes.h"
#include "ui/model/parts_text.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/parts_popup.h"

namespace satchel::ui {

using namespace Qt::StringLiterals;

namespace {

using runtime::ChatTask;
using Phase = AppState::Phase;

class PartsTest : public testing::Test {
 protected:
  PartsTest() {
    scene.engine.script.deltas = {u"One "_s, u"two."_s};
    scene.engine.script.n_document_parts = 12;
    scene.engine.script.cache = sampleBeyond(u"compact"_s, 29'160, 0);
    scene.engine.script.parts = sampleParts(12);
    scene.show();
    scene.openModel();
  }
  void play() {
    scene.engine.playAll();
    Scene::settle();
  }
  // A document is being read, and so many parts of it are there.
  void readParts(int n) {
    scene.state.attachDocument(u"book.txt"_s, sampleDocument());
    scene.engine.play(4 + n);  // the chat, the document, its parts, none of them yet
    Scene::settle();
    ASSERT_EQ(scene.state.phase(), Phase::Reading);
    ASSERT_EQ(document().documentPartsRead, n);
  }
  void readAll() {
    readParts(1);
    play();
  }
  void write(const QString& text) { scene.window->composer()->edit()->setPlainText(text); }
  QString written() { return scene.window->composer()->edit()->toPlainText(); }
  void press(Qt::Key key, Qt::KeyboardModifiers with = Qt::NoModifier) {
    QTest::keyClick(scene.window->composer()->edit(), key, with);
    Scene::settle();
  }
  void askAll() { press(Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier); }
  PartsPopup* openPopup() {
    press(Qt::Key_P, Qt::ControlModifier);
    return scene.window->findChild<PartsPopup*>();
  }
  QString notice() { return scene.window->banner()->text(); }
  ConversationModel* conversation() { return scene.state.conversation(); }
  const Message& document() { return conversation()->message(0); }
  Scene scene;
};

TEST_F(PartsTest, a_document_can_be_asked_when_its_first_part_is_there) {
  readParts(0);
  EXPECT_FALSE(scene.state.canSend());
  write(u"Where is the key?"_s);
  press(Qt::Key_Return);
  EXPECT_EQ(written(), u"Where is the key?"_s) << "not yet";
  scene.engine.play();
  EXPECT_TRUE(scene.state.canSend());
  EXPECT_TRUE(scene.state.canStop());
  scene.engine.play(2);
  press(Qt::Key_Return);
  EXPECT_TRUE(written().isEmpty());
  EXPECT_FALSE(scene.state.canSend()) << "one question at a time";
  play();
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
  ASSERT_EQ(conversation()->rowCount(), 4);
  EXPECT_EQ(conversation()->message(1).text, u"Noted."_s);
  EXPECT_EQ(conversation()->message(2).text, u"Where is the key?"_s);
  EXPECT_EQ(conversation()->message(3).text, u"One two."_s);
  EXPECT_EQ(documentPartsText(document()), u"3 of 12 parts read"_s);
}

TEST_F(PartsTest, while_a_question_waits_for_the_reading_to_make_way_the_window_is_not_ready) {
  readParts(1);
  scene.state.send(u"Where is the key?"_s);
  scene.engine.play(3);  // the document's answer, the memory, its report
  EXPECT_EQ(scene.state.phase(), Phase::Reading);
  EXPECT_FALSE(scene.state.canSend());
  EXPECT_TRUE(scene.state.canStop());
}

TEST_F(PartsTest, a_document_in_one_piece_makes_way_for_nothing) {
  scene.engine.script.n_document_parts = 1;
  scene.engine.script.progress = {{runtime::Phase::read_prompt, 100, 900},
                                  {runtime::Phase::read_prompt, 800, 900}};
  scene.state.attachDocument(u"notes.txt"_s, sampleDocument());
  while (scene.state.phase() == Phase::Reading) {
    EXPECT_FALSE(scene.state.canSend());
    scene.engine.play();
  }
  EXPECT_TRUE(scene.state.canSend());
}

TEST_F(PartsTest, nothing_but_a_message_makes_the_reading_end) {
  readParts(2);
  scene.state.attachDocument(u"other.txt"_s, u"Other."_s);
  scene.state.applyToChat({u"full"_s, 0});
  EXPECT_EQ(conversation()->rowCount(), 1);
  scene.engine.script.n_document_parts = 1;
  play();
  EXPECT_EQ(document().documentPartsRead, 12);
  ASSERT_EQ(conversation()->rowCount(), 4);
  EXPECT_EQ(conversation()->message(2).documentTitle, u"other.txt"_s) << "in its turn";
}

TEST_F(PartsTest, a_question_that_is_refused_while_a_document_is_read_comes_back) {
  readParts(1);
  scene.engine.script.errors.append(
      {ChatTask::send, {ErrorKind::out_of_memory, "CACHE_FULL", "Full."}});
  write(u"precious"_s);
  press(Qt::Key_Return);
  play();
  EXPECT_EQ(written(), u"precious"_s);
  EXPECT_TRUE(scene.window->banner()->isVisible());
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
}

TEST_F(PartsTest, the_button_sends_what_is_written_and_else_stops) {
  readParts(1);
  QAbstractButton* button = scene.window->composer()->sendButton();
  EXPECT_EQ(button->accessibleName(), u"Stop (Esc)"_s);
  write(u"Where is the key?"_s);
  EXPECT_EQ(button->accessibleName(), u"Send (Enter)"_s);
  button->click();
  EXPECT_EQ(button->accessibleName(), u"Stop (Esc)"_s);
  play();
  EXPECT_EQ(conversation()->rowCount(), 4);
  EXPECT_EQ(scene.engine.stopsAsked(), 0);
}

TEST_F(PartsTest, after_esc_it_says_what_is_read_and_when_the_rest_is) {
  readParts(3);
  press(Qt::Key_Escape);
  play();
  EXPECT_EQ(scene.state.phase(), Phase::Ready);
  EXPECT_EQ(notice(),
            u"The unread parts are read while the chat is idle, or when a question needs them."_s);
  EXPECT_EQ(documentPartsText(document()), u"3 of 12 parts read"_s);
}

TEST_F(PartsTest, what_is_read_while_idle_is_shown_in_the_head_the_panel_and_the_card) {
  readParts(1);
  press(Qt::Key_Escape);
  play();
  MemoryPanelState* memory = scene.state.memory();
  EXPECT_EQ(memory->packingText(), u"1 of 12 parts read"_s);
  EXPECT_FALSE(memory->isPacking());
  runtime::ChatMemory idle = scene.engine.script.cache;
  idle.is_packing = true;
  idle.documents[0].n_read = 7;
  scene.engine.tell(idle);
  EXPECT_TRUE(memory->isPacking());
  EXPECT_EQ(memory->packingText(), u"reading… 7 of 12 parts"_s);
  EXPECT_DOUBLE_EQ(memory->packingShare(), 7.0 / 12);
  EXPECT_EQ(documentPartsText(document()), u"7 of 12 parts read"_s);
  idle.documents[0].n_read = 12;
  scene.engine.tell(idle);
  EXPECT_FALSE(memory->isPacking());
  EXPECT_EQ(memory->packingText(), QString());
  EXPECT_EQ(documentPartsText(document()), u"read in 12 parts"_s);
}

TEST_F(PartsTest, a_footnote_says_what_is_quoted_and_how_much_is_unread) {
  scene.engine.script.answer.episodes = {
      .n_all = 12, .seen = {2, 6}, .by_words = true, .quoted = {6}, .n_unread = 4};
  scene.state.send(u"Where is the key?"_s);
  play();
  const Message& answer = conversation()->message(1);
  EXPECT_TRUE(answer.footnote.endsWith(
      u" · from parts 3 and 7 of 12 of the older chat · quotes part 7 · 4 parts were not "
      "read yet"_s))
      << answer.footnote.toStdString();
  scene.engine.script.parts.parts[9].is_unread = true;
  PartsPopup* popup = openPopup();
  ASSERT_NE(popup, nullptr);
  const auto said = [&](int part) {
    return popup->list()->item(part)->data(Qt::AccessibleTextRole).toString();
  };
  EXPECT_TRUE(said(6).endsWith(u", quoted"_s));
  EXPECT_TRUE(said(9).endsWith(u", not read yet"_s));
  EXPECT_FALSE(said(2).contains(u", quoted"_s));
}

TEST_F(PartsTest, after_a_restart_the_keys_open_the_parts_that_the_last_answer_saw) {
  scene.engine.script.parts.parts[4].is_seen = true;
  const ChatKey chat =
      scene.engine.addChat(u"long"_s, QDateTime::currentDateTime(), sampleConversation());
  scene.state.openChat(chat);
  play();
  PartsPopup* popup = openPopup();
  ASSERT_NE(popup, nullptr);
  for (int part = 0; part < 12; ++part)
    EXPECT_EQ(popup->list()->item(part)->checkState() == Qt::Checked, part == 4) << part;
  EXPECT_TRUE(popup->againButton()->isEnabled());
  popup->againButton()->click();
  play();
  EXPECT_EQ(scene.engine.namedParts(), (std::vector<std::size_t>{4}));
  EXPECT_TRUE(conversation()->message(6).text.startsWith(u"Which visits are there"_s));
}

TEST_F(PartsTest, a_document_is_no_question_that_could_be_asked_again) {
  readAll();
  scene.engine.script.parts.parts[4].is_seen = true;
  PartsPopup* popup = openPopup();
  ASSERT_NE(popup, nullptr);
  EXPECT_TRUE(popup->nextButton()->isEnabled());
  EXPECT_FALSE(popup->againButton()->isEnabled());
  EXPECT_FALSE(popup->allButton()->isEnabled());
}

TEST_F(PartsTest, what_is_written_is_asked_of_all_parts_and_their_notes_come_before_the_answer) {
  readAll();
  scene.engine.script.notes = "Part 3 of 12: in the blue tin\n";
  write(u"Where is the key?"_s);
  askAll();
  EXPECT_TRUE(written().isEmpty());
  EXPECT_EQ(scene.engine.askedAll(), u"Where is the key?"_s);
  scene.engine.play(3);
  EXPECT_EQ(scene.state.reading().text(), u"Asking part 3 of 12"_s);
  play();
  ASSERT_EQ(conversation()->rowCount(), 6);
  EXPECT_EQ(conversation()->message(2).documentTitle, u"What each part says"_s);
  EXPECT_EQ(conversation()->message(2).text, u"Part 3 of 12: in the blue tin\n"_s);
  EXPECT_EQ(conversation()->message(4).text, u"Where is the key?"_s);
  EXPECT_EQ(conversation()->message(5).text, u"One two."_s);
}

TEST_F(PartsTest, asking_all_parts_can_be_stopped_and_the_question_comes_back) {
  readAll();
  write(u"Where is the key?"_s);
  askAll();
  scene.engine.play(3);
  press(Qt::Key_Escape);
  play();
  EXPECT_EQ(written(), u"Where is the key?"_s);
  EXPECT_EQ(conversation()->rowCount(), 2);
  EXPECT_TRUE(scene.state.canSend());
}

TEST_F(PartsTest, all_parts_can_be_asked_while_a_document_is_read) {
  readParts(2);
  write(u"Where is the key?"_s);
  askAll();
  play();
  ASSERT_EQ(conversation()->rowCount(), 4);
  EXPECT_EQ(conversation()->message(2).text, u"Where is the key?"_s);
}

TEST_F(PartsTest, the_popup_asks_all_parts_what_is_written_or_the_answers_question) {
  scene.engine.script.answer.episodes.n_all = 12;
  scene.engine.script.answer.episodes.seen = {1};
  scene.state.send(u"And the map?"_s);
  play();
  PartsPopup* popup = openPopup();
  ASSERT_NE(popup, nullptr);
  EXPECT_TRUE(popup->allButton()->toolTip().endsWith(u"And the map?"_s));
  popup->allButton()->click();
  play();
  EXPECT_EQ(scene.engine.askedAll(), u"And the map?"_s);
  write(u"Where is the key?"_s);
  popup = openPopup();
  ASSERT_NE(popup, nullptr);
  popup->allButton()->click();
  EXPECT_EQ(scene.engine.askedAll(), u"Where is the key?"_s);
  EXPECT_TRUE(written().isEmpty());
}

TEST_F(PartsTest, where_there_is_nothing_to_ask_the_keys_say_why) {
  readAll();
  askAll();
  EXPECT_EQ(notice(), u"Write a question first. It is asked of each part of the chat."_s);
  scene.engine.tell(sampleCache(u"full"_s, 400, 0));
  scene.engine.script.parts = {};
  write(u"Where is the key?"_s);
  askAll();
  EXPECT_EQ(notice(), u"The model sees all of this chat: it has no older parts."_s);
  EXPECT_EQ(written(), u"Where is the key?"_s);
  scene.window->banner()->hide();
  EXPECT_EQ(openPopup(), nullptr);
  EXPECT_EQ(notice(), u"The model sees all of this chat: it has no older parts."_s);
  EXPECT_TRUE(scene.window->banner()->isVisible());
  EXPECT_TRUE(scene.engine.askedAll().isEmpty());
}

TEST_F(PartsTest, the_conversations_menu_has_both) {
  QStringList names;
  for (const QAction* action : scene.window->conversation()->actions())
    names.append(action->text() + u' ' + action->shortcut().toString());
  EXPECT_EQ(names, (QStringList{u"Older parts… Ctrl+P"_s, u"Ask all parts Ctrl+Shift+A"_s}));
}

TEST_F(PartsTest, a_full_chat_that_is_too_long_has_no_reach_but_an_end) {
  runtime::ChatMemory full = sampleCache(u"full"_s, 9'300, 0);
  full.n_in_context = 8'192;
  scene.engine.tell(full);
  MemoryPanelState* memory = scene.state.memory();
  EXPECT_FALSE(scene.state.hasParts());
  EXPECT_EQ(memory->contextText(), u"9,300 of 8,192 tokens"_s);
  EXPECT_DOUBLE_EQ(memory->contextShare(), 1);
  EXPECT_DOUBLE_EQ(memory->contextOlderShare(), 0);
  EXPECT_TRUE(memory->contextTip().startsWith(u"This chat is longer than"_s));
}

TEST(PartsText, says_of_a_document_how_much_is_read) {
  Message document;
  EXPECT_EQ(documentPartsText(document), QString());
  document.documentParts = 12;
  EXPECT_EQ(documentPartsText(document), u"12 parts"_s) << "until it is known";
  document.documentPartsRead = 0;
  EXPECT_EQ(documentPartsText(document), u"0 of 12 parts read"_s);
  document.documentPartsRead = 12;
  EXPECT_EQ(documentPartsText(document), u"read in 12 parts"_s);
}

TEST(PartsText, over_the_list_stands_how_many_wait) {
  PartsShown shown{.parts = sampleParts(3), .seen = {0}};
  EXPECT_EQ(partsNote(shown), u"Ticked: what the answer saw."_s);
  shown.parts.parts[2].is_unread = true;
  EXPECT_TRUE(partsNote(shown).contains(u"1 part is not read yet"_s));
  shown.parts.parts[1].is_unread = true;
  EXPECT_TRUE(partsNote(shown).contains(u"2 parts are not read yet"_s));
}

}  // namespace
}  // namespace satchel::ui
