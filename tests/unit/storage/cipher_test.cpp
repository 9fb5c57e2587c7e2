// Encrypted stores: no word in any file, a wrong key that changes nothing, and the way there and
// back. Where SQLite is not SQLCipher all but the refusals is skipped.
#include <gmock/gmock.h>

#include <map>

#include "failing_vfs.h"
#include "fixtures.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kCanary = "a canary sings at noon";
// 32 bytes, which need no derivation.
const std::string kKey = "x'" + std::string(64, '5') + "'",
                  kOther = "x'" + std::string(64, '6') + "'";

using Files = std::map<std::string, std::string>;
Files files_of(const TempFolder& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file())
      files[fs::relative(entry.path(), folder.path()).string()] = read_file(entry.path());
  return files;
}
std::vector<std::string> files_with_canary(const TempFolder& folder) {
  std::vector<std::string> found;
  for (const auto& [name, bytes] : files_of(folder))
    if (bytes.find("canary") != std::string::npos) found.push_back(name);
  return found;
}

// A store with the word in all its files.
void fill(Store& store, const TempFolder& folder) {
  const ChatId chat = must(store.library().create_chat(named(kCanary)));
  say(store.library(), chat, kCanary);
  must(store.library().set_setting("setting", kCanary));
  std::vector<std::byte> record(5000);
  const std::string_view word = kCanary;
  std::ranges::transform(word, record.begin(), [](char c) { return std::byte(c); });
  must(store.kv()->put_record(key_of(chat), 0, record));
  const std::vector<kvcache::RecordId> live = {0};
  must(store.kv()->commit(key_of(chat), {.generation = 1, .live = live}));
  EXPECT_EQ(must(store.search({.words = "canary"})).size(), 2u);
  must(store.back_up(folder / "copies"));
}
void expect_filled(Store& store) {
  EXPECT_THAT(texts(store.library(), {1}), ElementsAre(kCanary));
  EXPECT_EQ(must(store.library().setting("setting")), kCanary);
}

class Encrypted : public testing::Test {
 protected:
  void SetUp() override {
    if (!Store::can_encrypt()) GTEST_SKIP() << "SQLite is not SQLCipher (SATCHEL_SQLCIPHER)";
  }
  std::unique_ptr<Store> open(const std::string& key) { return open_store(folder_, {.key = key}); }
  const TempFolder folder_{Place::memory};
};

TEST_F(Encrypted, no_word_stands_in_any_file) {
  {
    const TempFolder plain(Place::memory);
    const auto store = open_store(plain);
    fill(*store, plain);
    EXPECT_GT(files_with_canary(plain).size(), 3u) << "or the test shows nothing";
  }
  for (const std::string& key : {kKey, std::string("a passphrase with 'quotes'")}) {
    SCOPED_TRACE(key);
    const TempFolder folder(Place::memory);
    {
      const auto store = open_store(folder, {.key = key});
      fill(*store, folder);
      EXPECT_THAT(files_with_canary(folder), IsEmpty());  // while it is open, logs too
    }
    EXPECT_THAT(files_with_canary(folder), IsEmpty());
    EXPECT_TRUE(Store::wants_key(folder / "data"));
    const auto store = open_store(folder, {.key = key});
    expect_filled(*store);
    EXPECT_EQ(must(store->kv()->record(key_of({1}), 0)).size(), 5000u);
    EXPECT_TRUE(store->notices().empty());
    const auto reader = open_store(folder, {.mode = OpenMode::read_only, .key = key});
    expect_filled(*reader);
  }
}

TEST_F(Encrypted, a_backup_opens_with_the_key_of_the_store) {
  fill(*open(kKey), folder_);
  const TempFolder there;
  fs::create_directory(there / "data");
  for (const auto& copy : fs::directory_iterator(folder_ / "copies"))
    fs::copy_file(copy, there / "data/library.db");
  EXPECT_EQ(code_of(try_store(there)), "LIBRARY_KEY");
  expect_filled(*open_store(there, {.key = kKey}));
}

TEST_F(Encrypted, a_wrong_key_or_none_says_so_and_changes_no_byte) {
  fill(*open(kKey), folder_);
  const Files before = files_of(folder_);
  for (const std::string& wrong : {kOther, std::string("words"), std::string()})
    for (const OpenMode mode : {OpenMode::read_write, OpenMode::read_only}) {
      const auto refused = try_store(folder_, {.mode = mode, .key = wrong});
      EXPECT_EQ(code_of(refused), "LIBRARY_KEY") << wrong;
      EXPECT_THAT(refused.error().message, HasSubstr("Nothing was changed"));
      EXPECT_EQ(files_of(folder_), before);
    }
  expect_filled(*open(kKey));
}

TEST_F(Encrypted, a_store_that_is_not_takes_no_key) {
  fill(*open(""), folder_);
  const Files before = files_of(folder_);
  EXPECT_EQ(code_of(try_store(folder_, {.key = kKey})), "LIBRARY_KEY");
  EXPECT_EQ(files_of(folder_), before);
}

