#include "kernels/cuda/device/move.h"

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/half.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;

__device__ __forceinline__ Half to_half(float x) {
  constexpr float kHalfMost = 65504.0f;
  if (x != x) return 0;
  return half_nearest(fminf(fmaxf(x, -kHalfMost), kHalfMost));
}

// The second index of the grid is the item.
__global__ void __launch_bounds__(kThreads) store_rows(const StoreArgs* items) {
  wait_for_launch_before();
  const StoreArgs args = items[blockIdx.y];
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= args.n_rows * args.n_values) return;
  if (args.positions != nullptr && i % args.n_values == 0) {
    const std::size_t row = i / args.n_values;
    args.positions[row] = args.first_position + static_cast<std::int32_t>(row);
  }
  args.to[i] = to_half(args.from[i / args.n_values * args.from_stride + i % args.n_values]);
}

template <class Word>
__device__ void copy_word(const GatherArgs& args, std::size_t i) {
  const std::size_t n_words = args.row_bytes / sizeof(Word);
  if (i >= args.n_rows * n_words) return;
  const auto row = static_cast<std::size_t>(args.indices[i / n_words]);
  const auto* from = reinterpret_cast<const Word*>(args.from + row * args.row_bytes);
  reinterpret_cast<Word*>(args.to)[i] = from[i % n_words];
}

__global__ void __launch_bounds__(kThreads) gather_rows(const GatherArgs* items) {
  wait_for_launch_before();
  const GatherArgs args = items[blockIdx.y];
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const auto places = reinterpret_cast<std::uintptr_t>(args.from) |
                      reinterpret_cast<std::uintptr_t>(args.to) | args.row_bytes;
  if (places % sizeof(uint4) == 0)
    copy_word<uint4>(args, i);
  else if (places % sizeof(std::uint32_t) == 0)
    copy_word<std::uint32_t>(args, i);
  else
    copy_word<std::uint8_t>(args, i);
}

__global__ void __launch_bounds__(kThreads) deliver_bytes(const Parcel* parcel) {
  wait_for_launch_before();
  const Parcel args = *parcel;
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const auto* from = reinterpret_cast<const std::byte*>(parcel + 1);
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  if (reinterpret_cast<std::uintptr_t>(args.to) % kWord == 0 && args.n_bytes % kWord == 0) {
    if (i * kWord < args.n_bytes)
      reinterpret_cast<std::uint32_t*>(args.to)[i] =
          reinterpret_cast<const std::uint32_t*>(from)[i];
  } else if (i < args.n_bytes) {
    args.to[i] = from[i];
  }
}

}  // namespace

cudaError_t store(Queue& queue, const StoreArgs* items, std::size_t n_items,
                  std::size_t n_values_max) {
  return launch_stretches(n_items, [&](std::size_t first, unsigned n) {
    const dim3 grid(blocks_of(n_values_max, kThreads), n);
    return launch(queue, {grid, kThreads}, store_rows, items + first);
  });
}

cudaError_t find_kernels(int& compiled_for) {
  cudaFuncAttributes attributes = {};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, deliver_bytes);
  compiled_for = attributes.ptxVersion;
  return error;
}

cudaError_t deliver(Queue& queue, const Parcel* parcel, std::size_t n_bytes) {
  return launch(queue, {blocks_of(n_bytes, kThreads), kThreads}, deliver_bytes, parcel);
}

// Rows that are whole words need fewer threads than there are; the others end at once.
cudaError_t gather(Queue& queue, const GatherArgs* items, std::size_t n_items,
                   std::size_t n_bytes_max) {
  return launch_stretches(n_items, [&](std::size_t first, unsigned n) {
    const dim3 grid(blocks_of(n_bytes_max, kThreads), n);
    return launch(queue, {grid, kThreads}, gather_rows, items + first);
  });
}

}  // namespace satchel::kernels::cuda
