#include "kernels/cuda/rows/rope.h"

#include "kernels/cuda/device/launch.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128;

struct Frequencies {
  double of_pair[kFrequenciesMax];
  friend bool operator==(const Frequencies&, const Frequencies&) = default;
};

// Phases in float64: at position 100,000 an fp32 phase is off by 0.004 radians already. A block a
// token.
__global__ void __launch_bounds__(kThreads)
    make_phases(const std::int32_t* positions, const Frequencies frequencies, unsigned n_pairs,
                float* rotation) {
  const double position = positions[blockIdx.x];
  float* out = rotation + std::size_t{blockIdx.x} * n_pairs * 2;
  for (unsigned i = threadIdx.x; i < n_pairs; i += kThreads) {
    double sine, cosine;
    sincos(position * frequencies.of_pair[i], &sine, &cosine);
    out[2 * i] = static_cast<float>(cosine);
    out[2 * i + 1] = static_cast<float>(sine);
  }
}

// A thread a pair.
__global__ void __launch_bounds__(kThreads)
    rotate(float* x, const float* rotation, std::size_t n, unsigned n_heads, unsigned head_dim,
           unsigned n_pairs, bool adjacent) {
  const std::size_t at = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= n) return;
  const std::size_t pair = at % n_pairs, head = at / n_pairs, token = head / n_heads;
  float* first = x + head * head_dim + (adjacent ? 2 * pair : pair);
  float* second = first + (adjacent ? 1 : n_pairs);
  const float* of_pair = rotation + 2 * (token * n_pairs + pair);
  const float cosine = of_pair[0], sine = of_pair[1], a = *first, b = *second;
  *first = fmaf(a, cosine, -(b * sine));
  *second = fmaf(a, sine, b * cosine);
}

}  // namespace

cudaError_t make_rotation(Queue& queue, const Batch& batch, const RopeTable& table,
                          float* rotation) {
  Frequencies frequencies = {};
  const std::size_t n = table.inverse_frequency.size();
  for (std::size_t i = 0; i < n; ++i) frequencies.of_pair[i] = table.inverse_frequency[i];
  return launch(queue, {static_cast<unsigned>(batch.n_tokens), kThreads}, make_phases,
                batch.positions, frequencies, static_cast<unsigned>(n), rotation);
}

cudaError_t rope(Queue& queue, const RopeArgs& args) {
  const std::size_t n_pairs = args.n_rotated / 2, n = args.n_tokens * args.n_heads * n_pairs;
  return launch(queue, {blocks_of(n, kThreads), kThreads}, rotate, args.x, args.rotation, n,
                static_cast<unsigned>(args.n_heads), static_cast<unsigned>(args.head_dim),
                static_cast<unsigned>(n_pairs), args.pairs == RopePairs::adjacent);
}

}  // namespace satchel::kernels::cuda
