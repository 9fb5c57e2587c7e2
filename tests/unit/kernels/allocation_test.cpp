// A decode step takes nothing from the heap: scratch belongs to the backend and grows once.
#include <gtest/gtest.h>

#include <malloc.h>

#include <string>
#include <vector>

#include "support/backends.h"
#include "support/count_allocations.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

class EveryDecodeStep : public test::OnEveryBackend {};

TEST_P(EveryDecodeStep, allocates_nothing_after_the_first) {
  if (GetParam().backend == "reference") return;      // plain loops may
  if (GetParam().backend == "cuda_executor") return;  // what takes its arrays there and back may
  const std::size_t width = 512;
  std::vector<test::WeightFile> files;
  std::vector<std::unique_ptr<Weight>> weights;
  for (const WeightType type : kWeightTypes) {
    files.push_back(test::random_weight(type, 300, width, 1));
    auto weight = backend().load_weight(files.back().source());
    ASSERT_TRUE(weight.ok());
    weights.push_back(std::move(weight).value());
  }
  auto x = test::random_values(width, 2);
  const auto y = test::random_values(width, 3);
  std::vector<float> out(width);
  const std::vector<double> inverse(32, 0.1);
  const std::vector<std::int32_t> one = {7};
  std::vector<Backend::Ranked> ranked(10);
  std::vector<float> rotation(64), q(width), k(width);
  std::vector<Half> halves(width);
  const std::vector<Backend::Projection> projections = {{weights[0].get(), q.data()},
                                                        {weights[1].get(), k.data()}};
  const auto step = [&] {
    for (const auto& weight : weights) {
      ASSERT_TRUE(backend().embed(*weight, one, out.data()).ok());
      ASSERT_TRUE(backend().matmul(*weight, x.data(), 1, out.data()).ok());
    }
    ASSERT_TRUE(backend().rms_norm(x.data(), y.data(), 1, width, 1e-5f, out.data()).ok());
    ASSERT_TRUE(backend()
                    .make_rotation({.positions = one.data(), .n_tokens = 1},
                                   {.inverse_frequency = inverse}, rotation.data())
                    .ok());
    ASSERT_TRUE(backend()
                    .rope({.q = out.data(),
                           .n_tokens = 1,
                           .n_heads = 8,
                           .head_dim = 64,
                           .rotation = rotation.data(),
                           .n_rotated = 64})
                    .ok());
    const StoreArgs stored{.from = x.data(),
                           .n_rows = 1,
                           .n_values = width,
                           .from_stride = width,
                           .to = halves.data()};
    ASSERT_TRUE(backend().store({&stored, 1}).ok());
    ASSERT_TRUE(backend().norm_project(x.data(), y.data(), 1, 1e-5f, out.data(), projections).ok());
    ASSERT_TRUE(backend().glu(Activation::silu, out.data(), y.data(), width).ok());
    ASSERT_TRUE(backend().add(out.data(), y.data(), width).ok());
    ASSERT_TRUE(backend().argmax(out.data(), width).ok());
    ASSERT_TRUE(backend().top_k(out.data(), width, ranked).ok());
  };
  step();
  const std::size_t before = test::allocations_so_far();
  const auto heap_before =
      mallinfo2().uordblks + mallinfo2().hblkhd;  // aligned_alloc is not counted
  for (int i = 0; i < 3; ++i) step();
  if (GetParam().name == "cuda") GTEST_SKIP() << "the driver takes memory of the heap, for graphs";
  EXPECT_EQ(test::allocations_so_far(), before);
  EXPECT_EQ(mallinfo2().uordblks + mallinfo2().hblkhd, heap_before);
}

TEST(CountAllocations, sees_one) {
  const std::size_t before = test::allocations_so_far();
  std::vector<std::string> some(1, std::string(100, 'x'));
  EXPECT_GE(test::allocations_so_far(), before + 2);
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryDecodeStep, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
