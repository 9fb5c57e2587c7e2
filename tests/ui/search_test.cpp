// Looking for words in all chats: by keys, and the way to what was found.
#include <gtest/gtest.h>

#include <QLineEdit>
#include <QScrollBar>
#include <QTest>

#include "scenes.h"
#include "ui/widgets/chat_list_panel.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/found_list.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using runtime::ChatTask;

class SearchTest : public testing::Test {
 protected:
  SearchTest() {
    scene.show();
    scene.openModel();
    QList<Message> messages;
    for (int i = 1; i <= 60; ++i) {
      messages.append(i % 2 == 1 ? userMessage(u"Question %1?"_s.arg(i))
                                 : answerMessage(sampleMarkdown()));
      messages.back().id = i;
    }
    key = scene.engine.addChat(u"long"_s, QDateTime::currentDateTime(), messages);
    scene.engine.listChats();
    panel = scene.window->findChild<ChatListPanel*>();
  }
  void look(const QString& words) {
    panel->filter()->clear();
    QTest::keyClicks(panel->filter(), words);
    QTest::qWait(250);
  }
  void find(const std::string& words) {
    const std::string passage = "it says caf\xc3\xa9 and\nQuestion 5? of it";
    const std::size_t at = passage.find("Question");
    scene.engine.tell(runtime::PassagesFound{words,
                                             {{.chat = {key},
                                               .chat_name = "long",
                                               .message = {0},
                                               .role = "",
                                               .document = "",
                                               .passage = "long",
                                               .hits = {}},
                                              {.chat = {key},
                                               .chat_name = "long",
                                               .message = {5},
                                               .role = "user",
                                               .document = "",
                                               .passage = passage,
                                               .hits = {{at, at + 8}}}}});
    Scene::settle();
  }
  bool isOnScreen(int row) {
    ConversationView* view = scene.window->conversation();
    return view->viewport()->rect().intersects(
        view->visualRect(scene.state.conversation()->index(row)));
  }
  Scene scene;
  ChatKey key = 0;
  ChatListPanel* panel = nullptr;
};

TEST_F(SearchTest, is_asked_for_once_the_user_stops_writing_and_not_for_one_letter) {
  look(u"q"_s);
  EXPECT_TRUE(scene.engine.searched().isEmpty());
  look(u"question"_s);
  EXPECT_EQ(scene.engine.searched(), QStringList{u"question"_s});
  EXPECT_FALSE(panel->found()->isVisible());
}

TEST_F(SearchTest, what_is_found_is_listed_opened_and_shown) {
  look(u"question"_s);
  find("question");
  ASSERT_EQ(scene.state.found()->rowCount(), 1) << "a title is in the list of chats";
  EXPECT_TRUE(panel->found()->isVisible());
  const FoundPassage& passage = scene.state.found()->passage(0);
  EXPECT_EQ(passage.text.sliced(passage.hits[0].first, 8), u"Question"_s);
  EXPECT_FALSE(passage.text.contains(u'\n'));
  scene.state.openFound(0);
  scene.engine.playAll();
  Scene::settle();
  EXPECT_EQ(scene.state.chat().id, key);
  EXPECT_TRUE(isOnScreen(4));
  QScrollBar* bar = scene.window->conversation()->verticalScrollBar();
  EXPECT_LT(bar->value(), bar->maximum());
  bar->setValue(bar->maximum());
  ASSERT_FALSE(isOnScreen(4));
  scene.state.openFound(0);  // it is open
  Scene::settle();
  EXPECT_TRUE(isOnScreen(4));
}

TEST_F(SearchTest, goes_by_keys_where_no_title_has_the_words) {
  look(u"something"_s);
  find("something");
  QTest::keyClick(panel->filter(), Qt::Key_Return);
  scene.engine.playAll();
  EXPECT_EQ(scene.state.chat().id, key);
  QTest::keyClick(panel->filter(), Qt::Key_Down);
  EXPECT_TRUE(panel->found()->hasFocus());
}

TEST_F(SearchTest, what_comes_late_or_fails_is_not_shown) {
  look(u"question"_s);
  find("other");
  EXPECT_EQ(scene.state.found()->rowCount(), 0);
  find("question");
  scene.engine.tell(
      runtime::Failed{ChatTask::search, {ErrorKind::invalid, "SEARCH_WORDS", "Nothing."}});
  EXPECT_EQ(scene.state.found()->rowCount(), 0);
  EXPECT_EQ(scene.state.phase(), AppState::Phase::Ready);
  look(u""_s);
  EXPECT_FALSE(panel->found()->isVisible());
}

}  // namespace
}  // namespace satchel::ui
