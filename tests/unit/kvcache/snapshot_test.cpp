// A cache to a store and back.
#include "kvcache/snapshot/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

using test::FailingRecordStore;
using test::MemoryRecordStore;
using testing::HasSubstr;

std::string as_test_name(const testing::TestParamInfo<std::string>& row) {
  std::string name = row.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

class EveryRecipe : public testing::TestWithParam<std::string> {};

TEST_P(EveryRecipe, restores_a_document_of_any_length_byte_for_byte) {
  for (const std::size_t n : {1u, 3u, 4u, 5u, 127u, 128u, 132u, 259u, 260u, 700u}) {
    MemoryRecordStore store;
    Saved first(store, small(GetParam()));
    ASSERT_TRUE(first.driver.read(n).ok());
    const auto saved = first.save();
    ASSERT_TRUE(saved.ok()) << saved.error().message;
    EXPECT_EQ(saved->n_tokens, n);

    Saved second(store, small(GetParam()));
    const auto report = second.restore(n);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->reason, RereadReason::none) << report->detail;
    EXPECT_EQ(report->n_tokens, n);
    EXPECT_EQ(report->bytes_read, saved->bytes_total);
    EXPECT_TRUE(report->detail.empty());
    ASSERT_EQ(second.driver.bytes(), first.driver.bytes());
  }
}

TEST_P(EveryRecipe, a_chat_goes_on_with_the_same_bytes_after_a_restart) {
  MemoryRecordStore store;
  Saved first(store, small(GetParam()));
  read_chat(first.driver);
  ASSERT_TRUE(first.save().ok());
  const std::size_t n = first.driver.cache().n_tokens();

  Saved fresh(store, small(GetParam()));
  const auto report = fresh.restore(n);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->reason, RereadReason::none) << report->detail;
  ASSERT_EQ(fresh.driver.bytes(), first.driver.bytes());
  EXPECT_TRUE(std::ranges::equal(fresh.driver.cache().segments(), first.driver.cache().segments()));
  EXPECT_EQ(fresh.driver.arena().used_bytes(), first.driver.arena().used_bytes());

  const std::unique_ptr<Saved> twin = restored_twin(store, first);
  Saved& second = *twin;
  ASSERT_EQ(second.driver.bytes(), first.driver.bytes());
  for (Saved* cache : {&first, &second}) go_on(cache->driver);
  EXPECT_EQ(second.driver.bytes(), first.driver.bytes());
  EXPECT_TRUE(
      std::ranges::equal(second.driver.cache().segments(), first.driver.cache().segments()));

  ASSERT_TRUE(second.save().ok());
  Saved third(store, small(GetParam()));
  ASSERT_EQ(third.restore(second.driver.cache().n_tokens())->reason, RereadReason::none);
  EXPECT_EQ(third.driver.bytes(), second.driver.bytes());
}
INSTANTIATE_TEST_SUITE_P(Builtin, EveryRecipe, testing::ValuesIn(recipe_names()), as_test_name);

TEST(Snapshot, an_empty_store_has_nothing_saved) {
  MemoryRecordStore store;
  Saved cache(store);
  const auto report = cache.restore(5);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->reason, RereadReason::nothing_saved);
}

TEST(Snapshot, a_second_save_writes_only_what_is_new) {
  MemoryRecordStore store;
  Saved cache(store, small("full"));  // a page of `full` has 33 KB
  ASSERT_TRUE(cache.driver.read(600).ok());
  ASSERT_TRUE(cache.save().ok());
  const auto old = store.caches[kChat].records;

  const auto again = cache.save();  // nothing new: the table alone
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->n_records_written, 0u);
  EXPECT_EQ(store.caches[kChat].records, old);

  for (int i = 0; i < 128; ++i) ASSERT_TRUE(cache.driver.step().ok());
  const auto more = cache.save();
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->n_records_written, 2u);  // pages and tails
  std::size_t n_kept = 0;
  for (const auto& [id, bytes] : old)
    if (store.caches[kChat].records.contains(id)) {
      ++n_kept;
      EXPECT_EQ(store.caches[kChat].records[id], bytes);
    }
  EXPECT_EQ(n_kept, old.size() - 1);  // all but the tails

  Saved second(store, small("full"));
  ASSERT_EQ(second.restore(728)->reason, RereadReason::none);
  EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
}

