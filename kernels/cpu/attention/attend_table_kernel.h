// The attention kernels over a level's registers, as its unit exports them.
#pragma once

#include "kernels/cpu/attention/attend_codes_kernel.h"
#include "kernels/cpu/attention/attend_exact_kernel.h"
#include "kernels/cpu/attention/attend_tile_kernel.h"
#include "kernels/cpu/attention/basis_kernel.h"
#include "kernels/cpu/attention/hadamard_kernel.h"
#include "kernels/cpu/attention/mixed_bit_kernel.h"
#include "kernels/cpu/attention/tile_fill_kernel.h"
#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/rows/rope_kernel.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
constexpr AttendTable kAttendTable = {.code_tokens = attend_code_tokens<V>,
                                      .exact_tokens = ExactTokens<V>::run,
                                      .rotation = RopeKernel<V>::rotation,
                                      .rotate = RopeKernel<V>::run,
                                      .transform_keys = BasisRows<V>::keys,
                                      .transform_queries = BasisRows<V>::queries,
                                      .transform_hadamard = HadamardRows<V>::transform,
                                      .tile = TileAttention<V>::run,
                                      .exact_keys = TileFill<V>::exact_keys,
                                      .exact_values = TileFill<V>::exact_values,
                                      .plain_keys = TileFill<V>::plain_keys,
                                      .affine_keys = TileFill<V>::affine_keys,
                                      .mixed_bit_keys = MixedBitFill<V>::keys,
                                      .affine_values = TileFill<V>::affine_values};

}  // namespace
}  // namespace satchel::kernels::cpu
