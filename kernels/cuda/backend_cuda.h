// The Backend on an NVIDIA GPU. Work is queued on one stream; download() and finish() wait.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::kernels::cuda {

struct CudaOptions {
  // Of the card's memory, in bytes, all that the backend takes; 0: as DeviceMemory::open().
  std::size_t memory_limit = 0;
  // BackendOptions::blas_files.
  std::vector<std::string> blas_files = {};
};

// Fails as Device::open().
Result<std::unique_ptr<Backend>> make_backend(const CudaOptions& options = {});

}  // namespace satchel::kernels::cuda
