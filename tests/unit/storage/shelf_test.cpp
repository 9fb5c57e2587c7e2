// Records that caches share, and the shelf: documents that have been read, for other chats.
#include <gmock/gmock.h>

#include "fixtures.h"
#include "kvcache/snapshot/record_store.h"
#include "runtime/contract/document_cache.h"
#include "storage/sqlite/connection.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;
using kvcache::CacheKey;
using kvcache::kRecordBytesMin;
using kvcache::RecordId;
using runtime::document_hash;
using runtime::document_key;
using runtime::ShelvedDocument;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kText = "canary-of-the-document: the brass bell is in the east tower.";
constexpr std::string_view kCanary = "canary-of-the-document";

const CacheKey kChat = runtime::cache_key({1}), kOther = runtime::cache_key({2});

void commit(KvStore& kv, const CacheKey& key, std::vector<RecordId> live,
            std::uint64_t generation = 1, std::string_view note = {}) {
  must(kv.commit(key, {.generation = generation,
                       .manifest = bytes_of(100, 1),
                       .live = live,
                       .model = "model",
                       .recipe = "recipe",
                       .n_tokens = 12,
                       .note = note}));
}
void put(KvStore& kv, const CacheKey& key, RecordId id, std::size_t n = kRecordBytesMin) {
  must(kv.put_record(key, id, bytes_of(n, static_cast<unsigned>(id))));
}
// One that has `id` of `from` too.
void share(KvStore& kv, const CacheKey& from, RecordId id, const CacheKey& to) {
  must(kv.share_record(from, id, to));
  commit(kv, to, {id});
}

class SharedRecords : public testing::Test {
 protected:
  void open(std::uint64_t quota_bytes = 0) {
    kv_.reset();
    kv_ = must(KvStore::open({.path = folder_ / "kvcache.db",
                              .mode = OpenMode::read_write,
                              .log = {},
                              .library_id = "library",
                              .quota_bytes = quota_bytes,
                              .vfs = {}}));
  }
  // Of all records in the file.
  std::int64_t stored_bytes() {
    Connection db =
        must(Connection::open({folder_ / "kvcache.db", Access::read_only, Content::cache, {}}));
    return must(db.integer("SELECT coalesce(sum(length(bytes)), 0) FROM block_bytes"));
  }

  TempFolder folder_;
  std::unique_ptr<KvStore> kv_;
};

TEST_F(SharedRecords, are_stored_once_and_read_by_both) {
  open();
  put(*kv_, kChat, 3);
  commit(*kv_, kChat, {3}, 1, "measured");
  share(*kv_, kChat, 3, kOther);
  EXPECT_EQ(stored_bytes(), static_cast<std::int64_t>(kRecordBytesMin));
  EXPECT_EQ(must(kv_->record(kOther, 3)), bytes_of(kRecordBytesMin, 3));
  EXPECT_EQ(must(kv_->newest_manifest(kChat))->note, "measured");
  EXPECT_EQ(must(kv_->newest_manifest(kOther))->note, "");
  EXPECT_EQ(code_of(kv_->share_record(kChat, 4, kOther)), "BLOCK_NOT_FOUND");
}

TEST_F(SharedRecords, go_with_the_last_cache_that_has_them) {
  open();
  put(*kv_, kChat, 0);
  put(*kv_, kChat, 1);
  commit(*kv_, kChat, {0, 1});
  share(*kv_, kChat, 0, kOther);
  must(kv_->drop(kChat));
  EXPECT_EQ(stored_bytes(), static_cast<std::int64_t>(kRecordBytesMin));
  EXPECT_EQ(must(kv_->record(kOther, 0)), bytes_of(kRecordBytesMin, 0));
  commit(*kv_, kOther, {}, 2);  // it does not point to it any more
  EXPECT_EQ(stored_bytes(), 0);
}

