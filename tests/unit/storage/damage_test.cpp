// F15, F16: files with flipped bytes, cut and lengthened files. No signal, no hang; an error or the
// same words, or a message that says of itself that it is damaged.
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "fixtures.h"

namespace satchel::storage {
namespace {

// Primes, so that all places in a page are met; so large that a walk takes seconds.
struct Steps {
  std::size_t flip, cut;
};
constexpr Steps kLibrarySteps{89, 251}, kCacheSteps{397, 997};

const std::vector<std::string> kTexts = {"the first", "the second", "the third"};

struct Files {
  std::string library, kv;
};

Files sound_files() {
  const TempFolder folder(Place::memory);
  {
    const auto store = open_store(folder);
    const ChatId chat = must(store->library().create_chat(named("chat")));
    for (const std::string& text : kTexts) say(store->library(), chat, text);
    must(store->library().set_setting("key", "value"));
    const std::vector<kvcache::RecordId> live = {0, 1};
    for (const kvcache::RecordId id : live)
      must(store->kv()->put_record(key_of(chat), id, bytes_of(3000, static_cast<unsigned>(id))));
    must(store->kv()->commit(key_of(chat),
                             {.generation = 1, .manifest = bytes_of(100, 9), .live = live}));
  }
  return {read_file(folder / "data/library.db"), read_file(folder / "cache/kvcache.db")};
}

bool is_damaged(const runtime::StoredMessage& message) {
  return message.tokens.empty() && message.text.empty() &&
         message.state == runtime::MessageState::damaged;
}

// What a program does with a store it has just opened.
void use(const TempFolder& folder) {
  auto opened = try_store(folder);
  if (!opened.ok()) return;
  Store& store = *opened.value();
  const auto chats = store.library().chats();
  if (chats.ok()) {
    ASSERT_EQ(chats.value().size(), 1u);
    const auto found = store.library().messages(chats.value()[0].id);
    if (found.ok()) {
      ASSERT_EQ(found.value().size(), kTexts.size());
      for (std::size_t i = 0; i < kTexts.size(); ++i) {
        if (is_damaged(found.value()[i])) continue;
        ASSERT_EQ(found.value()[i].text, kTexts[i]);
        ASSERT_EQ(found.value()[i].tokens, (std::vector<std::int32_t>{1, 2, 3}));
      }
    }
    (void)store.library().append(chats.value()[0].id, {runtime::Role::user, {}, "more", {}});
  }
  (void)store.library().setting("key");
}

void use_cache(const TempFolder& folder) {
  auto opened = try_store(folder);
  ASSERT_TRUE(opened.ok()) << "a bad cache must not keep the words away";
  Store& store = *opened.value();
  ASSERT_NE(store.kv(), nullptr) << store.cache_notice();
  (void)store.kv()->newest_manifest(key_of({1}));
  for (const kvcache::RecordId id : {0u, 1u}) (void)store.kv()->record(key_of({1}), id);
  (void)store.kv()->list();
  // At the latest after the damage was met once, saving works.
  const ChatId other = must(store.library().create_chat(named("other")));
  const std::vector<kvcache::RecordId> live = {5};
  bool saved = false;
  for (int attempt = 0; attempt < 3 && !saved; ++attempt)
    saved = store.kv()->put_record(key_of(other), 5, bytes_of(3000, 5)).ok() &&
            store.kv()->commit(key_of(other), {.generation = 1, .live = live}).ok();
  ASSERT_TRUE(saved);
  ASSERT_EQ(must(store.kv()->record(key_of(other), 5)), bytes_of(3000, 5));
}

using Work = std::function<void(const TempFolder&)>;

class Damage : public testing::Test {
 protected:
  void try_case(const Files& files, const Work& work) {
    const TempFolder folder(Place::memory);
    std::filesystem::create_directories(folder / "data");
    std::filesystem::create_directories(folder / "cache");
    write_file(folder / "data/library.db", files.library);
    write_file(folder / "cache/kvcache.db", files.kv);
    work(folder);
    ++n_cases_;
  }

