// What the chat service does with a store that deletes, or that cannot be written. The bundled
// model over a store in memory.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/limits/presets.h"
#include "support/open_chat_service.h"

namespace satchel::runtime {
namespace {

// Refuses what changes it.
class ReadOnlyRecords final : public kvcache::RecordStore {
 public:
  explicit ReadOnlyRecords(kvcache::RecordStore& inner) : inner_(inner) {}
  Result<std::optional<kvcache::SavedManifest>> newest_manifest(
      const kvcache::CacheKey& key) override {
    return inner_.newest_manifest(key);
  }
  Result<std::vector<std::byte>> record(const kvcache::CacheKey& key,
                                        kvcache::RecordId id) override {
    return inner_.record(key, id);
  }
  Result<void> put_record(const kvcache::CacheKey&, kvcache::RecordId,
                          std::span<const std::byte>) override {
    return refused();
  }
  Result<void> commit(const kvcache::CacheKey&, const kvcache::SavedCommit&) override {
    return refused();
  }
  Result<void> drop(const kvcache::CacheKey&) override { return refused(); }

 private:
  static Error refused() { return {ErrorKind::storage, "READ_ONLY", "Open to read."}; }
  kvcache::RecordStore& inner_;
};

// `notice`: what it tells of itself; empty: nothing.
class ReadOnlyStore final : public ChatStore {
 public:
  ReadOnlyStore(test::MemoryChats& chats, std::string notice)
      : chats_(chats), records_(chats.records), notice_(std::move(notice)) {}
  ChatLibrary& library() override { return chats_.library; }
  kvcache::RecordStore* records() override { return &records_; }
  std::vector<std::string> notices() const override {
    return notice_.empty() ? std::vector<std::string>() : std::vector{notice_};
  }
  Result<void> delete_now(ChatId) override { return {}; }
  Result<std::size_t> purge_expired() override { return std::size_t{0}; }

 private:
  test::MemoryChats& chats_;
  ReadOnlyRecords records_;
  std::string notice_;
};

// Counts how often it is asked to thin, and is stopped in the first `n_stops` of them.
class ThinningStore final : public test::MemoryChatStore {
 public:
  ThinningStore(std::shared_ptr<test::MemoryChats> chats, std::size_t& n_asked, std::size_t n_stops)
      : MemoryChatStore(std::move(chats)), n_asked_(n_asked), n_stops_(n_stops) {}
  Result<std::size_t> thin_unused(std::span<const ChatId>, const std::stop_token&) override {
    if (++n_asked_ <= n_stops_) return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
    return std::size_t{0};
  }

 private:
  std::size_t& n_asked_;
  std::size_t n_stops_;
};

struct SetClock final : Clock {
  std::int64_t wall_ms() const override { return wall; }
  double steady_ms() const override { return 0; }
  std::int64_t wall = 1'790'000'000'000;
};

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

TEST_F(ChatStoreTest, a_chat_read_again_says_that_it_is_not_saved_only_where_the_store_did_not) {
  const ChatHandle chat = begin();
  value_of(service_->send(chat, "What is a brass bell?", Sampling::plain_greedy(8)));
  const ChatId id = service_->chat(chat)->id();
  service_.reset();
  chats_->records.caches.clear();
  for (const std::string notice : {"Open to read.", ""}) {
    EngineOptions options;
    options.backend = "cpu";
    options.n_threads = 2;
    ChatService service(std::make_unique<ReadOnlyStore>(*chats_, notice), std::move(options));
    value_of(service.open_model(test::kBundledModel));
    std::vector<ChatTask> failures;
    const ChatSink sink = [&](ChatHandle, const ChatEvent& event) {
      if (const auto* failed = std::get_if<Failed>(&event)) failures.push_back(failed->task);
    };
    const OpenReport opened = value_of(service.open(id, {}, {{}, sink}));
    EXPECT_GT(value_of(opened.resumed)->n_reread, 0u);
    EXPECT_EQ(failures, notice.empty() ? std::vector{ChatTask::save} : std::vector<ChatTask>());
  }
}

TEST_F(ChatStoreTest, unused_chats_are_thinned_once_a_day_while_the_program_stays_open) {
  constexpr std::int64_t kHourMs = 3'600'000;
  std::size_t n_asked = 0;
  SetClock clock;
  EngineOptions options;
  options.backend = "cpu";
  options.n_threads = 2;
  ChatService service(std::make_unique<ThinningStore>(chats_, n_asked, 1), std::move(options),
                      &clock);
  value_of(service.open_model(test::kBundledModel));
  const ChatHandle chat =
      value_of(service.begin({.memory = {value_of(resolve_recipe("full")), 0}}));
  value_of(service.send(chat, "What is a brass bell?", Sampling::plain_greedy(4)));
  value_of(service.idle(chat));
  EXPECT_EQ(n_asked, 1u);
  value_of(service.idle(chat));
  EXPECT_EQ(n_asked, 2u) << "a stop put it off";
  for (int hour = 1; hour < 24; ++hour) {
    clock.wall += kHourMs;
    EXPECT_FALSE(service.has_idle_work(chat));
    value_of(service.idle(chat));
    EXPECT_EQ(n_asked, 2u) << "after " << hour << " hours";
  }
  clock.wall += kHourMs;
  EXPECT_TRUE(service.has_idle_work(chat));
  value_of(service.idle(chat));
  EXPECT_EQ(n_asked, 3u);
  clock.wall -= 48 * kHourMs;  // set right
  value_of(service.idle(chat));
  EXPECT_EQ(n_asked, 4u);
}

// The message and what was read stay; only the cache is not yet on disk.
TEST_F(ChatStoreTest, a_stop_does_not_wait_for_a_long_save_which_idle_time_makes_up_for) {
  std::string text;
  for (int i = 0; i < 150; ++i) text += "The brass bell hangs in room " + std::to_string(i) + ". ";
  const ChatHandle chat = begin();
  std::stop_source stop;
  int n_failed = 0, n_saved = 0;
  const ChatSink sink = [&](ChatHandle, const ChatEvent& event) {
    if (std::holds_alternative<ReadReport>(event)) stop.request_stop();  // the save comes next
    n_failed += std::holds_alternative<Failed>(event) ? 1 : 0;
    n_saved += std::holds_alternative<kvcache::SaveReport>(event) ? 1 : 0;
  };
  value_of(service_->attach(chat, {.title = "notes", .text = text}, {stop.get_token(), sink}));
  const Session& session = *service_->session(chat);
  ASSERT_GT(session.stats().bytes, kvcache::kSavedAnyway + kvcache::kRecordBytesAim);
  const kvcache::CacheKey key = cache_key(service_->chat(chat)->id());
  EXPECT_FALSE(value_of(chats_->records.newest_manifest(key)).has_value());
  EXPECT_EQ(n_saved, 0);
  EXPECT_EQ(n_failed, 0) << "nothing is lost";
  EXPECT_TRUE(service_->has_idle_work(chat));
  EXPECT_TRUE(value_of(service_->idle(chat, {{}, sink})).finished);
  EXPECT_EQ(n_saved, 1);
  EXPECT_TRUE(value_of(chats_->records.newest_manifest(key)).has_value());
  EXPECT_FALSE(service_->has_idle_work(chat));
}

}  // namespace
}  // namespace satchel::runtime
