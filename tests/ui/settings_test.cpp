// How chats are answered: the dialog, saved prompts, and that settings stay with their chat.
#include <gtest/gtest.h>

#include <QApplication>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSlider>
#include <QTemporaryDir>
#include <QTest>

#include "life.h"
#include "scenes.h"
#include "ui/model/answer_settings_text.h"
#include "ui/widgets/chat_settings_dialog.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/prompts_dialog.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

TEST(AnswerSettingsText, stop_texts_are_lines_and_come_back) {
  const QStringList stops = {u"User:"_s, u"\n\n"_s, u"a\\b"_s, u"\tx "_s};
  EXPECT_EQ(stopsOf(linesOf(stops)), stops);
  EXPECT_EQ(linesOf(stops), u"User:\n\\n\\n\na\\\\b\n\\tx "_s);
  EXPECT_EQ(stopsOf(u"a\n\na\nb\n"_s), (QStringList{u"a"_s, u"b"_s}));
  EXPECT_EQ(stopsOf(u"C:\\dir\\"_s), QStringList{u"C:\\dir\\"_s}) << "no escape stays as it is";
}

TEST(AnswerSettingsText, says_what_differs_from_every_new_chat) {
  EXPECT_TRUE(answersText({}).isEmpty());
  runtime::AnswerSettings answers;
  answers.system = "Be brief.";
  answers.sampling.temperature = 0.7;
  answers.sampling.n_tokens_max = 0;
  answers.sampling.stops = {"a", "b"};
  EXPECT_EQ(answersText(answers),
            u"Own system prompt · Creativity 0.7 · Answers of any length · 2 stop texts"_s);
}

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() {
    scene.show();
    scene.openModel();
  }
  template <class Dialog>
  Dialog* openBy(Qt::KeyboardModifiers modifiers, Qt::Key key) {
    QTest::keyClick(scene.window.get(), key, modifiers);
    Scene::settle();
    return scene.window->findChild<Dialog*>();
  }
  ChatSettingsDialog* openSettings() {
    return openBy<ChatSettingsDialog>(Qt::ControlModifier, Qt::Key_Comma);
  }
  PromptsDialog* openPrompts() {
    return openBy<PromptsDialog>(Qt::ControlModifier | Qt::ShiftModifier, Qt::Key_P);
  }
  Scene scene;
};

TEST_F(SettingsTest, a_new_chat_takes_a_system_prompt_and_all_the_rest) {
  ChatSettingsDialog* dialog = openSettings();
  ASSERT_NE(dialog, nullptr);
  EXPECT_FALSE(dialog->newChatButton()->isVisible());
  dialog->system()->setPlainText(u"Answer as a pirate."_s);
  dialog->creativity()->setValue(70);
  dialog->stops()->setPlainText(u"\\n\\n"_s);
  dialog->applyButton()->click();
  EXPECT_EQ(scene.state.answers().system, "Answer as a pirate.");
  EXPECT_DOUBLE_EQ(scene.state.answers().sampling.temperature, 0.7);
  EXPECT_EQ(scene.state.answers().sampling.stops, std::vector<std::string>{"\n\n"});
  scene.state.newChat();
  EXPECT_FALSE(scene.state.answers().system) << "the next chat begins as usual";
}

TEST_F(SettingsTest, what_is_not_touched_stays_as_it_was) {
  runtime::AnswerSettings answers;
  answers.sampling = {.temperature = 0.3, .top_k = 7, .min_p = 0.2, .seed = 9, .n_tokens_max = 96};
  scene.state.setAnswers(answers);
  ChatSettingsDialog* dialog = openSettings();
  ASSERT_NE(dialog, nullptr);
  EXPECT_TRUE(runtime::is_same(dialog->answers().sampling, answers.sampling));
  EXPECT_EQ(dialog->answers().sampling.seed, 9u);
  dialog->resetButton()->click();
  EXPECT_TRUE(runtime::is_same(dialog->answers().sampling, {}));
}

TEST_F(SettingsTest, the_prompt_of_a_chat_with_messages_goes_to_a_new_one_only) {
  openSample(scene, u"full"_s);
  Scene::settle();
  ChatSettingsDialog* dialog = openSettings();
  ASSERT_NE(dialog, nullptr);
  EXPECT_TRUE(dialog->system()->isReadOnly());
  EXPECT_FALSE(dialog->promptsButton()->isVisible());
  ASSERT_TRUE(dialog->newChatButton()->isVisible());
  dialog->creativity()->setValue(40);
  dialog->newChatButton()->click();
  scene.engine.playAll();
  EXPECT_EQ(scene.state.chat().id, 0);
  EXPECT_DOUBLE_EQ(scene.state.answers().sampling.temperature, 0.4);
}

