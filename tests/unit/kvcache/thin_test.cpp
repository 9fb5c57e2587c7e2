// Saved caches that are thinned: how far the numbers move, what stays, and that what is restored is
// used and saved like any other cache.
#include "kvcache/snapshot/thin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "kernels/base/half.h"
#include "kernels/base/rng.h"
#include "kvcache/snapshot/thin_page.h"
#include "snapshot_fixture.h"
#include "support/toy_coder.h"

namespace satchel::kvcache {
namespace {

using test::MemoryRecordStore;
using Bytes = std::vector<std::byte>;

const test::ToyCoder kToy;

MemoryRecordStore coded_store() {
  MemoryRecordStore store;
  store.stream_coder = &kToy;
  return store;
}
Manifest manifest_of(MemoryRecordStore& store) {
  return decode_manifest(store.caches[kChat].manifest->bytes).value();
}
std::size_t n_thin(MemoryRecordStore& store) {
  const Manifest manifest = manifest_of(store);
  return static_cast<std::size_t>(std::ranges::count_if(manifest.records, &RecordEntry::is_thin));
}

// Saves a chat that has pages at 4 bits, and thins it.
struct Thinned {
  MemoryRecordStore store = coded_store();
  Saved chat;
  ThinReport report;

  explicit Thinned(const std::string& recipe = "ladder-4") : chat(store, small(recipe)) {
    read_chat(chat.driver);
    EXPECT_TRUE(chat.save().ok());
    report = thin_saved(store, kChat).value();
  }
  std::size_t n_tokens() { return chat.driver.cache().n_tokens(); }
};

TEST(Thin, a_chat_of_the_ladder_takes_little_more_than_half_and_says_so_when_it_is_restored) {
  Thinned thinned;
  EXPECT_GT(thinned.report.n_records, 0u);
  EXPECT_LT(thinned.report.bytes_after, thinned.report.bytes_before * 3 / 4);
  EXPECT_EQ(n_thin(thinned.store), thinned.report.n_records);
  Saved twin(thinned.store, small("ladder-4"));
  const auto restored = twin.restore(thinned.n_tokens());
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(restored->reason, RereadReason::none);
  EXPECT_GT(restored->n_thinned, 0u);
  EXPECT_EQ(twin.driver.cache().n_tokens(), thinned.n_tokens());
  const CacheStats stats = twin.driver.cache().stats(),
                   before = thinned.chat.driver.cache().stats();
  EXPECT_EQ(stats.body_bytes, before.body_bytes);
}

// The mean of squares of what moved, as a share of the numbers' own.
TEST(Thin, what_comes_back_is_near_what_was_saved) {
  Thinned thinned;
  Saved twin(thinned.store, small("ladder-4"));
  ASSERT_EQ(twin.restore(thinned.n_tokens())->n_tokens, thinned.n_tokens());
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const auto before = thinned.chat.driver.held(layer, 0), after = twin.driver.held(layer, 0);
    ASSERT_EQ(before.size(), after.size());
    double moved = 0, all = 0;
    for (const auto& [position, token] : before) {
      const auto& other = after.at(position);
      for (std::size_t c = 0; c < token.v.size(); ++c) {
        moved += std::pow(token.v[c] - other.v[c], 2);
        all += std::pow(token.v[c], 2);
      }
    }
    EXPECT_GT(moved, 0);
    EXPECT_LT(moved, 0.12 * all) << "layer " << layer;
  }
}

TEST(Thin, what_was_thinned_is_never_thinned_again) {
  Thinned thinned;
  const auto rows = thinned.store.caches[kChat].records;
  const ThinReport again = thin_saved(thinned.store, kChat).value();
  EXPECT_EQ(again.n_records, 0u);
  EXPECT_EQ(thinned.store.caches[kChat].records, rows);
}

TEST(Thin, a_thinned_chat_goes_on_and_keeps_its_records_and_only_new_ones_are_thinned) {
  Thinned thinned;
  Saved twin(thinned.store, small("ladder-4"));
  ASSERT_EQ(twin.restore(thinned.n_tokens())->n_tokens, thinned.n_tokens());
  twin.driver.reads_on_as(thinned.chat.driver);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(twin.driver.step().ok());
  ASSERT_TRUE(twin.driver.cache().compactor().end_turn().ok());
  ASSERT_TRUE(twin.save().ok());
  const std::size_t n_before = n_thin(thinned.store);
  EXPECT_GT(n_before, 0u);  // still marked
  const ThinReport second = thin_saved(thinned.store, kChat).value();
  EXPECT_GT(second.n_records, 0u);
  EXPECT_LT(n_before, n_thin(thinned.store));
  Saved third(thinned.store, small("ladder-4"));
  EXPECT_EQ(third.restore(twin.driver.cache().n_tokens())->reason, RereadReason::none);
}

TEST(Thin, exact_caches_and_codecs_of_others_stay_as_they_are) {
  for (const char* recipe : {"full", "minikv", "gear", "ladder-2"}) {
    Thinned thinned(recipe);
    const bool has_ladder = std::string_view(recipe) == "ladder-2";
    EXPECT_TRUE(has_ladder || thinned.report.n_records == 0) << recipe;
    Saved twin(thinned.store, small(recipe));
    const auto restored = twin.restore(thinned.n_tokens());
    EXPECT_EQ(restored->reason, RereadReason::none) << recipe;
    EXPECT_TRUE(has_ladder || twin.driver.bytes() == thinned.chat.driver.bytes()) << recipe;
  }
}

TEST(Thin, without_a_coder_or_a_saved_cache_nothing_happens) {
  MemoryRecordStore store;
  EXPECT_EQ(thin_saved(store, kChat)->n_records, 0u);
  Saved chat(store, small("ladder-4"));
  read_chat(chat.driver);
  ASSERT_TRUE(chat.save().ok());
  EXPECT_EQ(thin_saved(store, kChat)->n_records, 0u);
}

TEST(Thin, where_a_record_is_missing_all_stays_as_it_is) {
  MemoryRecordStore store = coded_store();
  Saved chat(store, small("ladder-4"));
  read_chat(chat.driver);
  ASSERT_TRUE(chat.save().ok());
  const Bytes manifest = store.caches[kChat].manifest->bytes;
  for (const RecordEntry& entry : manifest_of(store).records) {
    MemoryRecordStore without = store;
    without.caches[kChat].records.erase(entry.id);
    const auto report = thin_saved(without, kChat);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->n_records, 0u);
    EXPECT_EQ(without.caches[kChat].manifest->bytes, manifest);
  }
}

