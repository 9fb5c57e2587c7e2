// Distributes the items of an attention call (attend_plan.h) over the threads, and merges partial
// results.
//   few rows   decode: pages by integer products on the codes, exact tokens as fp16; the splits of
//              a lane run in parallel
//   many rows  a prompt: each item makes fp32 tiles of up to 128 tokens and runs its block of rows
//              on them
#include <algorithm>
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/cpu/attention/attend_split.h"
#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {
namespace {

class Attend {
 public:
  Attend(const CpuContext& context, const AttendArgs& args, const AttendPlan& plan, float* memory)
      : context_(context),
        args_(args),
        plan_(plan),
        thread_floats_(SplitMemory::floats(plan, args.head_dim)),
        threads_(memory),
        states_(memory + context.pool.n_threads() * thread_floats_) {}

  void run() const {
    context_.pool.parallel_for(plan_.n_items, 1,
                               [this](std::size_t begin, std::size_t end, std::size_t thread) {
                                 for (std::size_t i = begin; i < end; ++i) run_item(i, thread);
                               });
    for (const SequencePlan& sequence : plan_.sequences) {
      if (sequence.n_splits == 1) continue;
      for (std::size_t i = 0; i < args_.n_kv_heads * sequence.n_blocks; ++i) merge(sequence, i);
    }
  }

 private:
  SplitRange range(const SequencePlan& sequence, std::size_t lane_block) const {
    const std::size_t first = lane_block % sequence.n_blocks * sequence.block_rows;
    return {.sequence = &sequence,
            .lane = lane_block / sequence.n_blocks,
            .first_row = first,
            .n_rows = std::min(sequence.block_rows, sequence.n_rows - first)};
  }
  SoftmaxState partial(const SequencePlan& sequence, std::size_t lane_block,
                       std::size_t split) const {
    const std::size_t floats = SoftmaxState::floats(sequence.block_rows, plan_.width);
    float* at = states_ + sequence.partials_at + (lane_block * sequence.n_splits + split) * floats;
    return SoftmaxState::in(at, sequence.block_rows);
  }

  void run_item(std::size_t index, std::size_t thread) const {
    const SequencePlan& sequence = plan_.sequence_of_item(index);
    const std::size_t in_sequence = index - sequence.first_item, n_splits = sequence.n_splits;
    const std::size_t lane_block = in_sequence / n_splits, split = in_sequence % n_splits;
    const SplitRange rows = range(sequence, lane_block);
    const SplitMemory memory =
        SplitMemory::in(threads_ + thread * thread_floats_, plan_, args_.head_dim);
    const SoftmaxState out = n_splits == 1 ? memory.own : partial(sequence, lane_block, split);
    const std::size_t units = n_units(sequence.lane(rows.lane));
    AttendSplit(context_, args_, plan_, rows, memory, out)
        .run(units * split / n_splits, units * (split + 1) / n_splits);
    if (n_splits == 1) finish(rows, out);
  }

  void merge(const SequencePlan& sequence, std::size_t lane_block) const {
    const SplitRange rows = range(sequence, lane_block);
    const SoftmaxState into = partial(sequence, lane_block, 0);
    for (std::size_t split = 1; split < sequence.n_splits; ++split)
      into.merge(partial(sequence, lane_block, split), rows.n_rows, plan_.width);
    finish(rows, into);
  }

  void finish(const SplitRange& rows, const SoftmaxState& from) const {
    for (std::size_t r = 0; r < rows.n_rows; ++r) {
      const std::size_t query = query_of(args_, plan_, rows, rows.first_row + r);
      const float keep = args_.sink_logits.empty() ? 1.0f : add_sink(query, r, from);
      const float total = from.total[r];
      const float share = total > 0 ? keep / total : total;  // a NaN must not vanish
      for (std::size_t c = 0; c < args_.head_dim; ++c)
        args_.out[query * args_.head_dim + c] = from.sum[r * plan_.width + c] * share;
      if (args_.lse != nullptr)
        args_.lse[query] = total > 0 ? from.most[r] + std::log(total) : kNothingVisible;
    }
  }
  // Makes the sink a part of a row's maximum and total; returns the factor of the row's sum.
  float add_sink(std::size_t query, std::size_t r, const SoftmaxState& of) const {
    const float sink = args_.sink_logits[query % args_.n_heads];
    const float most = std::max(of.most[r], sink), keep = std::exp(of.most[r] - most);
    of.most[r] = most;
    of.total[r] = of.total[r] * keep + std::exp(sink - most);
    return keep;
  }

  const CpuContext& context_;
  const AttendArgs& args_;
  const AttendPlan& plan_;
  const std::size_t thread_floats_;
  float* const threads_;
  float* const states_;
};

}  // namespace

Result<void> CpuBackend::attend(const AttendArgs& args) {
  SATCHEL_ASSERT(args.n_kv_heads > 0 && args.n_heads % args.n_kv_heads == 0);
  SATCHEL_ASSERT(args.head_dim > 0 && args.head_dim <= kHeadDimMax);
  SATCHEL_ASSERT(args.sink_logits.empty() || args.sink_logits.size() == args.n_heads);
  AttendPlan& plan = scratch_.plan();
  plan.make(args);
  if (plan.n_items == 0) return {};
  const std::size_t of_threads =
      context_.pool.n_threads() * SplitMemory::floats(plan, args.head_dim);
  SATCHEL_TRY_ASSIGN(float* const memory, scratch_.take(of_threads + plan.partial_floats));
  Attend(context_, args, plan, memory).run();
  return {};
}

}  // namespace satchel::kernels::cpu
