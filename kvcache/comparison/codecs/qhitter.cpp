// Q-Hitter's codes: 4 bits for each token's vector of a head, of K and of V.
//   planes  codes        [capacity, head_dim] of 4 bits, low bits first
//           scale, zero  fp16 [capacity]
//   formula x = code · scale + zero
//   bytes   1 / 2 + 4 / head_dim per value: 4.25 bits at head_dim 128
//   bound   |x - decoded| <= scale / 2, and the rounding of two halves
//   source  Q-Hitter: A Better Token Oracle for Efficient LLM Inference via Sparse-Quantized KV
//           Cache (MLSys 2024); its code (VITA-Group/Q-Hitter)
//   differs which tokens stay is the recipe's (the paper also weighs how well a token quantises);
//           the minimum is an fp16 number rounded outward before coding, not a whole code cut to
//           0 … 15, which decodes a group without a zero in it to another value. The same bytes as
//           `int_token` at 4 bits. V is of the affine family, so that fused attention reads it
#include "kvcache/codecs/plane_codec.h"
#include "kvcache/codecs/token_code.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kBits = 4;

class QHitterCodec final : public PlaneCodec {
 public:
  QHitterCodec() {
    k_ = std::make_shared<TokenCode>("qhitter.k");
    make_planes([](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      to.add_affine(kBits, head_dim, capacity * head_dim, capacity);
    });
  }

 private:
  kernels::OperandShape without_code(std::size_t head_dim, std::size_t) const override {
    return {.form = kernels::OperandShape::Form::affine, .bits = kBits, .group = head_dim};
  }
};
}  // namespace

extern const StageMaker codecs_qhitter = stage_of<QHitterCodec>("Q-Hitter (MLSys 2024)");
}  // namespace satchel::kvcache
