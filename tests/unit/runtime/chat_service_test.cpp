// The chat service with the bundled model over a store in memory: what every front end relies on.
// Threads wait for events and for the queue, never for the clock.
#include "runtime/chat/chat_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/grammar/gbnf.h"
#include "runtime/limits/presets.h"
#include "support/bundled_model.h"
#include "support/open_chat_service.h"
#include "support/source_dir.h"
#include "support/value_of.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using testing::ElementsAre;

class StillClock final : public Clock {
 public:
  std::int64_t wall_ms() const override { return 1'790'000'000'000; }
  double steady_ms() const override { return 0; }
};

// The kinds of events that came, in their order; deltas and progress are not counted.
std::vector<std::size_t> kinds_but_deltas(const std::vector<ChatEvent>& events) {
  std::vector<std::size_t> kinds;
  for (const ChatEvent& event : events)
    if (!std::holds_alternative<AnswerDelta>(event) && !std::holds_alternative<Progress>(event) &&
        !std::holds_alternative<ChatMemory>(event) && !std::holds_alternative<LedgerChanged>(event))
      kinds.push_back(event.index());
  return kinds;
}

template <class Event, class Variant = ChatEvent>
struct KindOf;
template <class Event, class... Events>
struct KindOf<Event, std::variant<Event, Events...>> : std::integral_constant<std::size_t, 0> {};
template <class Event, class First, class... Events>
struct KindOf<Event, std::variant<First, Events...>>
    : std::integral_constant<std::size_t, 1 + KindOf<Event, std::variant<Events...>>::value> {};

template <class Event>
std::size_t kind() {
  return KindOf<Event>::value;
}

class ChatServiceTest : public testing::Test {
 protected:
  std::unique_ptr<ChatService> open_service(bool keeps = true) {
    return test::open_chat_service(keeps ? chats_ : nullptr, &clock_);
  }
  static ChatStart start(std::string_view preset = "full", std::string name = {}) {
    return {.memory = {value_of(resolve_recipe(preset)), 0}, .name = std::move(name)};
  }
  static Sampling greedy(std::size_t n_tokens_max = 12) {
    return Sampling::plain_greedy(n_tokens_max);
  }
  ChatCall listening(std::stop_token stop = {}) {
    return {std::move(stop),
            [this](ChatHandle, const ChatEvent& event) { events_.push_back(event); }};
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const Chat& chat : value_of(chats_->library.chats(ChatFilter::present)))
      names.push_back(chat.name);
    return names;
  }
  // A chat of one question and its answer, saved by a service of its own.
  ChatId saved_chat() {
    const auto service = open_service();
    const ChatHandle chat = value_of(service->begin(start()));
    value_of(service->send(chat, "What is a brass bell?", greedy()));
    return service->chat(chat)->id();
  }
  std::vector<ChatTask> failures() const {
    std::vector<ChatTask> tasks;
    for (const ChatEvent& event : events_)
      if (const auto* failed = std::get_if<Failed>(&event)) tasks.push_back(failed->task);
    return tasks;
  }
  static std::string notes(int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += "The brass bell hangs in room " + std::to_string(i) + ". ";
    return text;
  }

  StillClock clock_;
  std::shared_ptr<test::MemoryChats> chats_ = std::make_shared<test::MemoryChats>();
  std::vector<ChatEvent> events_;
};

TEST_F(ChatServiceTest, a_chat_enters_the_store_with_its_first_message) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start()));
  EXPECT_THAT(names(), ElementsAre());
  const auto report =
      value_of(service->send(chat, "What is a  brass bell?\nTell me.", greedy(), listening()));
  EXPECT_GT(report.n_tokens, 0u);
  EXPECT_THAT(names(), ElementsAre("What is a brass bell?"));
  EXPECT_THAT(kinds_but_deltas(events_),
              ElementsAre(kind<ChatEntered>(), kind<StoredMessage>(), kind<AnswerStarted>(),
                          kind<GenerateReport>(), kind<kvcache::SaveReport>()));
  std::string streamed;
  for (const ChatEvent& event : events_)
    if (const auto* delta = std::get_if<AnswerDelta>(&event)) streamed += delta->text;
  EXPECT_EQ(streamed, report.text);
}

