#include "kernels/cuda/rows.h"

#include "kernels/cuda/launch.h"
#include "kernels/cuda/row_math.h"
#include "kernels/cuda/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = kRowThreads;

__global__ void __launch_bounds__(kThreads)
    normalise_rows(const float* x, const float* gain, std::size_t width, float epsilon,
                   float* out) {
  const float* row = x + blockIdx.x * width;
  const float factor = norm_factor(row, width, epsilon, shared_memory<BlockSums<kThreads>>());
  for (std::size_t i = threadIdx.x; i < width; i += kThreads)
    out[blockIdx.x * width + i] = row[i] * factor * gain[i];
}

struct Add {
  const float* y;
  __device__ float operator()(float x, std::size_t i) const { return x + y[i]; }
};
struct Scale {
  float factor;
  __device__ float operator()(float x, std::size_t) const { return x * factor; }
};
struct SoftCap {
  float cap;
  __device__ float operator()(float x, std::size_t) const { return cap * tanhf(x / cap); }
};
template <Activation kActivation>
struct Gate {
  const float* up;
  __device__ float operator()(float x, std::size_t i) const {
    return activate<kActivation>(x) * up[i];
  }
};
struct AddRow {
  const float* row;
  std::size_t width;
  __device__ float operator()(float x, std::size_t i) const { return x + row[i % width]; }
};
struct ScaleFirst {
  float factor;
  std::size_t width, n_first;
  __device__ float operator()(float x, std::size_t i) const {
    return i % width < n_first ? x * factor : x;
  }
};

template <class Each>
__global__ void __launch_bounds__(kThreads) change_values(float* x, std::size_t n, Each each) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) x[i] = each(x[i], i);
}

template <class Each>
cudaError_t change(cudaStream_t stream, float* x, std::size_t n, const Each& each) {
  return launch(stream, {blocks_of(n, kThreads), kThreads}, change_values<Each>, x, n, each);
}

}  // namespace

cudaError_t rms_norm(cudaStream_t stream, const float* x, const float* gain, std::size_t n_tokens,
                     std::size_t width, float epsilon, float* out) {
  return launch(stream, {static_cast<unsigned>(n_tokens), kThreads, sizeof(BlockSums<kThreads>)},
                normalise_rows, x, gain, width, epsilon, out);
}

cudaError_t gated(cudaStream_t stream, Activation activation, float* gate, const float* up,
                  std::size_t n_values) {
  if (activation == Activation::silu)
    return change(stream, gate, n_values, Gate<Activation::silu>{up});
  return change(stream, gate, n_values, Gate<Activation::gelu_tanh>{up});
}

cudaError_t add(cudaStream_t stream, float* x, const float* y, std::size_t n_values) {
  return change(stream, x, n_values, Add{y});
}
cudaError_t scale(cudaStream_t stream, float* x, float factor, std::size_t n_values) {
  return change(stream, x, n_values, Scale{factor});
}
cudaError_t soft_cap(cudaStream_t stream, float* x, float cap, std::size_t n_values) {
  return change(stream, x, n_values, SoftCap{cap});
}
cudaError_t add_row(cudaStream_t stream, float* x, const float* row, std::size_t n_rows,
                    std::size_t width) {
  return change(stream, x, n_rows * width, AddRow{row, width});
}
cudaError_t scale_first(cudaStream_t stream, float* x, float factor, std::size_t n_rows,
                        std::size_t width, std::size_t n_first) {
  return change(stream, x, n_rows * width, ScaleFirst{factor, width, n_first});
}

}  // namespace satchel::kernels::cuda