TEST(Snapshot, short_turns_do_not_leave_many_small_records) {
  MemoryRecordStore store;
  Saved cache(store);
  std::size_t page_bytes = 0;
  for (int turn = 0; turn < 30; ++turn) {
    ASSERT_TRUE(cache.driver.read(130).ok());
    ASSERT_TRUE(cache.save().ok());
    page_bytes = cache.driver.cache().stats().body_bytes;
  }
  EXPECT_LE(store.caches[kChat].records.size(), 2 + page_bytes / kRecordBytesMin + 1);
  Saved second(store);
  ASSERT_EQ(second.restore(30 * 130)->reason, RereadReason::none);
  EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
}

TEST(Snapshot, goes_on_appending_after_a_restore) {
  MemoryRecordStore store;
  Saved first(store, small("full"));
  ASSERT_TRUE(first.driver.read(900).ok());
  ASSERT_TRUE(first.save().ok());
  Saved second(store, small("full"));
  ASSERT_EQ(second.restore(900)->reason, RereadReason::none);
  ASSERT_TRUE(second.driver.read(128).ok());
  const auto report = second.save();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->n_records_written, 2u);
  Saved third(store, small("full"));
  ASSERT_EQ(third.restore(1028)->reason, RereadReason::none);
  EXPECT_EQ(third.driver.bytes(), second.driver.bytes());
}

TEST(Snapshot, records_that_no_lane_sees_any_more_go) {
  MemoryRecordStore store;
  Saved cache(store, small("full"));
  ASSERT_TRUE(cache.driver.read(300).ok());
  ASSERT_TRUE(cache.save().ok());
  ASSERT_TRUE(cache.driver.read(600).ok());
  ASSERT_TRUE(cache.save().ok());
  const auto before = store.caches[kChat].records;
  ASSERT_TRUE(cache.driver.truncate(300).ok());
  const auto saved = cache.save();
  ASSERT_TRUE(saved.ok());
  EXPECT_EQ(saved->n_records_written, 1u);  // what is left lies there already: the earlier text's
  // What goes on from the earlier text is taken for it, whatever its records are.
  ASSERT_TRUE(cache.driver.read(650).ok());
  ASSERT_TRUE(cache.save().ok());
  const Manifest manifest = decode_manifest(store.caches[kChat].manifest->bytes).value();
  EXPECT_EQ(store.caches[kChat].records.size(), manifest.records.size());
  const auto is_old = [&](const RecordEntry& record) { return before.contains(record.id); };
  EXPECT_LT(static_cast<std::size_t>(std::ranges::count_if(manifest.records, is_old)),
            before.size());
  Saved second(store, small("full"));
  ASSERT_EQ(second.restore(950)->reason, RereadReason::none);
  EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
}

TEST(Snapshot, a_cleared_cache_is_written_anew) {
  MemoryRecordStore store;
  Saved cache(store);
  ASSERT_TRUE(cache.driver.read(700).ok());
  ASSERT_TRUE(cache.save().ok());
  cache.driver.clear();
  ASSERT_TRUE(cache.driver.read(500).ok());
  ASSERT_TRUE(cache.save().ok());
  Saved second(store);
  ASSERT_EQ(second.restore(500)->reason, RereadReason::none);
  EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
}

TEST(Snapshot, what_the_store_lost_is_written_anew) {
  MemoryRecordStore store;
  Saved cache(store);
  ASSERT_TRUE(cache.driver.read(700).ok());
  ASSERT_TRUE(cache.save().ok());
  ASSERT_TRUE(store.drop(kChat).ok());
  ASSERT_TRUE(cache.save().ok());
  Saved second(store);
  ASSERT_EQ(second.restore(700)->reason, RereadReason::none);
  EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
}

