// Chats and settings of library.db.
#include <gmock/gmock.h>

#include "fixtures.h"

namespace satchel::storage {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kDayMs = 86'400'000;

std::vector<std::string> names(Library& library, ChatFilter filter = ChatFilter::present) {
  std::vector<std::string> found;
  for (const Chat& chat : must(library.chats(filter))) found.push_back(chat.name);
  return found;
}

TEST(Chats, a_new_library_has_none) {
  const TempFolder folder;
  const auto store = open_store(folder);
  EXPECT_THAT(names(store->library()), IsEmpty());
  EXPECT_FALSE(must(store->library().find_chat("")).has_value());
}

TEST(Chats, come_back_as_they_were_made) {
  const TempFolder folder;
  StandingClock clock;
  {
    const auto store = open_store(folder, {.clock = &clock});
    must(store->library().create_chat(named("notes")));
  }
  const auto store = open_store(folder, {.clock = &clock});
  const auto chat = must(store->library().find_chat("notes"));
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ(chat->title, "A title");
  EXPECT_EQ(chat->setup.model_fingerprint, "fingerprint");
  EXPECT_EQ(chat->setup.model_path, "/models/m.gguf");
  EXPECT_EQ(chat->setup.recipe_json, R"({"recipe":1})");
  EXPECT_EQ(chat->setup.budget_bytes, 5u << 20);
  EXPECT_EQ(chat->setup.system, "Be brief.");
  EXPECT_EQ(chat->created_ms, clock.wall);
  EXPECT_EQ(chat->n_messages, 0u);
  EXPECT_EQ(chat->n_tokens, 0u);
  EXPECT_FALSE(store->ended_unclean());
}

TEST(Chats, the_one_used_last_comes_first_even_if_the_clock_went_back) {
  const TempFolder folder;
  StandingClock clock;
  const auto store = open_store(folder, {.clock = &clock});
  Library& library = store->library();
  const ChatId first = must(library.create_chat(named("first")));
  must(library.create_chat(named("second")));
  clock.wall = 0;  // 1970
  say(library, first, "hello");
  EXPECT_THAT(names(library), ElementsAre("first", "second"));
}

TEST(Chats, say_their_notes_in_lists_and_keep_the_order_of_use) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId first = must(library.create_chat(named("first")));
  must(library.create_chat(named("second")));
  EXPECT_EQ(must(library.chat(first)).place, runtime::ListPlace::by_use);
  must(library.set_note(first, runtime::kPlaceNote, runtime::kPlaceTop));
  must(library.set_note(first, runtime::kFolderNote, "work"));
  EXPECT_EQ(must(library.chat(first)).place, runtime::ListPlace::top);
  EXPECT_EQ(must(library.chat(first)).folder, "work");
  EXPECT_THAT(names(library), ElementsAre("second", "first"));
  must(library.set_note(first, runtime::kPlaceNote, ""));
  EXPECT_EQ(must(library.chat(first)).place, runtime::ListPlace::by_use);
  EXPECT_EQ(must(library.chat(first)).stopped.value, 0);
  must(library.set_note(first, runtime::kStoppedNote, "7"));
  EXPECT_EQ(must(library.chat(first)).stopped.value, 7);
}

TEST(Chats, count_their_messages_and_tokens) {
  const TempFolder folder;
  const auto store = open_store(folder);
  const ChatId chat = must(store->library().create_chat(named("a")));
  say(store->library(), chat, "one", {1, 2, 3});
  say(store->library(), chat, "two", {4});
  const Chat found = must(store->library().chat(chat));
  EXPECT_EQ(found.n_messages, 2u);
  EXPECT_EQ(found.n_tokens, 4u);
}

TEST(Chats, a_name_belongs_to_one_kept_chat) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId old = must(library.create_chat(named("notes")));
  EXPECT_EQ(code_of(library.create_chat(named("notes"))), "CHAT_EXISTS");
  must(library.create_chat(named("")));  // without a name, as often as one likes
  must(library.create_chat(named("")));
  const ChatId other = must(library.create_chat(named("other")));
  must(library.remove_chat(old));
  must(library.retitle_chat(other, "notes"));
  EXPECT_EQ(must(library.find_chat("notes"))->id, other);
  EXPECT_EQ(code_of(library.retitle_chat(old, "x")), "CHAT_NOT_FOUND");
}

TEST(Chats, a_name_is_only_text) {
  const TempFolder folder;
  const auto store = open_store(folder);
  const std::string name = "a'; DROP TABLE chat; -- \xE2\x82\xAC \n % _";
  const ChatId chat = must(store->library().create_chat(named(name)));
  EXPECT_EQ(must(store->library().find_chat(name))->id, chat);
  EXPECT_FALSE(must(store->library().find_chat("a%")).has_value());
}