TEST_F(SharedRecords, leave_no_byte_once_both_are_gone) {
  open();
  std::vector<std::byte> bytes(1u << 20);
  for (std::size_t at = 0; at + kCanary.size() < bytes.size(); at += 1000)
    std::ranges::transform(kCanary, bytes.begin() + static_cast<std::ptrdiff_t>(at),
                           [](char c) { return static_cast<std::byte>(c); });
  must(kv_->put_record(kChat, 0, bytes));
  commit(*kv_, kChat, {0});
  share(*kv_, kChat, 0, kOther);
  must(kv_->drop(kChat));
  EXPECT_NE(read_file(folder_ / "kvcache.db").find(kCanary), std::string::npos);
  must(kv_->drop(kOther));
  EXPECT_EQ(read_file(folder_ / "kvcache.db").find(kCanary), std::string::npos);
  EXPECT_EQ(fs::file_size(folder_ / "kvcache.db-wal"), 0u);
}

// Three caches of 3 records, of which two share: 6 records of bytes.
TEST_F(SharedRecords, count_once_for_the_quota) {
  constexpr std::uint64_t kManifests = 1000;
  open(6 * kRecordBytesMin + kManifests);
  for (RecordId id = 0; id < 3; ++id) put(*kv_, kChat, id);
  commit(*kv_, kChat, {0, 1, 2});
  for (RecordId id = 0; id < 3; ++id) must(kv_->share_record(kChat, id, kOther));
  commit(*kv_, kOther, {0, 1, 2});
  const CacheKey third = CacheKey::named("third");
  for (RecordId id = 0; id < 3; ++id) put(*kv_, third, id);
  commit(*kv_, third, {0, 1, 2});
  EXPECT_EQ(must(kv_->list()).size(), 3u);
  // One more record costs the least recently used, which frees nothing, and the next.
  must(kv_->newest_manifest(third));
  put(*kv_, third, 3);
  commit(*kv_, third, {0, 1, 2, 3}, 2);
  ASSERT_EQ(must(kv_->list()).size(), 1u);
  EXPECT_EQ(stored_bytes(), static_cast<std::int64_t>(4 * kRecordBytesMin));
}

// What is read next to a chat is spared; what both have is no reason to refuse the chat.
TEST_F(SharedRecords, of_the_cache_read_last_do_not_count_twice) {
  open(4 * kRecordBytesMin);
  for (RecordId id = 0; id < 3; ++id) put(*kv_, kOther, id);
  commit(*kv_, kOther, {0, 1, 2});
  for (RecordId id = 0; id < 3; ++id) must(kv_->share_record(kOther, id, kChat));
  commit(*kv_, kChat, {0, 1, 2});
  must(kv_->newest_manifest(kOther));
  put(*kv_, kChat, 3, kRecordBytesMin / 2);
  commit(*kv_, kChat, {0, 1, 2, 3}, 2);
  EXPECT_EQ(must(kv_->list()).size(), 2u);
}

class Shelf : public testing::Test {
 protected:
  void open() {
    store_.reset();
    store_ = open_store(folder_);
  }
  // A chat that has read the document, and what was saved of it.
  ChatId read_in_chat(std::string name) {
    const ChatId chat = must(store_->library().create_chat(named(std::move(name))));
    must(store_->library().append(chat, {.role = runtime::Role::user,
                                         .text = kText,
                                         .tokens = {},
                                         .kind = runtime::MessageKind::document,
                                         .title = "bells.txt"}));
    const CacheKey key = document_key(document_hash(kText), "00ff", chat);
    must(store_->kv()->put_record(key, 0, std::as_bytes(std::span(kText))));
    commit(*store_->kv(), key, {0});
    return chat;
  }
  std::vector<std::string> titles() {
    std::vector<std::string> titles;
    for (const ShelvedDocument& document : must(store_->shelf())) titles.push_back(document.title);
    return titles;
  }
  void expect_no_word_on_disk() {
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.path().extension() == ".db-shm" || !entry.is_regular_file()) continue;
      EXPECT_EQ(read_file(entry.path()).find(kCanary), std::string::npos) << entry.path();
    }
  }

  TempFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(Shelf, has_what_a_chat_has_read_until_that_chat_is_deleted) {
  open();
  EXPECT_THAT(must(store_->shelf()), IsEmpty());
  const ChatId chat = read_in_chat("a");
  const auto shelf = must(store_->shelf());
  ASSERT_EQ(shelf.size(), 1u);
  EXPECT_EQ(shelf[0].title, "bells.txt");
  EXPECT_EQ(shelf[0].hash, document_hash(kText));
  EXPECT_FALSE(shelf[0].is_kept);
  EXPECT_EQ(shelf[0].chat, chat);
  ASSERT_EQ(shelf[0].caches.size(), 1u);
  EXPECT_EQ(shelf[0].caches[0].n_tokens, 12u);
  EXPECT_EQ(must(store_->document_text(shelf[0].hash)), kText);
  must(store_->delete_now(chat));
  EXPECT_THAT(must(store_->shelf()), IsEmpty());
  expect_no_word_on_disk();
}

