// ChannelTokenAffine: affine codes with K in groups of tokens per channel and V in groups of
// channels per token, the axes along which each varies least (arXiv:2402.02750). A codec says which
// bits it has.
//   params  bits; group 16, 32, 64 or 128 (32), V's the most that divide head_dim (head_group.h)
#pragma once

#include <algorithm>
#include <initializer_list>

#include "kvcache/codecs/head_group.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

class ChannelTokenAffine : public Codec {
 public:
  kernels::OperandShape operand(Operand operand, std::size_t head_dim, std::size_t) const override {
    return {.form = kernels::OperandShape::Form::affine,
            .bits = bits_,
            .group = operand == Operand::k ? group_ : head_group(head_dim, group_),
            .transform = transform_};
  }
  std::size_t capacity_step() const override { return std::max(group_, kernels::kPageStep); }

 protected:
  Result<void> read_with(Params& params, std::size_t bits,
                         std::initializer_list<std::size_t> known_bits) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", bits, known_bits));
    return read_group(params);
  }
  Result<void> read_group(Params& params) {
    SATCHEL_TRY_ASSIGN(group_, params.one_of("group", 32, {16, 32, 64, 128}));
    return {};
  }

  std::size_t bits_ = 0, group_ = 0;
  kernels::Transform transform_ = kernels::Transform::none;
};

}  // namespace satchel::kvcache