TEST(Snapshot, text_that_was_moved_comes_back_where_it_stands_and_takes_no_more_memory) {
  MemoryRecordStore store;
  Saved cache(store, small("full"));
  ASSERT_TRUE(cache.driver.read(700).ok());
  ASSERT_TRUE(cache.driver.move_text(300, 50).ok());  // cuts a page in two
  ASSERT_TRUE(cache.save().ok());
  for (int again = 0; again < 2; ++again) {
    Saved second(store, small("full"));
    ASSERT_EQ(second.restore(750)->reason, RereadReason::none);
    EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
    EXPECT_EQ(second.driver.arena().used_bytes(), cache.driver.arena().used_bytes());
    ASSERT_TRUE(second.save().ok());
  }
  // The first part goes, the bytes stay for the second.
  ASSERT_TRUE(cache.driver.cache().edit().forget(4, 296).ok());
  ASSERT_TRUE(cache.save(token_ids(750)).ok());
  Saved third(store, small("full"));
  ASSERT_EQ(third.restore(750)->reason, RereadReason::none);
  EXPECT_EQ(third.driver.bytes(), cache.driver.bytes());
}

TEST(Snapshot, caches_that_share_pages_are_saved_each_under_its_own_key) {
  const CacheKey key = CacheKey::named("branch");
  MemoryRecordStore store;
  Saved first(store);
  ASSERT_TRUE(first.driver.read(700).ok());
  ASSERT_TRUE(first.save().ok());
  auto twin = first.driver.fork();
  ASSERT_TRUE(twin.ok()) << twin.error().message;
  Saved branch(store, std::move(twin).value(), key);
  ASSERT_TRUE(first.driver.read(300).ok());  // makes pages of the same serials …
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(branch.driver.step().ok());  // … as these
  for (Saved* cache : {&first, &branch, &first}) ASSERT_TRUE(cache->save().ok());

  Saved a(store);
  ASSERT_EQ(a.restore(1000)->reason, RereadReason::none);
  EXPECT_EQ(a.driver.bytes(), first.driver.bytes());
  Saved b(store, small(), key);
  ASSERT_EQ(b.restore(900)->reason, RereadReason::none);
  EXPECT_EQ(b.driver.bytes(), branch.driver.bytes());
}

TEST(Snapshot, a_second_pass_that_was_interrupted_goes_on_after_a_restart) {
  MemoryRecordStore store;
  Saved first(store, small("kvzip"));
  ASSERT_TRUE(first.driver.read(900).ok());
  ASSERT_TRUE(first.driver.probe(*first.driver.cache().next_probe(400)).ok());
  ASSERT_TRUE(first.save().ok());
  const std::unique_ptr<Saved> twin = restored_twin(store, first);
  Saved& second = *twin;
  ASSERT_EQ(second.driver.cache().next_probe(400)->first, 400u);
  for (Saved* cache : {&first, &second}) {
    ASSERT_EQ(cache->driver.probe_all(400).value(), 2u);
    const auto report = cache->driver.cache().compactor().compact(TriggerEvent::idle);
    ASSERT_TRUE(report.ok());
    EXPECT_GT(report->n_evicted, 0u);
  }
  EXPECT_EQ(second.driver.bytes(), first.driver.bytes());
}

const Reach kReach = {.parts = {{0, 40, 500}, {100, 90, 0}, {300, 100, -200}}, .near_first = 560};

