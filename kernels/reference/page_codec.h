// Pages operand by operand: what encode_pages and decode_pages must compute (Backend), and what
// other backends in main memory fall back to.
//   in order  fp16 to fp32, mended (codec_affine.h), transformed (contract/transform.h), clamped
//             again, encoded. An exact16 operand without a transform is copied as it is, mended or
//             not
#pragma once

#include <cstddef>

#include "kernels/contract/backend.h"

namespace satchel::kernels::reference {

// Writes all of the page but its operands: zero bytes, positions, counts.
void encode_frame(const EncodeArgs& args);

// Encodes x [n_tokens, head_dim] into planes that are zero; other planes of the page stay.
void encode_operand(const PageLayout& layout, Operand which, const Half* x, std::size_t n_tokens,
                    std::byte* page, NumericWarnings& warnings);
// Decodes to out [n_tokens, head_dim] and undoes the transform. Safe for arbitrary bytes.
void decode_operand(const PageLayout& layout, Operand which, const std::byte* page,
                    std::size_t n_tokens, float* out);

void decode_page(const DecodeArgs& args);

}  // namespace satchel::kernels::reference