TEST_F(Encrypted, damage_is_not_taken_for_a_wrong_key_and_costs_no_file) {
  {
    const auto store = open(kKey);
    const ChatId chat = must(store->library().create_chat(named("a")));
    for (int i = 0; i < 40; ++i) say(store->library(), chat, std::string(2000, 'w'));
  }
  std::string bytes = read_file(folder_ / "data/library.db");
  const std::string sound = bytes;
  for (std::size_t at = 4096 * 3 + 100; at < bytes.size(); at += 4096 * 4) bytes[at] ^= 1;
  write_file(folder_ / "data/library.db", bytes);
  write_file(folder_ / "data/library.lock", "1\n");  // ended uncleanly: checked
  {
    const auto store = try_store(folder_, {.key = kKey});
    const std::string code =
        store.ok() ? store.value()->library().report().read_only.value_or(Error{}).code
                   : code_of(store);
    EXPECT_NE(code, "LIBRARY_KEY");
    EXPECT_NE(code, "");
  }
  EXPECT_EQ(read_file(folder_ / "data/library.db"), bytes) << "a damaged library is left as it is";
  write_file(folder_ / "data/library.db", sound);
  EXPECT_EQ(texts(open(kKey)->library(), {1}).size(), 40u);
}

TEST_F(Encrypted, a_store_is_encrypted_under_another_key_and_decrypted_whole) {
  fill(*open(""), folder_);
  write_file(folder_ / "data/library-before-2.db", read_file(folder_ / "data/library.db"));
  fs::remove_all(folder_ / "copies");  // those are the user's own
  std::string now;
  for (const std::string& next : {kKey, kOther, std::string()}) {
    must(Store::change_key(open(now), next));
    now = next;
    if (!now.empty()) {
      EXPECT_THAT(files_with_canary(folder_), IsEmpty());
    }
    for (const auto& [name, bytes] : files_of(folder_))
      EXPECT_THAT(name, testing::Not(HasSubstr("-new")));
    const auto store = open(now);
    expect_filled(*store);
    EXPECT_EQ(must(store->kv()->record(key_of({1}), 0)).size(), 5000u);
    EXPECT_EQ(store->cache_notice(), "");
    EXPECT_EQ(store->copies().size(), 1u);
    EXPECT_FALSE(store->ended_unclean());
  }
  EXPECT_EQ(integrity(folder_ / "data/library.db"), "ok");
  EXPECT_EQ(integrity(folder_ / "cache/kvcache.db"), "ok");
  EXPECT_EQ(integrity(folder_ / "data/library-before-2.db"), "ok");
}

// With the old key or the new one, all words are there.
TEST_F(Encrypted, any_failed_call_while_it_changes_leaves_it_whole_under_one_key) {
  FailingVfs vfs("failing");
  int n_old = 0, n_new = 0;
  for (int n = 0; n < 2000; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    const TempFolder folder(Place::memory);
    fill(*open_store(folder), folder);
    fs::remove_all(folder / "copies");
    auto store = open_store(folder, {.vfs = vfs.name()});
    vfs.fail_at(n, FailingVfs::How::full, FailingVfs::Then::always);
    const bool changed = Store::change_key(std::move(store), kKey).ok();
    const bool has_failed = vfs.has_failed();
    vfs.stop_failing();
    const bool is_new = Store::wants_key(folder / "data");
    (is_new ? n_new : n_old) += 1;
    EXPECT_TRUE(is_new || !changed);
    if (is_new) {
      EXPECT_THAT(files_with_canary(folder), IsEmpty());
    }
    expect_filled(*open_store(folder, {.key = is_new ? kKey : ""}));
    if (HasFailure() || !has_failed) break;
  }
  EXPECT_GT(n_old, 10);
  EXPECT_GT(n_new, 0);
}

TEST(NotEncrypted, a_build_without_a_cipher_refuses_keys_and_encrypted_stores_by_name) {
  if (Store::can_encrypt()) GTEST_SKIP() << "SQLite is SQLCipher";
  const TempFolder folder;
  EXPECT_EQ(code_of(try_store(folder, {.key = kKey})), "LIBRARY_KEY");
  EXPECT_FALSE(fs::exists(folder / "data/library.db"));
  open_store(folder);
  EXPECT_EQ(code_of(Store::change_key(open_store(folder), kKey)), "LIBRARY_KEY");
  std::string bytes;
  for (const std::byte byte : bytes_of(8192, 3)) bytes += static_cast<char>(byte);
  write_file(folder / "data/library.db", bytes);
  const auto refused = try_store(folder);
  EXPECT_EQ(code_of(refused), "LIBRARY_KEY");
  EXPECT_THAT(refused.error().message, HasSubstr("built without encryption"));
  EXPECT_EQ(read_file(folder / "data/library.db"), bytes);
}

}  // namespace
}  // namespace satchel::storage
