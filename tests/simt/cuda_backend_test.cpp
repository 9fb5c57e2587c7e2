// The cuda backend beside its operations: memory, arguments, how many launches, and that bytes do
// not depend on the order of threads and blocks.
#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include "kernels/cuda/backend/backend_cuda.h"
#include "kernels/cuda/device/arguments.h"
#include "kernels/cuda/device/device.h"
#include "simt/block.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/on_executor.h"
#include "simt/runtime_api.h"
#include "support/value_of.h"
#include "support/weights.h"

namespace satchel::kernels::cuda {
namespace {

class CudaBackendTest : public OnExecutor {};

TEST_F(CudaBackendTest, memory_is_zeroed_aligned_and_copied_where_it_overlaps) {
  const auto backend = value_of(make_backend());
  for (const std::size_t bytes : {0u, 1u, 257u, 100'000u}) {
    auto buffer = value_of(backend->allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0u);
    std::vector<std::byte> got(bytes, std::byte{1});
    ASSERT_TRUE(backend->download(got, buffer.data()).ok());
    EXPECT_EQ(got, std::vector<std::byte>(bytes));
  }
  auto buffer = value_of(backend->allocate(300));
  std::vector<std::byte> sent(300), got(300);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i);
  for (const auto& [to, from] : {std::pair(7, 0), std::pair(0, 7)}) {
    ASSERT_TRUE(backend->upload(buffer.data(), sent).ok());
    ASSERT_TRUE(backend->copy(buffer.data() + to, buffer.data() + from, 293).ok());
    ASSERT_TRUE(backend->download(got, buffer.data()).ok());
    auto want = sent;
    std::memmove(want.data() + to, want.data() + from, 293);
    EXPECT_EQ(got, want);
  }
}

TEST_F(CudaBackendTest, arguments_go_round_their_ring_and_larger_ones_find_room) {
  const auto device = value_of(Device::open());
  Arguments arguments = value_of(Arguments::make(*device));
  for (const std::size_t n : {1u, 600'000u, 0u, 600'000u, 3'000'000u, 5u}) {
    std::vector<std::byte> sent(n), got(n);
    for (std::size_t i = 0; i < n; ++i) sent[i] = static_cast<std::byte>(i * 7 + n);
    const std::vector<int> beside = {1, static_cast<int>(n), 3};
    const auto [there, beside_there] =
        value_of(arguments.put(std::span<const std::byte>(sent), std::span<const int>(beside)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(there) % 256, 0u);
    ASSERT_TRUE(device->download(got, there).ok());
    EXPECT_EQ(got, sent);
    std::vector<int> got_beside(3);
    ASSERT_TRUE(device
                    ->download(std::as_writable_bytes(std::span(got_beside)),
                               reinterpret_cast<const std::byte*>(beside_there))
                    .ok());
    EXPECT_EQ(got_beside, beside);
  }
}

// A matrix of zeros, and room for what it gives.
struct Zeros {
  Zeros(Backend& backend, WeightType type, std::size_t n_out, std::size_t n_in)
      : file(n_out * *row_bytes(type, n_in)),
        weight(value_of(
            backend.load_weight({.type = type, .n_out = n_out, .n_in = n_in, .bytes = file}))),
        memory(value_of(backend.allocate(n_out * sizeof(float)))) {}
  float* out() { return reinterpret_cast<float*>(memory.data()); }
  std::vector<std::byte> file;
  std::unique_ptr<Weight> weight;
  Buffer memory;
};

// A decode step is made of launches.
TEST_F(CudaBackendTest, products_of_a_layer_take_few_launches) {
  const auto backend = value_of(make_backend());
  constexpr std::size_t kWidth = 256, kInner = 512;
  Zeros q(*backend, WeightType::q4_k, kWidth, kWidth), k(*backend, WeightType::q4_k, 64, kWidth),
      v(*backend, WeightType::q6_k, 64, kWidth), gate(*backend, WeightType::q4_k, kInner, kWidth),
      up(*backend, WeightType::q4_k, kInner, kWidth),
      down(*backend, WeightType::q6_k, kWidth, kInner);
  const auto launches = [&](const auto& call) {
    const std::size_t before = simt::launches_so_far();
    EXPECT_TRUE(call().ok());
    return simt::launches_so_far() - before;
  };
  Buffer wide = value_of(backend->allocate(kWidth * sizeof(float)));
  const Backend::Projection qkv[] = {
      {q.weight.get(), q.out(), down.out()}, {k.weight.get(), k.out()}, {v.weight.get(), v.out()}};
  const auto project = [&] { return backend->project(down.out(), 1, std::span(qkv).first(2)); };
  EXPECT_EQ(launches(project), 2u) << "operands; q and k with its bias";
  const auto normed = [&] {
    return backend->norm_project(down.out(), down.out(), 1, 1e-5f,
                                 reinterpret_cast<float*>(wide.data()), qkv);
  };
  EXPECT_EQ(launches(normed), 3u) << "normed operands; q and k; v, of another type";
  const auto feed = [&] {
    return backend->feed_forward({.gain = q.out(),
                                  .gate = gate.weight.get(),
                                  .up = up.weight.get(),
                                  .down = down.weight.get(),
                                  .epsilon = 1e-5f,
                                  .normed = reinterpret_cast<float*>(wide.data()),
                                  .gate_out = gate.out(),
                                  .up_out = up.out()},
                                 down.out(), 1);
  };
  EXPECT_EQ(launches(feed), 4u) << "normed operands; gate and up; gated operands; down, added";
}

TEST_F(CudaBackendTest, products_are_the_same_bytes_in_any_order_of_threads_and_blocks) {
  const auto backend = value_of(make_backend());
  constexpr std::size_t kOut = 150, kIn = 1280, kMany = 20;
  const test::WeightFile file = test::random_weight(WeightType::q4_k, kOut, kIn, 1);
  const auto weight = value_of(backend->load_weight(file.source()));
  const auto values = test::random_values(kMany * kIn, 2);
  Buffer x = value_of(backend->allocate(values.size() * sizeof(float)));
  ASSERT_TRUE(backend->upload(x.data(), std::as_bytes(std::span(values))).ok());
  for (const std::size_t n : {std::size_t{3}, kMany}) {
    std::vector<float> want;
    for (const std::uint64_t seed : {0u, 7u, 8u}) {
      simt::set_order(seed);
      Buffer out = value_of(backend->allocate(n * kOut * sizeof(float)));
      const auto* from = reinterpret_cast<const float*>(x.data());
      ASSERT_TRUE(backend->matmul(*weight, from, n, reinterpret_cast<float*>(out.data())).ok());
      std::vector<float> got(n * kOut);
      ASSERT_TRUE(backend->download(std::as_writable_bytes(std::span(got)), out.data()).ok());
      if (want.empty()) want = got;
      EXPECT_EQ(got, want) << n << " tokens";
    }
  }
  simt::set_order(0);
}

}  // namespace
}  // namespace satchel::kernels::cuda