TEST_F(ChatServiceTest, a_first_message_that_is_refused_leaves_no_chat_behind) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start()));
  const auto sent = service->send(chat, notes(20'000), greedy(), listening());
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().code, "CONTEXT_FULL");
  ASSERT_TRUE(std::holds_alternative<Failed>(events_.back()));
  EXPECT_EQ(std::get<Failed>(events_.back()).task, ChatTask::send);
  EXPECT_THAT(names(), ElementsAre());
  value_of(service->send(chat, "Hello", greedy()));
  EXPECT_THAT(names(), ElementsAre("Hello"));
}

TEST_F(ChatServiceTest, a_chat_that_was_entered_and_got_no_message_goes_when_it_is_closed) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start("full", "empty")));
  ASSERT_TRUE(service->enter(chat).ok());
  EXPECT_THAT(names(), ElementsAre("empty"));
  service->close(chat);
  EXPECT_THAT(names(), ElementsAre());
}

TEST_F(ChatServiceTest, nameless_chats_begun_in_the_same_second_get_names_of_their_own) {
  const auto service = open_service();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(service->enter(value_of(service->begin(start()))).ok());
  const auto named = names();
  ASSERT_EQ(named.size(), 3u);
  EXPECT_EQ(named[1], named[0] + " (2)");
  EXPECT_EQ(named[2], named[0] + " (3)");
}

TEST_F(ChatServiceTest, a_saved_chat_is_resumed_by_another_service_without_reading_again) {
  ChatId id;
  {
    const auto service = open_service();
    const ChatHandle chat = value_of(service->begin(start("compact")));
    value_of(service->attach(chat, {.title = "notes", .text = notes(30)}));
    value_of(service->send(chat, "Where does the bell hang?", greedy()));
    id = service->chat(chat)->id();
  }
  const auto service = open_service();
  const OpenReport opened = value_of(service->open(id, {}, listening()));
  const auto report = value_of(opened.resumed);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->n_reread, 0u);
  EXPECT_EQ(report->n_reused, report->n_chat_tokens);
  EXPECT_EQ(preset_of(service->chat(opened.chat)->memory().recipe), "compact");
  EXPECT_THAT(kinds_but_deltas(events_), ElementsAre(kind<ChatOpened>(), kind<ResumeReport>()));
  EXPECT_EQ(service->open(id).error().code, "CHAT_OPEN");
}

TEST_F(ChatServiceTest, the_words_of_a_chat_that_cannot_be_opened_are_shown_all_the_same) {
  const ChatId id = saved_chat();
  ChatLibrary& library = chats_->library;
  const Chat saved = value_of(library.chat(id));
  const std::size_t n_messages = value_of(library.messages(id)).size();
  ChatSetup no_model = saved.setup, no_recipe = saved.setup;
  no_model.model_path = "/nowhere.gguf";
  no_model.model_fingerprint = std::string(32, '0');
  no_recipe.recipe_json = "{}";
  for (const ChatSetup& setup : {no_model, no_recipe}) {
    events_.clear();
    ASSERT_TRUE(library.set_setup(id, setup).ok());
    const auto service = open_service();
    const ChatHandle other = value_of(service->begin(start()));
    EXPECT_FALSE(service->open(id, {.instead_of = other}, listening()).ok());
    ASSERT_THAT(kinds_but_deltas(events_), ElementsAre(kind<ChatShown>(), kind<Failed>()));
    EXPECT_EQ(std::get<ChatShown>(events_.front()).messages.size(), n_messages);
    EXPECT_NE(service->chat(other), nullptr) << "what was open stays open";
  }
}

TEST_F(ChatServiceTest, a_chat_whose_messages_could_not_be_read_is_read_again_before_a_message) {
  const ChatId id = saved_chat();
  const auto service = open_service();
  chats_->library.fail_messages({.skip = 1});  // those to be told can be read
  const OpenReport opened = value_of(service->open(id));
  EXPECT_EQ(opened.resumed.error().code, "DISK_FULL");
  EXPECT_EQ(service->session(opened.chat), nullptr);
  value_of(service->send(opened.chat, "And now?", greedy()));
  EXPECT_EQ(service->session(opened.chat)->messages().size(), 4u);
}

