// Products by cuBLAS, with a library of the test's own in its place: found, missing, failing.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/contract/registry.h"
#include "kernels/cuda/backend_cuda.h"
#include "kernels/cuda/blas_products.h"
#include "kernels/cuda/cuda_weight.h"
#include "kernels/cuda/layer_products.h"
#include "simt/fake_cublas/fake_cublas.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/on_executor.h"
#include "simt/runtime_api.h"
#include "support/value_of.h"
#include "support/weights.h"

namespace satchel::kernels::cuda {
namespace {

using testing::HasSubstr;

const std::array<std::string, 2> kFake = {"no-such-cublas.so", SATCHEL_FAKE_CUBLAS};

class CuBlas : public OnExecutor {
 protected:
  void SetUp() override {
    library_ = ::dlopen(SATCHEL_FAKE_CUBLAS, RTLD_NOW);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    fake_ = static_cast<FakeCublas*>(::dlsym(library_, "the_fake_cublas"));
    ASSERT_NE(fake_, nullptr);
    *fake_ = {};
    fake_->reach = [](void (*work)(void*), void* of) {
      const simt::DeviceIsOpen open;
      work(of);
    };
    fake_->wrote = [](const void* at, std::size_t bytes) {
      simt::mark_written(static_cast<const std::byte*>(at), bytes);
    };
  }
  void TearDown() override {
    OnExecutor::TearDown();
    EXPECT_EQ(fake_->n_living, 0) << "left behind";
    ::dlclose(library_);
  }

  static Buffer there(Device& device, const std::vector<float>& values) {
    Buffer buffer = value_of(device.allocate(values.size() * sizeof(float)));
    EXPECT_TRUE(device.upload(buffer.data(), std::as_bytes(std::span(values))).ok());
    return buffer;
  }
  static float* floats(Buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }
  static std::vector<float> here(Device& device, const Buffer& buffer) {
    std::vector<float> out(buffer.size() / sizeof(float));
    EXPECT_TRUE(device.download(std::as_writable_bytes(std::span(out)), buffer.data()).ok());
    return out;
  }
  static std::vector<float> by_reference(const test::WeightFile& file, const std::vector<float>& x,
                                         std::size_t n_tokens) {
    const auto reference = value_of(open_backend("reference", {}));
    std::vector<float> out(n_tokens * file.source().n_out);
    const auto weight = value_of(reference->load_weight(file.source()));
    EXPECT_TRUE(reference->matmul(*weight, x.data(), n_tokens, out.data()).ok());
    return out;
  }
  static double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
    double difference = 0, squares = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      difference += std::pow(double{got[i]} - double{want[i]}, 2);
      squares += std::pow(double{want[i]}, 2);
    }
    return std::sqrt(difference / squares);
  }

  FakeCublas* fake_ = nullptr;

 private:
  void* library_ = nullptr;
};

TEST_F(CuBlas, products_of_every_kind_of_weight_in_slices_are_the_references) {
  const auto device = value_of(Device::open());
  constexpr std::size_t kOut = 40, kIn = 256, kTokens = 5, kSlice = 16 * (kIn * 2 + kTokens * 4);
  BlasProducts products(*device, value_of(Blas::open(*device, kFake)), kSlice);
  for (const WeightType type :
       {WeightType::q4_k, WeightType::q6_k, WeightType::q8_0, WeightType::mxfp4, WeightType::f32,
        WeightType::f16, WeightType::bf16}) {
    const test::WeightFile file = test::random_weight(type, kOut, kIn, 3);
    const CudaWeight weight = value_of(CudaWeight::make(*device, file.source()));
    auto x = test::random_values(kTokens * kIn, 4);
    for (std::size_t i = 0; i < kIn; ++i) x[i] *= 1e8f;  // a token that leaves fp16
    const auto bias = test::random_values(kOut, 5), before = test::random_values(kTokens * kOut, 6);
    Buffer x_there = there(*device, x), out = there(*device, before), row = there(*device, bias);
    const int n_before = fake_->n_products;
    const std::array<Product, 1> added = {
        {{.weight = &weight.matrix(), .out = floats(out), .bias = floats(row), .is_added = true}}};
    ASSERT_TRUE(products.multiply(added, floats(x_there), kTokens).ok());
    EXPECT_EQ(fake_->n_products - n_before, 3) << "16, 16 and 8 rows";
    auto want = by_reference(file, x, kTokens);
    for (std::size_t i = 0; i < want.size(); ++i) want[i] += bias[i % kOut] + before[i];
    const auto got = here(*device, out);
    const auto split = [](const std::vector<float>& all) {  // the large token, the others
      return std::pair(std::vector(all.begin(), all.begin() + kOut),
                       std::vector(all.begin() + kOut, all.end()));
    };
    EXPECT_LT(relative_error(split(got).first, split(want).first), 1e-3);
    EXPECT_LT(relative_error(split(got).second, split(want).second), 1e-3)
        << weight_type_traits(type).name;
  }
}

