// The executor against kernels small enough to know by heart: what is right passes in any order of
// threads, what is wrong is found and named.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "simt/findings.h"
#include "simt/small_kernels.h"
#include "simt/small_launches.h"

namespace simt::test {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

class Executor : public SmallLaunches {
 protected:
  static void expect_finding(Finding::Kind kind, const std::string& text) {
    const auto found = take_findings();
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].kind, kind) << found[0].text;
    EXPECT_THAT(found[0].text, HasSubstr(text));
  }
};

TEST_F(Executor, a_reduction_is_right_in_every_order_of_threads_and_blocks) {
  std::vector<float> x(1000);
  std::iota(x.begin(), x.end(), 1.0f);
  const OnDevice<float> from(x), sums(4);
  for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    set_order(seed);
    ASSERT_EQ(launch(sum_blocks, 4, 256, 256 * 4, from.data(), 1000u, sums.data(), 3), cudaSuccess);
    EXPECT_THAT(sums.values(), ElementsAre(32896.0f, 98432.0f, 163968.0f, 205204.0f));
  }
}

TEST_F(Executor, a_missing_barrier_is_a_race) {
  const OnDevice<float> x(std::vector<float>(512, 1.0f)), sums(2);
  launch(sum_blocks, 2, 256, 256 * 4, x.data(), 512u, sums.data(), 1);
  expect_finding(Finding::Kind::shared_race, "no barrier is between them");
  for (const int barriers :
       {0, 2}) {  // read before it is written, or while: by the order of threads
    launch(sum_blocks, 2, 256, 256 * 4, x.data(), 512u, sums.data(), barriers);
    EXPECT_FALSE(take_findings().empty());
  }
}

TEST_F(Executor, what_lies_behind_a_buffer_is_not_read_and_the_error_stays) {
  const OnDevice<float> x(std::vector<float>(500, 1.0f)), sums(2);
  EXPECT_EQ(launch(sum_blocks, 2, 256, 256 * 4, x.data(), 501u, sums.data(), 3),
            cudaErrorIllegalAddress);
  expect_finding(
      Finding::Kind::out_of_bounds,
      "simt::test::sum_blocks, block (1, 0, 0), thread 244: reads 4 bytes, byte 2000 of an "
      "allocation of 2000");
  EXPECT_EQ(launch(sum_blocks, 2, 256, 256 * 4, x.data(), 500u, sums.data(), 3),
            cudaErrorIllegalAddress);
}

TEST_F(Executor, shared_memory_is_as_large_as_was_asked_for) {
  const OnDevice<float> x(std::vector<float>(256, 1.0f)), sums(1);
  EXPECT_EQ(launch(sum_blocks, 1, 256, 255 * 4, x.data(), 256u, sums.data(), 3),
            cudaErrorIllegalAddress);
  expect_finding(Finding::Kind::out_of_bounds, "byte 1020 of shared memory, which has 1020");
  forget_sticky_error();
  EXPECT_EQ(launch(sum_blocks, 1, 256, 64 * 1024, x.data(), 256u, sums.data(), 3),
            cudaErrorInvalidConfiguration);
}

TEST_F(Executor, bytes_that_nobody_wrote_are_told) {
  const OnDevice<float> x(32), out(32);
  launch(read_unwritten, 1, 32, 128, x.data(), out.data(), 0);
  expect_finding(Finding::Kind::uninitialised, "of an allocation of 128");
  launch(read_unwritten, 1, 32, 128, x.data(), out.data(), 1);
  expect_finding(Finding::Kind::uninitialised,
                 "of shared memory: nobody wrote it, small_kernels.cu:");
}

TEST_F(Executor, memory_of_the_host_and_freed_memory_are_refused) {
  float mine = 0;
  EXPECT_EQ(launch(touch_host, 1, 1, 0, &mine), cudaErrorIllegalAddress);
  expect_finding(Finding::Kind::out_of_bounds, "memory that is the host's");
  forget_sticky_error();
  void* at = nullptr;
  ASSERT_EQ(cudaMalloc(&at, 64), cudaSuccess);
  ASSERT_EQ(cudaFree(at), cudaSuccess);
  EXPECT_EQ(launch(touch_host, 1, 1, 0, static_cast<float*>(at)), cudaErrorIllegalAddress);
  expect_finding(Finding::Kind::out_of_bounds, "writes 4 bytes");
}

using ExecutorDeathTest = Executor;
TEST_F(ExecutorDeathTest, the_host_cannot_read_device_memory_by_its_address) {
  const OnDevice<int> x(std::vector<int>{1, 2, 3});
  EXPECT_DEATH(const_cast<volatile int*>(x.data())[0] = 2, "");
}

TEST_F(Executor, a_barrier_that_half_of_the_block_passes_by_is_told) {
  const OnDevice<int> out(32);
  launch(half_meets, 1, 32, 0, out.data());
  expect_finding(Finding::Kind::divergence, "at the block's barrier: 0, 1, 2, 3 … (16); ended: 16");
}

