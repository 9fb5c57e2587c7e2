// Keeps fp16 as it is.
//   bytes   head_dim * 2 per token
//   bound   exact
//   source  ours
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class ExactCodec final : public Codec {
 public:
  kernels::OperandShape operand(Operand, std::size_t, std::size_t) const override { return {}; }
};
}  // namespace

extern const StageMaker codecs_exact = stage_of<ExactCodec>("ours");
}  // namespace satchel::kvcache
