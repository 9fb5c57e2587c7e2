// Messages of library.db: what is said to be saved is saved, whole and in order.
#include <gmock/gmock.h>

#include "failing_vfs.h"
#include "fixtures.h"

namespace satchel::storage {
namespace {
using runtime::MessageState;
using runtime::Role;
using runtime::StoredMessage;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<std::int32_t> kOne = {7};

// What a second process sees: only what is committed.
std::vector<StoredMessage> as_others_see(const TempFolder& folder, ChatId chat) {
  const auto reader = open_store(folder, {.mode = OpenMode::read_only});
  return must(reader->library().messages(chat));
}

TEST(Journal, a_chat_without_messages_is_empty_and_an_unknown_chat_is_an_error) {
  const TempFolder folder;
  const auto store = open_store(folder);
  const ChatId chat = must(store->library().create_chat(named("a")));
  EXPECT_THAT(must(store->library().messages(chat)), IsEmpty());
  EXPECT_EQ(code_of(store->library().messages({99})), "CHAT_NOT_FOUND");
  EXPECT_EQ(code_of(store->library().append({99}, {})), "CHAT_NOT_FOUND");
}

TEST(Journal, messages_come_back_equal_and_in_order) {
  const TempFolder folder;
  StandingClock clock;
  const std::vector<std::int32_t> tokens = {0, 1, -1, 127, 128, 129, 32000, INT32_MAX, INT32_MIN};
  const std::string text("zero \0 inside, \xC3\xA9, \xF0\x9F\x91\x9C", 24);
  ChatId chat;
  {
    const auto store = open_store(folder, {.clock = &clock});
    chat = must(store->library().create_chat(named("a")));
    must(store->library().append(chat, {Role::system, MessageState::complete, text, tokens}));
    clock.wall -= 1000;  // order is not the clock's
    must(store->library().append(chat, {Role::user, MessageState::complete, "", {}}));
    must(store->library().append(chat, {Role::assistant, MessageState::interrupted, "ab", kOne}));
  }
  const auto store = open_store(folder);
  const auto found = must(store->library().messages(chat));
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].role, Role::system);
  EXPECT_EQ(found[0].text, text);
  EXPECT_EQ(found[0].tokens, tokens);
  EXPECT_EQ(found[0].created_ms, clock.wall + 1000);
  EXPECT_EQ(found[1].text, "");
  EXPECT_THAT(found[1].tokens, IsEmpty());
  EXPECT_EQ(found[2].state, MessageState::interrupted);
  EXPECT_LT(found[1].id, found[2].id);
}

TEST(Journal, several_messages_are_one_commit) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("a")));
  const std::vector<runtime::NewMessage> both = {
      {.role = Role::user,
       .text = "Buy milk.",
       .tokens = kOne,
       .kind = runtime::MessageKind::document,
       .title = "todo.txt",
       .tokenizer = UINT64_MAX},
      {.role = Role::assistant, .text = "Noted.", .tokens = kOne, .tokenizer = UINT64_MAX}};
  const auto ids = must(library.append_all(chat, both));
  const auto found = as_others_see(folder, chat);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(ids, ElementsAre(found[0].id, found[1].id));
  EXPECT_EQ(found[0].kind, runtime::MessageKind::document);
  EXPECT_EQ(found[0].title, "todo.txt");
  EXPECT_EQ(found[0].parent, MessageId{});
  EXPECT_EQ(found[0].tokenizer, UINT64_MAX);
  EXPECT_EQ(found[1].kind, runtime::MessageKind::text);
  EXPECT_EQ(found[1].parent, found[0].id);
  EXPECT_THAT(must(library.append_all(chat, {})), IsEmpty());
  std::vector<runtime::NewMessage> refused = both;
  const std::string larger(kMessageBytesMax + 1, 'x');
  refused[1].text = larger;
  EXPECT_EQ(code_of(library.append_all(chat, refused)), "MESSAGE_SIZE");
  EXPECT_THAT(texts(library, chat), SizeIs(2));
}

