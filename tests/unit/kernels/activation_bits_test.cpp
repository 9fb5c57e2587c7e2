// Matrix products of the cpu backend with activations of 8 bits: exact products of what the
// activations became, which is near what they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/reference/dequant.h"
#include "kernels/registry/registry.h"
#include "support/backends.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

using test::random_weight;
using test::WeightFile;

// Where the codes of a block lie, and a byte that makes all of them the largest once unsigned:
// their sums are those that might leave 16 bits.
struct PackedType {
  WeightType type;
  std::size_t codes_at, n_bytes;
  int largest;
};
constexpr PackedType kTypes[] = {
    {WeightType::q4_0, 2, 16, 0xff},   {WeightType::q4_1, 4, 16, 0xff},
    {WeightType::q5_0, 2, 20, 0xff},   {WeightType::q5_1, 4, 20, 0xff},
    {WeightType::q8_0, 2, 32, 0x7f},   {WeightType::q2_k, 16, 64, 0xff},
    {WeightType::q3_k, 0, 96, 0xff},   {WeightType::q4_k, 16, 128, 0xff},
    {WeightType::q5_k, 16, 160, 0xff}, {WeightType::q6_k, 0, 192, 0xff},
    {WeightType::iq4_nl, 2, 16, 0xff}, {WeightType::iq4_xs, 8, 128, 0xff},
    {WeightType::mxfp4, 1, 16, 0x77},
};

std::string name_of(WeightType type) {
  return std::string(weight_type_traits(type).name);
}

// Without the outliers that random_values has, which a scale for 32 values of 8 bits is not made
// for.
std::vector<float> tame_values(std::size_t n, std::uint64_t seed) {
  auto out = test::random_values(n, seed);
  for (float& value : out) value = std::clamp(value, -3.0f, 3.0f);
  return out;
}

std::unique_ptr<Backend> open_cpu(std::string_view level, std::size_t n_threads = 1) {
  auto opened =
      open_backend("cpu", {.n_threads = n_threads, .cpu_level = level, .activation_bits = 8});
  EXPECT_TRUE(opened.ok());
  return std::move(opened).value();
}

std::vector<float> product(Backend& backend, const WeightFile& file, const std::vector<float>& x) {
  const std::size_t n_tokens = x.size() / file.source().n_in;
  auto weight = backend.load_weight(file.source());
  EXPECT_TRUE(weight.ok() && (*weight)->owned_bytes() != 0);
  std::vector<float> out(n_tokens * file.source().n_out, std::nanf(""));
  EXPECT_TRUE(backend.matmul(**weight, x.data(), n_tokens, out.data()).ok());
  return out;
}

// Nearest multiples of a 127th of the largest magnitude among 32.
std::vector<float> quantised(std::vector<float> x) {
  for (std::size_t at = 0; at < x.size(); at += 32) {
    float most = 0;
    for (std::size_t i = at; i < at + 32; ++i) most = std::max(most, std::fabs(x[i]));
    if (most == 0) continue;
    for (std::size_t i = at; i < at + 32; ++i)
      x[i] = std::nearbyint(x[i] * (127.0f / most)) * (most / 127.0f);
  }
  return x;
}

// Norm of got - x · rowsᵀ over the norm that such products have; sums in fp64.
double error_of(const WeightFile& file, const std::vector<float>& x,
                const std::vector<float>& got) {
  const WeightSource source = file.source();
  const std::size_t row_bytes = source.bytes.size() / source.n_out;
  double wrong = 0, usual = 0;
  std::vector<float> row(source.n_in);
  for (std::size_t r = 0; r < source.n_out; ++r) {
    dequantise_row(source.type, source.bytes.data() + r * row_bytes, source.n_in, row.data());
    for (std::size_t t = 0; t < x.size() / source.n_in; ++t) {
      double sum = 0;
      for (std::size_t i = 0; i < source.n_in; ++i) {
        const double term =
            static_cast<double>(row[i]) * static_cast<double>(x[t * source.n_in + i]);
        sum += term;
        usual += term * term;
      }
      wrong += std::pow(static_cast<double>(got[t * source.n_out + r]) - sum, 2);
    }
  }
  return std::sqrt(wrong / usual);
}

class EveryCpuLevel : public testing::TestWithParam<test::BackendRow> {
 protected:
  void SetUp() override {
    if (GetParam().backend != "cpu") GTEST_SKIP() << "activations of 8 bits are the cpu backend's";
    if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
  }
  std::string_view level() const { return GetParam().cpu_level; }
};

