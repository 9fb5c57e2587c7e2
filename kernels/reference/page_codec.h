// Pages operand by operand: what encode_pages and decode_pages must compute (Backend), and what
// other backends in main memory fall back to.
//   in order  fp16 to fp32, mended (codec_affine.h), transformed (contract/transform.h), clamped
//             again, packed. An exact16 operand without a transform is copied as it is, mended or
//             not
#pragma once

#include <cstddef>

#include "kernels/contract/backend.h"

namespace satchel::kernels::reference {

// All of the page but its operands: zero bytes, positions, counts.
void encode_frame(const EncodeArgs& args);

// x [n_tokens, head_dim] into planes that are zero; the page's other planes stay.
void encode_operand(const PageLayout& layout, Operand which, const Half* x, std::size_t n_tokens,
                    std::byte* page, NumericWarnings& warnings);
// out [n_tokens, head_dim], transformed back. Safe on any bytes.
void decode_operand(const PageLayout& layout, Operand which, const std::byte* page,
                    std::size_t n_tokens, float* out);

void decode_page(const DecodeArgs& args);

}  // namespace satchel::kernels::reference
