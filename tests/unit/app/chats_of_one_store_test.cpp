// Chats of one service over a store on disk, from several threads: they answer, are saved, rest,
// are closed and opened again, while others list and search. Also compiled with ThreadSanitizer
// (tests/sanitize).
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "runtime/chat/chat_service.h"
#include "runtime/limits/presets.h"
#include "storage/store.h"
#include "support/bundled_model.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {

using namespace runtime;

constexpr std::string_view kNotes =
    "Matteo Thorsen keeps a rabbit. We had tea. Estelle Ibarra keeps a parrot. Quentin works as a "
    "baker.";
constexpr std::string_view kPet = "Which pet does Matteo Thorsen keep?";
constexpr int kChats = 3, kRounds = 2;

class ChatsOfOneStore : public testing::Test {
 protected:
  ChatsOfOneStore() : service_(open_store(), options()) {
    value_of(service_.open_model(test::kBundledModel));
  }

  std::unique_ptr<storage::Store> open_store(
      storage::OpenMode mode = storage::OpenMode::read_write) const {
    return value_of(storage::Store::open(
        {.data_dir = folder_ / "data", .cache_dir = folder_ / "cache", .mode = mode}));
  }
  static EngineOptions options() {
    EngineOptions options;
    options.backend = "cpu";
    options.n_threads = 2;
    return options;
  }
  static ChatStart start(std::string_view preset, std::string name) {
    return {.memory = {value_of(resolve_recipe(preset)), 0}, .name = std::move(name)};
  }

  // A chat that is closed and opened between its questions.
  void talk(int number) {
    const ChatHandle begun = value_of(service_.begin(
        start(number % 2 == 0 ? "compact" : "full", "chat " + std::to_string(number))));
    value_of(service_.attach(begun, {.title = "notes", .text = kNotes}));
    const ChatId id = service_.chat(begun)->id();
    service_.close(begun);
    for (int round = 0; round < kRounds; ++round) {
      const ChatHandle chat = value_of(service_.open(id)).chat;
      const auto answer = value_of(service_.send(chat, kPet, Sampling::plain_greedy(8)));
      EXPECT_FALSE(answer.text.empty());
      value_of(service_.to_bytes(chat));
      value_of(service_.idle(chat));
      service_.close(chat);
    }
  }

  // An answer that is stopped while it is made, by another thread.
  void stop_answers() {
    const ChatHandle chat = value_of(service_.begin(start("balanced", "stopped")));
    for (int round = 0; round < kRounds; ++round) {
      std::stop_source stop;
      std::atomic<bool> has_begun = false;
      std::thread stops([&] {
        while (!has_begun) std::this_thread::yield();
        stop.request_stop();
      });
      const ChatSink begins = [&](ChatHandle, const ChatEvent& event) {
        has_begun = has_begun || std::holds_alternative<AnswerDelta>(event);
      };
      const auto answer =
          service_.send(chat, kPet, Sampling::plain_greedy(64), {stop.get_token(), begins});
      EXPECT_TRUE(answer.ok());
      has_begun = true;
      stops.join();
    }
    service_.close(chat);
  }

  test::TempFolder folder_{test::Place::memory};
  ChatService service_;
};

TEST_F(ChatsOfOneStore, answer_are_saved_rest_and_are_searched_at_once) {
  std::atomic<bool> ends = false;
  std::vector<std::thread> others, talkers;
  others.emplace_back([&] {  // as another program would
    while (!ends) {
      const auto store = open_store(storage::OpenMode::read_only);
      EXPECT_TRUE(store->search({.words = "rabbit"}).ok());
    }
  });
  others.emplace_back([&] {
    while (!ends) {
      const auto chats = service_.chats();
      ASSERT_TRUE(chats.ok());
      for (const Chat& chat : *chats) (void)service_.rename(chat.id, chat.name);
      EXPECT_TRUE(service_.look_aside([] { return Result<void>(); }).ok());
    }
  });
  for (int i = 0; i < kChats; ++i) talkers.emplace_back([this, i] { talk(i); });
  talkers.emplace_back([this] { stop_answers(); });
  for (std::thread& thread : talkers) thread.join();
  ends = true;
  for (std::thread& thread : others) thread.join();
  // A document, its answer, and two for each round.
  for (const Chat& chat : value_of(service_.chats())) {
    EXPECT_EQ(chat.n_messages, chat.name == "stopped" ? 2u * kRounds : 2u + 2u * kRounds)
        << chat.name;
  }
}

}  // namespace
}  // namespace satchel::app
