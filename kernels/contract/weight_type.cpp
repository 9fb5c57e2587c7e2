#include "kernels/contract/weight_type.h"

#include <algorithm>
#include <utility>

#include "kernels/base/assert.h"
#include "kernels/base/checked.h"

namespace satchel::kernels {
namespace {
constexpr std::pair<WeightType, WeightTypeTraits> kTraits[] = {
    {WeightType::f32, {"F32", 1, 4}},
    {WeightType::f16, {"F16", 1, 2}},
    {WeightType::q4_0, {"Q4_0", 32, 18}},
    {WeightType::q4_1, {"Q4_1", 32, 20}},
    {WeightType::q5_0, {"Q5_0", 32, 22}},
    {WeightType::q5_1, {"Q5_1", 32, 24}},
    {WeightType::q8_0, {"Q8_0", 32, 34}},
    {WeightType::q2_k, {"Q2_K", 256, 84}},
    {WeightType::q3_k, {"Q3_K", 256, 110}},
    {WeightType::q4_k, {"Q4_K", 256, 144}},
    {WeightType::q5_k, {"Q5_K", 256, 176}},
    {WeightType::q6_k, {"Q6_K", 256, 210}},
    {WeightType::iq1_s, {"IQ1_S", 256, 50}},
    {WeightType::iq1_m, {"IQ1_M", 256, 56}},
    {WeightType::iq2_s, {"IQ2_S", 256, 82}},
    {WeightType::iq2_xs, {"IQ2_XS", 256, 74}},
    {WeightType::iq2_xxs, {"IQ2_XXS", 256, 66}},
    {WeightType::iq3_s, {"IQ3_S", 256, 110}},
    {WeightType::iq3_xxs, {"IQ3_XXS", 256, 98}},
    {WeightType::iq4_nl, {"IQ4_NL", 32, 18}},
    {WeightType::iq4_xs, {"IQ4_XS", 256, 136}},
    {WeightType::mxfp4, {"MXFP4", 32, 17}},
    {WeightType::tq1_0, {"TQ1_0", 256, 54}},
    {WeightType::tq2_0, {"TQ2_0", 256, 66}},
    {WeightType::bf16, {"BF16", 1, 2}},
};
static_assert(std::size(kTraits) == kWeightTypes.size());
}  // namespace

const WeightTypeTraits& weight_type_traits(WeightType type) {
  const auto* row = std::find_if(std::begin(kTraits), std::end(kTraits),
                                 [&](const auto& each) { return each.first == type; });
  SATCHEL_ASSERT(row != std::end(kTraits));
  return row->second;
}

std::optional<WeightType> weight_type_of(std::uint32_t gguf_id) {
  for (const WeightType type : kWeightTypes)
    if (static_cast<std::uint32_t>(type) == gguf_id) return type;
  return std::nullopt;
}

std::optional<std::size_t> row_bytes(WeightType type, std::size_t n_values) {
  const WeightTypeTraits& traits = weight_type_traits(type);
  if (n_values % traits.block_values != 0) return std::nullopt;
  return (Checked(n_values / traits.block_values) * Checked(traits.block_bytes)).to<std::size_t>();
}

}  // namespace satchel::kernels