  // Each k-th byte, three other values; each k-th length but 0, which is a new file; one KiB more.
  void walk(std::string Files::*which, const Steps& steps, const Work& work) {
    const Files sound = sound_files();
    for (std::size_t at = 0; at < (sound.*which).size(); at += at < 100 ? 1 : steps.flip)
      for (const int flip : {0xff, 0x01, 0x80}) {
        SCOPED_TRACE("byte " + std::to_string(at) + " xor " + std::to_string(flip));
        Files files = sound;
        char& byte = (files.*which)[at];
        byte = static_cast<char>(static_cast<unsigned char>(byte) ^ flip);
        try_case(files, work);
        if (HasFailure()) return;
      }
    for (std::size_t length = 1; length < (sound.*which).size(); length += steps.cut) {
      SCOPED_TRACE("length " + std::to_string(length));
      Files files = sound;
      (files.*which).resize(length);
      try_case(files, work);
      if (HasFailure()) return;
    }
    Files longer = sound;
    (longer.*which).append(1024, 'x');
    try_case(longer, work);
    RecordProperty("faults", n_cases_);
  }

  int n_cases_ = 0;
};

TEST_F(Damage, of_library_db_gives_an_error_or_the_same_words) {
  walk(&Files::library, kLibrarySteps, use);
}
TEST_F(Damage, of_kvcache_db_costs_no_words_and_ends_with_the_next_save) {
  walk(&Files::kv, kCacheSteps, use_cache);
}

TEST_F(Damage, of_one_message_costs_one_message) {
  Files files = sound_files();
  const std::size_t at = files.library.find("the second");
  ASSERT_NE(at, std::string::npos);
  files.library[at] = 'T';
  try_case(files, [](const TempFolder& folder) {
    KeptLog log;
    const auto store = open_store(folder, {.log = log.sink()});
    const auto found = must(store->library().messages({1}));
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].text, "the first");
    EXPECT_TRUE(is_damaged(found[1]));
    EXPECT_EQ(found[2].text, "the third");
    EXPECT_TRUE(log.mentions("damaged"));
    say(store->library(), {1}, "and on");
  });
}

// What happens to one row, the others being sound.
void change(const TempFolder& folder, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "data/library.db").c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  EXPECT_EQ(sqlite3_changes(db), 1) << sql;
  EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
}

std::vector<std::string> words_of(const TempFolder& folder) {
  const auto store = open_store(folder);
  std::vector<std::string> words;
  for (const auto& message : must(store->library().messages({1})))
    words.push_back(is_damaged(message) ? "?" : message.text);
  return words;
}

TEST_F(Damage, of_one_row_costs_at_most_one_message) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> cases = {
      {"DELETE FROM message WHERE seq = 1", {"?", "the second", "the third"}},
      {"DELETE FROM message WHERE seq = 2", {"the first", "?", "the third"}},
      {"DELETE FROM message WHERE seq = 3", {"the first", "the second", "?"}},
      {"UPDATE message SET live = 0 WHERE seq = 1", kTexts},
      {"UPDATE message SET live = 0 WHERE seq = 2", kTexts},
      {"UPDATE message SET live = 0 WHERE seq = 3", kTexts},
      {"UPDATE message SET parent = NULL WHERE seq = 2", {"the first", "?", "the third"}},
      {"UPDATE chat SET n_live = 2", kTexts},
      {"UPDATE chat SET n_live = 1000000000000", kTexts},
      {"UPDATE chat SET n_live = -9223372036854775807", kTexts},
      {"UPDATE chat SET last_seq = 1000000000000", kTexts},
      {"UPDATE chat SET last_seq = 0", kTexts}};
  const Files files = sound_files();
  for (const auto& [sql, words] : cases) {
    SCOPED_TRACE(sql);
    try_case(files, [&, &sql = sql, &words = words](const TempFolder& folder) {
      change(folder, sql);
      EXPECT_EQ(words_of(folder), words);
    });
  }
}

