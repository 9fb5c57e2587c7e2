#include "kernels/cuda/rows/rope.h"

#include "kernels/cuda/device/launch.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128;

// Phases in float64: at position 100,000 an fp32 phase is off by 0.004 radians already. A block a
// token.
__global__ void __launch_bounds__(kThreads)
    make_phases(const std::int32_t* positions, const double* frequencies, unsigned n_pairs,
                float* rotation) {
  wait_for_launch_before();
  const double position = positions[blockIdx.x];
  float* out = rotation + std::size_t{blockIdx.x} * n_pairs * 2;
  for (unsigned i = threadIdx.x; i < n_pairs; i += kThreads) {
    double sine, cosine;
    sincos(position * frequencies[i], &sine, &cosine);
    out[2 * i] = static_cast<float>(cosine);
    out[2 * i + 1] = static_cast<float>(sine);
  }
}

// The heads of a token: those of q, then those of k.
struct RotatedHeads {
  float *q, *k;
  unsigned n_heads, n_kv_heads, head_dim;

  __device__ __forceinline__ float* head(std::size_t token, unsigned h) const {
    return h < n_heads ? q + (token * n_heads + h) * head_dim
                       : k + (token * n_kv_heads + h - n_heads) * head_dim;
  }
  friend bool operator==(const RotatedHeads&, const RotatedHeads&) = default;
};

// A thread a pair.
__global__ void __launch_bounds__(kThreads) rotate(const RotatedHeads heads, const float* rotation,
                                                   std::size_t n, unsigned n_pairs, bool adjacent) {
  wait_for_launch_before();
  const std::size_t at = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= n) return;
  const unsigned of_token = heads.n_heads + heads.n_kv_heads;
  const std::size_t pair = at % n_pairs, token = at / n_pairs / of_token;
  float* first = heads.head(token, static_cast<unsigned>(at / n_pairs % of_token)) +
                 (adjacent ? 2 * pair : pair);
  float* second = first + (adjacent ? 1 : n_pairs);
  const float* of_pair = rotation + 2 * (token * n_pairs + pair);
  const float cosine = of_pair[0], sine = of_pair[1], a = *first, b = *second;
  *first = fmaf(a, cosine, -(b * sine));
  *second = fmaf(a, sine, b * cosine);
}

}  // namespace

cudaError_t make_rotation(Queue& queue, const Batch& batch, const double* frequencies,
                          std::size_t n_pairs, float* rotation) {
  return launch(queue, {static_cast<unsigned>(batch.n_tokens), kThreads}, make_phases,
                batch.positions, frequencies, static_cast<unsigned>(n_pairs), rotation);
}

cudaError_t rope(Queue& queue, const RopeArgs& args) {
  const RotatedHeads heads{
      .q = args.q,
      .k = args.k,
      .n_heads = static_cast<unsigned>(args.n_heads),
      .n_kv_heads = args.k == nullptr ? 0 : static_cast<unsigned>(args.n_kv_heads),
      .head_dim = static_cast<unsigned>(args.head_dim)};
  const std::size_t n_pairs = args.n_rotated / 2;
  const std::size_t n = args.n_tokens * (heads.n_heads + heads.n_kv_heads) * n_pairs;
  return launch(queue, {blocks_of(n, kThreads), kThreads}, rotate, heads, args.rotation, n,
                static_cast<unsigned>(n_pairs), args.pairs == RopePairs::adjacent);
}

}  // namespace satchel::kernels::cuda
