#include "kernels/cuda/scoring/select.h"

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 512, kWarps = kThreads / kWarp;
constexpr unsigned kDigitBits = 8, kDigits = 1u << kDigitBits;

// Unsigned numbers in the order of floats: both zeros alike, NaN as -infinity.
__device__ __forceinline__ std::uint32_t key_of(float score) {
  constexpr std::uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u;
  std::uint32_t bits = __float_as_uint(score);
  if ((bits & ~kSign) > kInfinity) bits = kSign | kInfinity;
  if (bits == kSign) bits = 0;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

struct SelectMemory {
  unsigned count[kDigits];      // of scores that share the digits fixed so far, by the next one
  unsigned of_warp[2][kWarps];  // of a stretch: scores above the threshold, and at it
  std::uint32_t threshold;      // the digits that are fixed; at last the key of the keep-th largest
  std::size_t n_wanted;         // of those that share them
};

// One digit more of the keep-th largest score's key, from the top.
__device__ void fix_digit(const SelectArgs& args, unsigned shift, SelectMemory& memory) {
  for (unsigned d = threadIdx.x; d < kDigits; d += kThreads) memory.count[d] = 0;
  __syncthreads();
  const std::uint32_t above = shift + kDigitBits == 32 ? 0 : ~0u << (shift + kDigitBits);
  const std::uint32_t fixed = memory.threshold;
  for (std::size_t i = threadIdx.x; i < args.n_scores; i += kThreads) {
    const std::uint32_t key = key_of(args.scores[i]);
    if ((key & above) == fixed) atomicAdd(&memory.count[key >> shift & (kDigits - 1)], 1u);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned digit = kDigits - 1;
    std::size_t wanted = memory.n_wanted;
    while (memory.count[digit] < wanted) wanted -= memory.count[digit--];
    memory.n_wanted = wanted;
    memory.threshold = fixed | digit << shift;
  }
  __syncthreads();
}

struct Ranks {
  std::size_t above = 0, equal = 0;  // before the stretch
};

// Writes those of the next kThreads scores that are chosen, in order.
__device__ void emit_stretch(const SelectArgs& args, std::size_t begin, SelectMemory& memory,
                             Ranks& before) {
  const std::size_t i = begin + threadIdx.x;
  const std::uint32_t key = i < args.n_scores ? key_of(args.scores[i]) : 0;
  const bool is_above = i < args.n_scores && key > memory.threshold;
  const bool is_equal = i < args.n_scores && key == memory.threshold;
  const unsigned above = __ballot_sync(~0u, is_above), equal = __ballot_sync(~0u, is_equal);
  const unsigned warp = threadIdx.x / kWarp, lower = (1u << threadIdx.x % kWarp) - 1;
  if (threadIdx.x % kWarp == 0) {
    memory.of_warp[0][warp] = static_cast<unsigned>(__popc(above));
    memory.of_warp[1][warp] = static_cast<unsigned>(__popc(equal));
  }
  __syncthreads();
  Ranks mine = before;
  for (unsigned w = 0; w < kWarps; ++w) {
    if (w == warp) mine = before;
    before.above += memory.of_warp[0][w];
    before.equal += memory.of_warp[1][w];
  }
  mine.above += static_cast<unsigned>(__popc(above & lower));
  mine.equal += static_cast<unsigned>(__popc(equal & lower));
  const std::size_t n_equal = mine.equal < memory.n_wanted ? mine.equal : memory.n_wanted;
  if (is_above || (is_equal && mine.equal < memory.n_wanted))
    args.indices[mine.above + n_equal] = static_cast<std::int32_t>(i);
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads) select_largest(const SelectArgs* items) {
  wait_for_launch_before();
  const SelectArgs args = items[blockIdx.x];
  if (args.keep == 0) return;
  auto& memory = shared_memory<SelectMemory>();
  if (threadIdx.x == 0) {
    memory.threshold = 0;
    memory.n_wanted = args.keep;
  }
  __syncthreads();
  for (unsigned shift = 32; shift > 0;) fix_digit(args, shift -= kDigitBits, memory);
  Ranks before;
  for (std::size_t begin = 0; begin < args.n_scores; begin += kThreads)
    emit_stretch(args, begin, memory, before);
}

struct Best {
  float value;
  std::int32_t index, first_nan;
};

__device__ __forceinline__ Best better(const Best& a, const Best& b) {
  const bool takes_b =
      a.index < 0 ||
      (b.index >= 0 && (b.value > a.value || (b.value == a.value && b.index < a.index)));
  Best out = takes_b ? b : a;
  if (a.first_nan < 0)
    out.first_nan = b.first_nan;
  else
    out.first_nan = b.first_nan < 0 || a.first_nan < b.first_nan ? a.first_nan : b.first_nan;
  return out;
}

__global__ void __launch_bounds__(kThreads)
    choose_largest(const float* logits, std::size_t n, Choice* out) {
  wait_for_launch_before();
  Best best{0.0f, -1, -1};
  for (std::size_t i = threadIdx.x; i < n; i += kThreads) {
    const float value = logits[i];
    const auto index = static_cast<std::int32_t>(i);
    const bool is_nan = value != value;
    best = better(best, {value, is_nan ? -1 : index, is_nan ? index : -1});
  }
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    best = better(best, {__shfl_xor_sync(~0u, best.value, distance),
                         __shfl_xor_sync(~0u, best.index, distance),
                         __shfl_xor_sync(~0u, best.first_nan, distance)});
  auto& of_warp = shared_memory<Best[kWarps]>();
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = best;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned w = 1; w < kWarps; ++w) best = better(best, of_warp[w]);
  *out = {best.index, best.first_nan};
}

__global__ void __launch_bounds__(kThreads)
    take_values(const float* logits, const std::int32_t* indices, std::size_t n,
                Backend::Ranked* out) {
  wait_for_launch_before();
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) out[i] = {indices[i], logits[indices[i]]};
}

}  // namespace

cudaError_t select(Queue& queue, const SelectArgs* items, std::size_t n_items) {
  return launch(queue, {static_cast<unsigned>(n_items), kThreads, sizeof(SelectMemory)},
                select_largest, items);
}

cudaError_t choose(Queue& queue, const float* logits, std::size_t n, Choice* out) {
  return launch(queue, {1, kThreads, sizeof(Best[kWarps])}, choose_largest, logits, n, out);
}

cudaError_t take_ranked(Queue& queue, const float* logits, const std::int32_t* indices,
                        std::size_t n, Backend::Ranked* out) {
  return launch(queue, {blocks_of(n, kThreads), kThreads}, take_values, logits, indices, n, out);
}

}  // namespace satchel::kernels::cuda
