// A warp chooses the experts of a token: the largest that is left, again and again. The values are
// few, and all in its registers.
#include "kernels/cuda/experts/expert_choice.h"

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/warp.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kWarps = kUnitTokensMost, kThreads = kWarps * kWarp;
constexpr unsigned kOfThread = kExpertsMost / kWarp;  // experts thread, thread + kWarp, …
constexpr float kLeastSum = 1e-20f;                   // as the contract's default has it
using Weighting = Backend::Weighting;

// A token's router values, or their sigmoids.
struct Scores {
  float at[kOfThread];
  unsigned left = 0;  // bit i: expert thread + i · kWarp was not chosen
  bool has_nan = false;

  __device__ __forceinline__ Scores(const ExpertChoice& args, const float* row, unsigned thread) {
    const bool is_sigmoid = args.weighting == Weighting::sigmoid;
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i) {
      const unsigned expert = thread + i * kWarp;
      at[i] = 0;
      if (expert >= args.n_experts) continue;
      const float value = row[expert];
      at[i] = is_sigmoid ? 1.0f / (1.0f + expf(-value)) : value;
      left |= 1u << i;
      has_nan = has_nan || value != value;
    }
    has_nan = __ballot_sync(~0u, has_nan) != 0;
  }
  // Σ exp(score - most), for every thread.
  __device__ __forceinline__ float exp_sum(const ExpertChoice& args, float most,
                                           unsigned thread) const {
    float sum = 0;
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i)
      if (thread + i * kWarp < args.n_experts) sum += expf(at[i] - most);
    return warp_sum(sum);
  }
};

struct Best {
  float value, score;
  int expert;  // -1: none
};

// The largest that is left; of equal ones the lower number. The same for every thread, NaN or not.
__device__ __forceinline__ Best take_best(const ExpertChoice& args, Scores& scores,
                                          unsigned thread) {
  Best best{0, 0, -1};
#pragma unroll
  for (unsigned i = 0; i < kOfThread; ++i) {
    if ((scores.left >> i & 1) == 0) continue;
    const unsigned expert = thread + i * kWarp;
    const float bias = args.choice_biases == nullptr ? 0.0f : args.choice_biases[expert];
    const float value = scores.at[i] + bias;
    if (best.expert < 0 || value > best.value)
      best = {value, scores.at[i], static_cast<int>(expert)};
  }
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const Best other{__shfl_xor_sync(~0u, best.value, distance),
                     __shfl_xor_sync(~0u, best.score, distance),
                     __shfl_xor_sync(~0u, best.expert, distance)};
    const bool is_larger =
        other.value > best.value || (other.value == best.value && other.expert < best.expert);
    if (best.expert < 0 || (other.expert >= 0 && is_larger)) best = other;
  }
  best.score = __shfl_sync(~0u, best.score, 0);
  best.expert = __shfl_sync(~0u, best.expert, 0);
  const auto expert = static_cast<unsigned>(best.expert);
  if (expert % kWarp == thread) scores.left &= ~(1u << expert / kWarp);
  return best;
}

__device__ void choose_of_token(const ExpertChoice& args, unsigned token) {
  const unsigned thread = threadIdx.x % kWarp;
  Scores scores(args, args.routed + std::size_t{token} * args.n_experts, thread);
  float score = 0;
  int expert = 0;  // of the thread-th largest
  for (unsigned i = 0; i < args.n_used; ++i) {
    const Best best = take_best(args, scores, thread);
    if (thread == i) score = best.score, expert = best.expert;
  }
  const bool is_chosen = thread < args.n_used;
  const float most = __shfl_sync(~0u, score, 0);
  float weight = is_chosen ? score : 0.0f;
  if (args.weighting != Weighting::sigmoid && is_chosen) weight = expf(score - most);
  float sum = warp_sum(weight);
  if (args.weighting == Weighting::softmax_of_all) sum = scores.exp_sum(args, most, thread);
  if (args.weighting == Weighting::sigmoid && sum < kLeastSum) sum = kLeastSum;
  weight = scores.has_nan ? __uint_as_float(0x7fc00000u) : weight / sum;
  unsigned place = 0;
  for (unsigned i = 0; i < args.n_used; ++i)
    place += __shfl_sync(~0u, expert, static_cast<int>(i)) < expert ? 1u : 0u;
  if (thread == 0 && scores.has_nan) atomicAdd(args.has_nan, 1u);
  if (!is_chosen) return;
  if (args.factors != nullptr) weight *= args.factors[expert];
  const std::size_t pair = std::size_t{token} * args.n_used + place;
  args.experts[pair] = static_cast<std::uint32_t>(expert);
  args.weights[pair] = args.factor * weight;
}

__device__ void make_unit(const ExpertChoice& args, unsigned pair, unsigned n_pairs) {
  ExpertUnit& unit = args.units[pair];
  const std::uint32_t expert = args.experts[pair];
  unsigned n_before = 0, n = 0;
  for (unsigned other = 0; other < n_pairs && n < kTokensOfSet; ++other) {
    if (args.experts[other] != expert) continue;
    if (other < pair)
      ++n_before;
    else
      unit.pairs[n++] = other;
  }
  unit.expert = expert;
  unit.n = n_before % kTokensOfSet == 0 ? n : 0;
}

// A warp a token. Units are made where one block has all tokens.
__global__ void __launch_bounds__(kThreads) choose_tokens(ExpertChoice args) {
  wait_for_launch_before();
  const unsigned token = blockIdx.x * kWarps + threadIdx.x / kWarp;
  if (token < args.n_tokens) choose_of_token(args, token);
  if (args.units == nullptr) return;
  __syncthreads();
  const unsigned n_pairs = args.n_tokens * args.n_used;
  for (unsigned pair = threadIdx.x; pair < n_pairs; pair += kThreads)
    make_unit(args, pair, n_pairs);
}

constexpr unsigned kSumThreads = 256;

__global__ void __launch_bounds__(kSumThreads) add_pairs(WeightedSum args) {
  wait_for_launch_before();
  const unsigned c = blockIdx.y * kSumThreads + threadIdx.x;
  if (c >= args.width) return;
  const std::size_t at = std::size_t{blockIdx.x} * args.width + c;
  float sum = args.x == nullptr ? 0.0f : args.x[at];
  for (unsigned i = 0; i < args.n_used; ++i) {
    const std::size_t pair = std::size_t{blockIdx.x} * args.n_used + i;
    const float row = args.rows[pair * args.width + c] * args.weights[pair];
    sum = i == 0 && args.x == nullptr ? row : sum + row;
  }
  args.out[at] = sum;
}

}  // namespace

cudaError_t choose_experts(Queue& queue, const ExpertChoice& choice) {
  SATCHEL_ASSERT(choice.n_experts <= kExpertsMost && choice.n_used <= kUsedMost);
  SATCHEL_ASSERT(choice.units == nullptr || choice.n_tokens <= kUnitTokensMost);
  return launch(queue, {blocks_of(choice.n_tokens, kWarps), kThreads}, choose_tokens, choice);
}

cudaError_t add_weighted(Queue& queue, const WeightedSum& sum) {
  const dim3 grid(sum.n_tokens, blocks_of(sum.width, kSumThreads));
  return launch(queue, {grid, kSumThreads}, add_pairs, sum);
}

}  // namespace satchel::kernels::cuda