TEST_P(EveryCpuLevel, multiplies_the_quantised_activations_exactly_and_the_given_ones_nearly) {
  auto backend = open_cpu(level(), 2);
  for (const PackedType& each : kTypes)
    for (const std::size_t n_tokens : {1u, 2u, 5u, 8u, 19u}) {
      const WeightFile file = random_weight(each.type, 17 + 16 * n_tokens, 512, n_tokens);
      const auto x = tame_values(n_tokens * 512, n_tokens);
      const auto got = product(*backend, file, x);
      EXPECT_LT(error_of(file, quantised(x), got), 1e-5) << name_of(each.type) << " " << n_tokens;
      EXPECT_LT(error_of(file, x, got), 1e-2) << name_of(each.type) << " " << n_tokens;
    }
}

TEST_P(EveryCpuLevel, adds_the_largest_codes_without_overflow) {
  auto backend = open_cpu(level());
  for (const PackedType& each : kTypes)
    for (const float sign : {1.0f, -1.0f}) {
      WeightFile file = random_weight(each.type, 32, 256, 3);
      const std::size_t block = weight_type_traits(each.type).block_bytes;
      for (std::size_t at = 0; at < file.bytes().size(); at += block)
        std::fill_n(file.bytes().begin() + static_cast<std::ptrdiff_t>(at + each.codes_at),
                    each.n_bytes, static_cast<std::byte>(each.largest));
      const std::vector<float> x(9 * 256, sign);
      EXPECT_LT(error_of(file, x, product(*backend, file, x)), 1e-5) << name_of(each.type);
    }
}

TEST_P(EveryCpuLevel, gives_the_bytes_of_avx2_for_any_threads_and_grouping_of_tokens) {
  auto avx2 = open_cpu("avx2"), one = open_cpu(level()), three = open_cpu(level(), 3);
  for (const PackedType& each : kTypes) {
    const WeightFile file = random_weight(each.type, 50, 512, 4);
    const auto x = test::random_values(23 * 512, 5);
    const auto want = product(*avx2, file, x);
    EXPECT_EQ(product(*one, file, x), want) << name_of(each.type);
    EXPECT_EQ(product(*three, file, x), want) << name_of(each.type);
    for (const std::ptrdiff_t n : {1, 4, 11}) {
      const auto first = product(*one, file, {x.begin(), x.begin() + n * 512});
      EXPECT_TRUE(std::equal(first.begin(), first.end(), want.begin())) << name_of(each.type);
    }
  }
}

TEST_P(EveryCpuLevel, projections_of_unlike_types_are_those_of_each_alone) {
  auto backend = open_cpu(level(), 2);
  constexpr std::size_t kTokens = 13;
  const auto x = test::random_values(kTokens * 256, 6);
  std::vector<std::vector<float>> want, got(std::size(kTypes), std::vector<float>(kTokens * 20));
  std::vector<std::unique_ptr<Weight>> weights;
  std::vector<Backend::Projection> projections;
  std::vector<WeightFile> files;
  for (const PackedType& each : kTypes) files.push_back(random_weight(each.type, 20, 256, 7));
  for (std::size_t i = 0; i < files.size(); ++i) {
    want.push_back(product(*backend, files[i], x));
    weights.push_back(std::move(backend->load_weight(files[i].source())).value());
    projections.push_back({weights[i].get(), got[i].data()});
  }
  ASSERT_TRUE(backend->project(x.data(), kTokens, projections).ok());
  EXPECT_EQ(got, want);
}

TEST_P(EveryCpuLevel, a_nan_or_infinity_among_the_activations_does_not_vanish) {
  auto backend = open_cpu(level());
  for (const PackedType& each : kTypes)
    for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
      const WeightFile file = random_weight(each.type, 17, 256, 8);
      auto x = test::random_values(2 * 256, 9);
      x[256 + 40] = bad;
      const auto out = product(*backend, file, x);
      const auto finite = [](float value) { return std::isfinite(value); };
      EXPECT_TRUE(std::all_of(out.begin(), out.begin() + 17, finite)) << name_of(each.type);
      EXPECT_TRUE(std::none_of(out.begin() + 17, out.end(), finite)) << name_of(each.type);
    }
}

TEST_P(EveryCpuLevel, says_what_activations_become) {
  EXPECT_TRUE(open_cpu(level())->device().ends_with(", 8-bit activations"));
  EXPECT_EQ(test::open_row(GetParam(), 1)->device().find("activations"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryCpuLevel, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

TEST(ActivationBits, that_are_not_offered_are_refused_with_those_that_are) {
  for (const int bits : {7, 0, -8, 32}) {
    const auto opened = open_backend("cpu", {.n_threads = 1, .activation_bits = bits});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::invalid);
    EXPECT_EQ(opened.error().code, "ACTIVATIONS");
    EXPECT_NE(opened.error().message.find("16 or 8 bits"), std::string::npos);
  }
  const auto reference = open_backend("reference", {.activation_bits = 8});
  ASSERT_FALSE(reference.ok());
  EXPECT_EQ(reference.error().code, "ACTIVATIONS");
}

}  // namespace
}  // namespace satchel::kernels
