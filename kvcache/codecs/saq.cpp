// Affine codes with an fp16 scale and minimum per group, at the widths of a staircase: K per
// channel over `group` tokens, V per token over `group` channels.
//   params  bits 2, 4 or 8 (4); group 16, 32, 64 or 128 (32)
//   bytes   bits / 8 + 4 / group per value: 9, 5 and 3 bits per value at 8, 4 and 2 bits, group 32.
//           V's group is the most channels that divide head_dim (head_group.h)
//   bound   |x - decoded| <= scale / 2, and the rounding of two halves; of a token that has come
//           down n stairs the sum of the scales / 2 of all of them
//   source  The Nature of Mathematical Modeling and Probabilistic Optimization Engineering in
//           Generative AI, section on staircase adaptive quantization (SAQ), on the axes of
//           arXiv:2402.02750 (KIVI)
//   differs the codec of one stair; the stairs are the recipe's: a list of codecs, `staircase` and
//           a trigger at every flush (recipes/builtin/saq.json). A page that crosses an edge comes
//           down once, where the published loop codes the whole oldest part anew at every flush
#include "kvcache/codecs/channel_token_affine.h"

namespace satchel::kvcache {
namespace {
class SaqCodec final : public ChannelTokenAffine {
 public:
  Result<void> read(Params& params) { return read_with(params, 4, {2, 4, 8}); }
};
}  // namespace

extern const StageMaker codecs_saq = stage_of<SaqCodec>("SAQ, on arXiv:2402.02750");
}  // namespace satchel::kvcache
