// Operands of codecs with loops of their own against planes and values that numpy computed.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "unit/kvcache/codec_fixture.h"

namespace satchel::kvcache {
namespace {

struct Known {
  std::string codec, params;
};
void PrintTo(const Known& known, std::ostream* out) {
  *out << known.codec;
}

class PlaneCodecGolden : public testing::TestWithParam<Known> {};
TEST_P(PlaneCodecGolden, an_operand_has_the_planes_and_the_values_that_numpy_computed) {
  test::GoldenFile file("codec/planes_" + GetParam().codec + ".bin");
  const auto head = file.take<std::uint32_t>(4);
  const std::size_t dim = head[1], n_tokens = head[2];
  const auto x = file.take<float>(n_tokens * dim);
  const CodedOperand operand(GetParam().codec, head[0] == 0 ? Codec::Operand::k : Codec::Operand::v,
                             dim, GetParam().params, n_tokens);
  ASSERT_EQ(operand.operand.all().size(), head[3]);
  const std::vector<std::byte> page = operand.encode(x);
  for (std::size_t i = 0; i < head[3]; ++i) {
    const kernels::Plane& plane = operand.operand.planes[i];
    const auto want = file.take<std::byte>(file.take<std::uint32_t>(1)[0]);
    const std::vector<std::byte> got(page.begin() + plane.at,
                                     page.begin() + plane.at + plane.bytes);
    EXPECT_EQ(got, want) << "plane " << i;
  }
  const std::vector<float> back = operand.decode(page, n_tokens);
  const auto want = file.take<float>(n_tokens * dim);
  for (std::size_t i = 0; i < want.size(); ++i)  // sums of a transform in another order
    EXPECT_NEAR(back[i], want[i], 1e-5 * std::abs(want[i]) + 1e-5) << i;
  EXPECT_EQ(file.n_left(), 0u);
}
INSTANTIATE_TEST_SUITE_P(
    Files, PlaneCodecGolden,
    testing::Values(Known{"fp8", "{}"}, Known{"int_token", R"({ "bits": 4, "symmetric": true })"},
                    Known{"block32", R"({ "bits": 5, "refit": true })"},
                    Known{"turboquant", R"({ "bits": 3 })"}, Known{"kitty", "{}"},
                    Known{"bfp", "{}"}, Known{"zipcache", "{}"},
                    Known{"rotatekv", R"({ "bits": 3, "group": 16 })"},
                    Known{"think", R"({ "bits": 4, "prune": 0.5 })"}, Known{"oscar", "{}"},
                    Known{"qhitter", "{}"}, Known{"mikv", R"({ "bits": 3, "group": 32 })"},
                    Known{"kvquant", R"({ "bits": 3 })"}, Known{"shadowkv", "{}"},
                    Known{"a2ats", "{}"}, Known{"cskv", R"({ "rank": 0.25, "bits": 4 })"}),
    [](const auto& row) { return row.param.codec; });

}  // namespace
}  // namespace satchel::kvcache
