// The queue: what it sends, when, and that a graph is what its works would have been one by one.
#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "kernels/cuda/attention/lane_table.h"
#include "kernels/cuda/backend/backend_cuda.h"
#include "kernels/cuda/device/arguments.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/queue.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/on_executor.h"
#include "simt/runtime_api.h"
#include "support/value_of.h"

namespace satchel::kernels::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// What was sent, in order; a work is its number.
std::vector<int> sent;
int breaks = -1;  // this number fails, as do those below 0
struct Note {
  int number;
  cudaError_t send(cudaStream_t stream) const {
    const auto note = [number = number] {
      if (const cudaError_t error = simt::refuse_call()) return error;
      sent.push_back(number);
      return number < 0 || number == breaks ? cudaErrorLaunchFailure : cudaSuccess;
    };
    return simt::is_capturing(stream) ? simt::capture(stream, note) : note();
  }
  friend bool operator==(const Note&, const Note&) = default;
};

class GpuQueue : public testing::Test {
 protected:
  GpuQueue() {
    sent.clear();
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    queue_ = std::make_unique<Queue>(stream_);
  }
  ~GpuQueue() override {
    simt::fail_no_call();
    simt::forget_sticky_error();
    queue_.reset();
    cudaStreamDestroy(stream_);
  }
  // first, first + 1, … of so many works.
  void add(int n, int first = 0) {
    for (int i = 0; i < n; ++i) ASSERT_EQ(queue_->add(Note{first + i}), cudaSuccess);
  }
  void step(int n, int first = 0) {
    add(n, first);
    ASSERT_EQ(queue_->end_step(), cudaSuccess);
  }
  static std::vector<int> counting(int n, int first = 0) {
    std::vector<int> out;
    for (int i = 0; i < n; ++i) out.push_back(first + i);
    return out;
  }
  static std::vector<int> taken() { return std::exchange(sent, {}); }

  cudaStream_t stream_ = nullptr;
  std::unique_ptr<Queue> queue_;
};

TEST_F(GpuQueue, the_first_step_is_sent_at_once_the_second_as_one_graph) {
  add(10);
  EXPECT_EQ(taken(), counting(10));
  EXPECT_EQ(queue_->end_step(), cudaSuccess);
  for (std::size_t again = 1; again < 4; ++again) {
    add(10);
    EXPECT_THAT(taken(), IsEmpty()) << "held";
    EXPECT_EQ(queue_->end_step(), cudaSuccess);
    EXPECT_EQ(taken(), counting(10));
    EXPECT_EQ(queue_->n_graphs_launched(), again);
  }
}

TEST_F(GpuQueue, a_step_that_goes_another_way_is_sent_whole_and_in_order) {
  step(10);
  (void)taken();
  add(6);
  EXPECT_THAT(taken(), IsEmpty());
  add(1, 77);
  EXPECT_THAT(taken(), ElementsAre(0, 1, 2, 3, 4, 5, 77));
  add(2, 7);
  EXPECT_THAT(taken(), ElementsAre(7, 8)) << "at once from then on";
  EXPECT_EQ(queue_->end_step(), cudaSuccess);
  add(9);
  EXPECT_EQ(queue_->end_step(), cudaSuccess);
  EXPECT_EQ(taken(), counting(9)) << "a step that ends before a known one does";
  EXPECT_EQ(queue_->n_graphs_launched(), 0u);
  step(11);
  EXPECT_EQ(taken(), counting(11)) << "one that goes on";
  EXPECT_EQ(queue_->n_graphs_launched(), 0u);
}

TEST_F(GpuQueue, steps_that_alternate_keep_their_graphs) {
  for (int round = 0; round < 3; ++round)
    for (const int kind : {8, 9, 30}) {
      step(kind);
      EXPECT_EQ(taken(), counting(kind));
    }
  EXPECT_EQ(queue_->n_graphs_launched(), 6u);
  for (int kind = 0; kind < static_cast<int>(Queue::kStepsKept); ++kind) step(12, 100 * kind + 100);
  (void)taken();
  step(8);
  EXPECT_EQ(queue_->n_graphs_launched(), 6u) << "forgotten for newer ones";
  EXPECT_EQ(taken(), counting(8));
}

