// Words of all chats: what is found, what is not, and that a deleted chat leaves none.
#include <gmock/gmock.h>

#include <fstream>

#include "failing_vfs.h"
#include "fixtures.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class Search : public testing::Test {
 protected:
  void open(OpenMode mode = OpenMode::read_write) {
    store_.reset();
    store_ = open_store(folder_, {.mode = mode});
  }
  ChatId chat(const std::string& name, std::initializer_list<const char*> messages) {
    const ChatId id = must(store_->library().create_chat(named(name)));
    for (const char* text : messages) say(store_->library(), id, text);
    return id;
  }
  std::vector<Found> find(const std::string& words, std::size_t n_most = 20) {
    return must(store_->search({.words = words, .n_most = n_most}));
  }
  // The chats in which the words stand, the best first.
  std::vector<std::string> where(const std::string& words) {
    std::vector<std::string> names;
    for (const Found& found : find(words)) names.push_back(found.chat_name);
    return names;
  }
  // What stands between the marks.
  static std::vector<std::string> hits(const Found& found) {
    std::vector<std::string> all;
    for (const auto& [from, to] : found.hits) all.push_back(found.passage.substr(from, to - from));
    return all;
  }

  TempFolder folder_;
  std::unique_ptr<Store> store_ = open_store(folder_);
};

TEST_F(Search, finds_all_words_in_any_order_and_form_and_the_beginning_of_the_last) {
  chat("harbour", {"The H\u00e4fen were closed; no ship left the Harbour."});
  chat("garden", {"Nothing about ships, but a closed gate."});
  EXPECT_THAT(where("harbour closed"), ElementsAre("harbour"));
  EXPECT_THAT(where("hafen"), ElementsAre("harbour"));
  EXPECT_THAT(where("closed shi"), testing::UnorderedElementsAre("harbour", "garden"));
  EXPECT_THAT(where("clos ship"), IsEmpty()) << "only the last word may be a beginning";
  EXPECT_THAT(where("\"no ship left\""), ElementsAre("harbour"));
  EXPECT_THAT(where("\"ship no left\""), IsEmpty());
  EXPECT_THAT(where("\"no shi\""), IsEmpty());
}

TEST_F(Search, shows_the_passage_and_what_was_found_in_it) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "filler ";
  chat("long", {(text + "the lighthouse keeper\nslept " + text).c_str()});
  const std::vector<Found> found = find("keeper lighthouse");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].role, "user");
  EXPECT_THAT(hits(found[0]), ElementsAre("lighthouse", "keeper"));
  EXPECT_LT(found[0].passage.size(), 400u);
  EXPECT_NE(found[0].passage.find("lighthouse keeper slept"), std::string::npos);
}

TEST_F(Search, finds_titles_and_follows_them) {
  const ChatId id = chat("Old name", {"text"});
  EXPECT_THAT(where("old"), ElementsAre("Old name"));
  EXPECT_EQ(find("old")[0].message.value, 0);
  must(store_->library().retitle_chat(id, "New name"));
  EXPECT_THAT(where("old"), IsEmpty());
  EXPECT_THAT(where("new"), ElementsAre("New name"));
}

TEST_F(Search, finds_only_what_stands_on_a_present_chats_path) {
  const ChatId id = chat("chat", {"first", "second"});
  ASSERT_THAT(where("second"), ElementsAre("chat"));
  const auto messages = must(store_->library().messages(id));
  must(store_->library().truncate(id, messages[0].id));
  EXPECT_THAT(where("second"), IsEmpty());
  say(store_->library(), id, "third");
  EXPECT_THAT(where("third"), ElementsAre("chat"));
  must(store_->library().remove_chat(id));
  EXPECT_THAT(where("first"), IsEmpty());
  must(store_->library().restore_chat(id));
  EXPECT_THAT(where("first"), ElementsAre("chat"));
}

TEST_F(Search, works_beside_a_program_that_writes) {
  chat("chat", {"canary"});
  const auto reader = open_store(folder_, {.mode = OpenMode::read_only});
  EXPECT_EQ(must(reader->search({.words = "canary"})).size(), 1u);
  chat("more", {"canary too"});
  EXPECT_EQ(must(reader->search({.words = "canary"})).size(), 2u);
}

