// Of a text that was cut the snapshot keeps what the cache held: going back reads nothing again.
#include <gtest/gtest.h>

#include <algorithm>

#include "kvcache/snapshot/manifest.h"
#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

using test::MemoryRecordStore;

std::string as_test_name(const testing::TestParamInfo<std::string>& row) {
  std::string name = row.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

// A text that differs from token `from` on.
std::vector<std::int32_t> text(std::size_t n, std::size_t from = 0, std::int32_t version = 0) {
  std::vector<std::int32_t> ids = token_ids(n);
  for (std::size_t i = from; i < n; ++i) ids[i] += 5000 * version;
  return ids;
}

Manifest newest(MemoryRecordStore& store) {
  return decode_manifest(store.caches[kChat].manifest->bytes).value();
}

// Saved with 700 tokens of version 0, then of `version`s 1 … n, each cut at token 500.
struct Cut {
  explicit Cut(const std::string& recipe = "minikv", std::int32_t n = 1)
      : saved(store, small(recipe)) {
    EXPECT_TRUE(saved.driver.read(700).ok());
    EXPECT_TRUE(saved.save().ok());
    bytes.push_back(saved.driver.bytes());
    for (std::int32_t version = 1; version <= n; ++version) go_on(version);
  }
  void go_on(std::int32_t version) {
    ASSERT_TRUE(saved.driver.truncate(500).ok());
    ASSERT_TRUE(saved.driver.read(150).ok());
    const Result<SaveReport> report = saved.save(text(650, 500, version));
    ASSERT_TRUE(report.ok()) << report.error().message;
    bytes.push_back(saved.driver.bytes());
  }
  MemoryRecordStore store;
  Saved saved;
  std::vector<std::vector<std::byte>> bytes = {};  // of each version's cache
};

class OfAnyRecipe : public testing::TestWithParam<std::string> {};

TEST_P(OfAnyRecipe, comes_back_byte_for_byte_and_so_does_the_one_it_was_left_for) {
  Cut cut(GetParam(), 2);
  const std::vector<std::int32_t> texts[] = {text(700), text(650, 500, 1), text(650, 500, 2)};
  for (const std::size_t version : {0u, 2u, 1u, 0u, 0u, 1u}) {
    Saved back(cut.store, small(GetParam()));
    const auto report = back.restore(texts[version]);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->reason, RereadReason::none) << reread_text(report->reason, report->detail);
    ASSERT_EQ(back.driver.bytes(), cut.bytes[version]) << version;
    ASSERT_TRUE(back.save(texts[version]).ok());  // it is the newest now
    EXPECT_EQ(newest(cut.store).tokens, texts[version]);
    EXPECT_EQ(newest(cut.store).earlier.size(), 2u);
  }
}

TEST_P(OfAnyRecipe, can_be_gone_on_with) {
  Cut cut(GetParam());
  Saved back(cut.store, small(GetParam()));
  ASSERT_EQ(back.restore(text(700))->reason, RereadReason::none);
  ASSERT_TRUE(back.driver.read(200).ok());
  ASSERT_TRUE(back.save(text(900)).ok());
  ASSERT_EQ(newest(cut.store).earlier.size(), 1u);  // 700 went with what goes on from it
  Saved again(cut.store, small(GetParam()));
  ASSERT_EQ(again.restore(text(900))->reason, RereadReason::none);
  EXPECT_EQ(again.driver.bytes(), back.driver.bytes());
  Saved other(cut.store, small(GetParam()));
  ASSERT_EQ(other.restore(text(650, 500, 1))->reason, RereadReason::none);
  EXPECT_EQ(other.driver.bytes(), cut.bytes[1]);
}
INSTANTIATE_TEST_SUITE_P(Builtin, OfAnyRecipe, testing::ValuesIn(recipes_of_every_stage()),
                         as_test_name);

TEST(EarlierTexts, a_text_that_goes_on_leaves_none_and_the_format_is_as_before) {
  MemoryRecordStore store;
  Saved saved(store);
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(saved.driver.read(200).ok());
    ASSERT_TRUE(saved.save().ok());
  }
  EXPECT_TRUE(newest(store).earlier.empty());
  EXPECT_EQ(std::to_integer<int>(store.caches[kChat].manifest->bytes[8]),
            kSnapshotVersionNoEpisodes);
}

TEST(EarlierTexts, cost_no_second_copy_of_what_both_hold) {
  Cut cut("full", 0);
  const auto n_bytes = [&] {
    std::size_t n = 0;
    for (const auto& [id, bytes] : cut.store.caches[kChat].records) n += bytes.size();
    return n;
  };
  const std::size_t before = n_bytes();
  cut.go_on(1);
  EXPECT_LT(n_bytes(), 2 * before - before / 3);
  EXPECT_EQ(newest(cut.store).earlier.front().tokens, text(700));
}