TEST(Chats, a_removed_one_comes_back_whole_under_a_free_name) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("notes")));
  say(library, chat, "kept");
  must(library.remove_chat(chat));
  EXPECT_THAT(names(library), IsEmpty());
  EXPECT_THAT(names(library, ChatFilter::removed), ElementsAre("notes"));
  EXPECT_EQ(code_of(library.append(chat, {})), "CHAT_NOT_FOUND");
  EXPECT_EQ(code_of(library.remove_chat(chat)), "CHAT_NOT_FOUND");
  must(library.create_chat(named("notes")));
  must(library.restore_chat(chat));
  EXPECT_EQ(must(library.chat(chat)).name, "notes (2)");
  EXPECT_THAT(texts(library, chat), ElementsAre("kept"));
}

TEST(Chats, expire_thirty_days_after_they_were_removed) {
  const TempFolder folder;
  StandingClock clock;
  const auto store = open_store(folder, {.clock = &clock});
  Library& library = store->library();
  const ChatId chat = must(library.create_chat(named("old")));
  say(library, chat, "words");
  must(library.remove_chat(chat));
  for (int day = 0; day < kDeletedDaysKept; day += 3, clock.wall += 3 * kDayMs)
    EXPECT_EQ(must(store->purge_expired()), 0u);
  EXPECT_EQ(must(store->purge_expired()), 0u);
  clock.wall += 1;
  EXPECT_EQ(must(store->purge_expired()), 1u);
  EXPECT_EQ(code_of(library.chat(chat)), "CHAT_NOT_FOUND");
  EXPECT_EQ(code_of(library.messages(chat)), "CHAT_NOT_FOUND");
}

TEST(Chats, do_not_expire_by_a_clock_that_is_wrong) {
  const TempFolder folder;
  StandingClock clock;
  const std::int64_t now = clock.wall;
  const auto start = [&](std::int64_t wall) {
    clock.wall = wall;
    return open_store(folder, {.clock = &clock});
  };
  {
    const auto store = start(now);
    const ChatId chat = must(store->library().create_chat(named("just removed")));
    must(store->library().remove_chat(chat));
  }
  EXPECT_EQ(must(start(now + 400 * kDayMs)->purge_expired()), 0u) << "a year ahead";
  {
    const auto store = start(0);  // no battery
    const ChatId chat = must(store->library().create_chat(named("in 1970")));
    must(store->library().remove_chat(chat));
  }
  for (int boot = 0; boot < 20; ++boot) {  // before and after the time is set
    EXPECT_EQ(must(start(0)->purge_expired()), 0u);
    EXPECT_EQ(must(start(now)->purge_expired()), 0u);
  }
  EXPECT_THAT(names(start(now)->library(), ChatFilter::removed),
              ElementsAre("in 1970", "just removed"));
}

TEST(Chats, that_came_back_count_anew_when_they_are_removed_again) {
  const TempFolder folder;
  StandingClock clock;
  const auto store = open_store(folder, {.clock = &clock});
  const ChatId chat = must(store->library().create_chat(named("a")));
  const auto use_days = [&](int n) {
    for (int i = 0; i < n; ++i, clock.wall += kDayMs) EXPECT_EQ(must(store->purge_expired()), 0u);
  };
  must(store->library().remove_chat(chat));
  use_days(29);
  must(store->library().restore_chat(chat));
  use_days(10);
  must(store->library().remove_chat(chat));
  use_days(30);
}

TEST(Chats, removed_by_an_earlier_version_are_kept_for_days_of_use_too) {
  const TempFolder folder;
  StandingClock clock;
  const auto store = open_store(folder, {.clock = &clock});
  const ChatId chat = must(store->library().create_chat(named("a")));
  must(store->library().remove_chat(chat));
  must(store->library().set_note(chat, "removed", ""));  // which did not count
  clock.wall += 400 * kDayMs;
  for (int day = 0; day < 10; ++day, clock.wall += kDayMs)
    EXPECT_EQ(must(store->purge_expired()), 0u);
  EXPECT_EQ(must(store->purge_expired()), 1u);
}

