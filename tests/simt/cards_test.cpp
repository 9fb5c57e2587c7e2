// Which card the cuda backend takes, and those that it refuses, each with what to do.
#include "kernels/cuda/device/cards.h"

#include <gmock/gmock.h>

#include <memory>
#include <thread>
#include <vector>

#include "kernels/cuda/backend/backend_cuda.h"
#include "simt/on_executor.h"
#include "support/value_of.h"

namespace satchel::kernels::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kHalf = simt::kDeviceBytes / 2;

class Cards : public OnExecutor {
 protected:
  void TearDown() override {
    cudaSetDevice(0);
    OnExecutor::TearDown();
  }
  static std::string chosen() { return value_of(make_backend())->device(); }
  static Error refusal() {
    const auto made = make_backend();
    EXPECT_FALSE(made.ok());
    return made.ok() ? Error{} : made.error();
  }
};

TEST_F(Cards, that_are_too_old_are_refused_by_name) {
  simt::machine().cards = {{.major = 7, .minor = 0}};
  EXPECT_EQ(refusal().code, "GPU_OLD");
  EXPECT_THAT(refusal().message, HasSubstr("executor (compute capability 7.0) is too old"));
  simt::machine().cards = {{.major = 7, .minor = 5}};
  EXPECT_EQ(chosen(), "executor");
}

TEST_F(Cards, that_none_of_the_builds_kernels_run_on_are_refused_by_name) {
  for (const cudaError_t error : {cudaErrorNoKernelImageForDevice, cudaErrorUnsupportedPtxVersion,
                                  cudaErrorJitCompilerNotFound}) {
    simt::machine().cards = {{.major = 10, .minor = 3, .kernels = error}};
    EXPECT_EQ(refusal().code, "GPU_KERNELS");
    EXPECT_THAT(refusal().message, AllOf(HasSubstr("executor (compute capability 10.3)"),
                                         HasSubstr(cudaGetErrorName(error)),
                                         HasSubstr("Build Satchel on this machine")));
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
}

TEST_F(Cards, that_cannot_be_used_do_not_hide_one_that_can) {
  simt::machine().cards = {{.major = 7, .minor = 0}, {}};
  EXPECT_EQ(chosen(), "executor, GPU 1 of 2");
  simt::machine().cards = {{.kernels = cudaErrorNoKernelImageForDevice}, {.bytes = kHalf}};
  EXPECT_EQ(chosen(), "executor, GPU 1 of 2");
  simt::machine().cards = {{.major = 7, .minor = 0}, {.kernels = cudaErrorNoKernelImageForDevice}};
  EXPECT_EQ(refusal().code, "GPU_OLD") << "what is wrong with the first";
}

TEST_F(Cards, with_the_most_free_memory_are_taken_and_the_first_of_equals) {
  simt::machine().cards = {{.bytes = kHalf}, {}};
  EXPECT_EQ(chosen(), "executor, GPU 1 of 2");
  simt::machine().cards = {{}, {.bytes = kHalf}};
  EXPECT_EQ(chosen(), "executor, GPU 0 of 2");
  simt::machine().cards = {{}, {}, {}};
  EXPECT_EQ(chosen(), "executor, GPU 0 of 3");
  simt::machine().cards = {{.taken_bytes = kHalf}, {}};
  EXPECT_EQ(chosen(), "executor, GPU 1 of 2");
  simt::machine().cards = {{.taken_bytes = kHalf / 2 * 3}, {.bytes = kHalf}};
  EXPECT_EQ(chosen(), "executor, GPU 1 of 2");
  simt::machine().cards = {{.taken_bytes = kHalf}, {.bytes = kHalf}};
  EXPECT_EQ(chosen(), "executor, GPU 0 of 2");
}

// A thread's current card is the first until it says otherwise.
TEST_F(Cards, other_than_the_first_are_used_from_any_thread) {
  simt::machine().cards = {{.major = 7, .minor = 0}, {}};
  std::unique_ptr<Backend> backend = value_of(make_backend());
  Buffer buffer = value_of(backend->allocate(64));
  std::thread([&] {
    auto* x = reinterpret_cast<float*>(buffer.data());
    const std::vector<float> sent(16, 3);
    std::vector<float> got(16);
    EXPECT_TRUE(backend->upload(buffer.data(), std::as_bytes(std::span(sent))).ok());
    EXPECT_TRUE(backend->scale(x, 2, got.size()).ok());
    EXPECT_TRUE(backend->download(std::as_writable_bytes(std::span(got)), buffer.data()).ok());
    EXPECT_THAT(got, testing::Each(6));
    EXPECT_TRUE(backend->allocate(std::size_t{200} << 20).ok()) << "mapped on the chosen card";
  }).join();
  std::thread([&] {
    buffer = {};
    backend.reset();
  }).join();
}

}  // namespace
}  // namespace satchel::kernels::cuda
