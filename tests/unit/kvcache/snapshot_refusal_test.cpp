// Snapshots that are refused as a whole: of another model, recipe or chat, or forged.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kvcache/snapshot/manifest.h"
#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

using test::MemoryRecordStore;
using testing::HasSubstr;

// One snapshot in a store, and what a cache made otherwise says about it.
class Refusal : public testing::Test {
 protected:
  void SetUp() override {
    Saved cache(store_);
    ASSERT_TRUE(cache.driver.read(700).ok());
    ASSERT_TRUE(cache.save().ok());
  }
  void expect(Saved& cache, std::size_t n_tokens, RereadReason reason, const char* text) {
    const std::size_t used = cache.driver.arena().used_bytes();
    const auto report = cache.restore(n_tokens);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->reason, reason);
    EXPECT_THAT(reread_text(report->reason, report->detail), HasSubstr(text));
    EXPECT_EQ(report->n_tokens, 0u);
    EXPECT_EQ(cache.driver.cache().n_tokens(), 0u);
    EXPECT_EQ(cache.driver.arena().used_bytes(), used);
  }
  // Changes the manifest and signs it.
  void forge(const std::function<void(Manifest&)>& change) {
    std::vector<std::byte>& bytes = store_.caches[kChat].manifest->bytes;
    Result<Manifest> manifest = decode_manifest(bytes);
    ASSERT_TRUE(manifest.ok());
    change(manifest.value());
    bytes = encode_manifest(*manifest);
  }
  MemoryRecordStore store_;
};