TEST(Snapshot, only_with_a_reach_an_episode_or_an_earlier_text_it_has_another_version) {
  MemoryRecordStore store;
  Saved cache(store, small("full"));
  ASSERT_TRUE(cache.driver.read(700).ok());
  const auto version = [&] {
    EXPECT_TRUE(cache.save().ok());
    const std::vector<std::byte>& bytes = store.caches[kChat].manifest->bytes;
    EXPECT_EQ(encode_manifest(decode_manifest(bytes).value()), bytes);
    return std::to_integer<int>(bytes[8]);
  };
  EXPECT_EQ(version(), 3);
  const std::size_t n_bytes = store.caches[kChat].manifest->bytes.size();
  ASSERT_TRUE(cache.driver.cache().edit().gather(4, 696).ok());
  EXPECT_EQ(version(), 4);
  // Segments 0-4 and 4-700, and an empty reach.
  EXPECT_EQ(store.caches[kChat].manifest->bytes.size(), n_bytes + 28 + 12);
  ASSERT_TRUE(cache.driver.truncate(4).ok());
  EXPECT_EQ(version(), 7);  // with the text that was cut
  ASSERT_TRUE(cache.driver.read(700).ok());
  EXPECT_EQ(version(), 3);
  ASSERT_TRUE(cache.driver.cache().edit().set_reach(kReach).ok());
  EXPECT_EQ(version(), 4);
  ASSERT_TRUE(cache.driver.cache().edit().set_reach({}).ok());
  EXPECT_EQ(version(), 3);
}

TEST(Snapshot, what_goes_out_of_reach_is_not_written_again) {
  MemoryRecordStore store;
  Saved cache(store, small("full"));
  ASSERT_TRUE(cache.driver.read(700).ok());
  ASSERT_TRUE(cache.save().ok());
  Reach reach = kReach;
  reach.near_first = 510;  // before the tail
  reach.parts[0].moved = 470;
  ASSERT_TRUE(cache.driver.cache().edit().set_reach(reach).ok());
  const auto saved = cache.save();
  ASSERT_TRUE(saved.ok());
  EXPECT_EQ(saved->n_records_written, 0u);
  Saved second(store, small("full"));
  ASSERT_EQ(second.restore(700)->reason, RereadReason::none);
  EXPECT_EQ(second.driver.cache().reach(), reach);
  EXPECT_EQ(second.driver.bytes(), cache.driver.bytes());
  EXPECT_EQ(second.driver.arena().used_bytes(), cache.driver.arena().used_bytes());
  EXPECT_LE(second.driver.attention_error(), 1e-4);
}

TEST(Snapshot, of_an_edited_chat_what_comes_before_the_edit_is_kept) {
  MemoryRecordStore store;
  Saved first(store, small("full"));
  ASSERT_TRUE(first.driver.read(700).ok());
  ASSERT_TRUE(first.save().ok());
  for (const std::size_t n : {1u, 4u, 100u, 300u, 650u, 699u}) {
    std::vector<std::int32_t> ids = token_ids(800);
    ids[n] += 1;
    Saved cache(store, small("full"));
    const auto report = cache.restore(ids);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->reason, RereadReason::other_tokens);
    EXPECT_EQ(report->n_tokens, n);
    Saved cut(store, small("full"));
    ASSERT_TRUE(cut.driver.read(700).ok());
    ASSERT_TRUE(cut.driver.truncate(n).ok());
    ASSERT_EQ(cache.driver.bytes(), cut.driver.bytes());
  }
}

TEST(Snapshot, of_a_shorter_chat_all_is_kept) {
  MemoryRecordStore store;
  Saved first(store);
  ASSERT_TRUE(first.driver.read(700).ok());
  ASSERT_TRUE(first.save().ok());
  Saved cache(store);
  const auto report = cache.restore(600);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->reason, RereadReason::other_tokens);
  EXPECT_EQ(report->n_tokens, 600u);
  ASSERT_TRUE(cache.driver.read(100).ok());
  ASSERT_TRUE(cache.save().ok());
  Saved again(store);
  ASSERT_EQ(again.restore(700)->reason, RereadReason::none);
  EXPECT_EQ(again.driver.bytes(), cache.driver.bytes());
}

TEST(Snapshot, where_a_window_has_passed_over_the_edit_the_chat_is_read_again) {
  CacheDriver::Setup setup = small("full");
  setup.windows = {0, 64};
  MemoryRecordStore store;
  Saved first(store, setup);
  ASSERT_TRUE(first.driver.read(700).ok());
  ASSERT_TRUE(first.save().ok());
  std::vector<std::int32_t> ids = token_ids(700);
  ids[300] += 1;  // the layer with a window holds nothing of what stood before it
  Saved cache(store, setup);
  const std::size_t used = cache.driver.arena().used_bytes();
  auto report = cache.restore(ids);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->reason, RereadReason::other_tokens);
  EXPECT_EQ(cache.driver.cache().n_tokens(), 0u);
  EXPECT_EQ(cache.driver.arena().used_bytes(), used);
  ids = token_ids(700);
  ids[695] += 1;
  report = cache.restore(ids);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->reason, RereadReason::other_tokens) << report->detail;
  EXPECT_EQ(report->n_tokens, 695u);
}