TEST_F(Executor, lanes_exchange_values_and_votes) {
  std::vector<float> x(32);
  std::iota(x.begin(), x.end(), 0.0f);
  const OnDevice<float> from(x), out(2);
  launch(sum_warp, 1, 32, 0, from.data(), out.data());
  EXPECT_THAT(out.values(), ElementsAre(496.0f, 2147483648.0f));
}

TEST_F(Executor, a_warp_orders_its_own_lanes_and_only_these) {
  const OnDevice<int> out(64);
  launch(exchange_in_warp, 1, 64, 64 * 4, out.data(), 1);
  EXPECT_THAT(take_findings(), ElementsAre());
  set_order(5);
  launch(exchange_in_warp, 1, 64, 64 * 4, out.data(), 0);
  EXPECT_FALSE(take_findings().empty());
}

TEST_F(Executor, blocks_are_ordered_by_a_fence_and_an_atomic_and_by_nothing_less) {
  const OnDevice<float> x({1, 2, 3, 4}), parts(4), sum(1);
  for (const std::uint64_t seed : {0u, 7u, 8u}) {
    set_order(seed);
    const OnDevice<unsigned> n_done(std::vector<unsigned>{0});
    launch(last_adds, 4, 1, 0, x.data(), parts.data(), n_done.data(), sum.data(), 1);
    EXPECT_THAT(sum.values(), ElementsAre(20.0f));
  }
  const OnDevice<unsigned> n_done(std::vector<unsigned>{0});
  launch(last_adds, 4, 1, 0, x.data(), parts.data(), n_done.data(), sum.data(), 0);
  expect_finding(Finding::Kind::global_race, "beside another block");
}

TEST_F(Executor, a_matrix_product_has_the_layout_that_ptx_documents) {
  std::vector<__half> a(16 * 16), b(16 * 8);
  std::vector<float> want(16 * 8, 0.0f);
  for (std::size_t i = 0; i < 256; ++i) a[i] = __float2half_rn(static_cast<float>(i * 7 % 31) - 15);
  for (std::size_t i = 0; i < 128; ++i) b[i] = __float2half_rn(static_cast<float>(i * 5 % 23) - 11);
  for (std::size_t r = 0; r < 16; ++r)
    for (std::size_t c = 0; c < 8; ++c)
      for (std::size_t k = 0; k < 16; ++k)
        want[r * 8 + c] += __half2float(a[r * 16 + k]) * __half2float(b[k * 8 + c]);
  const OnDevice<__half> of_a(a), of_b(b);
  const std::vector<float> zeros(128, 0.0f);
  const OnDevice<float> c(zeros), wrong(zeros);
  launch(multiply, 1, 32, 0, of_a.data(), of_b.data(), c.data(), 0);
  EXPECT_EQ(c.values(), want);
  launch(multiply, 1, 32, 0, of_a.data(), of_b.data(), wrong.data(), 1);
  EXPECT_NE(wrong.values(), want) << "a wrong fragment";
}

// Row 0 and column 0 of a product of fp16 and what was there before.
class MatrixSum : public SmallLaunches {
 protected:
  static float sum_of(const std::vector<float>& a, const std::vector<float>& b, float before) {
    std::vector<__half> rows(16 * 16, __half{}), columns(16 * 8, __half{});
    for (std::size_t k = 0; k < a.size(); ++k) {
      rows[k] = __float2half_rn(a[k]);
      columns[k * 8] = __float2half_rn(b[k]);
    }
    const OnDevice<__half> of_a(rows), of_b(columns);
    const OnDevice<float> c(std::vector<float>(128, before));
    launch(multiply, 1, 32, 0, of_a.data(), of_b.data(), c.data(), 0);
    return c.values()[0];
  }
};

// 1 + 3 · 2^-24: bits behind the 24th of the largest are cut, then those that fp32 lacks.
TEST_F(MatrixSum, is_cut_off_to_fp32_where_rounding_would_go_up) {
  const std::vector<float> a{0x1p-12f, 0x1p-12f, 0x1p-12f}, b{0x1p-12f, 0x1p-12f, 0x1p-12f};
  EXPECT_EQ(sum_of(a, b, 1), 1 + 0x1p-23f) << "to the nearest: 1 + 2^-22";
  EXPECT_EQ(sum_of({-0x1p-12f, -0x1p-12f, -0x1p-12f}, b, -1), -1 - 0x1p-23f) << "toward zero";
}

// 1 + 15 · 2^-25, to the nearest 1 + 4 · 2^-23: no product reaches the last bit that is kept, each
// is cut by itself. Hopper keeps a bit more; then 1 + 3.75 · 2^-23 is cut.
TEST_F(MatrixSum, has_lost_what_is_small_beside_its_largest_summand) {
  const std::vector<float> a(15, 0x1p-12f), b(15, 0x1p-13f);
  EXPECT_EQ(sum_of(a, b, 1), 1.0f);
  machine().sums = kSumsOfHopper;
  EXPECT_EQ(sum_of(a, b, 1), 1 + 3 * 0x1p-23f);
}

