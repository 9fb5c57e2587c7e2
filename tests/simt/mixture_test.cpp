// Mixture of experts on the cuda backend: how many launches, that a decode step waits for nothing,
// what a router's NaN becomes, and that tables of experts are not outdated.
#include <gmock/gmock.h>

#include <limits>
#include <vector>

#include "kernels/cuda/backend/backend_cuda.h"
#include "simt/on_executor.h"
#include "simt/runtime_api.h"
#include "support/value_of.h"
#include "support/weights.h"

namespace satchel::kernels::cuda {
namespace {

constexpr std::size_t kWidth = 64, kInner = 32, kUsed = 2, kTokensMost = 70;

class MixtureTest : public OnExecutor {
 protected:
  // A layer of so many experts, and what its call works with.
  struct Layer {
    Backend& backend;
    std::vector<std::unique_ptr<Weight>> weights;
    std::vector<Buffer> buffers;
    std::vector<Backend::Expert> experts;
    Backend::MixtureOfExperts args;
    std::vector<Backend::Ranked> chosen = std::vector<Backend::Ranked>(kTokensMost * kUsed);
    float* x = nullptr;

    Layer(Backend& on, std::size_t n_experts) : backend(on) {
      for (std::size_t i = 0; i < n_experts; ++i)
        experts.push_back({.gate = weight(WeightType::q4_0, kInner, kWidth),
                           .up = weight(WeightType::q4_0, kInner, kWidth),
                           .down = weight(WeightType::q8_0, kWidth, kInner)});
      args = {.gain = floats(kWidth),
              .router = weight(WeightType::f32, n_experts, kWidth),
              .experts = experts,
              .n_used = kUsed,
              .epsilon = 1e-5f,
              .normed = floats(kTokensMost * kWidth),
              .taken = floats(kTokensMost * kWidth),
              .gate_out = floats(kTokensMost * kInner),
              .up_out = floats(kTokensMost * kInner),
              .routed = floats(kTokensMost * n_experts),
              .chosen = chosen};
      x = floats(kTokensMost * kWidth);
    }
    Weight* weight(WeightType type, std::size_t n_out, std::size_t n_in) {
      const auto file = test::random_weight(type, n_out, n_in, weights.size());
      weights.push_back(value_of(backend.load_weight(file.source())));
      return weights.back().get();
    }
    float* floats(std::size_t n) {
      const auto values = test::random_values(n, n);
      buffers.push_back(value_of(backend.allocate(n * sizeof(float))));
      auto* at = reinterpret_cast<float*>(buffers.back().data());
      set(at, values);
      return at;
    }
    void set(float* at, const std::vector<float>& values) {
      EXPECT_TRUE(
          backend.upload(reinterpret_cast<std::byte*>(at), std::as_bytes(std::span(values))).ok());
    }
    std::vector<float> get(const float* at, std::size_t n) {
      std::vector<float> values(n);
      EXPECT_TRUE(backend
                      .download(std::as_writable_bytes(std::span(values)),
                                reinterpret_cast<const std::byte*>(at))
                      .ok());
      return values;
    }
    Result<void> feed(std::size_t n_tokens) { return backend.moe(args, x, n_tokens); }
  };

