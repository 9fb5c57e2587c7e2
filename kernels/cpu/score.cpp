// Column sums of the attention matrix: tiles of keys over the threads, each summed by one of them.
#include <algorithm>

#include "kernels/base/assert.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/cache_ops.h"

namespace satchel::kernels::cpu {
namespace {

// Half a tile: the first keys are seen by all queries and the last by few, so that whole tiles would
// leave threads idle at the end.
constexpr std::size_t kScoreKeys = 64;

const AttendTable& table_of(CpuLevel level) {
  if (level == CpuLevel::avx2) return kAttendAvx2;
  return level == CpuLevel::avx512 ? kAttendAvx512 : kAttendAvx512Vnni;
}

}  // namespace

Result<void> score(const CpuContext& context, AttendScratch& scratch, const ScoreArgs& args) {
  SATCHEL_ASSERT(args.positions.size() == args.n_tokens);
  SATCHEL_ASSERT(args.n_group > 0 && args.first_head + args.n_group <= args.n_heads);
  const std::size_t d = args.head_dim, of_thread = d * kTileTokens + kRowTileMax * d;
  SATCHEL_TRY_ASSIGN(float* const memory, scratch.take(context.pool.n_threads() * of_thread));
  const AttendTable& table = table_of(context.level);
  context.pool.parallel_for(
      args.keys.n_tokens, kScoreKeys, [&](std::size_t begin, std::size_t end, std::size_t thread) {
        float* mine = memory + thread * of_thread;
        ScoreArgs shifted = args;
        shifted.keys.k += begin * d;
        table.score(
            {.args = &shifted,
             .tile = {.k = mine, .positions = args.keys.positions + begin, .n_tokens = end - begin},
             .rows = mine + d * kTileTokens,
             .scores = args.scores + begin});
      });
  return {};
}

}  // namespace satchel::kernels::cpu