TEST_F(Refusal, of_another_model) {
  Saved cache(store_);
  cache.model = "model-b";
  expect(cache, 700, RereadReason::other_model, "another model");
  EXPECT_TRUE(cache.driver.read(300).ok());  // usable
}
TEST_F(Refusal, of_another_shape) {
  CacheDriver::Setup setup = small();
  setup.n_layers = 3;
  Saved cache(store_, setup);
  expect(cache, 700, RereadReason::other_model, "another model");
}
TEST_F(Refusal, of_another_window) {
  CacheDriver::Setup setup = small();
  setup.windows = {0, 64};
  Saved cache(store_, setup);
  expect(cache, 700, RereadReason::other_model, "another model");
}
TEST_F(Refusal, of_lanes_that_hold_keys_and_values_where_these_are_latent) {
  CacheDriver::Setup setup = small();
  setup.is_latent = true;
  Saved cache(store_, setup);
  expect(cache, 700, RereadReason::other_model, "another model");
}
TEST_F(Refusal, of_another_recipe) {
  Saved cache(store_, small("minikv-g32"));
  expect(cache, 700, RereadReason::other_recipe, "another recipe");
}
TEST_F(Refusal, of_the_same_recipe_with_another_keep) {
  CacheDriver::Setup setup = small();
  setup.keep = 0.25;
  Saved cache(store_, setup);
  expect(cache, 700, RereadReason::other_recipe, "another recipe");
}
TEST_F(Refusal, of_another_layout_of_pages) {
  forge([](Manifest& manifest) { manifest.layouts[40] ^= std::byte{1}; });
  Saved cache(store_);
  expect(cache, 700, RereadReason::other_format, "another page layout");
}
TEST_F(Refusal, of_what_another_version_of_the_graph_computed) {
  Saved cache(store_);
  cache.numerics = 2;
  expect(cache, 700, RereadReason::other_format, "another version of Satchel");
}
TEST_F(Refusal, of_another_chat) {
  Saved cache(store_);
  const auto report = cache.restore(std::vector<std::int32_t>(700, 4999));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->reason, RereadReason::other_tokens);
  EXPECT_EQ(cache.driver.cache().n_tokens(), 0u);
}
TEST_F(Refusal, of_an_arena_that_is_too_full) {
  Saved cache(store_);
  const auto lease = cache.driver.arena().take_scratch(cache.driver.arena().free_bytes() - 8704);
  ASSERT_TRUE(lease.ok());
  expect(cache, 700, RereadReason::over_limit, "memory limit");
}
TEST_F(Refusal, of_another_version) {
  auto& bytes = store_.caches[kChat].manifest->bytes;
  for (const int version : {1, 10}) {
    bytes[8] = static_cast<std::byte>(version);
    sign_manifest(bytes);
    Saved cache(store_);
    expect(cache, 700, RereadReason::other_format,
           version == 1 ? "format 1; this version reads 2 to 9" : "format 10");
  }
}
TEST_F(Refusal, not_of_a_longer_chat) {
  Saved cache(store_);
  const auto report = cache.restore(900);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->reason, RereadReason::none);
  EXPECT_EQ(report->n_tokens, 700u);
}
// Each is a table that no cache can have made, with the right checksum.
TEST_F(Refusal, of_tables_that_cannot_be) {
  const std::vector<std::function<void(Manifest&)>> forgeries = {
      [](Manifest& m) { m.since_flush = kFlushTokens; },
      [](Manifest& m) { m.next_serial = 1; },
      [](Manifest& m) { m.next_serial = ~std::uint64_t{0}; },
      [](Manifest& m) { m.segments.pop_back(); },
      [](Manifest& m) { m.segments[0].first = 1; },
      [](Manifest& m) { m.segments[0].n_tokens = ~std::size_t{0}; },
      [](Manifest& m) { m.segments[0].n_probed = m.segments[0].n_tokens + 1; },
      [](Manifest& m) { m.segments[0].kind = static_cast<SegmentKind>(9); },
      [](Manifest& m) { m.segments[0].state = static_cast<SegmentState>(9); },
      [](Manifest& m) { m.lanes.pop_back(); },
      [](Manifest& m) { m.lanes[0].n_sinks = 3; },
      [](Manifest& m) { m.lanes[0].n_tail = 300; },
      [](Manifest& m) { m.lanes[0].tail_kept = 100; },
      [](Manifest& m) { m.lanes[0].pages[0].serial = 0; },
      [](Manifest& m) { m.lanes[0].pages[0].serial = m.next_serial; },
      [](Manifest& m) { m.lanes[0].pages[0].tier = 9; },
      [](Manifest& m) { m.lanes[0].pages[0].n_tokens = 0; },
      [](Manifest& m) { m.lanes[0].pages[0].n_tokens = 129; },
      [](Manifest& m) { m.lanes[0].pages[0].live = {}; },
      [](Manifest& m) {
        m.lanes[0].pages[0].live.set(127);
        m.lanes[0].pages[0].n_tokens = 120;
      },
      [](Manifest& m) { m.lanes[0].pages[0].shift = 2'000'000'000; },
      [](Manifest& m) { m.lanes[0].pages[0].shift = -1; },
      [](Manifest& m) { m.lanes[0].pages[0].first_position = 3; },
      [](Manifest& m) { m.lanes[0].pages[0].last_position = 699; },
      [](Manifest& m) { m.lanes[0].pages[0].last_position = m.lanes[0].pages[0].first_position; },
      [](Manifest& m) {  // both stand in the same place
        const StoredPage& page = m.lanes[0].pages[0];
        StoredPage& next = m.lanes[0].pages[1];
        const std::int32_t by = next.first_position - page.first_position;
        next.shift -= by;
        next.first_position -= by;
        next.last_position -= by;
      },
      [](Manifest& m) { m.lanes[0].pages.push_back(m.lanes[0].pages[0]); },
      [](Manifest& m) { m.lanes[1].pages.push_back(m.lanes[0].pages[0]); },
      [](Manifest& m) {
        m.score_chunks = {0, 0};
      },
      [](Manifest& m) { m.score_chunks = {1}; },
      [](Manifest& m) { m.score_chunks = {1024}; },
      [](Manifest& m) { m.records[0].id = m.next_record; },
      [](Manifest& m) { m.records[0].kind = static_cast<RecordKind>(7); },
  };
  const std::vector<std::byte> whole = store_.caches[kChat].manifest->bytes;
  for (std::size_t i = 0; i < forgeries.size(); ++i) {
    SCOPED_TRACE("forgery " + std::to_string(i));
    forge(forgeries[i]);
    Saved cache(store_);
    expect(cache, 700, RereadReason::damaged, "damaged");
    store_.caches[kChat].manifest->bytes = whole;
  }
}

// Pages were not cut at its borders, or it does not fit the text, or not the tails.
TEST_F(Refusal, of_a_reach_that_cannot_be) {
  using Parts = std::vector<Reach::Part>;
  const std::vector<std::pair<Parts, std::size_t>> forgeries = {
      {{}, 4},
      {{{0, 4, 0}}, 0},
      {{{0, 3, 0}}, 4},
      {{{0, 4, 1}}, 4},
      {{{0, 4, -1}}, 4},
      {{{1, 4, 0}}, 8},
      {{{0, 4, 0}}, 701},
      {{{0, 701, 0}}, 701},
      {{{0, 700, 0}}, 700},  // the tail is near text
      {{{0, 4, 0}}, 300},
      {{{0, 50, 0}}, 50},
      {{{0, 4, 0}, {4, 20, 0}}, 560},
      {{{0, 4, 0}, {~std::size_t{0}, 2, 0}}, 8},
      {{{0, ~std::size_t{0}, 0}}, 8},
      {{{0, 4, std::numeric_limits<std::int32_t>::max()}}, 8}};
  const std::vector<std::byte> whole = store_.caches[kChat].manifest->bytes;
  for (std::size_t i = 0; i < forgeries.size(); ++i) {
    SCOPED_TRACE("forgery " + std::to_string(i));
    forge([&](Manifest& m) {
      m.segments[0].kind = SegmentKind::episode;  // for a reach is in manifests of version 4
      m.reach = {.parts = forgeries[i].first, .near_first = forgeries[i].second};
    });
    Saved cache(store_);
    expect(cache, 700, RereadReason::damaged, "damaged");
    store_.caches[kChat].manifest->bytes = whole;
  }
  // An older version has no episodes.
  forge([](Manifest& m) { m.segments[0].kind = SegmentKind::episode; });
  auto& bytes = store_.caches[kChat].manifest->bytes;
  ASSERT_EQ(bytes[8], std::byte{4});
  bytes[8] = std::byte{3};
  sign_manifest(bytes);
  Saved cache(store_);
  expect(cache, 700, RereadReason::damaged, "segments");
}

}  // namespace
}  // namespace satchel::kvcache
