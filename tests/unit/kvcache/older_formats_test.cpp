// Snapshots of earlier formats (tests/golden/snapshot): they are read, and go on in today's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "kvcache/snapshot/manifest.h"
#include "snapshot_fixture.h"
#include "support/source_dir.h"
#include "support/toy_coder.h"

namespace satchel::kvcache {
namespace {

using Bytes = std::vector<std::byte>;
const test::ToyCoder kToy;

// The rows of a file: a manifest, then its records from 1 on.
std::vector<Bytes> golden_rows(const char* name) {
  std::ifstream file(test::source_dir() + "/tests/golden/snapshot/" + name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ByteReader reader(std::as_bytes(std::span(text)));
  std::vector<Bytes> rows;
  while (reader.left() > 0) {
    const std::span<const std::byte> row = reader.bytes(reader.number<std::uint32_t>());
    rows.emplace_back(row.begin(), row.end());
  }
  EXPECT_TRUE(reader.ok() && !rows.empty()) << name;
  return rows;
}

test::MemoryRecordStore store_of(const std::vector<Bytes>& rows) {
  test::MemoryRecordStore store;
  store.caches[kChat].manifest = SavedManifest{.generation = 1, .bytes = rows[0]};
  for (RecordId id = 1; id < rows.size(); ++id) store.caches[kChat].records[id] = rows[id];
  return store;
}

CacheDriver::Setup golden_setup(std::vector<StateShape> states = {}) {
  return {.recipe = R"({"recipe": 1, "name": "golden", "source": "", "differs": "",
                        "trigger": {"use": "never"}, "codec": {"k": "exact", "v": "exact"},
                        "reader": {"use": "all"}, "keep": 1})",
          .n_layers = 1,
          .n_heads = 1,
          .n_kv_heads = 1,
          .head_dim = 16,
          .states = std::move(states),
          .arena_bytes = 1u << 20};
}

TEST(OlderFormat, of_version_2_is_read_and_made_tight_only_where_it_is_written_anew) {
  const std::vector<Bytes> rows = golden_rows("full_v2.bin");
  ASSERT_EQ(rows.size(), 4u);
  test::MemoryRecordStore store = store_of(rows);
  store.stream_coder = &kToy;
  Saved cache(store, golden_setup());
  const auto report = cache.restore(262);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->reason, RereadReason::none) << report->detail;
  ASSERT_TRUE(cache.save().ok());
  EXPECT_EQ(store.caches[kChat].records.at(1), rows[1]);  // nothing new: they stay as they were
  ASSERT_TRUE(store.drop(kChat).ok());
  ASSERT_TRUE(cache.save().ok());  // everything anew
  EXPECT_TRUE(std::ranges::any_of(store.caches[kChat].records,
                                  [](const auto& row) { return is_tight(row.second); }));
  RecordCapacity capacity, old_capacity;
  for (RecordId id = 1; id <= 3; ++id) {
    const Result<Record> now = decode_record(store.caches[kChat].records.at(id), &kToy, capacity);
    const Result<Record> old = decode_record(rows[id], nullptr, old_capacity);
    ASSERT_TRUE(now.ok() && old.ok());
    EXPECT_TRUE(std::ranges::equal(now->values, old->values));
  }
}

// Its states have no form: all are exact.
TEST(OlderFormat, of_version_5_brings_the_states_of_recurrent_layers_back) {
  const std::vector<Bytes> rows = golden_rows("states_v5.bin");
  ASSERT_EQ(rows.size(), 8u);
  test::MemoryRecordStore store = store_of(rows);
  Saved cache(store, golden_setup({{3, 3}, {20, 4}}));
  const auto report = cache.restore(262);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->reason, RereadReason::none) << report->detail;
  ASSERT_EQ(report->n_tokens, 262u);
  CacheDriver anew(golden_setup({{3, 3}, {20, 4}}));
  anew.check_attention = false;
  ASSERT_TRUE(anew.read(260).ok());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(anew.step().ok());
  EXPECT_EQ(cache.driver.bytes(), anew.bytes());
  for (const std::size_t n : {262u, 260u, 256u, 128u})
    EXPECT_EQ(cache.driver.cache().edit().truncation_point(n), n);
  ASSERT_TRUE(cache.save().ok());
  const Result<Manifest> now = decode_manifest(store.caches[kChat].manifest->bytes);
  ASSERT_TRUE(now.ok());
  ASSERT_GE(now->states.size(), 3u);
  EXPECT_TRUE(std::ranges::none_of(now->states, &SavedState::is_packed));
}

}  // namespace
}  // namespace satchel::kvcache
