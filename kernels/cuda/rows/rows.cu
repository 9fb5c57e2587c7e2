#include "kernels/cuda/rows/rows.h"

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/shared_memory.h"
#include "kernels/cuda/rows/row_math.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = kRowThreads;

__global__ void __launch_bounds__(kThreads)
    normalise_rows(const float* x, const float* gain, std::size_t width, float epsilon,
                   float* out) {
  wait_for_launch_before();
  const float* row = x + blockIdx.x * width;
  const float factor = norm_factor(row, width, epsilon, shared_memory<BlockSums<kThreads>>());
  for (std::size_t i = threadIdx.x; i < width; i += kThreads)
    out[blockIdx.x * width + i] = row[i] * factor * gain[i];
}

struct Add {
  const float* y;
  friend bool operator==(const Add&, const Add&) = default;
  __device__ float operator()(float x, std::size_t i) const { return x + y[i]; }
};
struct Scale {
  float factor;
  friend bool operator==(const Scale&, const Scale&) = default;
  __device__ float operator()(float x, std::size_t) const { return x * factor; }
};
struct SoftCap {
  float cap;
  friend bool operator==(const SoftCap&, const SoftCap&) = default;
  __device__ float operator()(float x, std::size_t) const { return cap * tanhf(x / cap); }
};
template <Activation kActivation>
struct Gate {
  const float* up;
  friend bool operator==(const Gate&, const Gate&) = default;
  __device__ float operator()(float x, std::size_t i) const { return gated<kActivation>(x, up[i]); }
};
struct AddRow {
  const float* row;
  std::size_t width;
  friend bool operator==(const AddRow&, const AddRow&) = default;
  __device__ float operator()(float x, std::size_t i) const { return x + row[i % width]; }
};
struct ScaleFirst {
  float factor;
  std::size_t width, n_first;
  friend bool operator==(const ScaleFirst&, const ScaleFirst&) = default;
  __device__ float operator()(float x, std::size_t i) const {
    return i % width < n_first ? x * factor : x;
  }
};
struct GateRows {
  const float* gate;
  std::size_t width;
  friend bool operator==(const GateRows&, const GateRows&) = default;
  __device__ float operator()(float x, std::size_t i) const {
    return gated<Activation::sigmoid>(gate[i / width], x);
  }
};

template <class Each>
__global__ void __launch_bounds__(kThreads) change_values(float* x, std::size_t n, Each each) {
  wait_for_launch_before();
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) x[i] = each(x[i], i);
}

template <class Each>
cudaError_t change(Queue& queue, float* x, std::size_t n, const Each& each) {
  return launch(queue, {blocks_of(n, kThreads), kThreads}, change_values<Each>, x, n, each);
}

}  // namespace

cudaError_t rms_norm(Queue& queue, const float* x, const float* gain, std::size_t n_tokens,
                     std::size_t width, float epsilon, float* out) {
  return launch(queue, {static_cast<unsigned>(n_tokens), kThreads, sizeof(BlockSums<kThreads>)},
                normalise_rows, x, gain, width, epsilon, out);
}

cudaError_t glu(Queue& queue, Activation activation, float* gate, const float* up,
                std::size_t n_values) {
  if (activation == Activation::silu)
    return change(queue, gate, n_values, Gate<Activation::silu>{up});
  if (activation == Activation::clamped_silu)
    return change(queue, gate, n_values, Gate<Activation::clamped_silu>{up});
  if (activation == Activation::sigmoid)
    return change(queue, gate, n_values, Gate<Activation::sigmoid>{up});
  if (activation == Activation::relu)
    return change(queue, gate, n_values, Gate<Activation::relu>{up});
  return change(queue, gate, n_values, Gate<Activation::gelu_tanh>{up});
}

cudaError_t add(Queue& queue, float* x, const float* y, std::size_t n_values) {
  return change(queue, x, n_values, Add{y});
}
cudaError_t scale(Queue& queue, float* x, float factor, std::size_t n_values) {
  return change(queue, x, n_values, Scale{factor});
}
cudaError_t soft_cap(Queue& queue, float* x, float cap, std::size_t n_values) {
  return change(queue, x, n_values, SoftCap{cap});
}
cudaError_t add_row(Queue& queue, float* x, const float* row, std::size_t n_rows,
                    std::size_t width) {
  return change(queue, x, n_rows * width, AddRow{row, width});
}
cudaError_t scale_first(Queue& queue, float* x, float factor, std::size_t n_rows, std::size_t width,
                        std::size_t n_first) {
  return change(queue, x, n_rows * width, ScaleFirst{factor, width, n_first});
}

cudaError_t gate_rows(Queue& queue, float* x, const float* gate, std::size_t n_rows,
                      std::size_t width) {
  return change(queue, x, n_rows * width, GateRows{gate, width});
}

}  // namespace satchel::kernels::cuda
