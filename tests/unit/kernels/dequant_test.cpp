// The plain block readers against values made by the Python package `gguf` (origin:
// tests/golden/weights/README.md).
#include "kernels/reference/dequant.h"
#include "support/source_dir.h"

#include <gtest/gtest.h>

#include <bit>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace satchel::kernels {
namespace {

std::string lower_name(WeightType type) {
  std::string name = weight_type_traits(type).name;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

struct Golden {
  std::uint32_t gguf_id = 0;
  std::uint32_t n_values = 0;
  std::vector<std::byte> packed;
  std::vector<float> values;
};

Golden load_golden(WeightType type) {
  std::ifstream file(test::source_dir() + "/tests/golden/weights/" + lower_name(type) + ".bin",
                     std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Golden golden;
  if (bytes.size() < 8) return golden;
  std::memcpy(&golden.gguf_id, bytes.data(), 4);
  std::memcpy(&golden.n_values, bytes.data() + 4, 4);
  golden.values.resize(golden.n_values);
  golden.packed.resize(bytes.size() - 8 - golden.n_values * sizeof(float));
  std::memcpy(golden.packed.data(), bytes.data() + 8, golden.packed.size());
  std::memcpy(golden.values.data(), bytes.data() + 8 + golden.packed.size(),
              golden.n_values * sizeof(float));
  return golden;
}

class EveryWeightType : public testing::TestWithParam<WeightType> {};

TEST_P(EveryWeightType, reads_back_the_bits_of_the_gguf_package) {
  const Golden golden = load_golden(GetParam());
  ASSERT_EQ(golden.gguf_id, static_cast<std::uint32_t>(GetParam()));
  ASSERT_EQ(row_bytes(GetParam(), golden.n_values), golden.packed.size());
  std::vector<float> out(golden.n_values);
  dequantise_row(GetParam(), golden.packed.data(), golden.n_values, out.data());
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(golden.values[i]))
        << "value " << i << " is " << out[i] << ", golden " << golden.values[i];
}

TEST_P(EveryWeightType, may_lie_at_an_odd_address_and_writes_nothing_past_its_values) {
  const Golden golden = load_golden(GetParam());
  std::vector<std::byte> shifted(golden.packed.size() + 1);
  ASSERT_GT(shifted.size(), 1u);
  std::memcpy(shifted.data() + 1, golden.packed.data(), golden.packed.size());
  const std::size_t one_block = weight_type_traits(GetParam()).block_values;
  std::vector<float> out(one_block + 1, 42.0f);
  dequantise_row(GetParam(), shifted.data() + 1, one_block, out.data());
  EXPECT_EQ(std::memcmp(out.data(), golden.values.data(), one_block * sizeof(float)), 0);
  EXPECT_EQ(out[one_block], 42.0f);
  dequantise_row(GetParam(), nullptr, 0, nullptr);  // an empty row touches nothing
}

TEST_P(EveryWeightType, is_found_by_its_gguf_id_and_sizes_only_whole_blocks) {
  const WeightType type = GetParam();
  const WeightTypeTraits& traits = weight_type_traits(type);
  EXPECT_EQ(weight_type_of(static_cast<std::uint32_t>(type)), type);
  EXPECT_EQ(row_bytes(type, 0), 0u);
  EXPECT_EQ(row_bytes(type, traits.block_values * 3), traits.block_bytes * 3);
  if (traits.block_values > 1) {
    EXPECT_EQ(row_bytes(type, traits.block_values * 3 + 1), std::nullopt);
    EXPECT_EQ(row_bytes(type, traits.block_values - 1), std::nullopt);
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, EveryWeightType, testing::ValuesIn(kWeightTypes),
                         [](const auto& row) { return lower_name(row.param); });

TEST(WeightType, ids_that_no_backend_computes_with_are_nothing) {
  for (const std::uint32_t id : {4u, 5u, 9u, 15u, 24u, 31u, 40u, 0xffffffffu})
    EXPECT_EQ(weight_type_of(id), std::nullopt) << id;
}

TEST(WeightType, a_size_that_overflows_is_nothing) {
  EXPECT_EQ(row_bytes(WeightType::f32, std::numeric_limits<std::size_t>::max() / 2), std::nullopt);
}

}  // namespace
}  // namespace satchel::kernels