TEST_F(ChatServiceTest, a_chat_that_cannot_be_read_leaves_the_one_before_it_open) {
  const ChatId id = saved_chat();
  const auto service = open_service();
  const ChatHandle before = value_of(service->begin(start()));
  value_of(service->send(before, "Hello", greedy()));
  chats_->library.fail_messages({});
  EXPECT_EQ(service->open(id, {.instead_of = before}).error().code, "DISK_FULL");
  ASSERT_NE(service->chat(before), nullptr);
  value_of(service->send(before, "Still there?", greedy()));
}

TEST_F(ChatServiceTest, new_settings_are_kept_even_if_reading_under_them_was_stopped) {
  const ChatId id = saved_chat();
  const auto service = open_service();
  const kvcache::Recipe compact = value_of(resolve_recipe("compact"));
  std::stop_source stop;
  const ChatSink stops = [&](ChatHandle, const ChatEvent& event) {
    if (std::holds_alternative<Progress>(event)) stop.request_stop();
  };
  const OpenReport opened = value_of(service->open(
      id, {.keeps_model = true, .choices = {.recipe = compact}}, {stop.get_token(), stops}));
  EXPECT_EQ(opened.resumed.error().code, "STOPPED");
  EXPECT_EQ(value_of(chats_->library.chat(id)).setup.recipe_json, compact.json());
}

TEST_F(ChatServiceTest, new_settings_that_could_not_be_kept_are_kept_before_the_next_message) {
  const ChatId id = saved_chat();
  const auto service = open_service();
  const kvcache::Recipe compact = value_of(resolve_recipe("compact"));
  chats_->library.fail_setups({.n = 2});
  const OpenReport opened = value_of(
      service->open(id, {.keeps_model = true, .choices = {.recipe = compact}}, listening()));
  EXPECT_TRUE(opened.resumed.ok());
  EXPECT_THAT(failures(), ElementsAre(ChatTask::keep_settings));
  EXPECT_EQ(service->send(opened.chat, "And now?", greedy()).error().code, "DISK_FULL");
  EXPECT_EQ(value_of(chats_->library.chat(id)).n_messages, 2u) << "nothing was sent";
  value_of(service->send(opened.chat, "And now?", greedy()));
  EXPECT_EQ(value_of(chats_->library.chat(id)).setup.recipe_json, compact.json());
}

TEST_F(ChatServiceTest, a_question_to_all_parts_tells_the_part_it_asks_and_then_the_notes) {
  constexpr const char* kQuestion = "Which pet does Matteo Thorsen keep?";
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start("compact")));
  const std::string text = held_out_notes(0) + held_out_notes(1) + held_out_notes(2);
  value_of(service->attach(chat, {.title = "notes", .text = text}));
  const auto report = value_of(service->ask_all(chat, kQuestion, greedy(), listening()));
  EXPECT_GT(report.episodes.n_all, 0u);
  std::vector<std::size_t> parts;
  std::vector<std::string> added;
  for (const ChatEvent& event : events_) {
    if (const auto* now = std::get_if<Progress>(&event); now && now->phase == Phase::ask_parts)
      parts.push_back(now->done);
    if (const auto* message = std::get_if<StoredMessage>(&event))
      added.push_back(message->title.empty() ? message->text : message->title);
  }
  EXPECT_GT(parts.size(), 2u);
  EXPECT_THAT(parts, testing::Each(testing::Le(parts.size() - 1)));
  EXPECT_THAT(added, ElementsAre(kPartNotesTitle, kNoted, kQuestion));
  EXPECT_THAT(failures(), ElementsAre());
}

