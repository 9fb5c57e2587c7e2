#include "kvcache/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/backends.h"

namespace satchel::kvcache {
namespace {

using testing::HasSubstr;

class PoolTest : public testing::Test {
 protected:
  Pool open(std::size_t n_pages) {
    return Pool::open(*backend_,
                      {.bytes = 512 + n_pages * 1024, .fixed_bytes = 500, .page_bytes = 1024})
        .value();
  }
  std::unique_ptr<kernels::Backend> backend_ = test::open_reference();
};

TEST_F(PoolTest, gives_each_page_once_and_then_says_that_it_is_full) {
  Pool pool = open(3);
  EXPECT_EQ(pool.free_pages(), 3u);
  std::vector<std::byte*> pages;
  for (int i = 0; i < 3; ++i) pages.push_back(pool.page(pool.take_page().value()));
  EXPECT_EQ(pages[0], pool.fixed() + 512);
  EXPECT_EQ(pages[1], pages[0] + 1024);
  EXPECT_EQ(pages[2], pages[1] + 1024);
  const auto more = pool.take_page();
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().kind, ErrorKind::out_of_memory);
  EXPECT_EQ(more.error().code, "CACHE_FULL");
  EXPECT_THAT(more.error().message, HasSubstr("3.5 KiB is reached: 1.0 KiB more needed, 0 bytes"));
  EXPECT_EQ(pool.used_bytes(), pool.bytes());
}

TEST_F(PoolTest, scratch_and_pages_share_the_middle) {
  Pool pool = open(4);
  ScratchLease scratch = pool.take_scratch(1500).value();
  EXPECT_EQ(scratch.size(), 1536u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch.data()) % 256, 0u);
  EXPECT_EQ(pool.free_pages(), 2u);
  (void)pool.take_page().value();
  (void)pool.take_page().value();
  EXPECT_FALSE(pool.take_page().ok());
  EXPECT_FALSE(pool.take_scratch(1024).ok());
  EXPECT_TRUE(pool.take_scratch(512).ok());
  EXPECT_EQ(pool.peak_bytes(), pool.bytes());
  scratch = {};
  EXPECT_EQ(pool.free_pages(), 2u);
  EXPECT_EQ(pool.used_bytes(), 512u + 2048u);
}

TEST_F(PoolTest, refuses_sizes_that_overflow) {
  Pool pool = open(4);
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} - 254, ~std::size_t{0} / 2})
    EXPECT_FALSE(pool.take_scratch(bytes).ok());
  EXPECT_TRUE(pool.take_scratch(0).ok());
}

TEST_F(PoolTest, pages_given_back_in_reverse_leave_it_as_it_was) {
  Pool pool = open(4);
  const PageId first = pool.take_page().value();
  const PageId second = pool.take_page().value();
  const PageId third = pool.take_page().value();
  pool.give_page(third);
  pool.give_page(second);
  EXPECT_EQ(pool.take_page().value(), second);
  pool.give_page(second);
  pool.give_page(first);
  EXPECT_TRUE(pool.take_scratch(4 * 1024).ok());
}

TEST_F(PoolTest, pages_given_back_in_any_order_are_taken_again) {
  Pool pool = open(3);
  const PageId first = pool.take_page().value();
  const PageId second = pool.take_page().value();
  (void)pool.take_page().value();
  pool.give_page(first);
  pool.give_page(second);
  EXPECT_EQ(pool.free_pages(), 2u);
  EXPECT_TRUE(pool.take_page().ok());
  EXPECT_TRUE(pool.take_page().ok());
  EXPECT_FALSE(pool.take_page().ok());
}

}  // namespace
}  // namespace satchel::kvcache
