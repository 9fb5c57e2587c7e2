// The models as machines: the generic laws of Qt's models, and exactly which rows change.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include "scenes.h"
#include "ui/model/chat_list_model.h"
#include "ui/model/conversation_model.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using Laws = QAbstractItemModelTester;

QList<Message> messages(int count) {
  QList<Message> list;
  for (int i = 0; i < count; ++i) list.append(userMessage(u"message %1"_s.arg(i)));
  return list;
}

TEST(ConversationModel, a_delta_changes_only_the_last_row) {
  ConversationModel model;
  const Laws laws(&model, Laws::FailureReportingMode::Fatal);
  model.load(messages(3));
  model.beginAnswer({});
  QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
  QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
  model.appendDelta(u"Hel"_s);
  ASSERT_EQ(changed.count(), 1);
  EXPECT_EQ(reset.count(), 0);
  EXPECT_EQ(changed[0][0].toModelIndex().row(), 3);
  EXPECT_EQ(changed[0][1].toModelIndex().row(), 3);
  model.appendDelta(u"lo"_s);
  EXPECT_EQ(model.message(3).text, u"Hello"_s);
}

TEST(ConversationModel, an_answer_streams_until_it_is_finished) {
  ConversationModel model;
  const Laws laws(&model, Laws::FailureReportingMode::Fatal);
  model.finishAnswer(runtime::MessageState::complete, {});  // nothing streams: nothing happens
  EXPECT_FALSE(model.isStreaming());
  model.beginAnswer({});
  EXPECT_TRUE(model.isStreaming());
  model.finishAnswer(runtime::MessageState::interrupted, u"3 tokens"_s);
  EXPECT_FALSE(model.isStreaming());
  EXPECT_EQ(model.message(0).state, runtime::MessageState::interrupted);
  EXPECT_EQ(model.message(0).footnote, u"3 tokens"_s);
}

TEST(ConversationModel, rows_of_another_chat_never_get_the_keys_of_the_one_before) {
  ConversationModel model;
  const Laws laws(&model, Laws::FailureReportingMode::Fatal);
  model.load(messages(2));
  const qint64 key = model.message(0).key;
  model.load(messages(2));
  EXPECT_NE(model.message(0).key, key);
  EXPECT_NE(model.message(1).key, key);
}

ChatEntry chat(ChatKey id, qint64 second) {
  return {id, u"chat %1"_s.arg(id), QDateTime::fromSecsSinceEpoch(second)};
}

QList<ChatKey> keys(const ChatListModel& model) {
  QList<ChatKey> found;
  for (int row = 0; row < model.rowCount(); ++row)
    found.append(model.index(row).data(ChatListModel::KeyRole).toLongLong());
  return found;
}

TEST(ChatListModel, the_chat_used_last_comes_first) {
  ChatListModel model;
  const Laws laws(&model, Laws::FailureReportingMode::Fatal);
  model.load({chat(1, 10), chat(2, 30), chat(3, 20)});
  EXPECT_EQ(keys(model), QList<ChatKey>({2, 3, 1}));
  model.put(chat(1, 40));
  EXPECT_EQ(keys(model), QList<ChatKey>({1, 2, 3}));
  model.put(chat(4, 25));
  EXPECT_EQ(keys(model), QList<ChatKey>({1, 2, 4, 3}));
  model.remove(2);
  model.remove(99);
  EXPECT_EQ(keys(model), QList<ChatKey>({1, 4, 3}));
}

TEST(ChatListModel, chats_kept_at_the_top_come_first_in_the_order_of_use) {
  ChatListModel model;
  const Laws laws(&model, Laws::FailureReportingMode::Fatal);
  const auto atTop = [](ChatEntry entry) {
    entry.isAtTop = true;
    return entry;
  };
  model.load({chat(1, 10), chat(2, 30), atTop(chat(3, 20)), atTop(chat(4, 25))});
  EXPECT_EQ(keys(model), QList<ChatKey>({4, 3, 2, 1}));
  const QPersistentModelIndex oldest = model.index(3);
  model.put(atTop(chat(1, 10)));
  EXPECT_EQ(keys(model), QList<ChatKey>({4, 3, 1, 2}));
  EXPECT_EQ(oldest.row(), 2) << "a view stays at the chat";
  EXPECT_TRUE(model.isAtTop(1));
  EXPECT_FALSE(model.isAtTop(99));
  model.put(chat(2, 40));
  EXPECT_EQ(keys(model), QList<ChatKey>({4, 3, 1, 2})) << "use brings no chat above them";
  model.put(chat(4, 25));
  EXPECT_EQ(keys(model), QList<ChatKey>({3, 1, 2, 4}));
  EXPECT_EQ(model.index(0).data(Qt::AccessibleTextRole).toString(), u"chat 3, kept at the top"_s);
  EXPECT_EQ(model.index(2).data(Qt::AccessibleTextRole).toString(), u"chat 2"_s);
}

TEST(ChatListModel, a_chat_that_stays_in_its_place_is_not_moved) {
  ChatListModel model;
  const Laws laws(&model, Laws::FailureReportingMode::Fatal);
  model.load({chat(1, 10), chat(2, 30)});
  QSignalSpy moved(&model, &QAbstractItemModel::rowsMoved);
  QSignalSpy removed(&model, &QAbstractItemModel::rowsRemoved);
  ChatEntry renamed = chat(2, 35);
  renamed.title = u"new"_s;
  model.put(renamed);
  EXPECT_EQ(moved.count() + removed.count(), 0);
  EXPECT_EQ(model.index(0).data().toString(), u"new"_s);
}

TEST(ChatListModel, editing_asks_for_a_new_title_and_changes_nothing_itself) {
  ChatListModel model;
  const Laws laws(&model, Laws::FailureReportingMode::Fatal);
  model.load({chat(7, 10)});
  QSignalSpy asked(&model, &ChatListModel::renameAsked);
  EXPECT_FALSE(model.setData(model.index(0), u"  "_s, Qt::EditRole));
  EXPECT_TRUE(model.setData(model.index(0), u" a \n b "_s, Qt::EditRole));
  ASSERT_EQ(asked.count(), 1);
  EXPECT_EQ(asked[0][0].value<ChatKey>(), 7);
  EXPECT_EQ(asked[0][1].toString(), u"a b"_s);
  EXPECT_EQ(model.index(0).data().toString(), u"chat 7"_s);
}

}  // namespace
}  // namespace satchel::ui
