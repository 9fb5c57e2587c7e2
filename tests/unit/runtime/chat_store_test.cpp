// What the chat service does with a store that deletes, or that cannot be written. The bundled
// model over a store in memory.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/limits/presets.h"
#include "support/open_chat_service.h"

namespace satchel::runtime {
namespace {

class ChatStoreTest : public testing::Test {
 protected:
  ChatHandle begin() {
    return value_of(service_->begin({.memory = {value_of(resolve_recipe("full")), 0}}));
  }
  // As another program would that has the store, too.
  void remove_elsewhere(ChatId chat) { ASSERT_TRUE(chats_->library.remove_chat(chat).ok()); }

  std::shared_ptr<test::MemoryChats> chats_ = std::make_shared<test::MemoryChats>();
  std::unique_ptr<ChatService> service_ = test::open_chat_service(chats_);
};

TEST_F(ChatStoreTest, a_chat_that_goes_for_good_while_it_is_open_is_closed) {
  const ChatHandle chat = begin();
  value_of(service_->send(chat, "What is a brass bell?", Sampling::plain_greedy(8)));
  const ChatId id = service_->chat(chat)->id();
  EXPECT_EQ(service_->delete_now(id).error().code, "PARAM") << "it was not removed";
  ASSERT_NE(service_->chat(chat), nullptr);
  remove_elsewhere(id);
  ASSERT_TRUE(service_->delete_now(id).ok());
  EXPECT_EQ(service_->chat(chat), nullptr);
  EXPECT_FALSE(service_->save(chat).ok());
  EXPECT_FALSE(value_of(chats_->records.newest_manifest(cache_key(id))).has_value());
  EXPECT_EQ(service_->delete_now(id).error().code, "CHAT_NOT_FOUND");
}

TEST_F(ChatStoreTest, a_chat_that_answers_does_not_go_for_good) {
  const ChatHandle chat = begin();
  std::string refused;
  std::thread deletes;
  const ChatSink sink = [&](ChatHandle, const ChatEvent& event) {
    if (!std::holds_alternative<AnswerDelta>(event) || deletes.joinable()) return;
    const ChatId id = service_->chat(chat)->id();
    remove_elsewhere(id);
    deletes = std::thread([&, id] { refused = service_->delete_now(id).error().code; });
    while (service_->n_waiting() == 0) std::this_thread::yield();
  };
  (void)service_->send(chat, "What is a brass bell?", Sampling::plain_greedy(64), {{}, sink});
  ASSERT_TRUE(deletes.joinable());
  deletes.join();
  EXPECT_EQ(refused, "CHAT_OPEN");
  EXPECT_NE(service_->chat(chat), nullptr);
}

}  // namespace
}  // namespace satchel::runtime
