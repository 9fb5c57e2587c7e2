// Moves rows into and within a cache: Backend::store and gather. Pointers, including `items`, are
// device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/queue.h"

namespace satchel::kernels::cuda {

// n_values_max, n_bytes_max: of the largest item, all its rows.
cudaError_t store(Queue& queue, const StoreArgs* items, std::size_t n_items,
                  std::size_t n_values_max);
cudaError_t gather(Queue& queue, const GatherArgs* items, std::size_t n_items,
                   std::size_t n_bytes_max);

// The head of a parcel: its bytes follow it.
struct alignas(16) Parcel {
  std::byte* to = nullptr;
  std::size_t n_bytes = 0;
};
cudaError_t deliver(Queue& queue, const Parcel* parcel, std::size_t n_bytes);

// Whether this build has kernels for the current card: else the error that a launch would give.
cudaError_t find_kernels(int& compiled_for);

}  // namespace satchel::kernels::cuda