TEST(Journal, a_chat_is_added_with_all_its_messages_or_not_at_all) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  std::vector<runtime::NewMessage> messages(2);
  messages[0].text = "hello";
  messages[1].role = runtime::Role::assistant;
  messages[1].text = std::string(kMessageBytesMax + 1, 'x');
  EXPECT_EQ(code_of(library.add_chat(named("a"), messages)), "MESSAGE_SIZE");
  EXPECT_THAT(must(library.chats()), IsEmpty());
  messages[1].text = "hi";
  must(library.add_chat(named("a"), messages));
  const ChatId second = must(library.add_chat(named("a"), messages));
  EXPECT_EQ(must(library.chat(second)).name, "a (2)");
  EXPECT_EQ(texts(library, second), (std::vector<std::string>{"hello", "hi"}));
  say(library, second, "and on");
  EXPECT_EQ(must(library.chat(second)).n_messages, 3u);
}

TEST(Journal, a_chat_whose_adding_a_full_disk_cuts_off_is_not_there_empty) {
  FailingVfs vfs("failing");
  const std::vector<runtime::NewMessage> messages(2);
  bool has_failed = true;
  for (int n = 0; has_failed; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    ASSERT_LT(n, 1000);
    const TempFolder folder(Place::memory);
    {
      const auto store = open_store(folder, {.vfs = vfs.name()});
      vfs.fail_at(n, FailingVfs::How::full, FailingVfs::Then::always);
      (void)store->library().add_chat(named("a"), messages);
      has_failed = vfs.has_failed();
      vfs.stop_failing();
    }
    for (const Chat& chat : must(open_store(folder)->library().chats()))
      EXPECT_EQ(chat.n_messages, 2u);
  }
}

TEST(Journal, truncating_hides_messages_and_brings_them_back) {
  const TempFolder folder;
  MessageId one, three, other;
  ChatId chat;
  {
    const auto store = open_store(folder);
    Library& library = store->library();
    chat = must(library.create_chat(named("a")));
    one = say(library, chat, "one");
    say(library, chat, "two");
    three = say(library, chat, "three");
    must(library.truncate(chat, one));
    EXPECT_THAT(texts(library, chat), ElementsAre("one"));
    other = say(library, chat, "another two");
    EXPECT_THAT(texts(library, chat), ElementsAre("one", "another two"));
    EXPECT_EQ(must(library.messages(chat)).back().parent, one);
    EXPECT_EQ(must(library.chat(chat)).n_messages, 2u);
    EXPECT_EQ(must(library.chat(chat)).n_tokens, 6u);
    must(library.truncate(chat, {}));
    EXPECT_THAT(texts(library, chat), IsEmpty());
    EXPECT_EQ(code_of(library.truncate(chat, {4711})), "MESSAGE_NOT_FOUND");
    EXPECT_EQ(code_of(library.truncate({99}, one)), "CHAT_NOT_FOUND");
    const ChatId stranger = must(library.create_chat(named("b")));
    EXPECT_EQ(code_of(library.truncate(stranger, one)), "MESSAGE_NOT_FOUND");
  }
  const auto store = open_store(folder);
  using runtime::MessageLink;
  const std::vector<MessageLink> tree = must(store->library().tree(chat));
  ASSERT_EQ(tree.size(), 4u);
  EXPECT_EQ(tree[0], (MessageLink{one, {}}));
  EXPECT_EQ(tree[2], (MessageLink{three, tree[1].id}));
  EXPECT_EQ(tree[3], (MessageLink{other, one}));
  EXPECT_THAT(must(store->library().tree({99})), IsEmpty());
  must(store->library().truncate(chat, three));
  EXPECT_THAT(texts(store->library(), chat), ElementsAre("one", "two", "three"));
  must(store->library().truncate(chat, other));
  EXPECT_THAT(texts(store->library(), chat), ElementsAre("one", "another two"));
}

