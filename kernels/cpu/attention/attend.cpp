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
    context_.pool.parallel_for(plan_.items.size(), 1,
                               [this](std::size_t begin, std::size_t end, std::size_t thread) {
                                 for (std::size_t i = begin; i < end; ++i)
                                   run_item(plan_.items[i], thread);
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
  SoftmaxState partial(const SequencePlan& sequence, const AttendItem& item) const {
    return partial(sequence, item.lane * sequence.n_blocks + item.block, item.split);
  }

  void run_item(const AttendItem& item, std::size_t thread) const {
    const ItemRows rows{.plan = &plan_, .item = &item};
    const SplitRange first = rows.of_member(0);
    const SequencePlan& sequence = *first.sequence;
    const SplitMemory memory =
        SplitMemory::in(threads_ + thread * thread_floats_, plan_, args_.head_dim);
    const bool in_own = sequence.n_splits == 1 || item.n_members > 1;
    const SoftmaxState out = in_own ? memory.own : partial(sequence, item);
    const std::size_t units = n_units(sequence.lane(item.lane));
    const std::size_t begin = item.split * sequence.split_units;
    AttendSplit(context_, args_, plan_, rows, memory, out)
        .run(begin, sequence.n_splits == 1 ? units : std::min(begin + sequence.split_units, units));
    if (sequence.n_splits == 1) return finish(first, out);
    if (in_own) give_rows(rows, out);
  }

  // To each sequence of a joint item its own.
  void give_rows(const ItemRows& rows, const SoftmaxState& from) const {
    for (std::size_t i = 0, at = 0; i < rows.n_members(); ++i) {
      const SplitRange of = rows.of_member(i);
      const SoftmaxState to = partial(*of.sequence, *rows.item);
      std::copy_n(from.most + at, of.n_rows, to.most);
      std::copy_n(from.total + at, of.n_rows, to.total);
      std::copy_n(from.sum + at * plan_.width, of.n_rows * plan_.width, to.sum);
      at += of.n_rows;
    }
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
  if (plan.items.empty()) return {};
  const std::size_t of_threads =
      context_.pool.n_threads() * SplitMemory::floats(plan, args.head_dim);
  SATCHEL_TRY_ASSIGN(float* const memory, scratch_.take(of_threads + plan.partial_floats));
  Attend(context_, args, plan, memory).run();
  return {};
}

}  // namespace satchel::kernels::cpu