TEST(Chats, deleted_for_good_stay_no_longer_in_backups_and_caches_put_aside) {
  const TempFolder folder;
  StandingClock clock;
  clock.wall = SystemClock().wall_ms();
  const auto store = open_store(folder, {.clock = &clock});
  const auto backup = folder / "data/library-before-2.db";
  const auto aside = folder / "cache/kvcache-of-abc.db";
  for (const auto& file : {backup, aside}) write_file(file, "words");
  for (int day = 0; day < 30; ++day, clock.wall += kDayMs) {
    must(store->purge_expired());
    ASSERT_TRUE(std::filesystem::exists(backup) && std::filesystem::exists(aside)) << day;
  }
  clock.wall += kDayMs;
  must(store->purge_expired());
  EXPECT_FALSE(std::filesystem::exists(backup));
  EXPECT_FALSE(std::filesystem::exists(aside));
  EXPECT_TRUE(std::filesystem::exists(folder / "data/library.db"));
  EXPECT_TRUE(std::filesystem::exists(folder / "cache/kvcache.db"));
}

TEST(Chats, take_a_new_model_recipe_and_title) {
  const TempFolder folder;
  const auto store = open_store(folder);
  const ChatId chat = must(store->library().create_chat(named("a")));
  must(store->library().set_setup(chat, {"other", "/m", "{}", 1, std::nullopt}));
  must(store->library().retitle_chat(chat, "New"));
  const Chat found = must(store->library().chat(chat));
  EXPECT_EQ(found.setup.model_fingerprint, "other");
  EXPECT_FALSE(found.setup.system.has_value());
  EXPECT_EQ(found.title, "New");
  EXPECT_EQ(code_of(store->library().retitle_chat({99}, "x")), "CHAT_NOT_FOUND");
}

TEST(Chats, a_deleted_id_is_never_given_again) {
  const TempFolder folder;
  const auto store = open_store(folder);
  const ChatId chat = must(store->library().create_chat(named("a")));
  must(store->delete_now(chat));
  EXPECT_GT(must(store->library().create_chat(named("b"))), chat);
}

TEST(Settings, are_kept_and_replaced) {
  const TempFolder folder;
  {
    const auto store = open_store(folder);
    EXPECT_FALSE(must(store->library().setting("theme")).has_value());
    must(store->library().set_setting("theme", "dark"));
    must(store->library().set_setting("theme", "light"));
    must(store->library().set_setting("empty", ""));
  }
  const auto store = open_store(folder);
  EXPECT_EQ(must(store->library().setting("theme")), "light");
  EXPECT_EQ(must(store->library().setting("empty")), "");
}

TEST(Notes, stay_beside_their_chat_and_go_with_it) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId first = must(library.create_chat(named("a")));
  const ChatId second = must(library.create_chat(named("b")));
  EXPECT_FALSE(must(library.note(first, "meter")).has_value());
  must(library.set_note(first, "meter", "1"));
  must(library.set_note(first, "meter", "2"));
  must(library.set_note(second, "meter", "3"));
  must(library.set_setting("chat.colour", "blue"));
  EXPECT_EQ(must(library.note(first, "meter")), "2");
  must(store->delete_now(first));
  EXPECT_FALSE(must(library.note(first, "meter")).has_value());
  EXPECT_EQ(must(library.note(second, "meter")), "3");
  EXPECT_EQ(must(library.setting("chat.colour")), "blue");
}

TEST(Library, a_taken_name_is_refused_or_gets_a_number) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  must(library.create_chat(named("notes")));
  EXPECT_EQ(code_of(library.create_chat(named("notes"))), "CHAT_EXISTS");
  const ChatId second = must(library.create_chat(named("notes"), NameTaken::number));
  EXPECT_EQ(must(library.chat(second)).name, "notes (2)");
  EXPECT_EQ(must(library.chat(second)).title, "A title");
  const ChatId third = must(library.create_chat(named("notes"), NameTaken::number));
  EXPECT_EQ(must(library.chat(third)).name, "notes (3)");
  EXPECT_EQ(must(library.chat(must(library.create_chat(named(""), NameTaken::number)))).name, "");
}

TEST(Library, a_new_title_is_the_name_as_well_unless_another_chat_has_it) {
  const TempFolder folder;
  const auto store = open_store(folder);
  Library& library = store->library();
  const ChatId one = must(library.create_chat(named("one")));
  const ChatId two = must(library.create_chat(named("two")));
  must(library.retitle_chat(one, "first"));
  EXPECT_EQ(must(library.chat(one)).title, "first");
  EXPECT_EQ(must(library.chat(one)).name, "first");
  must(library.retitle_chat(two, "first"));
  EXPECT_EQ(must(library.chat(two)).title, "first");
  EXPECT_EQ(must(library.chat(two)).name, "two");
  must(library.retitle_chat(one, "first"));
  EXPECT_EQ(code_of(library.retitle_chat({99}, "x")), "CHAT_NOT_FOUND");
}

}  // namespace
}  // namespace satchel::storage