TEST_F(ChatServiceTest, a_question_to_all_parts_that_is_stopped_leaves_nothing) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start("compact")));
  value_of(service->attach(chat, {.title = "notes", .text = notes(250)}));
  const std::size_t n_before = service->session(chat)->messages().size();
  std::stop_source stop;
  const ChatCall call{stop.get_token(), [&](ChatHandle, const ChatEvent& event) {
                        const auto* now = std::get_if<Progress>(&event);
                        if (now && now->phase == Phase::ask_parts) stop.request_stop();
                      }};
  EXPECT_EQ(service->ask_all(chat, "Where is it?", greedy(), call).error().code, "STOPPED");
  EXPECT_EQ(service->session(chat)->messages().size(), n_before);
  EXPECT_GT(value_of(service->send(chat, "Where is it?", greedy())).n_tokens, 0u);
}

TEST_F(ChatServiceTest, a_message_need_not_wait_until_a_long_document_is_read) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start("compact")));
  std::string text;
  for (std::size_t i = 0; i < 5; ++i) text += held_out_notes(i) + "\n\n";
  std::atomic<bool> is_reading = false;
  const ChatSink reads_until_a_call_waits = [&](ChatHandle, const ChatEvent& event) {
    const auto* now = std::get_if<Progress>(&event);
    if (now == nullptr || now->phase != Phase::read_prompt) return;
    is_reading = true;
    while (service->n_waiting() == 0) std::this_thread::yield();
  };
  std::thread attach([&] {
    const auto read =
        service->attach(chat, {.title = "notes", .text = text}, {{}, reads_until_a_call_waits});
    EXPECT_TRUE(read.ok()) << "it made way, nobody stopped it";
  });
  while (!is_reading) std::this_thread::yield();
  EXPECT_GT(value_of(service->send(chat, "Which pet does Matteo Thorsen keep?", greedy())).n_tokens,
            0u);
  attach.join();
  const Session& session = *service->session(chat);
  EXPECT_LT(session.parts_read()[0].n_read, session.parts_read()[0].n_all);
  const ChatId id = service->chat(chat)->id();
  const IdleReport idle = value_of(service->idle(chat, listening()));
  EXPECT_TRUE(idle.finished);
  EXPECT_GT(idle.n_read, 0u);
  EXPECT_EQ(session.parts_read()[0].n_read, session.parts_read()[0].n_all);
  const auto is_saved = [](const ChatEvent& event) {
    return std::holds_alternative<kvcache::SaveReport>(event);
  };
  EXPECT_GT(std::ranges::count_if(events_, is_saved), 1) << "after each part";
  EXPECT_THAT(failures(), ElementsAre());
  service->close(chat);
  EXPECT_EQ(value_of(value_of(service->open(id)).resumed)->n_reread, 0u);
}

TEST_F(ChatServiceTest, each_part_is_told_when_it_is_read_and_the_rest_waits_when_it_makes_way) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start("compact")));
  std::string text;
  for (std::size_t i = 0; i < 5; ++i) text += held_out_notes(i) + "\n\n";
  std::vector<PartsRead> told;
  const ChatSink until_two = [&](ChatHandle, const ChatEvent& event) {
    if (const auto* memory = std::get_if<ChatMemory>(&event))
      told.insert(told.end(), memory->documents.begin(), memory->documents.end());
    if (!told.empty() && told.back().n_read == 2) service->make_way();
  };
  value_of(service->attach(chat, {.title = "notes", .text = text}, {{}, until_two}));
  std::vector<std::size_t> n_read;
  for (const PartsRead& parts : told) n_read.push_back(parts.n_read);
  EXPECT_THAT(n_read, ElementsAre(0, 1, 2, 2)) << "the last is the whole chat's";
  EXPECT_EQ(told.back().document, service->session(chat)->messages()[0].id);
  EXPECT_GT(told.back().n_all, 3u);
  value_of(service->send(chat, "Which pet does Matteo Thorsen keep?", greedy()));
  const std::vector<OlderPart> parts = value_of(service->older_parts(chat)).parts;
  ASSERT_FALSE(parts.empty());
  EXPECT_FALSE(parts.front().is_unread);
  EXPECT_TRUE(parts.back().is_unread);
  value_of(service->idle(chat));
  for (const OlderPart& part : value_of(service->older_parts(chat)).parts)
    EXPECT_FALSE(part.is_unread);
}

