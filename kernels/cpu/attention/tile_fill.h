// Fills a KeyTile from a page of any form. Operands without a kernel are decoded by their codec's
// loops.
//   transform  operands stay transformed: the query is transformed like K, and the sum is
//              transformed back like V. Placed keys are transformed back, once for all queries
#pragma once

#include "kernels/contract/backend.h"
#include "kernels/cpu/dispatch/attend_table.h"

namespace satchel::kernels::cpu {

AffinePlanes affine_planes(const OperandLayout& operand, const std::byte* page);
MixedBitPlanes mixed_bit_planes(const OperandLayout& operand, const std::byte* page);
// The tokens of a page. The view must outlive the result.
TileTokens tokens_of(const PageView& page);
// K of a page, transposed: tile_k [head_dim, kTileTokens]. `scratch` holds n_tokens · head_dim
// floats and must not overlap.
void fill_keys(const AttendTable& table, const PageView& page, float* tile_k, float* scratch);
// K of a page as if it had been encoded where it stands: transformed back, and rotated by the
// page's shift. `scratch` as above; positions [kPageTokens], to which the result points.
TileTokens fill_placed_keys(const AttendTable& table, const PageView& page, const RopeTable& rope,
                            float* tile_k, std::int32_t* positions, float* scratch);
// V of a page: tile_v [n_tokens, head_dim]; head_dim is a multiple of 16 and so is the width. Of a
// latent lane it is made of tile_k, which fill_keys() has filled, in the coordinates of K's planes.
void fill_values(const AttendTable& table, const PageView& page, const float* tile_k,
                 float* tile_v);
// The transform that V is in then.
const OperandLayout& layout_of_values(const PageLayout& layout);

}  // namespace satchel::kernels::cpu