TEST(Journal, other_words_are_said_and_their_place_is_cut_at_once_or_neither) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("a")));
  const MessageId one = say(library, chat, "one");
  say(library, chat, "two");
  const MessageId three = say(library, chat, "three");
  const auto said = [&](ChatId where, MessageId last, std::string_view text) {
    const runtime::NewMessage message{.role = Role::user, .text = text, .tokens = kOne};
    return library.append_behind(where, last, std::span(&message, 1), nullptr);
  };
  const MessageId other = must(said(chat, one, "other two")).front();
  EXPECT_THAT(texts(library, chat), ElementsAre("one", "other two"));
  EXPECT_EQ(must(library.messages(chat)).back().parent, one);
  EXPECT_EQ(must(library.chat(chat)).n_messages, 2u);
  must(said(chat, three, "four"));
  EXPECT_THAT(texts(library, chat), ElementsAre("one", "two", "three", "four"));
  must(said(chat, {}, "other one"));
  EXPECT_THAT(as_others_see(folder, chat), SizeIs(1));

  must(library.truncate(chat, three));
  EXPECT_EQ(code_of(said(chat, {4711}, "lost")), "MESSAGE_NOT_FOUND");
  EXPECT_EQ(code_of(said({99}, one, "lost")), "CHAT_NOT_FOUND");
  EXPECT_EQ(code_of(said(chat, one, std::string(kMessageBytesMax + 1, 'x'))), "MESSAGE_SIZE");
  begin_answer(library, chat);
  EXPECT_EQ(code_of(said(chat, other, "lost")), "MESSAGE_STATE");
  EXPECT_THAT(texts(library, chat), ElementsAre("one", "two", "three", ""));
}

TEST(Journal, a_note_beside_messages_is_stored_with_them_or_not_at_all) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("a")));
  const MessageId one = say(library, chat, "one");
  const auto say_with_note = [&](MessageId last, std::string_view text) {
    const runtime::NewMessage message{.role = Role::user, .text = text, .tokens = kOne};
    const runtime::NoteBeside note{.name = "marks", .text = [](std::span<const MessageId> ids) {
                                     return "pinned " + std::to_string(ids.front().value);
                                   }};
    return library.append_behind(chat, last, std::span(&message, 1), &note);
  };
  EXPECT_EQ(code_of(say_with_note({4711}, "lost")), "MESSAGE_NOT_FOUND");
  EXPECT_EQ(must(library.note(chat, "marks")), std::nullopt);
  const MessageId two = must(say_with_note(one, "two")).front();
  EXPECT_EQ(must(library.note(chat, "marks")), "pinned " + std::to_string(two.value));
}

TEST(Journal, a_chat_whose_answer_streams_is_not_truncated) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("a")));
  const MessageId one = say(library, chat, "one");
  const MessageId answer = begin_answer(library, chat);
  EXPECT_EQ(code_of(library.truncate(chat, one)), "MESSAGE_STATE");
  must(library.finish(answer, MessageState::complete, "two", {}));
  must(library.truncate(chat, one));
  EXPECT_THAT(texts(library, chat), ElementsAre("one"));
}

TEST(Journal, an_answer_streams_and_ends) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("a")));
  const MessageId answer = begin_answer(library, chat);
  must(library.extend(answer, "Hel", kOne));
  EXPECT_THAT(texts(library, chat), ElementsAre("Hel"));
  must(library.finish(answer, MessageState::complete, "lo", kOne));
  const auto found = as_others_see(folder, chat);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].text, "Hello");
  EXPECT_THAT(found[0].tokens, ElementsAre(7, 7));
  EXPECT_EQ(found[0].state, MessageState::complete);
  EXPECT_EQ(code_of(library.extend(answer, "x", kOne)), "MESSAGE_STATE");
  EXPECT_EQ(code_of(library.finish(answer, MessageState::complete, "", {})), "MESSAGE_STATE");
}

TEST(Journal, parts_are_on_disk_after_250_ms) {
  const TempFolder folder;
  StandingClock clock;
  const auto store = open_store(folder, {.clock = &clock});
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("a")));
  const MessageId answer = begin_answer(library, chat);
  clock.steady = 249;
  must(library.extend(answer, "a", kOne));
  EXPECT_EQ(as_others_see(folder, chat)[0].text, "");
  clock.steady = 250;
  must(library.extend(answer, "b", kOne));
  EXPECT_EQ(as_others_see(folder, chat)[0].text, "ab");
  must(library.extend(answer, "c", kOne));
  must(library.flush());
  EXPECT_EQ(as_others_see(folder, chat)[0].text, "abc");
  EXPECT_EQ(as_others_see(folder, chat)[0].state, MessageState::streaming);
}