TEST_F(ChatServiceTest, settings_that_are_not_kept_are_not_told_as_an_unsaved_cache) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start()));
  chats_->library.fail_settings({});  // how fast the model reads
  value_of(service->attach(chat, {.title = "notes", .text = notes(30)}, listening()));
  EXPECT_THAT(failures(), ElementsAre(ChatTask::keep_settings));
  events_.clear();
  chats_->library.fail_setups({});
  const MemoryRequest request{.limit_bytes = 0, .recipe = value_of(resolve_recipe("compact"))};
  value_of(service->change_memory(chat, request, listening()));
  EXPECT_THAT(failures(), ElementsAre(ChatTask::keep_settings));
}

TEST_F(ChatServiceTest, several_chats_of_several_threads_answer_as_each_does_alone) {
  constexpr std::size_t kChats = 3;
  const auto ask = [](ChatService& service, ChatHandle chat, std::size_t i) {
    std::string said;
    for (int turn = 0; turn < 2; ++turn)
      said +=
          value_of(service.send(chat, "Tell me of room " + std::to_string(7 * i) + ".", greedy()))
              .text +
          "\n";
    return said;
  };
  std::vector<std::string> alone(kChats), together(kChats);
  for (std::size_t i = 0; i < kChats; ++i) {
    const auto service = open_service(false);
    alone[i] = ask(*service, value_of(service->begin(start())), i);
  }
  const auto service = open_service();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kChats; ++i)
    threads.emplace_back(
        [&, i] { together[i] = ask(*service, value_of(service->begin(start())), i); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
  EXPECT_EQ(names().size(), kChats);
}

// A chat whose answer goes on until it is told to end, waits at its first word until so many calls
// are in the queue, and then says one more at least. `watch` is called with every later word.
class LongAnswer {
 public:
  LongAnswer(ChatService& service, ChatHandle chat, std::size_t n_calls,
             const std::function<void()>& watch = {})
      : answers_([this, &service, chat, n_calls, watch] {
          Sampling endless = Sampling::plain_greedy(0);
          endless.ends_loops = false;
          endless.grammar =
              std::make_shared<Grammar>(value_of(parse_gbnf("root ::= [a-z ]{1500}")));
          const ChatSink sink = [&](ChatHandle, const ChatEvent& event) {
            if (!std::holds_alternative<AnswerDelta>(event)) return;
            if (has_met_) goes_on_ = true;
            if (has_begun_.exchange(true) && watch) watch();
            while (service.n_waiting() < n_calls && !has_met_) std::this_thread::yield();
            has_met_ = true;
          };
          report_ = value_of(
              service.send(chat, "Tell me of the brass bell.", endless, {stop_.get_token(), sink}));
          is_over_ = true;
        }) {
    while (!has_begun_) std::this_thread::yield();
  }
  bool is_over() const { return is_over_; }
  GenerateReport end() {
    while (!goes_on_) std::this_thread::yield();
    stop_.request_stop();
    answers_.join();
    return report_;
  }

 private:
  std::stop_source stop_;
  std::atomic<bool> has_begun_ = false, has_met_ = false, goes_on_ = false, is_over_ = false;
  GenerateReport report_;
  std::thread answers_;
};

TEST_F(ChatServiceTest, a_chat_that_is_asked_while_another_answers_need_not_wait_for_its_end) {
  const auto service = open_service();
  const ChatHandle one = value_of(service->begin(start()));
  const ChatHandle other = value_of(service->begin(start()));
  LongAnswer answer(*service, one, 1);
  const ChatSink sink = [&](ChatHandle, const ChatEvent& event) {
    EXPECT_FALSE(std::holds_alternative<AnswerDelta>(event) && answer.is_over());
  };
  const GenerateReport said =
      value_of(service->send(other, "What is a brass bell?", greedy(), {{}, sink}));
  EXPECT_GT(said.n_tokens, 0u);
  EXPECT_GT(answer.end().n_tokens, said.n_tokens);
}

TEST_F(ChatServiceTest, what_needs_all_chats_or_one_that_answers_waits_for_its_end) {
  const auto service = open_service();
  const ChatHandle one = value_of(service->begin(start()));
  std::atomic<int> n_done = 0;
  LongAnswer answer(*service, one, 2, [&] { EXPECT_EQ(n_done, 0); });
  std::thread changes([&] {
    value_of(service->change_memory(
        one, {.limit_bytes = 0, .recipe = value_of(resolve_recipe("compact"))}));
    ++n_done;
  });
  std::thread reads([&] {
    value_of(service->read(one));
    ++n_done;
  });
  EXPECT_GT(answer.end().n_tokens, 1u);
  changes.join();
  reads.join();
  EXPECT_EQ(n_done, 2);
}

TEST_F(ChatServiceTest, calls_are_cancelled_in_the_queue_and_in_the_middle) {
  const auto service = open_service();
  const ChatHandle one = value_of(service->begin(start()));
  const ChatHandle other = value_of(service->begin(start()));
  std::stop_source stop_one, stop_other;
  std::atomic<bool> is_answering = false, has_other_ended = false;
  std::optional<GenerateReport> answered;
  const ChatSink answers_until_the_other_has_come_and_gone = [&](ChatHandle chat,
                                                                 const ChatEvent& event) {
    EXPECT_EQ(chat, one);
    if (!std::holds_alternative<AnswerDelta>(event)) return;
    is_answering = true;
    while (!has_other_ended) std::this_thread::yield();
    stop_one.request_stop();
  };
  std::thread first([&] {
    answered =
        value_of(service->send(one, "Tell me of the brass bell.", greedy(200),
                               {stop_one.get_token(), answers_until_the_other_has_come_and_gone}));
  });
  while (!is_answering) std::this_thread::yield();
  std::optional<Error> error;
  std::thread second([&] {
    error = service->send(other, "Hello", greedy(), {stop_other.get_token(), {}}).error();
  });
  while (service->n_waiting() != 1) std::this_thread::yield();
  stop_other.request_stop();
  second.join();
  has_other_ended = true;
  first.join();
  EXPECT_EQ(error->code, "STOPPED");
  EXPECT_EQ(answered->finish, Finish::stopped);
  EXPECT_GT(answered->n_tokens, 0u);
  EXPECT_LT(answered->n_tokens, 200u);
  // What was cancelled in the queue has done nothing; both chats go on.
  EXPECT_EQ(names().size(), 1u);
  value_of(service->send(one, "And now?", greedy()));
  value_of(service->send(other, "Hello", greedy()));
}

TEST_F(ChatServiceTest, a_listener_that_calls_the_service_is_told_so_and_the_call_goes_on) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start()));
  std::vector<std::string> codes;
  const ChatSink calls_back = [&](ChatHandle, const ChatEvent& event) {
    if (!std::holds_alternative<AnswerStarted>(event)) return;
    codes.push_back(service->send(chat, "And this?", greedy()).error().code);
    service->close(chat);
  };
  EXPECT_GT(value_of(service->send(chat, "Hello", greedy(), {{}, calls_back})).n_tokens, 0u);
  EXPECT_THAT(codes, ElementsAre("NESTED_CALL"));
  EXPECT_NE(service->chat(chat), nullptr);
  EXPECT_EQ(service->session(chat)->messages().back().role, Role::assistant);
}