TEST_F(Search, leaves_no_word_of_a_chat_that_is_deleted) {
  const ChatId id = chat("chat", {"canary7291"});
  chat("other", {"stays"});
  ASSERT_THAT(where("canary7291"), ElementsAre("chat"));
  must(store_->library().remove_chat(id));
  must(store_->delete_now(id));
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
    if (entry.is_regular_file()) {
      EXPECT_EQ(read_file(entry.path()).find("canary7291"), std::string::npos) << entry.path();
    }
  EXPECT_THAT(where("stays"), ElementsAre("other"));
}

TEST_F(Search, makes_an_index_that_is_damaged_or_anothers_again) {
  chat("chat", {"canary"});
  const fs::path file = search_index_of(folder_ / "cache", store_->library().library_id());
  ASSERT_THAT(where("canary"), ElementsAre("chat"));
  std::string bytes = read_file(file);
  write_file(file, std::string(9000, 'x'));
  EXPECT_THAT(where("canary"), ElementsAre("chat"));
  for (std::size_t at = 100; at < bytes.size(); at += 509) bytes[at] ^= '\x55';
  write_file(file, bytes);
  EXPECT_THAT(where("canary"), ElementsAre("chat"));
  run_sql(file, "UPDATE meta SET library_id = 'another'");
  EXPECT_THAT(where("canary"), ElementsAre("chat"));
  run_sql(file, "PRAGMA user_version = 9");
  EXPECT_THAT(where("canary"), ElementsAre("chat"));
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Search, finds_what_is_there_where_the_index_has_no_place) {
  chat("chat", {"canary"});
  const fs::path file = search_index_of(folder_ / "cache", store_->library().library_id());
  fs::create_directory(file);
  EXPECT_THAT(where("canary"), ElementsAre("chat"));
  EXPECT_TRUE(fs::is_empty(file));
}

TEST_F(Search, finds_what_is_there_on_a_full_disk) {
  chat("chat", {"canary"});
  must(store_->library().flush());
  FailingVfs vfs("failing");
  SearchIndex index(folder_ / "cache/index.db", vfs.name());
  vfs.fail_at(0, FailingVfs::How::full, FailingVfs::Then::always);
  EXPECT_EQ(must(index.find(store_->library(), {.words = "canary"})).size(), 1u);
  EXPECT_TRUE(vfs.has_failed());
}

TEST_F(Search, leaves_other_files_of_the_folder_alone) {
  write_file(folder_ / "cache/search.db", "theirs");
  chat("chat", {"canary"});
  ASSERT_THAT(where("canary"), ElementsAre("chat"));
  const ChatId id = chat("gone", {"x"});
  must(store_->delete_now(id));
  EXPECT_EQ(read_file(folder_ / "cache/search.db"), "theirs");
}

TEST_F(Search, takes_any_words) {
  chat("chat", {"He said \"AND (NOT) near*\" col:umn \x01 ^x"});
  for (const char* words :
       {"AND", "(NOT)", "near*", "col:umn", "^x", "said \"", "OR", "a\"b", "\"a\nb\""})
    EXPECT_TRUE(store_->search({.words = words}).ok()) << words;
  EXPECT_THAT(where("col:umn"), ElementsAre("chat"));
  EXPECT_THAT(where(std::string("sa\0id near", 10)), IsEmpty());
  EXPECT_THAT(where("!!! ???"), IsEmpty());
  for (const char* words : {"", "  ", "\"\"", "\""})
    EXPECT_EQ(code_of(store_->search({.words = words})), "SEARCH_WORDS") << words;
}

TEST_F(Search, gives_no_more_than_was_asked_for) {
  for (int i = 0; i < 10; ++i) chat("chat" + std::to_string(i), {"same words"});
  EXPECT_EQ(find("same", 3).size(), 3u);
  EXPECT_EQ(find("same").size(), 10u);
}

}  // namespace
}  // namespace satchel::storage