TEST_F(Shelf, keeps_a_document_that_somebody_keeps_when_its_chat_is_deleted) {
  open();
  const ChatId chat = read_in_chat("a");
  must(store_->keep_document("bells.txt", kText));
  must(store_->delete_now(chat));
  open();  // nor is it swept
  const auto shelf = must(store_->shelf());
  ASSERT_EQ(shelf.size(), 1u);
  EXPECT_TRUE(shelf[0].is_kept);
  EXPECT_EQ(shelf[0].chat, ChatId{});
  EXPECT_EQ(shelf[0].caches.size(), 1u);
  EXPECT_EQ(must(store_->document_text(shelf[0].hash)), kText);
}

TEST_F(Shelf, a_removed_document_leaves_no_word_and_no_record) {
  open();
  const ChatId chat = read_in_chat("a");
  must(store_->keep_document("bells.txt", kText));
  must(store_->delete_now(chat));
  must(store_->remove_document(document_hash(kText)));
  EXPECT_THAT(must(store_->shelf()), IsEmpty());
  EXPECT_EQ(code_of(store_->document_text(document_hash(kText))), "DOC_NOT_FOUND");
  EXPECT_EQ(code_of(store_->remove_document(document_hash(kText))), "DOC_NOT_FOUND");
  expect_no_word_on_disk();
}

TEST_F(Shelf, removing_a_document_leaves_the_chat_that_read_it) {
  open();
  const ChatId chat = read_in_chat("a");
  must(store_->remove_document(document_hash(kText)));
  EXPECT_THAT(must(store_->shelf()), IsEmpty());
  EXPECT_THAT(texts(store_->library(), chat), ElementsAre(kText));
}

TEST_F(Shelf, keeps_words_without_caches_and_the_newest_title) {
  open();
  must(store_->keep_document("old.txt", kText));
  must(store_->keep_document("other.txt", "other words"));
  must(store_->keep_document("bells.txt", kText));
  open();
  EXPECT_THAT(titles(), testing::UnorderedElementsAre("bells.txt", "other.txt"));
  fs::remove_all(folder_ / "data/../cache");
  EXPECT_EQ(must(store_->document_text(document_hash("other words"))), "other words");
}

TEST_F(Shelf, what_nobody_keeps_any_more_is_swept_at_opening) {
  open();
  const CacheKey key = document_key(document_hash(kText), "00ff", {});
  must(store_->kv()->put_record(key, 0, bytes_of(10, 0)));
  open();
  EXPECT_THAT(must(store_->kv()->list()), IsEmpty());
}

TEST_F(Shelf, a_damaged_text_is_not_given_out) {
  open();
  must(store_->keep_document("bells.txt", kText));
  store_.reset();
  run_sql(folder_ / "data/library.db", "UPDATE document SET text = replace(text, 'east', 'west')");
  open();
  EXPECT_EQ(code_of(store_->document_text(document_hash(kText))), "LIBRARY_DAMAGED");
}

}  // namespace
}  // namespace satchel::storage