TEST_F(CuBlas, takes_the_products_of_many_tokens_of_a_layer_and_leaves_few_alone) {
  const auto device = value_of(Device::open());
  constexpr std::size_t kWidth = 32, kMany = BlasProducts::kTokensMin;
  LayerProducts layer(*device, value_of(BlasProducts::open(*device, kFake)).products);
  const test::WeightFile file = test::random_weight(WeightType::q8_0, kWidth, kWidth, 7);
  const CudaWeight weight = value_of(CudaWeight::make(*device, file.source()));
  const auto x = test::random_values(kMany * kWidth, 8);
  const std::vector<float> gain(kWidth, 1.0f), none(x.size());
  Buffer gain_there = there(*device, gain), normed = there(*device, none);
  Buffer gate = there(*device, none), up = there(*device, none);
  const auto fed = [&](LayerProducts& by, std::size_t n) {
    Buffer out = there(*device, x);
    EXPECT_TRUE(by.feed_forward({.gain = floats(gain_there),
                                 .gate = &weight,
                                 .up = &weight,
                                 .down = &weight,
                                 .epsilon = 1e-5f,
                                 .normed = floats(normed),
                                 .gate_out = floats(gate),
                                 .up_out = floats(up)},
                                floats(out), n)
                    .ok());
    return here(*device, out);
  };
  LayerProducts own(*device);
  const auto want = fed(own, kMany);
  auto fewer = fed(layer, kMany - 1);
  EXPECT_EQ(fake_->n_products, 0);
  std::copy_n(want.end() - kWidth, kWidth, fewer.end() - kWidth);  // the token that was left out
  EXPECT_EQ(fewer, want);
  const auto got = fed(layer, kMany);
  EXPECT_EQ(fake_->n_products, 3) << "gate, up, down";
  EXPECT_NE(got, want) << "rounded to fp16";
  EXPECT_LT(relative_error(got, want), 1e-3);
}

TEST_F(CuBlas, a_missing_or_strange_library_is_an_error_value_and_the_backend_does_without) {
  const auto device = value_of(Device::open());
  const std::array<std::string, 1> missing = {"no-such-cublas.so"}, strange = {"libm.so.6"};
  const auto refused = Blas::open(*device, missing);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "GPU_BLAS");
  EXPECT_THAT(refused.error().message, HasSubstr("no-such-cublas.so"));
  EXPECT_THAT(Blas::open(*device, strange).error().message, HasSubstr("lacks a function"));
  const auto opened = value_of(BlasProducts::open(*device, missing));
  EXPECT_EQ(opened.products, nullptr);
  EXPECT_THAT(opened.why_not, HasSubstr("no-such-cublas.so"));
}

TEST_F(CuBlas, that_fails_while_it_is_opened_does_not_stop_the_backend_which_says_why) {
  for (const int n : {0, 1, 2}) {
    fake_->calls_until_failure = n;
    const auto backend = value_of(make_backend({.blas_files = {SATCHEL_FAKE_CUBLAS}}));
    EXPECT_THAT(backend->device(), HasSubstr("executor, without cuBLAS: cuBLAS refused a call"));
    EXPECT_EQ(fake_->n_living, 0);
  }
  const auto none = value_of(make_backend({.blas_files = {"no-such-cublas.so"}}));
  EXPECT_THAT(none->device(), HasSubstr("no-such-cublas.so"));
  const auto used = value_of(make_backend({.blas_files = {SATCHEL_FAKE_CUBLAS}}));
  EXPECT_EQ(used->device(), "executor");
  EXPECT_EQ(fake_->n_living, 1);
}

TEST_F(CuBlas, is_the_first_of_the_files_that_can_be_used) {
  const auto backend =
      value_of(make_backend({.blas_files = {"no-such.so", "libm.so.6", SATCHEL_FAKE_CUBLAS}}));
  EXPECT_EQ(backend->device(), "executor");
  EXPECT_EQ(fake_->n_living, 1);
}

TEST_F(CuBlas, every_call_of_it_that_fails_is_an_error_value_and_nothing_is_left_behind) {
  const test::WeightFile file = test::random_weight(WeightType::q8_0, 16, 32, 9);
  const auto use = [&]() -> Result<void> {
    SATCHEL_TRY_ASSIGN(const auto device, Device::open());
    SATCHEL_TRY_ASSIGN(auto blas, Blas::open(*device, kFake));
    BlasProducts products(*device, std::move(blas));
    SATCHEL_TRY_ASSIGN(const CudaWeight weight, CudaWeight::make(*device, file.source()));
    SATCHEL_TRY_ASSIGN(Buffer x, device->allocate(32 * sizeof(float)));
    SATCHEL_TRY_ASSIGN(Buffer out, device->allocate(16 * sizeof(float)));
    const std::array<Product, 1> one = {{{.weight = &weight.matrix(), .out = floats(out)}}};
    return products.multiply(one, floats(x), 1);
  };
  const auto fails = [&](int n, int failure) {
    fake_->calls_until_failure = n;
    fake_->failure = failure;
    const Result<void> got = use();
    EXPECT_EQ(fake_->n_living, 0);
    return got.ok() ? std::string("no") : got.error().code;
  };
  for (const int n : {0, 1, 2, 3}) EXPECT_EQ(fails(n, 13), "GPU_CALL") << n;
  EXPECT_EQ(fails(4, 13), "no") << "create, stream, workspace, product";
  EXPECT_EQ(fails(0, 3), "GPU_MEMORY");
}

}  // namespace
}  // namespace satchel::kernels::cuda