TEST_F(GpuQueue, few_works_and_too_many_are_never_held) {
  for (const std::size_t n : {Queue::kWorksLeast - 1, Queue::kWorksMost + 1})
    for (int round = 0; round < 3; ++round) {
      add(static_cast<int>(n));
      EXPECT_EQ(taken(), counting(static_cast<int>(n)));
      EXPECT_EQ(queue_->end_step(), cudaSuccess);
    }
  EXPECT_EQ(queue_->n_graphs_launched(), 0u);
}

TEST_F(GpuQueue, what_is_held_can_be_sent_before_the_end) {
  step(10);
  (void)taken();
  add(10);
  EXPECT_EQ(queue_->send(), cudaSuccess);
  EXPECT_EQ(taken(), counting(10));
  EXPECT_EQ(queue_->end_step(), cudaSuccess);
  EXPECT_THAT(taken(), IsEmpty());
  step(10);
  EXPECT_EQ(taken(), counting(10));
  EXPECT_EQ(queue_->n_graphs_launched(), 1u);
}

TEST_F(GpuQueue, an_error_comes_out_once_and_nothing_of_the_step_is_done_later) {
  step(10);
  (void)taken();
  add(4);
  EXPECT_EQ(queue_->add(Note{-1}), cudaErrorLaunchFailure);
  EXPECT_EQ(queue_->end_step(), cudaSuccess);
  EXPECT_THAT(taken(), ElementsAre(0, 1, 2, 3, -1));
}

// Calls of a graph: the capture begins, ten works, it ends, the graph is made and launched.
constexpr std::size_t kCallsOfGraph = 14;

