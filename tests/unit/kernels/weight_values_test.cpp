// Every value of the golden blocks, scales at the edges of their range included, through the matrix
// product of every backend: an activation that is 1 in one place picks out one column.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/backends.h"
#include "support/source_dir.h"

namespace satchel::kernels {
namespace {

std::vector<std::byte> golden_bytes(WeightType type) {
  std::string name = weight_type_traits(type).name;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::ifstream file(test::source_dir() + "/tests/golden/weights/" + name + ".bin",
                     std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

constexpr float kRounding = 1e-6f;  // of a row's largest value
// Of prompts on a card: scale and product are rounded to fp16, 2^-11 each.
constexpr float kRoundingOfHalves = 1e-3f;
// Two scales may multiply to something subnormal (MXFP4 goes down to 2^-128): half its last bit,
// 2^-150, times the largest sum, 12 * 32767.
constexpr float kSubnormal = 3e-40f;

class EveryValue : public test::OnEveryBackend {};

TEST_P(EveryValue, of_the_golden_blocks_meets_its_activation) {
  for (const WeightType type : kWeightTypes) {
    const WeightTypeTraits& traits = weight_type_traits(type);
    const std::size_t n_in = traits.block_values == 1 ? 32 : traits.block_values;  // a block a row
    const std::vector<std::byte> bytes = golden_bytes(type);
    ASSERT_GT(bytes.size(), 8u);
    std::uint32_t n_values = 0;
    std::memcpy(&n_values, bytes.data() + 4, sizeof n_values);
    std::vector<float> want(n_values);
    std::memcpy(want.data(), bytes.data() + bytes.size() - n_values * sizeof(float),
                n_values * sizeof(float));
    const std::size_t n_out = n_values / n_in;
    auto weight =
        backend().load_weight({.type = type,
                               .n_out = n_out,
                               .n_in = n_in,
                               .bytes = std::span(bytes).subspan(8, *row_bytes(type, n_values))});
    ASSERT_TRUE(weight.ok());
    std::vector<float> ones(n_in * n_in), got(n_in * n_out);
    for (std::size_t i = 0; i < n_in; ++i) ones[i * n_in + i] = 1;
    for (const std::size_t at_once : {std::size_t{16}, n_in}) {
      for (std::size_t t = 0; t < n_in; t += at_once)
        ASSERT_TRUE(backend()
                        .matmul(**weight, ones.data() + t * n_in, std::min(at_once, n_in - t),
                                got.data() + t * n_out)
                        .ok());
      const float rounding =
          test::is_prompt_of_card(GetParam(), at_once) ? kRoundingOfHalves : kRounding;
      for (std::size_t r = 0; r < n_out; ++r) {
        float largest = 0;
        for (std::size_t i = 0; i < n_in; ++i)
          largest = std::max(largest, std::abs(want[r * n_in + i]));
        for (std::size_t i = 0; i < n_in; ++i)
          ASSERT_LE(std::abs(got[i * n_out + r] - want[r * n_in + i]),
                    largest * rounding + kSubnormal)
              << traits.name << " row " << r << " value " << i << ", " << at_once << " at once";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryValue, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
