// Affine codes with an fp16 scale and minimum per group: K per channel over `group` tokens, V per
// token over `group` channels, as both vary along these axes least.
//   params  bits 2 or 4 (2); group 16, 32, 64 or 128 (32)
//   bytes   bits / 8 + 4 / group per value: 3 bits per value at 2 bits, group 32; 4.25 at 4 bits,
//           group 128. V's group is the most channels that divide head_dim (head_group.h)
//   bound   |x - decoded| <= scale / 2, and the rounding of two halves
//   source  arXiv:2402.02750 (KIVI)
//   differs K and V leave the exact tail by the same rule, a page at a time (the authors' K keeps
//           no exact token right behind a full block, their V leaves token by token); scale and
//           minimum are rounded outward before coding; a group without spread has scale 0
#include "kvcache/codecs/channel_token_affine.h"

namespace satchel::kvcache {
namespace {
class KiviCodec final : public ChannelTokenAffine {
 public:
  Result<void> read(Params& params) { return read_with(params, 2, {2, 4}); }
};
}  // namespace

extern const StageMaker codecs_kivi = stage_of<KiviCodec>("arXiv:2402.02750");
}  // namespace satchel::kvcache