TEST_F(GpuQueue, where_a_graph_cannot_be_had_the_works_are_sent_one_by_one) {
  for (std::size_t call = 0; call < kCallsOfGraph; ++call) {
    Queue queue(stream_);
    for (int step = 0; step < 2; ++step) {
      (void)taken();
      for (int i = 0; i < 10; ++i) ASSERT_EQ(queue.add(Note{i}), cudaSuccess);
      if (step == 1) simt::fail_call(call, cudaErrorMemoryAllocation);
      EXPECT_EQ(queue.end_step(), cudaSuccess) << call;
    }
    EXPECT_TRUE(simt::has_failed_call()) << call;
    EXPECT_FALSE(simt::is_capturing(stream_));
    EXPECT_EQ(taken(), counting(10)) << call;
    EXPECT_EQ(queue.n_graphs_launched(), 0u);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
}

TEST_F(GpuQueue, a_graph_that_meets_an_error_that_stays_says_so) {
  for (std::size_t call = 0; call < kCallsOfGraph; ++call) {
    simt::forget_sticky_error();
    Queue queue(stream_);
    for (int i = 0; i < 10; ++i) (void)queue.add(Note{i});
    EXPECT_EQ(queue.end_step(), cudaSuccess);
    for (int i = 0; i < 10; ++i) (void)queue.add(Note{i});
    simt::fail_call(call, cudaErrorLaunchFailure);
    EXPECT_EQ(queue.end_step(), cudaErrorLaunchFailure) << call;
    EXPECT_FALSE(simt::is_capturing(stream_));
  }
}

TEST_F(GpuQueue, after_a_few_graphs_that_could_not_be_had_none_is_tried) {
  for (unsigned round = 0; round < Queue::kRefusalsMost; ++round) {
    step(10);
    add(10);
    simt::fail_call(0, cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(queue_->end_step(), cudaSuccess);
    EXPECT_TRUE(simt::has_failed_call());
  }
  (void)taken();
  for (int again = 0; again < 3; ++again) {
    add(10);
    EXPECT_EQ(taken(), counting(10)) << "at once: nothing is waited for";
    EXPECT_EQ(queue_->end_step(), cudaSuccess);
  }
  EXPECT_EQ(queue_->n_graphs_launched(), 0u);
}

TEST_F(GpuQueue, that_was_stopped_sends_nothing_and_says_why) {
  step(10);
  add(5);
  (void)taken();
  queue_->stop(cudaErrorLaunchFailure);
  EXPECT_EQ(queue_->add(Note{5}), cudaErrorLaunchFailure);
  EXPECT_EQ(queue_->send(), cudaErrorLaunchFailure);
  for (int again = 0; again < 2; ++again) EXPECT_EQ(queue_->end_step(), cudaErrorLaunchFailure);
  EXPECT_THAT(taken(), IsEmpty());
}

void do_nothing(unsigned) {}

TEST_F(GpuQueue, a_graph_holds_one_kernel_with_more_shared_memory_and_with_less) {
  constexpr std::size_t kMore = 90 * 1024, kLess = 60 * 1024;
  for (int step = 0; step < 3; ++step) {
    for (unsigned i = 0; i < 10; ++i)
      ASSERT_EQ(launch(*queue_, {1, 32, i == 0 ? kMore : kLess}, do_nothing, i), cudaSuccess);
    EXPECT_EQ(queue_->end_step(), cudaSuccess) << step;
  }
  EXPECT_EQ(queue_->n_graphs_launched(), 2u);
}

TEST_F(GpuQueue, an_error_that_nobody_could_hear_is_said_at_the_next_call) {
  step(10);
  add(5);
  breaks = 2;
  queue_->send_unheard();
  breaks = -1;
  EXPECT_EQ(queue_->add(Note{5}), cudaErrorLaunchFailure);
  EXPECT_EQ(queue_->end_step(), cudaSuccess) << "once";
  add(5);
  breaks = 2;
  queue_->send_unheard();
  breaks = -1;
  EXPECT_EQ(queue_->end_step(), cudaErrorLaunchFailure);
  (void)taken();
  step(10);
  EXPECT_EQ(taken(), counting(10)) << "usable again";
}

// With a device or a backend around the queue.
class GpuSteps : public OnExecutor {};

// A decode step in small: work, then what a lane table has of a run that grew, then work on that.
TEST_F(GpuSteps, in_which_a_lane_grows_are_graphs_too) {
  const auto device = value_of(Device::open());
  auto arguments = value_of(Arguments::make(*device));
  BasisStore bases(*device);
  CudaLaneTable table(*device, 3, bases, &arguments);
  std::size_t before = 0;
  for (std::size_t step = 0; step < 5; ++step) {
    for (unsigned i = 0; i < 10; ++i)
      ASSERT_EQ(launch(device->queue(), {1, 32}, do_nothing, i), cudaSuccess);
    for (std::size_t lane = 0; lane < 3; ++lane) {
      const ExactRun run{.n_tokens = 1 + step};
      ASSERT_TRUE(table.set_runs(lane, {&run, 1}).ok());
    }
    const DeviceLanes there = value_of(table.send());
    ASSERT_EQ(launch(device->queue(), {1, 32}, do_nothing, 10u), cudaSuccess);
    DeviceRun got;
    ASSERT_TRUE(device
                    ->download(std::as_writable_bytes(std::span(&got, 1)),
                               reinterpret_cast<const std::byte*>(there.runs + 2))
                    .ok());
    EXPECT_EQ(got.n_tokens, 1 + step);
    if (step == 1) before = device->queue().n_graphs_launched();
  }
  EXPECT_EQ(device->queue().n_graphs_launched(), before + 3);
}

// As one that ends with the logits of a large vocabulary.
TEST_F(GpuSteps, that_end_in_a_long_download_are_graphs_too) {
  const auto device = value_of(Device::open());
  auto arguments = value_of(Arguments::make(*device));
  auto logits = value_of(device->allocate(kTransferLeast));
  std::vector<std::byte> got(kTransferLeast);
  for (unsigned step = 0; step < 3; ++step) {
    const auto there = value_of(arguments.put(std::span<const unsigned>(&step, 1)));
    for (unsigned i = 0; i < 10; ++i)
      ASSERT_EQ(launch(device->queue(), {1, 32}, do_nothing, i), cudaSuccess);
    ASSERT_TRUE(device
                    ->copy(logits.data(), reinterpret_cast<const std::byte*>(std::get<0>(there)),
                           sizeof step)
                    .ok());
    ASSERT_TRUE(device->download(got, logits.data()).ok());
    EXPECT_EQ(got[0], std::byte(step));
  }
  EXPECT_EQ(device->queue().n_graphs_launched(), 2u);
}

// However many arrays are put between works that read them.
TEST_F(GpuSteps, copy_what_was_put_for_them_at_once) {
  constexpr std::size_t kArrays = 10, kLargest = 700;
  const auto device = value_of(Device::open());
  auto arguments = value_of(Arguments::make(*device));
  auto copies = value_of(device->allocate(kArrays * kLargest));
  for (std::size_t step = 0; step < 4; ++step) {
    const auto value = [&](std::size_t array) { return std::byte(16 * step + array); };
    for (std::size_t i = 0; i < kArrays; ++i) {
      const std::vector<std::byte> array(kLargest - 60 * i, value(i));
      const auto there = std::get<0>(value_of(arguments.put(std::span<const std::byte>(array))));
      ASSERT_EQ(launch(device->queue(), {1, 32}, do_nothing, 0u), cudaSuccess);
      ASSERT_TRUE(device->copy(copies.data() + i * kLargest, there, array.size()).ok());
    }
    std::vector<std::byte> got(copies.size());
    ASSERT_TRUE(device->download(got, copies.data()).ok());
    for (std::size_t i = 0; i < kArrays; ++i) {
      EXPECT_EQ(got[i * kLargest], value(i)) << step;
      EXPECT_EQ(got[(i + 1) * kLargest - 60 * i - 1], value(i)) << step;
    }
  }
  EXPECT_EQ(device->queue().n_graphs_launched(), 3u);
  EXPECT_EQ(simt::graph_launches().n_kernels, kArrays);
  EXPECT_EQ(simt::graph_launches().n_copies, 1 + kArrays) << "one, and those within the card";
}

// Of the backend: steps that put other numbers at the same places.
TEST_F(GpuSteps, repeated_ones_are_graphs_that_read_what_was_put_for_this_step) {
  const auto backend = value_of(make_backend());
  auto buffer = value_of(backend->allocate(64 * sizeof(float)));
  auto* x = reinterpret_cast<float*>(buffer.data());
  auto table = value_of(backend->allocate(8 * 16));
  for (std::int32_t step = 0; step < 4; ++step) {
    std::vector<float> values(64);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(static_cast<float>(i) + static_cast<float>(step));
    ASSERT_TRUE(backend->upload(buffer.data(), std::as_bytes(std::span(values))).ok());
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(backend->scale(x, 2.0f, 64).ok());
    const std::int32_t row = step;
    const StoreArgs item{.from = x + row,
                         .n_rows = 1,
                         .n_values = 1,
                         .from_stride = 1,
                         .to = reinterpret_cast<Half*>(table.data())};
    ASSERT_TRUE(backend->store({&item, 1}).ok());
    std::vector<std::byte> got(2);
    ASSERT_TRUE(backend->download(got, table.data()).ok());
    Half half;
    std::memcpy(&half, got.data(), 2);
    EXPECT_NEAR(half_to_float(half), 1024 * values[static_cast<std::size_t>(step)], 1) << step;
  }
}

}  // namespace
}  // namespace satchel::kernels::cuda