TEST_F(ChatServiceTest, a_chat_without_a_message_is_not_opened_in_its_own_place) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start("full", "empty")));
  ASSERT_TRUE(service->enter(chat).ok());
  const ChatId id = service->chat(chat)->id();
  EXPECT_EQ(service->open(id, {.instead_of = chat}).error().code, "CHAT_OPEN");
  EXPECT_THAT(names(), ElementsAre("empty"));
  value_of(service->send(chat, "Hello", greedy()));
  EXPECT_TRUE(value_of(service->open(id, {.instead_of = chat})).resumed.ok());
}

TEST_F(ChatServiceTest, idle_work_makes_way_for_a_call_of_another_chat_and_goes_on) {
  const auto service = open_service();
  const ChatHandle packs = value_of(service->begin(start("kvzip")));
  const ChatHandle other = value_of(service->begin(start()));
  value_of(service->attach(packs, {.title = "notes", .text = notes(150)}));
  ASSERT_TRUE(service->session(packs)->has_idle_work());
  std::atomic<bool> is_packing = false;
  std::optional<IdleReport> first;
  const ChatSink packs_until_a_call_waits = [&](ChatHandle, const ChatEvent& event) {
    const auto* cache = std::get_if<ChatMemory>(&event);
    if (cache == nullptr || !cache->is_packing) return;
    is_packing = true;
    while (service->n_waiting() == 0) std::this_thread::yield();
  };
  std::thread idle([&] { first = value_of(service->idle(packs, {{}, packs_until_a_call_waits})); });
  while (!is_packing) std::this_thread::yield();
  value_of(service->send(other, "Hello", greedy()));
  idle.join();
  EXPECT_FALSE(first->finished);
  EXPECT_TRUE(value_of(service->idle(packs)).finished);
  EXPECT_FALSE(service->session(packs)->has_idle_work());
}