// The large summands cancel out; by then the small one is gone, unless it comes with later ones.
TEST_F(MatrixSum, aligns_so_many_products_at_once_as_the_card_does) {
  std::vector<float> a(16, 0.0f), b(16, 0.0f);
  a[0] = a[1] = 0x1p+13f, b[0] = 0x1p+13f, b[1] = -0x1p+13f;
  a[2] = b[2] = a[8] = b[8] = 1;
  for (const auto& [sums, want] :
       {std::pair{kSumsBeforeHopper, 1.0f}, std::pair{kSumsOfHopper, 0.0f}}) {
    machine().sums = sums;
    EXPECT_EQ(sum_of(a, b, 0), want);
  }
}

TEST_F(MatrixSum, is_of_exact_products_and_keeps_what_is_not_a_number) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sum_of({0x1p-24f}, {0x1p-24f}, 0), 0x1p-48f) << "subnormal";
  EXPECT_EQ(sum_of({1.5f, -2}, {1.5f, 3}, 0.25f), -3.5f);
  EXPECT_EQ(sum_of({}, {}, 0x1p-140f), 0x1p-140f) << "no product";
  EXPECT_EQ(sum_of({kInfinite}, {2}, 1), kInfinite);
  EXPECT_EQ(sum_of({1}, {2}, -kInfinite), -kInfinite);
  EXPECT_TRUE(std::isnan(sum_of({kInfinite}, {0}, 1)));
}

TEST_F(Executor, a_product_of_bytes_is_exact_and_laid_out_as_ptx_documents) {
  std::vector<std::uint8_t> a(16 * 32);
  std::vector<std::int8_t> b(8 * 32);
  std::vector<int> want(16 * 8, 0);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint8_t>(255 - i * 7 % 251);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::int8_t>(i * 37 % 256);
  for (std::size_t r = 0; r < 16; ++r)
    for (std::size_t c = 0; c < 8; ++c)
      for (std::size_t k = 0; k < 32; ++k) want[r * 8 + c] += a[r * 32 + k] * b[c * 32 + k];
  const OnDevice<std::uint8_t> of_a(a);
  const OnDevice<std::int8_t> of_b(b);
  const OnDevice<int> c(128);
  launch(multiply_bytes, 1, 32, 0, of_a.data(), of_b.data(), c.data(), 0);
  EXPECT_EQ(c.values(), want);
  launch(multiply_bytes, 1, 32, 0, of_a.data(), of_b.data(), c.data(), 1);
  EXPECT_NE(c.values(), want) << "a wrong fragment";
}

TEST_F(Executor, a_copy_on_its_way_has_not_arrived_before_it_is_waited_for) {
  std::vector<float> x(256);
  std::iota(x.begin(), x.end(), 1.0f);
  const OnDevice<float> there(x), out(256);
  launch(copy_through_shared, 1, 32, 1024, there.data(), out.data(), 1);
  EXPECT_EQ(out.values(), x);
  launch(copy_through_shared, 1, 32, 1024, there.data(), out.data(), 0);
  expect_finding(Finding::Kind::uninitialised, "nobody wrote it");
}

TEST_F(Executor, bytes_of_one_word_have_histories_of_their_own) {
  const OnDevice<unsigned short> halves(4);
  const OnDevice<unsigned> out(1);
  const auto* words = reinterpret_cast<const unsigned*>(halves.data());
  launch(write_halves, 1, 1, 0, halves.data(), 1);
  launch(copy_word, 1, 1, 0, words, out.data());
  expect_finding(Finding::Kind::uninitialised, "reads 4 bytes");  // half of it was written
  launch(write_halves, 3, 1, 0, halves.data(), 1);
  launch(copy_word, 1, 1, 0, words, out.data());
  EXPECT_THAT(take_findings(), ElementsAre());
  EXPECT_THAT(out.values(), ElementsAre(6u << 16 | 5u));
  launch(copy_word, 1, 1, 0, words + 1, out.data());
  expect_finding(Finding::Kind::uninitialised, "reads 4 bytes");
  launch(write_halves, 2, 1, 0, halves.data(), 0);
  expect_finding(Finding::Kind::global_race, "beside another block");
}

TEST_F(Executor, a_call_fails_where_a_test_says_so) {
  void* at = nullptr;
  fail_call(1, cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&at, 8), cudaSuccess);
  void* second = nullptr;
  EXPECT_EQ(cudaMalloc(&second, 8), cudaErrorMemoryAllocation);
  EXPECT_EQ(second, nullptr);
  EXPECT_TRUE(has_failed_call());
  EXPECT_EQ(cudaFree(at), cudaSuccess);
}

}  // namespace simt::test
