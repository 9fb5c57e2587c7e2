// Far pages: a cache whose pages live in a far store holds and answers, bit for bit, what one in
// memory does, whatever the disk does in between.
#include <gtest/gtest.h>

#include <memory>

#include "snapshot_fixture.h"
#include "support/far_stores.h"
#include "support/open_named.h"
#include "support/sanitized.h"

namespace satchel::kvcache {
namespace {

struct FarDriver {
  FarDriver(const CacheDriver::Setup& setup, std::size_t arena_bytes)
      : driver([&] {
          CacheDriver::Setup far = setup;
          far.arena = Arena::open(test::open_in_main_memory(setup.backend), arena_bytes).value();
          far.arena->set_far(std::make_unique<test::MemoryFarStore>(disk));
          return far;
        }()) {
    driver.check_attention = false;
  }
  std::shared_ptr<test::FarDisk> disk = std::make_shared<test::FarDisk>();
  CacheDriver driver;
};

CacheDriver::Setup deep(const std::string& recipe, const std::string& backend = "cpu") {
  return {.recipe = recipe,
          .n_layers = 20,
          .n_heads = 2,
          .n_kv_heads = 1,
          .head_dim = 64,
          .backend = backend};
}

std::size_t fp16_bytes(const CacheDriver::Setup& setup, std::size_t n_tokens) {
  return setup.n_layers * setup.n_kv_heads * setup.head_dim * 4 * n_tokens;
}

CacheDriver near_driver(CacheDriver::Setup setup, std::size_t arena_bytes = 160u << 20) {
  setup.arena_bytes = arena_bytes;
  CacheDriver driver(setup);
  driver.check_attention = false;
  return driver;
}

// In spans of n, as a limit has them read.
void read_in_spans(CacheDriver& driver, std::size_t n_tokens, std::size_t n) {
  for (std::size_t done = 0; done < n_tokens; done += n) {
    const auto read = driver.read(std::min(n, n_tokens - done), {.goes_on = done > 0});
    ASSERT_TRUE(read.ok()) << read.error().message;
  }
}

void expect_same_attention(CacheDriver& near, CacheDriver& far) {
  ASSERT_EQ(near.cache().n_tokens(), far.cache().n_tokens());
  const std::size_t n = near.cache().n_tokens();
  for (std::size_t layer = 0; layer < near.shape().n_layers(); ++layer)
    ASSERT_EQ(near.attended(layer, n), far.attended(layer, n)) << "layer " << layer;
}

struct Case {
  std::string recipe, backend;
  std::size_t n_tokens, part;  // the limit is that part of the fp16 cache
};
class FarPages : public testing::TestWithParam<Case> {};

TEST_P(FarPages, hold_and_answer_what_near_ones_do) {
  const Case& is = GetParam();
  const CacheDriver::Setup setup = deep(is.recipe, is.backend);
  CacheDriver near = near_driver(setup);
  const std::size_t limit = fp16_bytes(setup, is.n_tokens) / is.part;
  FarDriver far(setup, limit);
  read_in_spans(near, is.n_tokens, 200);
  read_in_spans(far.driver, is.n_tokens, 200);
  expect_same_attention(near, far.driver);
  for (int i = 0; i < (test::kSanitized ? 140 : 300); ++i) {
    near.check_attention = far.driver.check_attention = i % 60 == 1;  // against plain loops
    ASSERT_TRUE(near.step().ok());
    const auto stepped = far.driver.step();
    ASSERT_TRUE(stepped.ok()) << i << " " << stepped.error().message;
  }
  EXPECT_EQ(near.worst_error, far.driver.worst_error);
  expect_same_attention(near, far.driver);
  EXPECT_EQ(near.bytes(), far.driver.bytes());
  far.driver.arena().check_invariants();
  const CacheStats stats = far.driver.cache().stats();
  EXPECT_LE(stats.arena_peak_bytes, limit);
  EXPECT_GE(stats.far_bytes, fp16_bytes(setup, is.n_tokens - 256));
  EXPECT_EQ(stats.far_bytes, far.driver.arena().far_used_bytes());
  EXPECT_EQ(stats.n_kept, near.cache().stats().n_kept);
  EXPECT_EQ(stats.n_evicted, 0u);
}
std::vector<Case> cases() {
  if (test::kSanitized) return {{"full", "cpu", 2500, 3}};
  return {{"full", "reference", 4000, 4},  {"full", "cpu", 4000, 4},
          {"quest", "reference", 4000, 4}, {"quest", "cpu", 4000, 4},
          {"full", "cpu", 16000, 10},      {"quest", "cpu", 10000, 6}};
}
INSTANTIATE_TEST_SUITE_P(Limits, FarPages, testing::ValuesIn(cases()), [](const auto& row) {
  return row.param.recipe + "_" + row.param.backend + "_" + std::to_string(row.param.part);
});

TEST(FarPages, that_the_reader_leaves_out_are_not_fetched) {
  const CacheDriver::Setup setup = deep("quest");
  FarDriver far(setup, fp16_bytes(setup, 6000) / 4);
  read_in_spans(far.driver, 6000, 500);
  ASSERT_TRUE(far.driver.step().ok());
  const std::size_t before = far.disk->n_reads, n_pages = 6000 / 128;
  ASSERT_TRUE(far.driver.step().ok());
  // Two dense layers; the other 18 read 8 pages of 46 at most.
  EXPECT_LE(far.disk->n_reads - before, 2 * n_pages + 18 * 8);
  EXPECT_GT(far.disk->n_reads - before, 0u);
}

TEST(FarPages, are_read_no_more_often_than_memory_makes_needed) {
  const CacheDriver::Setup setup = deep("full");
  FarDriver far(setup, 2 * fp16_bytes(setup, 3000));
  read_in_spans(far.driver, 3000, 500);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(far.driver.step().ok());
  EXPECT_EQ(far.disk->n_reads, 0u);  // all of them fit
}

// What is read in turn again and again: as many layers as fit stay where they are.
TEST(FarPages, of_as_many_layers_as_fit_stay_in_memory) {
  const CacheDriver::Setup setup = deep("full");
  FarDriver far(setup, fp16_bytes(setup, 3000) * 3 / 4);
  read_in_spans(far.driver, 3000, 200);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(far.driver.step().ok());
  const std::size_t before = far.disk->n_reads;
  ASSERT_TRUE(far.driver.step().ok());
  EXPECT_LE(far.disk->n_reads - before, 20u * (3000 / 128) * 3 / 4);
}

TEST(FarPages, of_a_recipe_that_leaves_out_or_rounds_are_refused) {
  for (const char* recipe : {"satchel", "compact", "kivi", "streaming-llm"}) {
    const Result<Recipe> known = Recipe::builtin(recipe);
    if (!known.ok()) continue;
    CacheDriver any(deep("full"));
    auto arena = Arena::open(test::open_in_main_memory("cpu"), 64u << 20).value();
    arena->set_far(std::make_unique<test::MemoryFarStore>(std::make_shared<test::FarDisk>()));
    const auto opened = Cache::open(arena, any.shape(), *known);
    ASSERT_FALSE(opened.ok()) << recipe;
    EXPECT_EQ(opened.error().code, "FAR_RECIPE") << recipe;
    EXPECT_EQ(arena->used_bytes(), 0u);
  }
}

// One disk operation fails, for each of many: the call says so, and, tried again, does what it
// would have done.
struct Fault {
  const char* name;
  bool writes, flips;
  const char* code;
};
class FarFault : public testing::TestWithParam<Fault> {};

TEST_P(FarFault, is_an_error_of_the_step_and_nothing_is_lost) {
  const Fault& fault = GetParam();
  CacheDriver::Setup setup = deep("full");
  setup.n_layers = 6;
  CacheDriver near = near_driver(setup);
  FarDriver far(setup, fp16_bytes(setup, 1500) * 2 / 3);
  read_in_spans(near, 1500, 200);
  read_in_spans(far.driver, 1500, 200);
  std::size_t n_failed = 0;
  for (int i = 0; i < 260; ++i) {
    ASSERT_TRUE(near.step().ok());
    // Flushes write, about every 128 steps; every step reads.
    (fault.writes ? far.disk->fail_write : far.disk->fail_read) = static_cast<std::size_t>(i % 7);
    far.disk->flips_read = fault.flips;
    const std::size_t n_before = far.driver.cache().n_tokens();
    const auto stepped = far.driver.step();
    far.disk->fail_read = far.disk->fail_write = std::nullopt;
    if (stepped.ok()) continue;
    ++n_failed;
    EXPECT_EQ(stepped.error().code, fault.code);
    far.driver.arena().check_invariants();
    if (far.driver.cache().n_tokens() > n_before) continue;  // only the flush behind it failed
    const auto again = far.driver.step();
    ASSERT_TRUE(again.ok()) << again.error().message;
  }
  EXPECT_GE(n_failed, fault.writes ? 2u : 100u);
  expect_same_attention(near, far.driver);
  EXPECT_EQ(near.bytes(), far.driver.bytes());
}
INSTANTIATE_TEST_SUITE_P(Faults, FarFault,
                         testing::Values(Fault{"read_fails", false, false, "FAR_READ"},
                                         Fault{"byte_flipped", false, true, "FAR_DAMAGED"},
                                         Fault{"disk_full", true, false, "DISK_FULL"}),
                         [](const auto& row) { return row.param.name; });

TEST(FarFaults, while_text_is_read_leave_the_chat_as_it_was) {
  CacheDriver::Setup setup = deep("full");
  setup.n_layers = 6;
  for (const bool writes : {false, true})
    for (std::size_t n = 0; n < 40; n += 3) {
      CacheDriver near = near_driver(setup);
      FarDriver far(setup, fp16_bytes(setup, 1500) * 2 / 3);
      read_in_spans(near, 1200, 200);
      read_in_spans(far.driver, 1200, 200);
      const std::size_t used = far.driver.arena().used_bytes();
      (writes ? far.disk->fail_write : far.disk->fail_read) = n;
      const auto read = far.driver.read(200, {.goes_on = true});
      far.disk->fail_read = far.disk->fail_write = std::nullopt;
      if (!read.ok()) {
        EXPECT_EQ(read.error().code, writes ? "DISK_FULL" : "FAR_READ");
        EXPECT_EQ(far.driver.arena().used_bytes(), used);
        ASSERT_TRUE(far.driver.read(200, {.goes_on = true}).ok());
      }
      ASSERT_TRUE(near.read(200, {.goes_on = true}).ok());
      expect_same_attention(near, far.driver);
      far.driver.arena().check_invariants();
    }
}

TEST(FarPages, that_do_not_fit_layer_by_layer_are_refused_before_anything_changes) {
  const CacheDriver::Setup setup = deep("full");
  FarDriver far(setup, fp16_bytes(setup, 2000) / 2);
  for (;;) {
    const std::size_t used = far.driver.arena().used_bytes(), n = far.driver.cache().n_tokens();
    const auto read = far.driver.read(150, {.goes_on = n > 0});
    if (read.ok()) continue;
    EXPECT_EQ(read.error().code, "CACHE_FULL");
    EXPECT_EQ(far.driver.arena().used_bytes(), used);
    EXPECT_EQ(far.driver.cache().n_tokens(), n);
    EXPECT_GT(n, 6000u);  // beyond what the limit could hold, by far
    break;
  }
  EXPECT_TRUE(far.driver.step().ok());
}

// The tails of all lanes, which are most of what such a limit has room for, are not copied.
TEST(FarPages, are_joined_by_short_spans_that_need_little_memory) {
  const CacheDriver::Setup setup = deep("full");
  FarDriver far(setup, fp16_bytes(setup, 3000) / 2);
  read_in_spans(far.driver, 1000, 200);
  constexpr std::size_t kSpan = 32;
  const std::size_t of_tails = fp16_bytes(setup, kTailTokens);
  const std::size_t of_layer = fp16_bytes(setup, 1000 + kLineHeadroom + kSpan) / setup.n_layers;
  EXPECT_LT(far.driver.cache().prefill_needs({.n_tokens = kSpan}, {}),
            of_tails / 2 + of_layer + of_layer / 4);
}

TEST(FarPages, are_forked_cut_and_given_back) {
  const CacheDriver::Setup setup = deep("full");
  CacheDriver near = near_driver(setup);
  FarDriver far(setup, fp16_bytes(setup, 3000));
  read_in_spans(near, 2000, 250);
  read_in_spans(far.driver, 2000, 250);
  {
    auto near_fork = near.fork(), far_fork = far.driver.fork();
    ASSERT_TRUE(near_fork.ok() && far_fork.ok());
    for (CacheDriver* of : {&*near_fork, &*far_fork}) {
      ASSERT_TRUE(of->truncate(1111).ok());
      read_in_spans(*of, 300, 150);
    }
    expect_same_attention(*near_fork, *far_fork);
    for (CacheDriver* of : {&near, &far.driver}) ASSERT_TRUE(of->step().ok());
    expect_same_attention(near, far.driver);
  }
  for (CacheDriver* of : {&near, &far.driver})
    ASSERT_TRUE(of->cache().edit().forget(300, 200).ok());
  expect_same_attention(near, far.driver);
  EXPECT_EQ(near.bytes(), far.driver.bytes());
  far.driver.clear();
  EXPECT_EQ(far.driver.arena().far_used_bytes(), 0u);
  far.driver.arena().check_invariants();
}

TEST(FarPages, are_saved_and_come_back) {
  CacheDriver::Setup setup = deep("quest");
  test::MemoryRecordStore store;
  FarDriver far(setup, fp16_bytes(setup, 3000) / 2);
  read_in_spans(far.driver, 2600, 200);
  CacheDriver near = near_driver(setup);
  read_in_spans(near, 2600, 200);
  Saved saved(store, std::move(far.driver));
  ASSERT_TRUE(saved.save().ok());
  FarDriver other(setup, fp16_bytes(setup, 3000) / 2);
  Saved back(store, std::move(other.driver));
  back.driver.reads_on_as(near);
  const auto restored = back.restore(2600);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(restored->reason, RereadReason::none);
  EXPECT_EQ(back.driver.cache().n_tokens(), 2600u);
  EXPECT_EQ(near.bytes(), back.driver.bytes());
  for (int i = 0; i < 140; ++i) {
    ASSERT_TRUE(near.step().ok());
    ASSERT_TRUE(back.driver.step().ok());
  }
  expect_same_attention(near, back.driver);
}

}  // namespace
}  // namespace satchel::kvcache