TEST_F(ChatServiceTest, a_model_that_does_not_open_leaves_model_and_chats_as_they_are) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start()));
  value_of(service->send(chat, "Hello", greedy()));
  const auto opened = service->open_model(test::source_dir() + "/LICENSE", listening());
  EXPECT_EQ(opened.error().code, "MODEL_FORMAT");
  ASSERT_TRUE(std::holds_alternative<Failed>(events_.back()));
  EXPECT_FALSE(std::get<Failed>(events_.back()).cpu_would_help);
  value_of(service->send(chat, "Still there?", greedy()));
  value_of(service->open_model(test::kBundledModel));
  EXPECT_EQ(service->send(chat, "Hello", greedy()).error().code, "NO_CHAT");
}

TEST_F(ChatServiceTest, the_cpu_takes_the_chat_over_as_it_was_saved) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start())),
                   other = value_of(service->begin(start()));
  value_of(service->send(chat, "Hello", greedy()));
  value_of(service->send(other, "Good day", greedy()));
  const CpuMove moved = value_of(service->use_cpu(chat, greedy(), listening()));
  ASSERT_TRUE(moved.resumed.has_value());
  EXPECT_EQ(moved.resumed->n_reread, 0u);
  EXPECT_FALSE(moved.answer.has_value()) << "the last answer was whole";
  EXPECT_EQ(service->session(other), nullptr);
  value_of(service->send(other, "And now?", greedy()));
}

TEST_F(ChatServiceTest, without_a_store_chats_go_on_and_nothing_is_kept) {
  const auto service = open_service(false);
  const ChatHandle chat = value_of(service->begin(start()));
  value_of(service->send(chat, "Hello", greedy()));
  EXPECT_TRUE(value_of(service->chats()).empty());
  EXPECT_EQ(service->open({1}).error().code, "CHAT_NOT_FOUND");
  value_of(service->use_cpu(chat, greedy()));
  const auto lost = service->send(chat, "And now?", greedy());
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, "CHAT_LOST");
}

TEST_F(ChatServiceTest, other_settings_are_previewed_applied_and_kept) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start()));
  value_of(service->attach(chat, {.title = "notes", .text = notes(60)}));
  const MemoryRequest request{.limit_bytes = 0, .recipe = value_of(resolve_recipe("compact"))};
  const MemoryChange preview = value_of(service->preview_memory(chat, request));
  EXPECT_GT(preview.n_lane_tokens, 0u);
  EXPECT_EQ(preset_of(service->chat(chat)->memory().recipe), "full");
  value_of(service->change_memory(chat, request, listening()));
  EXPECT_EQ(preset_of(service->chat(chat)->memory().recipe), "compact");
  const Chat row = value_of(chats_->library.chat(service->chat(chat)->id()));
  EXPECT_EQ(row.setup.recipe_json, request.recipe->json());
  const auto kinds = kinds_but_deltas(events_);
  EXPECT_THAT(kinds, ElementsAre(kind<MemoryChanged>(), kind<kvcache::SaveReport>()));
}

}  // namespace
}  // namespace satchel::runtime