// One record of a chat of several is missing.
class Loss : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    first_ = std::make_unique<Saved>(store_, small(GetParam()));
    ASSERT_TRUE(first_->driver.read(40, {.kind = SegmentKind::pinned}).ok());
    ASSERT_TRUE(first_->save().ok());
    for (int turn = 0; turn < 3; ++turn) {
      ASSERT_TRUE(first_->driver.read(400).ok());
      ASSERT_TRUE(first_->save().ok());
    }
    read_more_until_it_waits();
    n_tokens_ = first_->driver.cache().n_tokens();
  }
  void read_more_until_it_waits() {
    ASSERT_TRUE(first_->driver.read(200, {.kind = SegmentKind::message}).ok());
    ASSERT_TRUE(first_->save().ok());
  }
  Manifest manifest() { return decode_manifest(store_.caches[kChat].manifest->bytes).value(); }
  void expect_that_any_record_costs_what_follows_it();
  MemoryRecordStore store_;
  std::unique_ptr<Saved> first_;
  std::size_t n_tokens_ = 0;
};

void Loss::expect_that_any_record_costs_what_follows_it() {
  const auto records = store_.caches[kChat].records;
  const std::optional<SavedManifest> table = store_.caches[kChat].manifest;
  std::size_t n_partly = 0;
  const Manifest saved = manifest();
  for (const RecordEntry& entry : saved.records) {
    SCOPED_TRACE("record " + std::to_string(entry.id) + " of kind " +
                 std::to_string(static_cast<int>(entry.kind)));
    store_.caches[kChat].records = records;
    store_.caches[kChat].manifest = table;
    store_.caches[kChat].records.erase(entry.id);
    Saved cache(store_, small(GetParam()));
    const std::size_t used = cache.driver.arena().used_bytes();
    const auto report = cache.restore(n_tokens_);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_THAT(report->detail, HasSubstr("missing"));
    ASSERT_EQ(report->reason, RereadReason::damaged) << report->detail;
    if (entry.kind == RecordKind::sinks) {
      EXPECT_EQ(cache.driver.cache().n_tokens(), 0u);
      EXPECT_EQ(cache.driver.arena().used_bytes(), used);
      continue;
    }
    if (report->n_tokens == 0) continue;  // scores of the first tokens
    ++n_partly;
    ASSERT_EQ(cache.driver.cache().n_tokens(), report->n_tokens);
    auto twin = first_->driver.fork();
    ASSERT_TRUE(twin.ok()) << twin.error().message;
    ASSERT_TRUE(twin->truncate(report->n_tokens).ok());
    ASSERT_EQ(cache.driver.bytes(), twin->bytes());
    // The next save makes it whole again, with what had not been lost.
    ASSERT_TRUE(cache.driver.read(50).ok());
    ASSERT_TRUE(cache.save().ok());
    Saved again(store_, small(GetParam()));
    ASSERT_EQ(again.restore(report->n_tokens + 50)->reason, RereadReason::none);
    EXPECT_EQ(again.driver.bytes(), cache.driver.bytes());
  }
  EXPECT_GT(n_partly, 0u);
}
TEST_P(Loss, of_any_record_costs_what_follows_what_was_in_it) {
  expect_that_any_record_costs_what_follows_it();
}
INSTANTIATE_TEST_SUITE_P(Builtin, Loss, testing::ValuesIn(recipe_names()), as_test_name);

// The same where most text is out of reach, sinks are moved, and tails have been cut.
class LossOutOfReach : public Loss {};

