// Affine codes of 4 bits of values under a Hadamard transform: one point of
// `hadamard_affine` under the name that comparisons give it; K per channel over `group` tokens, V
// per token over `group` channels.
//   params  group 16, 32, 64 or 128 (32); V's is the most that divide head_dim (head_group.h)
//   bytes   1 / 2 + 4 / group per value: 5 bits at group 32
//   bound   per transformed value scale / 2, and the rounding of two halves
//   source  arXiv:2404.00456 (QuaRot)
//   differs transformed after RoPE when a page is made, not folded into the weights; the paper
//           codes both K and V per token. At groups that divide head_dim a page has the bytes of
//           `hadamard_affine`
#include "kvcache/codecs/channel_token_affine.h"

namespace satchel::kvcache {
namespace {
class HadamardInt4Codec final : public ChannelTokenAffine {
 public:
  HadamardInt4Codec() {
    bits_ = 4;
    transform_ = kernels::Transform::hadamard;
  }
  Result<void> read(Params& params) { return read_group(params); }
};
}  // namespace

extern const StageMaker codecs_hadamard_int4 = stage_of<HadamardInt4Codec>("arXiv:2404.00456");
}  // namespace satchel::kvcache
