#include "kvcache/lanes/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "arena_fixture.h"
#include "support/count_allocations.h"

namespace satchel::kvcache {
namespace {

using test::ArenaTest;
using test::CountingUser;
using test::MemoryOnly;
using testing::HasSubstr;

TEST_F(ArenaTest, gives_each_byte_once_and_then_says_that_it_is_full) {
  open(3584 + 255);
  EXPECT_EQ(arena_->bytes(), 3584u);
  const ExtentId first = take(1000), second = take(1);
  const Arena::Lease scratch = arena_->take_scratch(2300).value();
  EXPECT_EQ(arena_->bytes_of(first), 1024u);
  EXPECT_EQ(arena_->at(second), arena_->at(first) + 1024);
  EXPECT_EQ(arena_->bytes_of(second), 256u);
  EXPECT_EQ(scratch.data(), arena_->at(second) + 256);
  EXPECT_EQ(scratch.size(), 2304u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch.data()) % 256, 0u);
  EXPECT_EQ(arena_->used_bytes(), 3584u);
  EXPECT_EQ(arena_->free_bytes(), 0u);
  for (const Error& error : {arena_->take(1024).error(), arena_->take_scratch(1024).error()}) {
    EXPECT_EQ(error.kind, ErrorKind::out_of_memory);
    EXPECT_EQ(error.code, "CACHE_FULL");
    EXPECT_THAT(error.message,
                HasSubstr("3.6 kB is reached: 1.0 kB more are needed, 0 bytes are free"));
  }
}

TEST_F(ArenaTest, refuses_sizes_that_overflow) {
  open(4096);
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} - 254, ~std::size_t{0} / 2}) {
    EXPECT_FALSE(arena_->take(bytes).ok());
    EXPECT_FALSE(arena_->take_scratch(bytes).ok());
    EXPECT_FALSE(arena_->check_free(bytes).ok());
    EXPECT_EQ(arena_->set_limit(bytes).error().code, "CACHE_LIMIT");
  }
  EXPECT_TRUE(arena_->take_scratch(0).ok());
}

TEST_F(ArenaTest, fails_to_open_where_the_backend_has_no_memory) {
  const auto opened = Arena::open(backend_, MemoryOnly::kBytesMax + 256);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::out_of_memory);
}

TEST_F(ArenaTest, keeps_its_backend_alive_until_the_last_user_is_gone) {
  bool is_gone = false;
  std::shared_ptr<Arena> first = Arena::open(std::make_shared<MemoryOnly>(&is_gone), 4096).value();
  std::shared_ptr<Arena> second = first;
  const ExtentId id = first->take(4096).value();
  first.reset();
  EXPECT_FALSE(is_gone);
  std::memset(second->at(id), 1, second->bytes_of(id));
  second.reset();
  EXPECT_TRUE(is_gone);
}

TEST_F(ArenaTest, a_shared_extent_stays_until_its_last_share_is_given_back) {
  open(1024);
  const ExtentId id = take(1024);
  arena_->share(id);
  arena_->share(id);
  EXPECT_EQ(arena_->n_shares(id), 3u);
  EXPECT_EQ(arena_->used_bytes(), 1024u);  // counted once
  arena_->give(id);
  arena_->give(id);
  EXPECT_EQ(arena_->n_shares(id), 1u);
  EXPECT_FALSE(arena_->take(1).ok());
  arena_->give(id);
  EXPECT_EQ(arena_->used_bytes(), 0u);
  EXPECT_TRUE(arena_->take(1024).ok());
}