TEST_F(SettingsTest, a_saved_prompt_is_put_in_place_of_the_system_prompt) {
  scene.state.keepPrompt(u" brief "_s, u"Be brief."_s);
  ChatSettingsDialog* dialog = openSettings();
  ASSERT_NE(dialog, nullptr);
  ASSERT_TRUE(dialog->promptsButton()->isEnabled());
  dialog->promptsButton()->menu()->actions().front()->trigger();
  EXPECT_EQ(dialog->system()->toPlainText(), u"Be brief."_s);
}

TEST_F(SettingsTest, settings_that_are_refused_are_said_and_not_shown_as_taken) {
  scene.engine.script.errors.append(
      {runtime::ChatTask::set_answers, {ErrorKind::storage, "DISK_FULL", "The disk is full."}});
  runtime::AnswerSettings answers;
  answers.sampling.temperature = 1;
  QSignalSpy errors(&scene.state, &AppState::errorShown);
  scene.state.setAnswers(answers);
  scene.engine.playAll();
  ASSERT_EQ(errors.count(), 1);
  EXPECT_EQ(scene.state.answers().sampling.temperature, 0);
}

TEST_F(SettingsTest, prompts_are_found_by_name_and_inserted_by_keys) {
  scene.state.keepPrompt(u"brief"_s, u"Be brief: "_s);
  scene.state.keepPrompt(u"translate"_s, u"Translate: "_s);
  QTest::keyClicks(scene.window->composer()->edit(), u"Please. "_s);
  PromptsDialog* dialog = openPrompts();
  ASSERT_NE(dialog, nullptr);
  QTest::keyClicks(dialog->filter(), u"TRANS"_s);
  QTest::keyClick(dialog->filter(), Qt::Key_Return);
  Scene::settle();
  EXPECT_EQ(scene.window->composer()->edit()->toPlainText(), u"Please. Translate: "_s);
}

TEST_F(SettingsTest, prompts_are_written_renamed_and_deleted) {
  PromptsDialog* dialog = openPrompts();
  ASSERT_NE(dialog, nullptr);
  EXPECT_FALSE(dialog->saveButton()->isEnabled());
  EXPECT_FALSE(dialog->deleteButton()->isEnabled());
  dialog->newButton()->click();
  QTest::keyClicks(dialog->name(), u"one"_s);
  dialog->text()->setPlainText(u"First."_s);
  dialog->saveButton()->click();
  ASSERT_EQ(dialog->list()->model()->rowCount(), 1);
  dialog->name()->setText(u"two"_s);
  dialog->saveButton()->click();
  ASSERT_EQ(dialog->list()->model()->rowCount(), 1);
  EXPECT_EQ(dialog->list()->model()->index(0, 0).data().toString(), u"two"_s);
  dialog->deleteButton()->click();
  EXPECT_EQ(dialog->list()->model()->rowCount(), 0);
  EXPECT_TRUE(dialog->text()->toPlainText().isEmpty());
}

void expectNames(QDialog* dialog) {
  ASSERT_NE(dialog, nullptr);
  for (const QWidget* widget : dialog->findChildren<QWidget*>()) {
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    const bool isNamed =
        !widget->accessibleName().isEmpty() || (button != nullptr && !button->text().isEmpty());
    const bool isPart = widget->objectName().startsWith(u"qt_"_s);  // of a spin box, an area
    if (widget->focusPolicy() != Qt::NoFocus && widget->isVisible() && !isPart) {
      EXPECT_TRUE(isNamed) << widget->metaObject()->className();
    }
  }
  dialog->close();
}

TEST_F(SettingsTest, every_control_of_the_settings_has_a_name) {
  expectNames(openSettings());
}

TEST_F(SettingsTest, every_control_of_the_prompts_has_a_name) {
  expectNames(openPrompts());
}

TEST(SettingsInProcess, stay_with_their_chat_in_the_next_life) {
  QTemporaryDir folder;
  ChatKey chat = 0;
  {
    Life life(folder.path());
    ASSERT_TRUE(life.openModel()) << life.error();
    runtime::AnswerSettings answers;
    answers.system = "Answer in one word.";
    answers.sampling.n_tokens_max = 5;
    answers.sampling.stops = {"zzz"};
    life.state.setAnswers(answers);
    ASSERT_TRUE(life.wait([&] { return life.state.answers().system.has_value(); }));
    ASSERT_TRUE(life.send(u"Tell me about the sea, at length, please."_s)) << life.error();
    chat = life.state.chat().id;
  }
  Life life(folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  EXPECT_FALSE(life.state.answers().system);
  life.state.openChat(chat);
  ASSERT_TRUE(life.wait([&] { return !life.resumed.isEmpty(); })) << life.error();
  EXPECT_EQ(life.state.answers().system, "Answer in one word.");
  EXPECT_EQ(life.state.answers().sampling.n_tokens_max, 5u);
  EXPECT_EQ(life.state.answers().sampling.stops, std::vector<std::string>{"zzz"});
}

}  // namespace
}  // namespace satchel::ui
