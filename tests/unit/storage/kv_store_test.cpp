// Blocks and manifests of kvcache.db.
#include <gmock/gmock.h>

#include <algorithm>

#include "failing_vfs.h"
#include "fixtures.h"

namespace satchel::storage {
namespace {
using kvcache::CacheKey;
using kvcache::kRecordBytesMax;
using kvcache::kRecordBytesMin;
using kvcache::RecordId;
using testing::ElementsAre;
using testing::IsEmpty;

const CacheKey kChat = runtime::cache_key({1}), kOther = runtime::cache_key({2}),
               kThird = CacheKey::named("document 3");

constexpr std::uint64_t kManifests = 1000;  // more than those of a test take

std::unique_ptr<KvStore> open_kv(const TempFolder& folder, std::uint64_t quota_bytes = 0,
                                 std::string library_id = "library") {
  return must(KvStore::open({.path = folder / "kvcache.db",
                             .mode = OpenMode::read_write,
                             .log = {},
                             .library_id = std::move(library_id),
                             .quota_bytes = quota_bytes,
                             .vfs = {}}));
}

void put(KvStore& kv, const CacheKey& key, RecordId id, std::size_t n = kRecordBytesMin) {
  must(kv.put_record(key, id, bytes_of(n, static_cast<unsigned>(id))));
}
void commit(KvStore& kv, const CacheKey& key, std::uint64_t generation,
            std::vector<RecordId> live) {
  must(kv.commit(key, {.generation = generation,
                       .manifest = bytes_of(100, static_cast<unsigned>(generation)),
                       .live = live,
                       .model = "model",
                       .recipe = "recipe",
                       .n_tokens = generation}));
}

std::vector<CacheKey> keys(KvStore& kv) {
  std::vector<CacheKey> found;
  for (const SavedCache& cache : must(kv.list())) found.push_back(cache.key);
  return found;
}

TEST(KvStore, knows_nothing_of_a_new_chat_and_that_is_no_error) {
  const TempFolder folder;
  const auto kv = open_kv(folder);
  EXPECT_FALSE(must(kv->newest_manifest(kChat)).has_value());
  EXPECT_EQ(code_of(kv->record(kChat, 0)), "BLOCK_NOT_FOUND");
  EXPECT_EQ(record_bytes(*kv), 0u);
  EXPECT_EQ(kv->notice(), "");
}

TEST(KvStore, records_and_manifest_come_back_equal) {
  const TempFolder folder;
  {
    const auto kv = open_kv(folder);
    put(*kv, kChat, 0, kRecordBytesMin);
    put(*kv, kChat, 1, kRecordBytesMax);
    put(*kv, kChat, 2, 1);
    put(*kv, kOther, 0, 17);
    commit(*kv, kChat, 1, {0, 1, 2});
  }
  const auto kv = open_kv(folder);
  const auto manifest = must(kv->newest_manifest(kChat));
  ASSERT_TRUE(manifest.has_value());
  EXPECT_EQ(manifest->generation, 1u);
  EXPECT_EQ(manifest->bytes, bytes_of(100, 1));
  EXPECT_EQ(must(kv->record(kChat, 0)), bytes_of(kRecordBytesMin, 0));
  EXPECT_EQ(must(kv->record(kChat, 1)), bytes_of(kRecordBytesMax, 1));
  EXPECT_EQ(must(kv->record(kChat, 2)), bytes_of(1, 2));
  EXPECT_EQ(record_bytes(*kv, kChat), kRecordBytesMin + kRecordBytesMax + 1);
  EXPECT_EQ(record_bytes(*kv), kRecordBytesMin + kRecordBytesMax + 18);
}

TEST(KvStore, records_that_no_manifest_points_to_yet_do_not_change_the_snapshot) {
  const TempFolder folder;
  {
    const auto kv = open_kv(folder);
    put(*kv, kChat, 0);
    commit(*kv, kChat, 1, {0});
    put(*kv, kChat, 1, 99);  // and here the process ends
  }
  const auto kv = open_kv(folder);
  EXPECT_EQ(must(kv->newest_manifest(kChat))->generation, 1u);
  EXPECT_EQ(must(kv->record(kChat, 0)), bytes_of(kRecordBytesMin, 0));
  must(kv->put_record(kChat, 1, bytes_of(50, 5)));  // the next process counts on from the manifest
  EXPECT_EQ(must(kv->record(kChat, 1)), bytes_of(50, 5));
}

TEST(KvStore, a_commit_sweeps_what_is_not_live) {
  const TempFolder folder;
  const auto kv = open_kv(folder);
  for (RecordId id = 0; id < 4; ++id) put(*kv, kChat, id);
  put(*kv, kOther, 1);
  commit(*kv, kChat, 1, {0, 1, 2});
  EXPECT_EQ(code_of(kv->record(kChat, 3)), "BLOCK_NOT_FOUND");
  put(*kv, kChat, 4);
  commit(*kv, kChat, 2, {4, 1, 1});
  EXPECT_EQ(code_of(kv->record(kChat, 0)), "BLOCK_NOT_FOUND");
  EXPECT_EQ(record_bytes(*kv, kChat), 2 * kRecordBytesMin);
  commit(*kv, kChat, 3, {});
  EXPECT_EQ(record_bytes(*kv, kChat), 0u);
  EXPECT_EQ(must(kv->record(kOther, 1)), bytes_of(kRecordBytesMin, 1));
}

TEST(KvStore, a_refused_commit_leaves_the_old_snapshot) {
  const TempFolder folder;
  const auto kv = open_kv(folder);
  put(*kv, kChat, 0);
  commit(*kv, kChat, 5, {0});
  const std::vector<RecordId> live = {0}, missing = {0, 7}, early = {};
  EXPECT_EQ(code_of(kv->commit(kChat, {.generation = 5, .live = live})), "GENERATION");
  EXPECT_EQ(code_of(kv->commit(kChat, {.generation = 4, .live = early})), "GENERATION");
  EXPECT_EQ(code_of(kv->commit(kChat, {.generation = 1ull << 63, .live = live})), "GENERATION");
  EXPECT_EQ(code_of(kv->commit(kChat, {.generation = 6, .live = missing})), "BLOCK_NOT_FOUND");
  EXPECT_EQ(must(kv->newest_manifest(kChat))->generation, 5u);
  EXPECT_EQ(must(kv->record(kChat, 0)), bytes_of(kRecordBytesMin, 0));
}

TEST(KvStore, records_that_cannot_be_are_refused) {
  const TempFolder folder;
  const auto kv = open_kv(folder);
  EXPECT_EQ(code_of(kv->put_record(kChat, 0, {})), "BLOCK_SIZE");
  EXPECT_EQ(code_of(kv->put_record(kChat, 0, bytes_of(kRecordBytesMax + 1, 0))), "BLOCK_SIZE");
  EXPECT_EQ(code_of(kv->put_record(kChat, 1ull << 63, bytes_of(1, 0))), "BLOCK_ID");
  put(*kv, kChat, 0);
  commit(*kv, kChat, 1, {0});
  EXPECT_EQ(code_of(kv->put_record(kChat, 0, bytes_of(1, 9))), "BLOCK_ID");
  EXPECT_EQ(must(kv->record(kChat, 0)), bytes_of(kRecordBytesMin, 0));
}

TEST(KvStore, dropping_a_chat_overwrites_its_bytes_and_gives_the_space_back) {
  const TempFolder folder;
  const auto kv = open_kv(folder);
  const std::string canary = "canary-canary-canary-canary";
  std::vector<std::byte> bytes(1u << 20);
  for (std::size_t at = 0; at + canary.size() < bytes.size(); at += 1000)
    std::transform(canary.begin(), canary.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                   [](char c) { return static_cast<std::byte>(c); });
  must(kv->put_record(kChat, 0, bytes));
  put(*kv, kOther, 0);
  commit(*kv, kOther, 1, {0});
  must(kv->drop(kChat));
  must(kv->drop(kThird));  // nothing there: nothing to do
  EXPECT_THAT(keys(*kv), ElementsAre(kOther));
  EXPECT_LT(std::filesystem::file_size(folder / "kvcache.db"), 1u << 20);
  EXPECT_EQ(std::filesystem::file_size(folder / "kvcache.db-wal"), 0u);
  EXPECT_EQ(read_file(folder / "kvcache.db").find(canary), std::string::npos);
}

TEST(KvStore, lists_caches_with_what_they_hold) {
  const TempFolder folder;
  const auto kv = open_kv(folder);
  put(*kv, kChat, 0);
  commit(*kv, kChat, 1, {0});
  put(*kv, kThird, 0, 17);
  const auto found = must(kv->list());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, kChat);
  EXPECT_EQ(found[0].model, "model");
  EXPECT_EQ(found[0].recipe, "recipe");
  EXPECT_EQ(found[0].n_tokens, 1u);
  EXPECT_EQ(found[0].record_bytes, kRecordBytesMin);
  EXPECT_EQ(found[1].key, kThird);
  EXPECT_EQ(found[1].model, "");
  EXPECT_EQ(found[1].record_bytes, 17u);
}

TEST(KvStore, a_chat_that_goes_takes_all_its_caches_with_it_and_no_others) {
  const TempFolder folder;
  const auto kv = open_kv(folder);
  CacheKey branch = CacheKey::named("branch of chat 1");
  branch.owner = kChat.owner;
  for (const CacheKey& key : {kChat, branch, kOther, kThird}) put(*kv, key, 0);
  must(kv->drop_chat({1}));
  must(kv->drop_chat({9}));  // nothing there: nothing to do
  EXPECT_THAT(keys(*kv), ElementsAre(kOther, kThird));
  EXPECT_EQ(record_bytes(*kv), 2 * kRecordBytesMin);
}

TEST(KvStore, over_the_quota_the_chat_used_longest_ago_gives_way) {
  const TempFolder folder;
  const auto kv = open_kv(folder, 3 * kRecordBytesMin + kManifests);
  put(*kv, kChat, 0);
  commit(*kv, kChat, 1, {0});
  put(*kv, kOther, 0);
  commit(*kv, kOther, 1, {0});
  put(*kv, kThird, 0);
  must(kv->newest_manifest(kChat));  // used again
  put(*kv, kThird, 1);
  EXPECT_THAT(keys(*kv), ElementsAre(kChat, kOther, kThird)) << "before it is known to fit";
  commit(*kv, kThird, 1, {0, 1});
  EXPECT_THAT(keys(*kv), ElementsAre(kChat, kThird));
}

TEST(KvStore, a_cache_larger_than_the_quota_costs_no_other_and_leaves_nothing) {
  const TempFolder folder;
  const auto kv = open_kv(folder, 4 * kRecordBytesMin);
  for (const CacheKey& key : {kChat, kOther}) {
    put(*kv, key, 0);
    commit(*kv, key, 1, {0});
  }
  for (int turn = 0; turn < 3; ++turn) {
    SCOPED_TRACE(turn);
    Result<void> saved;
    for (RecordId id = 0; id < 9 && saved.ok(); ++id)
      saved = kv->put_record(kThird, id, bytes_of(kRecordBytesMin, static_cast<unsigned>(id)));
    EXPECT_EQ(code_of(saved), "CACHE_QUOTA");
    EXPECT_NE(saved.error().message.find("--cache-quota"), std::string::npos);
    EXPECT_THAT(keys(*kv), ElementsAre(kChat, kOther));
    EXPECT_EQ(record_bytes(*kv), 2 * kRecordBytesMin);
  }
  EXPECT_EQ(must(kv->newest_manifest(kOther))->generation, 1u);
}

TEST(KvStore, a_cache_that_turns_out_too_large_at_its_commit_keeps_its_old_manifest) {
  const TempFolder folder;
  const auto kv = open_kv(folder, 4 * kRecordBytesMin);
  put(*kv, kOther, 0);
  commit(*kv, kOther, 1, {0});
  for (const RecordId id : {0u, 1u}) put(*kv, kChat, id);
  commit(*kv, kChat, 1, {0, 1});
  for (const RecordId id : {2u, 3u}) put(*kv, kChat, id);
  const std::vector<RecordId> all = {0, 1, 2, 3};  // and a manifest
  EXPECT_EQ(
      code_of(kv->commit(kChat, {.generation = 2, .manifest = bytes_of(100, 2), .live = all})),
      "CACHE_QUOTA");
  EXPECT_EQ(must(kv->newest_manifest(kChat))->generation, 1u);
  EXPECT_EQ(record_bytes(*kv, kChat), 2 * kRecordBytesMin);
  EXPECT_THAT(keys(*kv), ElementsAre(kOther, kChat));
  for (const RecordId id : {2u, 3u}) put(*kv, kChat, id);  // in place of the old ones they fit
  commit(*kv, kChat, 2, {2, 3});
  EXPECT_EQ(record_bytes(*kv, kChat), 2 * kRecordBytesMin);
}

TEST(KvStore, what_an_unfinished_save_left_goes_before_any_whole_cache) {
  const TempFolder folder;
  put(*open_kv(folder), kThird, 0);  // and here the process ended
  const auto kv = open_kv(folder, 3 * kRecordBytesMin);
  put(*kv, kChat, 0);
  commit(*kv, kChat, 1, {0});
  put(*kv, kOther, 0);
  commit(*kv, kOther, 1, {0});
  EXPECT_EQ(record_bytes(*kv, kThird), 0u);
  EXPECT_EQ(record_bytes(*kv), 2 * kRecordBytesMin);
}

TEST(KvStore, freeing_much_space_takes_little_of_it) {
  const TempFolder folder(Place::memory);
  constexpr std::size_t kRecords = 16;
  constexpr std::uintmax_t kLogMax = 64u << 20;  // of kRecords * 8 MiB
  const auto log_bytes = [&] { return std::filesystem::file_size(folder / "kvcache.db-wal"); };
  const auto fill = [&](KvStore& kv, const CacheKey& key) {
    std::vector<RecordId> live;
    for (RecordId id = 0; id < kRecords; ++id) live.push_back(id);
    for (const RecordId id : live) put(kv, key, id, kRecordBytesMax);
    commit(kv, key, 1, live);
  };
  const auto kv = open_kv(folder, (kRecords + 1) * kRecordBytesMax);
  fill(*kv, kChat);
  fill(*kv, kOther);  // for which the first gives way
  EXPECT_THAT(keys(*kv), ElementsAre(kOther));
  EXPECT_LT(log_bytes(), kLogMax);
  std::vector<RecordId> next = {kRecords};
  put(*kv, kOther, kRecords);
  commit(*kv, kOther, 2, next);  // all others are swept
  EXPECT_LT(log_bytes(), kLogMax);
  must(kv->drop(kOther));
  EXPECT_LT(std::filesystem::file_size(folder / "kvcache.db"), 1u << 20);
}

TEST(KvStore, neither_the_chat_that_is_saved_nor_the_one_just_opened_gives_way) {
  const TempFolder folder;
  const auto kv = open_kv(folder, 2 * kRecordBytesMin + kManifests);
  put(*kv, kChat, 0);
  commit(*kv, kChat, 1, {0});
  must(kv->newest_manifest(kChat));
  put(*kv, kOther, 0);
  EXPECT_EQ(code_of(kv->put_record(kOther, 1, bytes_of(kRecordBytesMin, 1))), "CACHE_QUOTA");
  EXPECT_EQ(must(kv->record(kChat, 0)), bytes_of(kRecordBytesMin, 0));
  put(*kv, kChat, 1);  // and goes on
}

TEST(KvStore, caches_of_another_library_wait_until_that_one_is_opened_again) {
  const TempFolder folder;
  {
    const auto kv = open_kv(folder);
    put(*kv, kChat, 7);
  }
  {
    const auto kv = open_kv(folder, 0, "another");
    EXPECT_THAT(keys(*kv), IsEmpty());
    EXPECT_NE(kv->notice().find("kvcache-of-library.db"), std::string::npos) << kv->notice();
    EXPECT_EQ(kv->notice().find("deleted"), std::string::npos) << kv->notice();
    put(*kv, kChat, 0);
  }
  const auto kv = open_kv(folder);
  EXPECT_EQ(must(kv->record(kChat, 7)), bytes_of(kRecordBytesMin, 7));
  EXPECT_FALSE(std::filesystem::exists(folder / "kvcache-of-library.db"));
  EXPECT_TRUE(std::filesystem::exists(folder / "kvcache-of-another.db"));
}

TEST(KvStore, an_id_that_would_leave_the_folder_names_no_file) {
  const TempFolder folder;
  put(*open_kv(folder, 0, "../out"), kChat, 0);
  const auto kv = open_kv(folder);
  EXPECT_NE(kv->notice().find("deleted"), std::string::npos) << kv->notice();
  EXPECT_FALSE(std::filesystem::exists(folder.path().parent_path() / "out.db"));
}

TEST(KvStore, a_record_larger_than_any_is_damaged_and_takes_no_memory) {
  const TempFolder folder;
  {
    const auto kv = open_kv(folder);
    put(*kv, kChat, 0);
    commit(*kv, kChat, 1, {0});
  }
  run_sql(folder / "kvcache.db", "UPDATE block_bytes SET bytes = zeroblob(200000000)");
  const auto kv = open_kv(folder);
  std::vector<std::byte> into;
  const Result<void> read = kv->record_into(kChat, 0, into);
  EXPECT_EQ(code_of(read), "CACHE_DAMAGED");
  if (!read.ok()) {
    EXPECT_EQ(read.error().kind, ErrorKind::corrupt);
  }
  EXPECT_EQ(into.capacity(), 0u);
}

TEST(KvStore, a_file_that_was_not_begun_whole_is_not_said_to_be_anothers) {
  for (const char* lost : {"DELETE FROM meta WHERE key = 'library_id'",
                           "DELETE FROM meta WHERE key = 'library_id'; PRAGMA user_version = 1"}) {
    const TempFolder folder;
    open_kv(folder);
    run_sql(folder / "kvcache.db", lost);
    const auto kv = open_kv(folder);
    EXPECT_THAT(kv->notice(), testing::HasSubstr("were not begun whole"));
    EXPECT_THAT(kv->notice(), testing::HasSubstr("No message is lost"));
  }
}

TEST(KvStore, a_file_that_is_no_database_is_thrown_away) {
  const TempFolder folder;
  write_file(folder / "kvcache.db", std::string(5000, 'x'));
  const auto kv = open_kv(folder);
  EXPECT_NE(kv->notice().find("damaged"), std::string::npos);
  put(*kv, kChat, 0);
  EXPECT_EQ(must(kv->record(kChat, 0)), bytes_of(kRecordBytesMin, 0));
}

TEST(KvStore, opened_to_read_it_changes_nothing) {
  const TempFolder folder;
  KvOptions options{.path = folder / "kvcache.db",
                    .mode = OpenMode::read_only,
                    .log = {},
                    .library_id = "library",
                    .quota_bytes = 0,
                    .vfs = {}};
  EXPECT_EQ(code_of(KvStore::open(options)), "NO_CACHE");
  EXPECT_FALSE(std::filesystem::exists(options.path));
  const auto writer = open_kv(folder);
  put(*writer, kChat, 0);
  commit(*writer, kChat, 1, {0});
  const auto reader = must(KvStore::open(options));
  EXPECT_TRUE(must(reader->newest_manifest(kChat)).has_value());
  EXPECT_EQ(must(reader->record(kChat, 0)), bytes_of(kRecordBytesMin, 0));
  EXPECT_EQ(code_of(reader->put_record(kChat, 1, bytes_of(1, 0))), "READ_ONLY");
  EXPECT_EQ(code_of(reader->commit(kChat, {.generation = 2, .live = {}})), "READ_ONLY");
  EXPECT_EQ(code_of(reader->drop(kChat)), "READ_ONLY");
}

// Only what a disk without a place for side files says is tried once more.
TEST(KvStore, opened_to_read_a_damaged_file_is_not_tried_twice) {
  const TempFolder folder;
  FailingVfs vfs("counting");
  write_file(folder / "kvcache.db", std::string(5000, 'x'));
  const auto opened = KvStore::open({.path = folder / "kvcache.db",
                                     .mode = OpenMode::read_only,
                                     .library_id = "library",
                                     .vfs = vfs.name()});
  EXPECT_EQ(code_of(opened), "CACHE_DAMAGED");
  EXPECT_EQ(vfs.n_opened(), 1);
}

}  // namespace
}  // namespace satchel::storage