TEST_P(LossOutOfReach, of_any_record_costs_what_follows_what_was_in_it) {
  const Reach reach{.parts = {{0, 40, 1000}, {500, 200, 40}, {1100, 100, -1000}},
                    .near_first = 1400};
  ASSERT_TRUE(first_->driver.cache().edit().set_reach(reach).ok());
  ASSERT_TRUE(first_->save().ok());
  expect_that_any_record_costs_what_follows_it();
}
INSTANTIATE_TEST_SUITE_P(Builtin, LossOutOfReach,
                         testing::Values("full", "minikv", "ladder-3", "h2o"), as_test_name);

TEST(Snapshot, lost_scores_of_a_second_pass_are_gathered_again) {
  MemoryRecordStore store;
  Saved first(store, small("kvzip"));
  ASSERT_TRUE(first.driver.read(900).ok());
  ASSERT_TRUE(first.driver.probe_all(400).ok());
  ASSERT_TRUE(first.save().ok());
  const Manifest table = decode_manifest(store.caches[kChat].manifest->bytes).value();
  for (const RecordEntry& entry : table.records)
    if (entry.kind == RecordKind::scores) store.caches[kChat].records.erase(entry.id);
  Saved second(store, first.driver.fork().value());
  second.driver.cache().clear();
  const auto report = second.restore(900);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->reason, RereadReason::damaged);
  EXPECT_EQ(report->n_tokens, 900u);
  EXPECT_EQ(second.driver.probe_all(400).value(), 3u);
  const auto decided = second.driver.cache().compactor().compact(TriggerEvent::idle);
  ASSERT_TRUE(decided.ok());
  EXPECT_GT(decided->n_evicted, 0u);
}

TEST(Snapshot, any_failed_call_leaves_the_old_or_the_new_one_whole) {
  for (const auto then : {FailingRecordStore::Then::once, FailingRecordStore::Then::always}) {
    bool walked = false;
    std::size_t n_calls = 0;  // of the first save
    {
      MemoryRecordStore inner;
      FailingRecordStore store(inner, 1000, then);
      Saved cache(store);
      ASSERT_TRUE(cache.driver.read(700).ok());
      ASSERT_TRUE(cache.save().ok());
      n_calls = store.n_calls();
    }
    for (std::size_t n = n_calls; n < 40 && !walked; ++n) {
      MemoryRecordStore inner;
      FailingRecordStore store(inner, n, then);
      Saved cache(store);
      ASSERT_TRUE(cache.driver.read(700).ok());
      ASSERT_TRUE(cache.save().ok());
      ASSERT_TRUE(cache.driver.read(300).ok());
      walked = cache.save().ok();
      Saved reader(inner);
      const auto report = reader.restore(1000);
      ASSERT_TRUE(report.ok());
      ASSERT_EQ(report->reason, RereadReason::none) << report->detail;
      EXPECT_EQ(report->n_tokens, walked ? 1000u : 700u) << "call " << n;
      if (then == FailingRecordStore::Then::once && !walked) {
        EXPECT_TRUE(cache.save().ok());
      }
    }
    EXPECT_TRUE(walked);
  }
}

TEST(Snapshot, any_failed_call_of_a_restore_is_an_error_and_leaves_the_cache_empty) {
  MemoryRecordStore inner;
  Saved old(inner);
  ASSERT_TRUE(old.driver.read(700).ok());
  ASSERT_TRUE(old.save().ok());
  for (std::size_t n = 0;; ++n) {
    ASSERT_LT(n, 40u);
    FailingRecordStore store(inner, n, FailingRecordStore::Then::once);
    Saved cache(store);
    const std::size_t used = cache.driver.arena().used_bytes();
    if (cache.restore(700).ok()) break;
    EXPECT_EQ(cache.driver.cache().n_tokens(), 0u);
    EXPECT_EQ(cache.driver.arena().used_bytes(), used);
    ASSERT_EQ(cache.restore(700)->reason, RereadReason::none);
    EXPECT_EQ(cache.driver.bytes(), old.driver.bytes());
  }
}

}  // namespace
}  // namespace satchel::kvcache
