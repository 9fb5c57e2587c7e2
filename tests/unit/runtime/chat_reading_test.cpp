// The chat service while one chat reads a text: what others may do meanwhile. Threads wait for
// events and for the queue, never for the clock.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/chat/chat_service.h"
#include "runtime/contract/cache_key.h"
#include "runtime/grammar/gbnf.h"
#include "runtime/limits/presets.h"
#include "support/open_chat_service.h"
#include "support/value_of.h"

namespace satchel::runtime {
namespace {

ChatStart start(std::string_view preset, std::size_t limit_bytes = 0) {
  return {.memory = {value_of(resolve_recipe(preset)), limit_bytes}};
}

std::string rooms() {
  std::string text;
  for (int i = 0; i < 120; ++i) text += "The brass bell hangs in room " + std::to_string(i) + ". ";
  return text;
}

// An answer that begins, and goes on while another chat reads a text.
class AnswersBesideReading : public testing::Test {
 protected:
  struct Beside {
    std::string answer;
    std::size_t n_beside = 0;  // deltas of it, while the other read
    std::string ends;          // r: the text was read, a: the answer ended
    std::map<kvcache::RecordId, std::vector<std::byte>> records = {};  // of the text's cache
  };
  AnswersBesideReading() {
    answer_.grammar = std::make_shared<Grammar>(value_of(parse_gbnf("root ::= [a-z ]{60}")));
  }
  std::string ask(ChatService& service, const ChatCall& call = {}) {
    const ChatHandle chat = value_of(service.begin(start("full")));
    return value_of(service.send(chat, "Tell me of the brass bell.", answer_, call)).text;
  }
  auto read(ChatService& service, std::size_t limit_bytes, const ChatCall& call = {}) {
    const ChatHandle chat = value_of(service.begin(start("compact", limit_bytes)));
    value_of(service.attach(chat, {.title = "rooms", .text = rooms()}, call));
    return chats_->records.caches.at(cache_key(service.chat(chat)->id())).records;
  }
  Beside one_after_the_other(std::size_t limit_bytes) {
    const auto service = test::open_chat_service(chats_);
    Beside made;
    made.answer = ask(*service);
    made.records = read(*service, limit_bytes);
    return made;
  }
  Beside at_once(std::size_t limit_bytes) {
    const auto service = test::open_chat_service(chats_);
    std::atomic<bool> has_begun = false, reads = false;
    Beside made;  // its counts are written with a permit only
    const ChatSink answers = [&](ChatHandle, const ChatEvent& event) {
      if (std::holds_alternative<GenerateReport>(event)) made.ends += 'a';
      if (!std::holds_alternative<AnswerDelta>(event)) return;
      has_begun = true;
      while (service->n_waiting() == 0 && !reads) std::this_thread::yield();
      if (reads && made.ends.empty()) ++made.n_beside;
    };
    std::thread answering([&] { made.answer = ask(*service, {{}, answers}); });
    while (!has_begun) std::this_thread::yield();
    const ChatSink reading = [&](ChatHandle, const ChatEvent& event) {
      if (std::holds_alternative<Progress>(event)) reads = true;
      if (std::holds_alternative<ReadReport>(event)) made.ends += 'r';
    };
    made.records = read(*service, limit_bytes, {{}, reading});
    answering.join();
    return made;
  }

  Sampling answer_ = Sampling::plain_greedy(0);
  std::shared_ptr<test::MemoryChats> chats_ = std::make_shared<test::MemoryChats>();
};

TEST_F(AnswersBesideReading, it_ends_when_the_text_is_read_and_both_are_as_without_the_other) {
  const Beside made = at_once(0), alone = one_after_the_other(0);
  EXPECT_GT(made.n_beside, 4u);
  EXPECT_EQ(made.ends, "ra");
  EXPECT_EQ(made.answer, alone.answer);
  EXPECT_TRUE(made.records == alone.records);
}

// Where the text goes in several spans, each takes all memory there is.
TEST_F(AnswersBesideReading, it_takes_no_memory_from_a_text_that_needs_all) {
  const auto service = test::open_chat_service(chats_);
  const std::size_t limit_bytes =
      value_of(service->engine()->estimate(value_of(resolve_recipe("compact")), {.n_tokens = 700}))
          .arena_bytes;
  const Beside made = at_once(limit_bytes), alone = one_after_the_other(limit_bytes);
  EXPECT_GT(made.n_beside, 4u);
  EXPECT_EQ(made.answer, alone.answer);
}

TEST(ChatThatReads, what_needs_no_cache_need_not_wait_until_a_text_is_read) {
  const auto service = test::open_chat_service(nullptr);
  const ChatHandle chat = value_of(service->begin(start("full")));
  std::atomic<bool> is_reading = false, is_over = false;
  const ChatSink sink = [&](ChatHandle, const ChatEvent& event) {
    if (std::holds_alternative<ReadReport>(event)) is_over = true;
    if (!std::holds_alternative<Progress>(event) || is_reading.exchange(true)) return;
    while (service->n_waiting() < 2) std::this_thread::yield();
  };
  std::thread reads([&] {
    value_of(service->attach(chat, {.title = "rooms", .text = rooms()}, {{}, sink}));
  });
  while (!is_reading) std::this_thread::yield();
  std::thread looks([&] {
    EXPECT_TRUE(service
                    ->look_aside([&]() -> Result<void> {
                      EXPECT_FALSE(is_over);
                      return {};
                    })
                    .ok());
  });
  value_of(service->begin(start("full")));
  EXPECT_TRUE(is_over) << "this one begins a chat";
  looks.join();
  reads.join();
}

}  // namespace
}  // namespace satchel::runtime
