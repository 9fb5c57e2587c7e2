// PageLayout: where each number of a packed page lies. It is data, so a codec of the affine family
// (bits x axis x group) is one PageLayout and needs no kernel of its own.
//
// A page holds exactly kPageTokens tokens of one lane, K and V, in one blob of `bytes` bytes:
//   positions  [kPageTokens] int32, rising: the place of each kept token in the text
//   exact16    k [kPageTokens, head_dim] fp16, v [kPageTokens, head_dim] fp16
//   affine     k_scale, k_zero [kPageTokens / k_group, head_dim] fp16
//                              one pair per channel and group of tokens
//              v_scale, v_zero [head_dim / v_group, kPageTokens] fp16
//                              one pair per token and group of channels
//              k_codes         [kPageTokens rows, head_dim codes]; a row is a token
//              v_codes         [head_dim rows, kPageTokens codes]; a row is a channel (transposed)
// Codes of a row lie in the storage order of row_order.h, and so does the last axis of the scale
// and zero planes.
//   decode   k[t][c] = k_scale[t / k_group][c] * code + k_zero[t / k_group][c];
//            v[t][c] likewise, by [c / v_group][t]
//   source   ../shared/methods/codecs.md 0.1 (quantiser), 0.2 (folding), 8.2 (order of codes);
//            arXiv:2411.18077 (MiniKV)
//   differs  group metadata are a plane per kind, so that any group length fits (layout id 1). The
//            id names the order of bytes and travels with every page, so that a GPU order can come
//            as the next id.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/result.h"

namespace satchel::kernels {

inline constexpr std::size_t kPageTokens = 128;

enum class PageForm : std::uint16_t { exact16 = 0, affine = 1 };  // the layout id on disk

struct PageLayout {
  PageForm form = PageForm::exact16;
  std::uint16_t head_dim = 0;
  std::uint16_t k_bits = 16, v_bits = 16;  // affine: 2, 4 or 8
  std::uint16_t k_group = 0, v_group = 0;  // affine: tokens per K group; channels per V group

  // Byte offsets into the page, each a multiple of 16; those of the other form are 0.
  std::size_t positions_at = 0;
  std::size_t k_scale_at = 0, k_zero_at = 0, v_scale_at = 0, v_zero_at = 0;
  std::size_t k_codes_at = 0, v_codes_at = 0;  // exact16: the fp16 rows
  std::size_t bytes = 0;                       // a multiple of 256

  std::size_t k_row_bytes() const { return std::size_t{head_dim} * k_bits / 8; }
  std::size_t v_row_bytes() const { return kPageTokens * v_bits / 8; }
  friend bool operator==(const PageLayout&, const PageLayout&) = default;
};

// Both fail with `unsupported` where head_dim is not a multiple of 32 (exact16: 8; keys of 2 bits:
// 64) up to 256, bits are not 2, 4 or 8, or a group does not divide its axis or is below 16.
Result<PageLayout> exact_layout(std::size_t head_dim);
struct AffineShape {
  std::size_t head_dim = 0, k_bits = 2, v_bits = 2, k_group = 16, v_group = 16;
};
Result<PageLayout> affine_layout(const AffineShape& shape);

}  // namespace satchel::kernels