TEST(EarlierTexts, the_oldest_go_and_their_records_too) {
  Cut cut("full", kEarlierTextsMax + 3);
  const Manifest last = newest(cut.store);
  ASSERT_EQ(last.earlier.size(), kEarlierTextsMax);
  EXPECT_EQ(last.earlier.back().tokens, text(650, 500, kEarlierTextsMax + 2));
  std::set<RecordId> named;
  for (const RecordEntry& record : last.records) named.insert(record.id);
  for (const EarlierText& earlier : last.earlier) {
    for (const auto* records : {&earlier.manifest, &earlier.records})
      for (const EarlierText::Record& record : *records) named.insert(record.id);
  }
  EXPECT_EQ(cut.store.caches[kChat].records.size(), named.size());
  Saved gone(cut.store, small("full"));
  EXPECT_EQ(gone.restore(text(700))->n_tokens, 500u);
}

TEST(EarlierTexts, of_another_recipe_or_model_go) {
  Cut cut("full");
  cut.saved.model = "model-b";
  ASSERT_TRUE(cut.saved.driver.truncate(600).ok());
  ASSERT_TRUE(cut.saved.save(text(600, 500, 1)).ok());
  EXPECT_TRUE(newest(cut.store).earlier.empty());
}

TEST(EarlierTexts, whatever_of_them_is_lost_costs_no_more_than_what_was_cut) {
  const Cut whole("full");
  const std::map<RecordId, std::vector<std::byte>> records = whole.store.caches.at(kChat).records;
  for (const auto& [lost, bytes] : records) {
    for (const bool is_gone : {true, false}) {
      MemoryRecordStore store;
      store.caches = whole.store.caches;
      if (is_gone)
        store.caches[kChat].records.erase(lost);
      else
        store.caches[kChat].records[lost].back() ^= std::byte{1};
      const bool is_shared = std::ranges::any_of(
          newest(store).records, [&](const RecordEntry& record) { return record.id == lost; });
      Saved back(store, small("full"));
      const auto report = back.restore(text(700));
      ASSERT_TRUE(report.ok()) << report.error().message;
      if (!is_shared) {
        EXPECT_GE(report->n_tokens, 500u) << "record " << lost;
      }
      if (report->n_tokens == 0) continue;
      if (report->n_tokens < 700) {
        ASSERT_TRUE(back.driver.read(700 - report->n_tokens).ok());
      }
      const auto saved = back.save(text(700));
      ASSERT_TRUE(saved.ok()) << saved.error().message;
      Saved again(store, small("full"));
      EXPECT_EQ(again.restore(text(700))->reason, RereadReason::none);
      EXPECT_EQ(again.driver.bytes(), back.driver.bytes());
    }
  }
}

// As storage does where the quota does not hold all.
class SmallStore final : public RecordStore {
 public:
  explicit SmallStore(MemoryRecordStore& inner) : inner_(inner) {}
  Result<std::optional<SavedManifest>> newest_manifest(const CacheKey& key) override {
    return inner_.newest_manifest(key);
  }
  Result<std::vector<std::byte>> record(const CacheKey& key, RecordId id) override {
    return inner_.record(key, id);
  }
  Result<void> put_record(const CacheKey& key, RecordId id,
                          std::span<const std::byte> bytes) override {
    return inner_.put_record(key, id, bytes);
  }
  Result<void> commit(const CacheKey& key, const SavedCommit& saved) override {
    std::size_t n = 0;
    for (const RecordId id : saved.live) n += inner_.caches[key].records.at(id).size();
    if (n > quota) return Error{ErrorKind::storage, "CACHE_QUOTA", "Too much."};
    return inner_.commit(key, saved);
  }
  Result<void> drop(const CacheKey& key) override { return inner_.drop(key); }
  std::size_t quota = SIZE_MAX;

 private:
  MemoryRecordStore& inner_;
};

TEST(EarlierTexts, give_way_to_the_quota) {
  MemoryRecordStore store;
  SmallStore small_store(store);
  Saved saved(small_store, small("full"));
  ASSERT_TRUE(saved.driver.read(700).ok());
  const auto first = saved.save();
  ASSERT_TRUE(first.ok());
  small_store.quota = first->bytes_total;
  ASSERT_TRUE(saved.driver.truncate(500).ok());
  ASSERT_TRUE(saved.driver.read(150).ok());
  ASSERT_TRUE(saved.save(text(650, 500, 1)).ok());
  EXPECT_TRUE(newest(store).earlier.empty());
  Saved again(store, small("full"));
  EXPECT_EQ(again.restore(text(650, 500, 1))->reason, RereadReason::none);
}

TEST(EarlierTexts, a_copy_elsewhere_has_none) {
  Cut cut("full");
  const CacheKey key = CacheKey::named("copy");
  ASSERT_TRUE(copy_saved({cut.store, kChat}, {cut.store, key}).value());
  Saved copy(cut.store, small("full"), key);
  ASSERT_EQ(copy.restore(text(650, 500, 1))->reason, RereadReason::none);
  ASSERT_TRUE(copy.driver.read(50).ok());
  EXPECT_TRUE(copy.save(text(700, 500, 1)).ok());
}

}  // namespace
}  // namespace satchel::kvcache