// Whatever call fails, the old snapshot or the thinned one is there.
TEST(Thin, a_store_that_fails_leaves_a_whole_snapshot) {
  for (std::size_t fail_at = 0;; ++fail_at) {
    MemoryRecordStore store = coded_store();
    Saved chat(store, small("ladder-4"));
    read_chat(chat.driver);
    ASSERT_TRUE(chat.save().ok());
    test::FailingRecordStore failing(store, fail_at, test::FailingRecordStore::Then::once);
    const bool is_done = thin_saved(failing, kChat).ok();
    Saved twin(store, small("ladder-4"));
    EXPECT_EQ(twin.restore(chat.driver.cache().n_tokens())->reason, RereadReason::none) << fail_at;
    if (is_done) break;
  }
}

// What a damaged snapshot is thinned to is no worse: nothing crashes, and whoever restores it is
// told.
TEST(Thin, any_byte_of_the_snapshot_may_be_damaged) {
  MemoryRecordStore store = coded_store();
  Saved chat(store, {.recipe = "ladder-4",
                     .n_layers = 1,
                     .n_heads = 1,
                     .n_kv_heads = 1,
                     .head_dim = 32,
                     .arena_bytes = 1u << 20});
  ASSERT_TRUE(chat.driver.read(262).ok());
  ASSERT_TRUE(chat.save().ok());
  const auto rows = store.caches[kChat];
  const auto try_with = [&](std::size_t row, std::size_t i, bool is_signed) {
    auto& now = store.caches[kChat] = rows;
    Bytes& bytes = row == 0 ? now.manifest->bytes
                            : std::next(now.records.begin(), std::ptrdiff_t(row) - 1)->second;
    bytes[i] ^= std::byte{0x41};
    if (is_signed && row == 0) sign_manifest(bytes);
    ASSERT_TRUE(thin_saved(store, kChat).ok()) << "row " << row << " byte " << i;
  };
  for (std::size_t row = 0; row <= rows.records.size(); ++row) {
    const std::size_t n =
        row == 0 ? rows.manifest->bytes.size()
                 : std::next(rows.records.begin(), std::ptrdiff_t(row) - 1)->second.size();
    for (std::size_t i = 0; i < n; i += (row == 0 ? 1 : 37)) {
      try_with(row, i, false);
      if (row == 0) try_with(row, i, true);
    }
  }
}

// A page of any bytes: nothing but its codes and scales changes, and a second time nothing.
TEST(ThinPage, any_bytes_are_thinned_once) {
  CacheDriver driver(small("ladder-4"));
  ASSERT_TRUE(driver.read(600).ok());
  const Lane& lane = driver.cache().state().lanes[0];
  ASSERT_FALSE(lane.pages().empty());
  const kernels::PageLayout& layout = *lane.pages().front().layout;
  ASSERT_TRUE(can_thin(layout));
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    Bytes page(layout.bytes);
    for (std::byte& byte : page) byte = static_cast<std::byte>(rng.uniform() * 256);
    const std::size_t n = 1 + static_cast<std::size_t>(rng.uniform() * 128);
    Bytes once = page;
    thin_page(layout, n, once);
    EXPECT_TRUE(
        std::ranges::equal(std::span(once).subspan(layout.positions_at, 4 * layout.capacity),
                           std::span(page).subspan(layout.positions_at, 4 * layout.capacity)));
    Bytes twice = once;
    thin_page(layout, n, twice);
    EXPECT_EQ(once, twice) << round;
  }
}

TEST(ThinPage, exact_numbers_keep_three_digits_of_two) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<Half>(bits);
    std::array<std::byte, 2> bytes;
    std::memcpy(bytes.data(), &half, 2);
    thin_exact(bytes);
    Half thin = 0;
    std::memcpy(&thin, bytes.data(), 2);
    const float x = half_to_float(half), y = half_to_float(thin);
    if (!std::isfinite(x)) {
      EXPECT_EQ(thin, half);
      continue;
    }
    ASSERT_TRUE(std::isfinite(y)) << bits;
    EXPECT_LE(std::abs(x - y), std::abs(x) / 8 + 0x1p-17f) << bits;
  }
}

}  // namespace
}  // namespace satchel::kvcache
