// Records read ahead: each comes once, in order, as its own, however many there are.
#include "kvcache/snapshot/fetched_records.h"

#include <gtest/gtest.h>

#include <new>
#include <optional>

#include "kernels/base/rng.h"
#include "support/count_allocations.h"
#include "support/record_stores.h"
#include "support/toy_coder.h"

namespace satchel::kvcache {
namespace {

using test::FailingRecordStore;
using test::MemoryRecordStore;
using Bytes = std::vector<std::byte>;

const test::ToyCoder kToy;
const CacheKey kKey = CacheKey::named("a");
constexpr std::size_t kMany = 200;  // slots are used again and again

Bytes values_of(RecordId id) {
  Rng rng(id);
  Bytes values(200 + rng.next() % 5000);
  for (std::byte& value : values) value = static_cast<std::byte>(rng.next() % 3);
  return values;
}

// Every third is tight.
std::vector<RecordEntry> put_many(MemoryRecordStore& store) {
  store.stream_coder = &kToy;
  std::vector<RecordEntry> entries;
  for (RecordId id = 0; id < kMany; ++id) {
    const Bytes values = values_of(id);
    const RecordItem item{.number = id, .n_bytes = static_cast<std::uint32_t>(values.size())};
    Bytes record = encode_record(RecordKind::pages, id, {&item, 1}, values);
    const Cut cut = {{.n_bytes = item.n_bytes}};
    if (id % 3 == 0) record = tighten_record(record, {&cut, 1}, kToy);
    EXPECT_EQ(is_tight(record), id % 3 == 0);
    entries.push_back({.id = id,
                       .kind = RecordKind::pages,
                       .n_bytes = static_cast<std::uint32_t>(record.size()),
                       .checksum = record_checksum(record)});
    store.caches[kKey].records[id] = std::move(record);
  }
  return entries;
}

TEST(FetchedRecords, come_in_order_each_with_its_own_bytes) {
  MemoryRecordStore store;
  const auto entries = put_many(store);
  FetchedRecords records(store, kKey, entries);
  for (const RecordEntry& entry : entries) {
    const auto next = records.next();
    ASSERT_TRUE(next.ok());
    const Result<Record>& record = **next;
    ASSERT_TRUE(record.ok()) << record.error().message;
    EXPECT_EQ(record->id, entry.id);
    EXPECT_EQ(records.n_bytes(), entry.n_bytes);
    Scratch scratch;
    ItemValues values(*record, scratch);
    Bytes all;
    for (std::size_t i = 0; i < record->items.size(); ++i) {
      const std::span<const std::byte> item = values.next();
      all.insert(all.end(), item.begin(), item.end());
    }
    EXPECT_TRUE(values.check().ok());
    EXPECT_EQ(all, values_of(entry.id));
  }
  EXPECT_EQ(*records.next(), nullptr);
}

TEST(FetchedRecords, that_are_missing_or_damaged_say_so_and_the_rest_comes) {
  MemoryRecordStore store;
  const auto entries = put_many(store);
  for (RecordId id = 0; id < kMany; id += 5) store.caches[kKey].records.erase(id);
  for (RecordId id = 1; id < kMany; id += 5) store.caches[kKey].records[id].back() ^= std::byte{1};
  FetchedRecords records(store, kKey, entries);
  for (const RecordEntry& entry : entries) {
    const auto next = records.next();
    ASSERT_TRUE(next.ok());
    const bool is_sound = entry.id % 5 > 1;
    ASSERT_EQ((*next)->ok(), is_sound) << entry.id;
    if (is_sound) {
      EXPECT_EQ((**next)->id, entry.id);
    } else {
      EXPECT_EQ((*next)->error().kind, ErrorKind::corrupt);
    }
  }
}

TEST(FetchedRecords, tell_what_the_store_says_and_end_early) {
  MemoryRecordStore store;
  const auto entries = put_many(store);
  for (const std::size_t fail_at : {0u, 1u, 7u, 100u}) {
    FailingRecordStore failing(store, fail_at, FailingRecordStore::Then::once);
    FetchedRecords records(failing, kKey, entries);
    for (std::size_t i = 0; i < fail_at; ++i) ASSERT_TRUE(records.next().ok());
    EXPECT_FALSE(records.next().ok());
  }
  std::size_t n_failed = 0;  // what comes into the slot of one that failed does not fail again
  FailingRecordStore once(store, 1, FailingRecordStore::Then::once);
  FetchedRecords all(once, kKey, entries);
  for (std::size_t i = 0; i < kMany; ++i) n_failed += static_cast<std::size_t>(!all.next().ok());
  EXPECT_EQ(n_failed, 1u);
  FetchedRecords unused(store, kKey, entries);  // nobody asks for more: it ends all the same
}

TEST(FetchedRecords, come_where_memory_for_a_thread_is_lacking) {
  MemoryRecordStore store;
  const auto entries = put_many(store);
  for (std::size_t n = 0; n < 12; ++n) {
    std::optional<FetchedRecords> records;
    try {
      const test::FailingAllocation failing(n);
      records.emplace(store, kKey, entries);
    } catch (const std::bad_alloc&) {
      continue;  // before any thread was there
    }
    for (const RecordEntry& entry : entries) {
      const auto next = records->next();
      ASSERT_TRUE(next.ok());
      ASSERT_TRUE((*next)->ok());
      EXPECT_EQ((**next)->id, entry.id);
    }
  }
}

}  // namespace
}  // namespace satchel::kvcache