  void TearDown() override {
    backend_.reset();
    OnExecutor::TearDown();
  }
  std::unique_ptr<Backend> backend_ = value_of(make_backend());
};

TEST_F(MixtureTest, of_few_tokens_is_seven_launches_whatever_the_number_of_experts) {
  for (const std::size_t n_experts : {2u, 40u, 300u})
    for (const std::size_t n_tokens : {std::size_t{1}, std::size_t{5}, std::size_t{16}}) {
      Layer layer(*backend_, n_experts);
      const std::size_t before = simt::launches_so_far();
      ASSERT_TRUE(layer.feed(n_tokens).ok());
      EXPECT_EQ(simt::launches_so_far() - before, 7u) << n_experts << ", " << n_tokens;
    }
}

TEST_F(MixtureTest, of_a_prompt_is_ten_launches_at_most) {
  for (const std::size_t n_experts : {2u, 300u})
    for (const std::size_t n_tokens : {std::size_t{17}, kTokensMost}) {
      Layer layer(*backend_, n_experts);
      const std::size_t before = simt::launches_so_far();
      ASSERT_TRUE(layer.feed(n_tokens).ok());
      EXPECT_LE(simt::launches_so_far() - before, 10u) << n_experts << ", " << n_tokens;
    }
}

TEST_F(MixtureTest, of_a_long_prompt_goes_in_rounds_within_128_MiB) {
  simt::machine().runs_kernels = false;
  Layer layer(*backend_, 4);
  constexpr std::size_t kTokens = 200'000;
  layer.args.normed = layer.floats(kTokens * kWidth);
  layer.args.routed = layer.floats(kTokens * 4);
  layer.x = layer.floats(kTokens * kWidth);
  const std::size_t before = backend_->scratch_bytes(), launches = simt::launches_so_far();
  ASSERT_TRUE(layer.feed(kTokens).ok());
  EXPECT_GT(simt::launches_so_far() - launches, 10u);
  EXPECT_LE(simt::launches_so_far() - launches, 20u);
  EXPECT_LE(backend_->scratch_bytes() - before, (128u + 72) << 20) << "operands of the router too";
}

// A wait between the layers would end the step, and an argument that depends on the router would
// make another one.
TEST_F(MixtureTest, of_two_layers_is_one_graph_whatever_the_router_says) {
  Layer first(*backend_, 8), second(*backend_, 8);
  std::vector<float> before;
  for (std::uint64_t step = 0; step < 6; ++step) {
    const std::size_t n_graphs = simt::graph_launches().n;
    first.set(first.x, test::random_values(kWidth, 100 + step));
    ASSERT_TRUE(first.feed(1).ok());
    second.x = first.x;
    ASSERT_TRUE(second.feed(1).ok());
    const auto got = first.get(first.x, kWidth);
    EXPECT_NE(got, before);
    before = got;
    if (step < 2) continue;
    EXPECT_EQ(simt::graph_launches().n - n_graphs, 1u) << step;
    EXPECT_EQ(simt::graph_launches().n_kernels, 15u) << "x is delivered, and 7 of each layer";
    EXPECT_EQ(simt::graph_launches().n_copies, 1u);
  }
}

TEST_F(MixtureTest, a_routers_nan_is_told_once_by_who_waits_next) {
  Layer layer(*backend_, 8);
  const auto is_told = [](const auto& outcome) {
    return !outcome.ok() && outcome.error().code == "LOGITS_NAN" &&
           outcome.error().message.starts_with("A layer's expert router");
  };
  const auto feed_nan = [&](std::size_t n_tokens = 3) {
    layer.set(layer.x, std::vector<float>(kWidth, std::numeric_limits<float>::quiet_NaN()));
    EXPECT_TRUE(layer.feed(n_tokens).ok());
  };
  std::vector<std::byte> got(4);
  const auto* normed = reinterpret_cast<const std::byte*>(layer.args.gain);
  feed_nan();
  EXPECT_TRUE(is_told(backend_->download(got, normed)));
  EXPECT_TRUE(backend_->download(got, normed).ok());
  feed_nan();
  EXPECT_TRUE(is_told(backend_->argmax(layer.args.gain, kWidth)));
  EXPECT_TRUE(backend_->argmax(layer.args.gain, kWidth).ok());
  feed_nan(kTokensMost);
  EXPECT_TRUE(is_told(backend_->finish()));
  EXPECT_TRUE(backend_->finish().ok());
}

// Whether all go to one expert, or to as many as there are.
TEST_F(MixtureTest, of_a_prompt_gives_what_the_default_does) {
  for (const std::size_t n_experts : {2u, 9u, 40u}) {
    Layer layer(*backend_, n_experts);
    for (const std::size_t n_tokens : {std::size_t{33}, kTokensMost}) {
      const auto x = test::random_values(n_tokens * kWidth, 3);
      layer.set(layer.x, x);
      ASSERT_TRUE(layer.feed(n_tokens).ok());
      const auto got = layer.get(layer.x, x.size());
      layer.set(layer.x, x);
      ASSERT_TRUE(backend_->Backend::moe(layer.args, layer.x, n_tokens).ok());
      EXPECT_THAT(got, testing::Pointwise(testing::FloatNear(2e-2f), layer.get(layer.x, x.size())));
    }
  }
}

// At the same addresses.
TEST_F(MixtureTest, other_experts_of_a_layer_are_noticed) {
  Layer layer(*backend_, 4);
  const auto fed = [&](auto feed) {
    layer.set(layer.x, test::random_values(kWidth, 7));
    EXPECT_TRUE(feed().ok());
    return layer.get(layer.x, kWidth);
  };
  const auto here = [&] { return fed([&] { return layer.feed(1); }); };
  const auto by_default = [&] {
    return fed([&] { return backend_->Backend::moe(layer.args, layer.x, 1); });
  };
  const auto first = here();
  EXPECT_THAT(first, testing::Pointwise(testing::FloatNear(2e-5f), by_default()));
  for (Backend::Expert& expert : layer.experts) std::swap(expert.gate, expert.up);
  const auto swapped = here();
  EXPECT_NE(swapped, first);
  EXPECT_THAT(swapped, testing::Pointwise(testing::FloatNear(2e-5f), by_default()));
  layer.experts[0].down = layer.weight(WeightType::f16, kWidth, kInner);
  EXPECT_THAT(here(), testing::Pointwise(testing::FloatNear(2e-5f), by_default()))
      << "not alike: the default";
}

}  // namespace
}  // namespace satchel::kernels::cuda