TEST_F(Damage, of_one_row_does_not_hinder_writing_and_cutting) {
  try_case(sound_files(), [](const TempFolder& folder) {
    change(folder, "DELETE FROM message WHERE seq = 2");
    {
      const auto store = open_store(folder);
      const MessageId last = must(store->library().messages({1})).back().id;
      say(store->library(), {1}, "and on");
      must(store->library().truncate({1}, last));
      say(store->library(), {1}, "otherwise");
    }
    EXPECT_EQ(words_of(folder),
              (std::vector<std::string>{"the first", "?", "the third", "otherwise"}));
  });
  try_case(sound_files(), [](const TempFolder& folder) {
    change(folder, "DELETE FROM message WHERE seq = 3");
    say(open_store(folder)->library(), {1}, "and on");
    EXPECT_EQ(words_of(folder),
              (std::vector<std::string>{"the first", "the second", "?", "and on"}));
  });
}

// What was cut stays cut, though its rows are there.
TEST_F(Damage, of_one_row_brings_back_nothing_that_was_cut) {
  const std::vector<std::string> words = {"the first", "otherwise"};
  for (const char* sql :
       {"UPDATE message SET live = 0 WHERE seq = 4", "UPDATE message SET live = 0 WHERE seq = 1",
        "UPDATE chat SET n_live = 4", "UPDATE chat SET n_live = 1000000000000"}) {
    SCOPED_TRACE(sql);
    try_case(sound_files(), [&](const TempFolder& folder) {
      {
        const auto store = open_store(folder);
        must(store->library().truncate({1}, must(store->library().messages({1})).front().id));
        say(store->library(), {1}, "otherwise");
      }
      change(folder, sql);
      EXPECT_EQ(words_of(folder), words);
    });
  }
}

TEST_F(Damage, of_both_counters_is_read_in_bounded_time_and_written_on) {
  try_case(sound_files(), [](const TempFolder& folder) {
    change(folder, "UPDATE chat SET n_live = 1000000000000, last_seq = 1000000000000");
    EXPECT_LE(words_of(folder).size(), 1003u);
  });
  try_case(sound_files(), [](const TempFolder& folder) {
    change(folder, "UPDATE chat SET last_seq = 0");
    say(open_store(folder)->library(), {1}, "and on");
    EXPECT_EQ(words_of(folder).back(), "and on");
    EXPECT_EQ(words_of(folder).size(), 4u);
  });
}

TEST_F(Damage, of_one_row_does_not_hinder_cutting_at_its_place) {
  for (const int seq : {1, 2, 3}) {
    SCOPED_TRACE(seq);
    try_case(sound_files(), [&](const TempFolder& folder) {
      change(folder, ("DELETE FROM message WHERE seq = " + std::to_string(seq)).c_str());
      std::vector<std::string> left(kTexts.begin(), kTexts.begin() + (seq - 1));
      {
        const auto store = open_store(folder);
        const auto all = must(store->library().messages({1}));
        const auto cut = store->library().truncate({1}, all[static_cast<std::size_t>(seq - 1)].id);
        EXPECT_EQ(cut.ok(), seq < 3);  // nothing follows the last: there is nothing to cut
        EXPECT_EQ(code_of(store->library().truncate({1}, {99})), "MESSAGE_NOT_FOUND");
        say(store->library(), {1}, "otherwise");
      }
      if (seq == 3) left.emplace_back("?");
      left.emplace_back("otherwise");
      EXPECT_EQ(words_of(folder), left);
    });
  }
}

