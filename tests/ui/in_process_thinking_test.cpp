// The window's engine with a model that thinks: what it tells of thoughts, and when.
#include <gtest/gtest.h>

#include <QTemporaryDir>

#include "life.h"
#include "support/chain_model.h"

namespace satchel::ui {
namespace {

class InProcessThinking : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(test::write_chain(test::thoughtful_chain(), path().toStdString()));
  }
  QString path() const { return m_folder.filePath(u"chain.gguf"_s); }
  const Message& last(Life& life) {
    return life.state.conversation()->message(life.state.conversation()->rowCount() - 1);
  }
  QTemporaryDir m_folder;
};

TEST_F(InProcessThinking, thoughts_come_before_the_answer_until_they_are_turned_off) {
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel(path())) << life.error();
  QString heard;
  const EventSpy<runtime::AnswerDelta> deltas(&life.engine, [&](const auto& delta) {
    const QString text = textOf(delta.text);
    heard += delta.is_thought ? u'(' + text + u')' : text;
  });
  ASSERT_TRUE(life.send(u"Well?"_s)) << life.error();
  EXPECT_EQ(heard, u"(H)(m)Yes"_s);
  EXPECT_EQ(last(life).text, u"Yes"_s);
  EXPECT_EQ(last(life).thoughts, u"Hm"_s);
  heard.clear();
  life.state.setThinking(false);
  ASSERT_TRUE(life.send(u"Well?"_s)) << life.error();
  EXPECT_EQ(heard, u"Yes"_s);
  EXPECT_EQ(last(life).thoughts, QString());
  life.state.setThinking(true);
  ASSERT_TRUE(life.send(u"Well?"_s)) << life.error();
  EXPECT_EQ(last(life).thoughts, u"Hm"_s);
}

TEST_F(InProcessThinking, thoughts_are_found_again_when_the_chat_is_opened_in_the_next_life) {
  {
    Life life(m_folder.path());
    ASSERT_TRUE(life.openModel(path())) << life.error();
    ASSERT_TRUE(life.send(u"Well?"_s)) << life.error();
    life.state.setThinking(false);
    ASSERT_TRUE(life.send(u"Well?"_s)) << life.error();
  }
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel(path())) << life.error();
  ASSERT_TRUE(life.wait([&] { return life.state.chats()->rowCount() == 1; })) << life.error();
  EventSpy<runtime::MessageThoughts> found(&life.engine);
  life.state.openChat(life.state.chats()->index(0).data(ChatListModel::KeyRole).toLongLong());
  ASSERT_TRUE(life.wait([&] { return found.count() == 1; })) << life.error();
  ASSERT_EQ(life.state.conversation()->rowCount(), 4);
  EXPECT_EQ(life.state.conversation()->message(1).thoughts, u"Hm"_s);
  EXPECT_EQ(life.state.conversation()->message(3).thoughts, QString()) << "not thought about";
}

}  // namespace
}  // namespace satchel::ui
