// The cuda backend where things go wrong: each call of CUDA's that can fail, made to fail, becomes
// an Error with words for people; nothing is left behind, and what passes is usable again.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cuda/arguments.h"
#include "kernels/cuda/backend_cuda.h"
#include "kernels/cuda/device.h"
#include "simt/block.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/runtime_api.h"
#include "support/graded.h"
#include "support/value_of.h"
#include "support/weights.h"

namespace satchel::kernels::cuda {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class OneByteCode final : public OperandCode {
 public:
  std::string_view name() const override { return "one_byte"; }
  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      page[layout.planes[0].at + i] = static_cast<std::byte>(x[i]);
  }
  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      x[i] = static_cast<float>(page[layout.planes[0].at + i]);
  }
};

class Faults : public testing::Test {
 protected:
  void TearDown() override {
    simt::fail_no_call();
    simt::forget_sticky_error();
    EXPECT_THAT(simt::take_findings(), IsEmpty());
    EXPECT_EQ(simt::device_bytes_used(), 0u) << "left behind";
  }

  // A page of keys in a basis and of values by loops in main memory, there and back.
  static Result<void> use_pages(Backend& backend) {
    constexpr std::size_t kDim = 16, kTokens = 5;
    const test::TestBasis made(kDim);
    Basis basis = made.view();
    basis.id = 3;
    const OneByteCode code;
    const Plane plane{.kind = PlaneKind::codes, .bits = 8, .bytes = kDim * 32};
    SATCHEL_TRY_ASSIGN(
        const PageLayout layout,
        page_layout(
            {.head_dim = kDim,
             .capacity = 32,
             .k = test::graded_operand({8}, &basis),
             .v = {.form = OperandShape::Form::coded, .code = &code, .planes = {&plane, 1}}}));
    const std::size_t rows = kDim * kTokens;
    SATCHEL_TRY_ASSIGN(Buffer exact, backend.allocate(2 * rows * sizeof(Half) + 64));
    SATCHEL_TRY_ASSIGN(Buffer page, backend.allocate(layout.bytes));
    SATCHEL_TRY_ASSIGN(Buffer out, backend.allocate(2 * rows * sizeof(float)));
    auto* k = reinterpret_cast<Half*>(exact.data());
    auto* decoded = reinterpret_cast<float*>(out.data());
    const ExactRun run{k, k + rows, reinterpret_cast<std::int32_t*>(k + 2 * rows), kTokens};
    for (int time = 0; time < 2; ++time) {
      const EncodeArgs encode{.layout = &layout, .exact = run, .page = page.data()};
      SATCHEL_TRY(backend.encode_pages({&encode, 1}));
    }
    const DecodeArgs decode{.layout = &layout,
                            .page = page.data(),
                            .n_tokens = kTokens,
                            .k = decoded,
                            .v = decoded + rows};
    return backend.decode_pages({&decode, 1});
  }

  // Memory, a queued operation, one with arguments, one that answers, a long copy there and back.
  static Result<std::int32_t> use_everything() {
    SATCHEL_TRY_ASSIGN(const auto backend, make_backend());
    SATCHEL_TRY_ASSIGN(Buffer buffer, backend->allocate(2000 * sizeof(float)));
    std::vector<float> values(2000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
    SATCHEL_TRY(backend->upload(buffer.data(), std::as_bytes(std::span(values))));
    auto* x = reinterpret_cast<float*>(buffer.data());
    SATCHEL_TRY(backend->scale(x, 2.0f, values.size()));
    const StoreArgs item{.from = x,
                         .n_rows = 2,
                         .n_values = 5,
                         .from_stride = 10,
                         .to = reinterpret_cast<Half*>(x + 1000)};
    SATCHEL_TRY(backend->store({&item, 1}));
    SATCHEL_TRY(backend->copy(buffer.data() + 4, buffer.data(), 400));
    std::vector<Backend::Ranked> ranked(3);
    SATCHEL_TRY(backend->top_k(x, 1000, ranked));
    std::vector<std::byte> much(kTransferLeast + 5, std::byte{7}), back(much.size());
    SATCHEL_TRY_ASSIGN(Buffer large, backend->allocate(much.size()));
    SATCHEL_TRY(backend->upload(large.data(), much));
    SATCHEL_TRY(backend->download(back, large.data()));
    EXPECT_TRUE(back == much);
    SATCHEL_TRY(use_pages(*backend));
    SATCHEL_TRY(backend->finish());
    return ranked[0].index;
  }
};

TEST_F(Faults, every_call_that_fails_is_an_error_value_and_nothing_is_left_behind) {
  const std::int32_t want = value_of(use_everything());
  std::size_t n_failed = 0;
  for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorLaunchFailure}) {
    for (std::size_t n = 0;; ++n) {
      simt::forget_sticky_error();
      simt::fail_call(n, error);
      const Result<std::int32_t> got = use_everything();
      if (!simt::has_failed_call()) break;
      if (got.ok()) {  // there was another way; or it was the backend's end, which nobody hears of
        EXPECT_EQ(*got, want) << "call " << n;
        continue;
      }
      ++n_failed;
      EXPECT_EQ(got.error().code, error == cudaErrorMemoryAllocation ? "GPU_MEMORY" : "GPU_LOST")
          << "call " << n;
    }
  }
  EXPECT_GT(n_failed, 100u);
  simt::fail_no_call();
  simt::forget_sticky_error();
  EXPECT_EQ(value_of(use_everything()), want);
}

TEST_F(Faults, no_card_and_an_old_driver_have_errors_of_their_own) {
  simt::fail_call(0, cudaErrorNoDevice);
  EXPECT_EQ(make_backend().error().code, "GPU_NONE");
  simt::fail_call(0, cudaErrorInsufficientDriver);
  EXPECT_EQ(make_backend().error().code, "GPU_DRIVER");
}

TEST_F(Faults, after_a_full_memory_the_backend_goes_on) {
  const auto backend = value_of(make_backend());
  simt::fail_call(0, cudaErrorMemoryAllocation);
  const auto refused = backend->allocate(100);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory);
  EXPECT_TRUE(backend->allocate(100).ok());
  EXPECT_FALSE(backend->allocate(SIZE_MAX - 3).ok());
  EXPECT_TRUE(backend->finish().ok());
}

TEST_F(Faults, after_a_kernel_that_broke_every_call_says_so) {
  const auto backend = value_of(make_backend());
  auto buffer = value_of(backend->allocate(64));
  simt::fail_call(0, cudaErrorLaunchFailure);
  auto* x = reinterpret_cast<float*>(buffer.data());
  const auto broken = backend->scale(x, 2.0f, 16);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().kind, ErrorKind::device_lost);
  EXPECT_THAT(broken.error().message, HasSubstr("cudaErrorLaunchFailure"));
  EXPECT_EQ(backend->finish().error().code, "GPU_LOST");
  EXPECT_EQ(backend->allocate(1).error().code, "GPU_LOST");
}

TEST_F(Faults, memory_is_zeroed_aligned_and_copied_where_it_overlaps) {
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

TEST_F(Faults, arguments_go_round_their_ring_and_larger_ones_find_room) {
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
        room(value_of(backend.allocate(n_out * sizeof(float)))) {}
  float* out() { return reinterpret_cast<float*>(room.data()); }
  std::vector<std::byte> file;
  std::unique_ptr<Weight> weight;
  Buffer room;
};

// What kernels.md 6.4 counts: a decode step is made of launches.
TEST_F(Faults, products_of_a_layer_take_few_launches) {
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

TEST_F(Faults, products_are_the_same_bytes_in_any_order_of_threads_and_blocks) {
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
