// What the cuda backend takes of a card's memory, and long copies: blocks and their bookkeeping,
// the limit, growth and its failures, cards without virtual memory, pinned slots.
#include "kernels/cuda/device/device_memory.h"

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "kernels/base/rng.h"
#include "kernels/cuda/device/device.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/on_executor.h"
#include "simt/runtime_api.h"
#include "simt/small_kernels.h"
#include "support/value_of.h"

namespace satchel::kernels::cuda {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Against a map of bytes: blocks are whole, apart, within the end, and join when they are given
// back.
TEST(FreeList, hands_out_what_nobody_has_and_forgets_nothing) {
  Rng rng(5);
  FreeList blocks;
  std::vector<int> owner;
  std::map<std::size_t, std::size_t> held;
  for (int step = 1; step < 3000; ++step) {
    const std::size_t size = 1 + rng.next() % 40;
    if (rng.next() % 3 != 0 || held.empty()) {
      auto at = blocks.take(size);
      if (!at) {
        blocks.grow(size - blocks.free_at_end());
        owner.resize(blocks.bytes());
        at = blocks.take(size);
      }
      ASSERT_TRUE(at.has_value());
      ASSERT_LE(*at + size, owner.size());
      for (std::size_t i = *at; i < *at + size; ++i) ASSERT_EQ(std::exchange(owner[i], step), 0);
      held[*at] = size;
    } else {
      const auto block = std::next(held.begin(), static_cast<long>(rng.next() % held.size()));
      for (std::size_t i = 0; i < block->second; ++i) owner[block->first + i] = 0;
      blocks.give(block->first);
      held.erase(block);
    }
    std::size_t taken = 0;
    for (const auto& [at, bytes] : held) taken += bytes;
    ASSERT_EQ(blocks.taken_bytes(), taken);
  }
  for (const auto& [at, bytes] : held) blocks.give(at);
  EXPECT_EQ(blocks.free_at_end(), blocks.bytes());
  EXPECT_EQ(blocks.take(blocks.bytes()), 0u);
}

TEST(FreeList, the_smallest_stretch_that_is_large_enough_is_taken) {
  FreeList blocks;
  blocks.grow(100);
  for (const std::size_t bytes : {30u, 1u, 10u, 1u, 20u, 1u}) ASSERT_TRUE(blocks.take(bytes));
  for (const std::size_t at : {0u, 31u, 42u}) blocks.give(at);
  EXPECT_EQ(blocks.take(9), 31u);
  EXPECT_EQ(blocks.take(20), 42u);
  EXPECT_EQ(blocks.take(38), std::nullopt);
  EXPECT_EQ(blocks.take(37), 63u);
}

class Memory : public OnExecutor {};

// What is promised to caches can be had, with something left to work in; with the driver's virtual
// memory and without.
TEST_F(Memory, what_is_available_is_what_can_be_had_beside_the_work) {
  for (const bool is_alone : {false, true}) {
    SCOPED_TRACE(is_alone);
    cudaError_t error = cudaSuccess;
    if (is_alone) simt::fail_call(1, cudaErrorMemoryAllocation);  // as below
    const auto memory = DeviceMemory::open(300 * kMiB, 0, error);
    simt::fail_no_call();
    const std::size_t available = memory->available_bytes();
    EXPECT_EQ(available, 44 * kMiB);
    std::byte* const weights = memory->take(10 * kMiB, error);
    const std::size_t left = memory->available_bytes();
    EXPECT_LE(left, 34 * kMiB);
    EXPECT_GE(left, 33 * kMiB);
    std::byte* const caches = memory->take(left, error);
    ASSERT_NE(caches, nullptr);
    EXPECT_LT(memory->available_bytes(), kMiB);
    std::byte* const work = memory->take(20 * kMiB, error);
    EXPECT_NE(work, nullptr);
    EXPECT_EQ(memory->available_bytes(), 0u);
    for (std::byte* const each : {weights, caches, work}) memory->give(each);
    EXPECT_EQ(memory->available_bytes(), available);
    simt::fail_call(0, cudaErrorIllegalAddress);
    EXPECT_EQ(memory->available_bytes(), 0u) << "a card that does not answer";
    simt::fail_no_call();
    simt::forget_sticky_error();
  }
}

TEST_F(Memory, grows_in_steps_within_its_limit_and_counts_as_the_driver_does) {
  cudaError_t error = cudaSuccess;
  const auto memory = DeviceMemory::open(100 * kMiB + 7, 0, error);
  EXPECT_EQ(memory->limit_bytes(), 100 * kMiB);
  EXPECT_EQ(memory->asked_bytes(), 0u);
  const auto expect_asked = [&](std::size_t mib) {
    EXPECT_EQ(memory->asked_bytes(), mib * kMiB);
    EXPECT_EQ(simt::device_bytes_used(), mib * kMiB);
  };
  std::byte* const first = memory->take(5 * kMiB, error);
  std::byte* const second = memory->take(1, error);
  expect_asked(64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % 256, 0u);
  EXPECT_GE(memory->taken_bytes(), 5 * kMiB + 256);
  EXPECT_EQ(memory->take(96 * kMiB, error), nullptr);
  EXPECT_EQ(error, cudaErrorMemoryAllocation);
  expect_asked(64);
  std::byte* const third = memory->take(60 * kMiB, error);
  ASSERT_NE(third, nullptr);
  expect_asked(100);  // no whole step is left
  memory->give(first);
  EXPECT_EQ(memory->take(4 * kMiB, error), first);
  expect_asked(100);
  for (std::byte* block : {first, second, third}) memory->give(block);
}

TEST_F(Memory, that_is_full_says_what_was_asked_for_and_what_there_is) {
  const auto device = value_of(Device::open(100 * kMiB));
  const auto buffer = value_of(device->allocate(999'700));
  const auto refused = device->allocate(150 * kMiB);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory);
  EXPECT_THAT(refused.error().message, HasSubstr("157.3 MB more are needed, 1.0 MB of at most "
                                                 "104.9 MB are in use"));
  EXPECT_FALSE(device->allocate(SIZE_MAX - 3).ok());
}

TEST_F(Memory, takes_only_what_it_needs_where_a_whole_step_is_not_there) {
  const auto device = value_of(Device::open());
  EXPECT_GT(device->memory().limit_bytes(), simt::kDeviceBytes / 32 * 30);
  simt::fail_call(0, cudaErrorMemoryAllocation);
  const auto buffer = value_of(device->allocate(5 * kMiB));
  EXPECT_TRUE(simt::has_failed_call());
  EXPECT_EQ(device->memory().asked_bytes(), 6 * kMiB);
}

TEST_F(Memory, without_the_drivers_calls_is_blocks_of_their_own_within_the_same_limit) {
  // Ten calls to be found, the card and what it can, the granularity, the addresses; and a card
  // that cannot.
  for (std::size_t n = 0; n <= 14; ++n) {
    std::unique_ptr<DeviceMemory> memory;
    cudaError_t error = cudaSuccess;
    simt::machine().has_virtual_memory = n < 14;
    if (n < 14)
      simt::fail_call(n + 1, cudaErrorMemoryAllocation);  // behind the question for free memory
    memory = DeviceMemory::open(2 * kMiB, 0, error);
    ASSERT_NE(memory, nullptr) << n;
    ASSERT_TRUE(simt::has_failed_call()) << n;
    std::byte* const at = memory->take(2 * kMiB - 10, error);
    ASSERT_NE(at, nullptr);
    EXPECT_EQ(memory->asked_bytes(), 2 * kMiB - 10);
    EXPECT_EQ(simt::device_bytes_used(), 2 * kMiB - 10);
    EXPECT_EQ(memory->take(11, error), nullptr);
    EXPECT_EQ(error, cudaErrorMemoryAllocation);
    memory->give(at);
    EXPECT_NE(memory->take(11, error), nullptr);
  }
}

TEST_F(Memory, the_executor_finds_accesses_past_a_block_and_in_one_given_back) {
  const auto device = value_of(Device::open());
  auto buffer = value_of(device->allocate(64)), out = value_of(device->allocate(64));
  const auto copy_from = [&](std::size_t byte) {
    const cudaLaunchConfig_t config{.gridDim = 1, .blockDim = 1};
    cudaLaunchKernelEx(&config, simt::test::copy_word,
                       reinterpret_cast<const unsigned*>(buffer.data() + byte),
                       reinterpret_cast<unsigned*>(out.data()));
    simt::forget_sticky_error();
    return simt::take_findings();
  };
  EXPECT_THAT(copy_from(60), IsEmpty());
  ASSERT_FALSE(copy_from(64).empty());
  std::byte* const at = buffer.data();
  buffer = {};
  buffer = Buffer(at, 64, [](std::byte*) {});
  ASSERT_FALSE(copy_from(0).empty());
}

TEST_F(Memory, long_copies_go_through_two_slots_in_turns) {
  const auto device = value_of(Device::open());
  for (const std::size_t n : {kTransferLeast, 2 * kSlotBytes + 12345}) {
    std::vector<std::byte> sent(n), got(n);
    for (std::size_t i = 0; i < n; ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 4096);
    const auto buffer = value_of(device->allocate(n));
    auto* const at = const_cast<std::byte*>(buffer.data());
    ASSERT_TRUE(device->upload(at, sent).ok());
    ASSERT_TRUE(device->copy(at, at + 100, 900).ok());
    ASSERT_TRUE(device->download(got, at).ok());
    std::copy_n(sent.begin() + 100, 900, sent.begin());
    EXPECT_TRUE(got == sent) << n;
  }
}

TEST_F(Memory, long_copies_do_without_slots_where_none_can_be_had) {
  const auto device = value_of(Device::open());
  const auto buffer = value_of(device->allocate(kTransferLeast));
  std::vector<std::byte> sent(kTransferLeast, std::byte{3}), got(sent.size());
  simt::fail_call(5, cudaErrorMemoryAllocation);  // a stream, three events, two slots
  ASSERT_TRUE(device->upload(const_cast<std::byte*>(buffer.data()), sent).ok());
  EXPECT_TRUE(simt::has_failed_call());
  ASSERT_TRUE(device->download(got, buffer.data()).ok());
  EXPECT_TRUE(got == sent);
}

}  // namespace
}  // namespace satchel::kernels::cuda