TEST_F(ArenaTest, equal_sizes_take_each_others_places_and_nothing_moves) {
  open(64 * 1024);
  std::vector<ExtentId> big = take_row(8, 3072), small = take_row(8, 512);
  const std::byte* bottom = arena_->at(big[0]);
  for (std::size_t i = 0; i < 8; i += 2) {  // every other one: no two holes touch
    arena_->give(big[i]);
    arena_->give(small[i]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_LT(arena_->at(take(512)), bottom + 8 * (3072 + 512));
    EXPECT_LT(arena_->at(take(3072)), bottom + 8 * 3072);
  }
  EXPECT_EQ(arena_->used_bytes(), 8u * (3072 + 512));
  EXPECT_EQ(arena_->at(take(256)), bottom + 8 * (3072 + 512));  // no hole was left
  EXPECT_EQ(backend_->n_copies, 0u);
}

TEST_F(ArenaTest, extents_given_back_in_any_order_leave_one_middle) {
  std::array<std::size_t, 5> order = {0, 1, 2, 3, 4};
  do {
    open(5 * 1024);
    const std::vector<ExtentId> row = take_row(5, 1024);
    for (const std::size_t i : order) {
      arena_->give(row[i]);
      arena_->check_invariants();
    }
    ASSERT_TRUE(arena_->take_scratch(5 * 1024).ok());
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(backend_->n_copies, 0u);
}

TEST_F(ArenaTest, holes_are_closed_for_an_extent_that_fits_none) {
  open(8 * 1024);
  const std::vector<ExtentId> row = take_row(8, 1024);
  for (std::size_t i = 0; i < 8; ++i) fill(row[i], i);
  CountingUser user;
  arena_->add_user(user);
  for (const std::size_t i : {1u, 4u, 6u}) arena_->give(row[i]);
  const ExtentId large = take(3 * 1024);
  EXPECT_EQ(user.n_told, 1u);
  EXPECT_EQ(backend_->n_copies, 3u);  // 2 and 3 in one, 5, 7
  EXPECT_EQ(arena_->at(large), arena_->at(row[0]) + 5 * 1024);
  for (const std::size_t i : {0u, 2u, 3u, 5u, 7u}) EXPECT_TRUE(holds(row[i], i)) << i;
  EXPECT_FALSE(arena_->take(1).ok());
  arena_->remove_user(user);
}

TEST_F(ArenaTest, holes_are_closed_for_scratch_and_open_scratch_stays) {
  open(8 * 1024);
  const Arena::Lease outer = arena_->take_scratch(1024).value();
  std::memset(outer.data(), 0x5a, outer.size());
  const std::vector<ExtentId> row = take_row(7, 1024);
  for (std::size_t i = 0; i < 7; ++i) fill(row[i], i);
  CountingUser user;
  arena_->add_user(user);
  for (const std::size_t i : {0u, 3u}) arena_->give(row[i]);
  {
    const Arena::Lease inner = arena_->take_scratch(2048).value();
    EXPECT_EQ(inner.data() + inner.size(), outer.data());
    std::memset(inner.data(), 0xa5, inner.size());
  }
  EXPECT_EQ(user.n_told, 1u);
  for (const std::size_t i : {1u, 2u, 4u, 5u, 6u}) EXPECT_TRUE(holds(row[i], i)) << i;
  EXPECT_TRUE(std::all_of(outer.data(), outer.data() + outer.size(),
                          [](std::byte b) { return b == std::byte{0x5a}; }));
  arena_->remove_user(user);
}

TEST_F(ArenaTest, nothing_moves_but_while_something_is_taken) {
  open(4 * 1024);
  const std::vector<ExtentId> row = take_row(4, 1024);
  const std::byte* third = arena_->at(row[2]);
  arena_->give(row[0]);
  arena_->give(row[3]);
  ASSERT_TRUE(arena_->check_free(2048).ok());
  ASSERT_TRUE(arena_->set_limit(2048).ok());
  ASSERT_TRUE(arena_->set_limit(4096).ok());
  EXPECT_EQ(arena_->at(row[2]), third);
  EXPECT_FALSE(arena_->take(4096).ok());  // too few bytes: nothing is moved for that
  EXPECT_EQ(arena_->at(row[2]), third);
  (void)take(2048);
  EXPECT_NE(arena_->at(row[2]), third);
}

TEST_F(ArenaTest, the_limit_moves_between_what_is_used_and_the_capacity) {
  open(8 * 1024);
  const std::vector<ExtentId> row = take_row(4, 1024);
  const Result<void> below = arena_->set_limit(4095);
  ASSERT_FALSE(below.ok());
  EXPECT_EQ(below.error().kind, ErrorKind::out_of_memory);
  EXPECT_EQ(below.error().code, "CACHE_FULL");
  EXPECT_THAT(below.error().message, HasSubstr("4.1 kB are in use"));
  EXPECT_THAT(below.error().message, HasSubstr("Close a chat"));
  EXPECT_EQ(arena_->bytes(), 8192u);
  ASSERT_TRUE(arena_->set_limit(4096 + 300).ok());
  EXPECT_EQ(arena_->bytes(), 4352u);
  EXPECT_EQ(arena_->free_bytes(), 256u);
  EXPECT_FALSE(arena_->take(257).ok());
  EXPECT_FALSE(arena_->take_scratch(257).ok());
  EXPECT_TRUE(arena_->take_scratch(256).ok());
  const Result<void> above = arena_->set_limit(8192 + 256);
  ASSERT_FALSE(above.ok());
  EXPECT_EQ(above.error().code, "CACHE_LIMIT");
  ASSERT_TRUE(arena_->set_limit(8192).ok());
  EXPECT_TRUE(arena_->take(4096).ok());
}

TEST_F(ArenaTest, a_removed_user_is_not_told) {
  open(3 * 1024);
  CountingUser stays, goes;
  arena_->add_user(goes);
  arena_->add_user(stays);
  arena_->remove_user(goes);
  const std::vector<ExtentId> row = take_row(3, 1024);
  arena_->give(row[0]);
  arena_->give(row[2]);
  (void)take(2048);
  EXPECT_EQ(stays.n_told, 1u);
  EXPECT_EQ(goes.n_told, 0u);
  arena_->remove_user(stays);
}

using ArenaDeathTest = ArenaTest;

TEST_F(ArenaDeathTest, stops_at_what_was_not_taken_so) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  open(8 * 1024);
  const ExtentId id = take(1024);
  arena_->give(id);
  EXPECT_DEATH(arena_->give(id), "assertion failed");
  EXPECT_DEATH((void)arena_->at(id), "assertion failed");
  EXPECT_DEATH(arena_->share(id), "assertion failed");
  EXPECT_DEATH(
      {
        Arena::Lease first = arena_->take_scratch(256).value();
        const Arena::Lease second = arena_->take_scratch(256).value();
        first = {};
      },
      "assertion failed");
}

TEST_F(ArenaTest, after_a_reservation_taking_giving_and_closing_leave_the_heap_alone) {
  constexpr std::size_t kExtents = 64;
  open(kExtents * 1024);
  CountingUser user;
  arena_->add_user(user);
  std::vector<ExtentId> taken;
  taken.reserve(kExtents);
  Rng rng(3);
  arena_->reserve_extents(kExtents);
  const std::size_t before = satchel::test::allocations_so_far();
  for (int step = 0; step < 20000; ++step) {
    const std::size_t bytes = test::random_size(rng, 4096);
    const bool takes =
        taken.size() < kExtents && (taken.empty() || rng.next() % 2 == 0) &&
        Arena::rounded_up(bytes) <= arena_->free_bytes();  // an error's text is on the heap
    if (takes) {
      taken.push_back(arena_->take(bytes).value());
    } else if (!taken.empty()) {
      const std::size_t i = static_cast<std::size_t>(rng.next() % taken.size());
      arena_->give(taken[i]);
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const Arena::Lease scratch = arena_->take_scratch(arena_->free_bytes()).value();
  }
  EXPECT_EQ(satchel::test::allocations_so_far(), before);
  EXPECT_GT(user.n_told, 1000u);
  arena_->remove_user(user);
}

}  // namespace
}  // namespace satchel::kvcache