TEST(Journal, parts_are_on_disk_after_32_tokens) {
  const TempFolder folder;
  StandingClock clock;
  const auto store = open_store(folder, {.clock = &clock});
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("a")));
  const MessageId answer = begin_answer(library, chat);
  for (int i = 0; i < 31; ++i) must(library.extend(answer, "x", kOne));
  EXPECT_THAT(as_others_see(folder, chat)[0].tokens, IsEmpty());
  must(library.extend(answer, "x", kOne));
  EXPECT_THAT(as_others_see(folder, chat)[0].tokens, SizeIs(32));
}

TEST(Journal, what_streamed_when_the_process_died_is_interrupted_and_kept) {
  const TempFolder folder;
  ChatId chat;
  {
    // A store that is never closed: the folder is copied while it streams.
    const auto store = open_store(folder);
    Library& library = store->library();
    chat = must(library.create_chat(named("a")));
    say(library, chat, "question");
    const MessageId answer = begin_answer(library, chat);
    must(library.extend(answer, "part one, ", kOne));
    must(library.flush());
    must(library.extend(answer, "part two", kOne));
    must(library.flush());
    std::filesystem::copy(folder / "data", folder / "copy");
  }
  StoreOptions options{.data_dir = folder / "copy", .cache_dir = folder / "copy"};
  const auto store = must(Store::open(options));
  EXPECT_TRUE(store->ended_unclean());
  EXPECT_EQ(store->library().report().n_interrupted, 1u);
  const auto found = must(store->library().messages(chat));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[1].state, MessageState::interrupted);
  EXPECT_EQ(found[1].text, "part one, part two");
  EXPECT_THAT(found[1].tokens, ElementsAre(7, 7));
}

TEST(Journal, closing_saves_what_extend_still_held) {
  const TempFolder folder;
  ChatId chat;
  {
    const auto store = open_store(folder);
    chat = must(store->library().create_chat(named("a")));
    must(store->library().extend(begin_answer(store->library(), chat), "held", kOne));
  }
  const auto store = open_store(folder);
  EXPECT_THAT(texts(store->library(), chat), ElementsAre("held"));
}

TEST(Journal, a_message_of_the_largest_size_goes_in_and_a_larger_one_does_not) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("a")));
  const std::string largest(kMessageBytesMax, 'x');
  say(library, chat, largest);
  const std::string larger = largest + "x";
  EXPECT_EQ(code_of(library.append(chat, {Role::user, MessageState::complete, larger, {}})),
            "MESSAGE_SIZE");
  const MessageId answer = begin_answer(library, chat);
  EXPECT_EQ(code_of(library.extend(answer, larger, {})), "MESSAGE_SIZE");
  EXPECT_EQ(code_of(library.finish(answer, MessageState::complete, larger, {})), "MESSAGE_SIZE");
  must(library.finish(answer, MessageState::complete, "ok", {}));
  EXPECT_EQ(texts(library, chat), (std::vector<std::string>{largest, "ok"}));
}

TEST(Journal, a_chat_deleted_while_it_streams_takes_the_answer_along) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("a")));
  const MessageId answer = begin_answer(library, chat);
  must(library.extend(answer, "x", kOne));
  must(library.flush());
  must(store->delete_now(chat));
  EXPECT_EQ(code_of(library.extend(answer, "y", kOne)), "MESSAGE_STATE");
}

TEST(Journal, logs_and_errors_hold_no_words_of_the_user) {
  const TempFolder folder;
  KeptLog log;
  std::string errors;
  {
    const auto store = open_store(folder, {.log = log.sink()});
    NewChat chat = named("canaryname");
    chat.title = "canarytitle";
    const ChatId id = must(store->library().create_chat(chat));
    say(store->library(), id, "canarytext");
    errors += store->library().create_chat(chat).error().message;
    errors += store->library()
                  .append({99}, {Role::user, MessageState::complete, "canarytext", {}})
                  .error()
                  .message;
    begin_answer(store->library(), id);
  }
  write_file(folder / "cache/kvcache.db", "canary, no database");
  open_store(folder, {.log = log.sink()});
  EXPECT_FALSE(log.lines.empty());  // the cache that was thrown away is told
  EXPECT_FALSE(log.mentions("canary"));
  EXPECT_EQ(errors.find("canary"), std::string::npos);
}

}  // namespace
}  // namespace satchel::storage
