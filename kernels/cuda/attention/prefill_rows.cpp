#include "kernels/cuda/attention/prefill_rows.h"

#include "kernels/base/assert.h"
#include "kernels/cuda/attention/lane_table.h"

namespace satchel::kernels::cuda {

Result<void> PrefillRows::attend(const OpContext& at, const AttendArgs& args) {
  SATCHEL_ASSERT(args.n_kv_heads > 0 && args.n_heads % args.n_kv_heads == 0);
  lanes_.clear();
  rows_.clear();
  for (const Sequence& sequence : args.sequences)
    for (std::size_t head = 0; head < args.n_kv_heads; ++head) add_lane(args, sequence, head);
  return rows_.run(at, lanes_, args.sink_logits);
}

void PrefillRows::add_lane(const AttendArgs& args, const Sequence& sequence, std::size_t kv_head) {
  const CudaLaneTable& table = CudaLaneTable::of(*sequence.lanes);
  const std::size_t lane = sequence.first_lane + kv_head, first_source = lanes_.sources().size();
  const std::size_t n_group = args.n_heads / args.n_kv_heads;
  const std::size_t row = sequence.first_token * args.n_heads;
  runs_.clear();
  for (const DeviceRun& run : table.runs(lane))
    runs_.push_back({.k = run.k, .v = run.v, .positions = run.positions, .n_tokens = run.n_tokens});
  lanes_.add(runs_, table.views(lane), args.rope);
  const LaneQueries queries{.q = args.q + row * args.head_dim,
                            .batch = {.positions = args.batch.positions + sequence.first_token,
                                      .n_tokens = sequence.n_tokens},
                            .n_heads = args.n_heads,
                            .head_dim = args.head_dim,
                            .first_head = kv_head * n_group,
                            .n_group = n_group,
                            .keys = {.runs = {}, .pages = table.views(lane)},
                            .scale = args.scale,
                            .soft_cap = args.soft_cap,
                            .window = args.window,
                            .rope = args.rope};
  rows_.add({.rows = lane_rows(queries),
             .out = args.out + row * args.head_dim,
             .lse = args.lse == nullptr ? nullptr : args.lse + row},
            lanes_, first_source);
}

}  // namespace satchel::kernels::cuda