TEST_F(Damage, found_after_an_unclean_end_makes_the_library_read_only) {
  Files files = sound_files();
  std::fill(files.library.begin() + 4096, files.library.begin() + 4096 + 64, '\xee');
  try_case(files, [](const TempFolder& folder) {
    write_file(folder / "data/library.lock", "4711\n");  // a process that never said goodbye
    const std::string before = read_file(folder / "data/library.db");
    {
      const auto opened = try_store(folder);
      if (opened.ok()) {
        ASSERT_TRUE(opened.value()->library().report().read_only.has_value());
        EXPECT_EQ(opened.value()->library().report().read_only->code, "LIBRARY_DAMAGED");
        EXPECT_EQ(code_of(opened.value()->library().create_chat(named("x"))), "LIBRARY_DAMAGED");
      } else {
        EXPECT_EQ(code_of(opened), "LIBRARY_DAMAGED");
      }
    }
    EXPECT_EQ(read_file(folder / "data/library.db"), before);  // never written, never replaced
  });
}

// A library of many pages, whose last message is in the log alone, since its process was killed.
void leave_a_log(const TempFolder& folder) {
  {
    const auto store = open_store(folder);
    const ChatId chat = must(store->library().create_chat(named("chat")));
    for (int i = 0; i < 50; ++i) say(store->library(), chat, std::string(3000, 'x'));
  }
  const pid_t child = ::fork();
  if (child == 0) {
    const auto store = open_store(folder);
    say(store->library(), {1}, "in the log alone");
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

// The index beside the log is SQLite's own, made anew by whoever opens the file.
std::string library_and_log(const TempFolder& folder) {
  return read_file(folder / "data/library.db") + read_file(folder / "data/library.db-wal");
}

TEST_F(Damage, keeps_the_log_out_of_the_file_however_often_it_is_opened) {
  const TempFolder folder(Place::memory);
  leave_a_log(folder);
  ASSERT_GT(std::filesystem::file_size(folder / "data/library.db-wal"), 0u);
  std::string damaged = read_file(folder / "data/library.db");
  // Pages of the 50 long messages, which the log does not have.
  std::fill_n(damaged.begin() + 20 * 4096, 10 * 4096, '\xee');
  write_file(folder / "data/library.db", damaged);
  const std::string before = library_and_log(folder);
  for (int start = 0; start < 3; ++start) {
    SCOPED_TRACE(start);
    {
      const auto opened = try_store(folder);
      ASSERT_TRUE(opened.ok());
      Library& library = opened.value()->library();
      ASSERT_TRUE(library.report().read_only.has_value());
      EXPECT_EQ(library.report().read_only->code, "LIBRARY_DAMAGED");
      EXPECT_EQ(code_of(library.create_chat(named("x"))), "LIBRARY_DAMAGED");
    }
    EXPECT_TRUE(library_and_log(folder) == before);
  }
}

TEST_F(Damage, met_while_the_library_is_open_keeps_the_log_and_is_checked_at_the_next_start) {
  const TempFolder folder(Place::memory);
  leave_a_log(folder);
  open_store(folder);  // whose end takes the log into the file
  std::string damaged = read_file(folder / "data/library.db");
  std::fill_n(damaged.begin() + 20 * 4096, 10 * 4096, '\xee');
  write_file(folder / "data/library.db", damaged);
  {
    const auto store = open_store(folder);  // after a clean end nobody checks
    EXPECT_EQ(code_of(store->library().messages({1})), "LIBRARY_DAMAGED");
    must(store->library().create_chat(named("another")));
  }
  EXPECT_TRUE(read_file(folder / "data/library.db") == damaged);
  EXPECT_GT(std::filesystem::file_size(folder / "data/library.db-wal"), 0u);
  const auto store = open_store(folder);
  ASSERT_TRUE(store->library().report().read_only.has_value());
  EXPECT_EQ(store->library().report().read_only->code, "LIBRARY_DAMAGED");
  EXPECT_TRUE(must(store->library().find_chat("another")).has_value());
}

TEST_F(Damage, a_file_that_is_no_library_is_refused_and_left_alone) {
  for (const std::string& content : {std::string(9000, 'x'), sound_files().kv}) {
    try_case({content, ""}, [&](const TempFolder& folder) {
      EXPECT_EQ(code_of(try_store(folder)), "LIBRARY_DAMAGED");
      EXPECT_EQ(read_file(folder / "data/library.db"), content);
    });
  }
}

}  // namespace
}  // namespace satchel::storage
