// The Backend on an NVIDIA GPU. Work is queued on one stream; download() and finish() wait.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::kernels::cuda {

struct CudaOptions {
  // Of the card's memory, in bytes, all that the backend takes; 0: nearly all that is free.
  std::size_t memory_limit = 0;
  // cuBLAS for products of many tokens: the first of these files (libcublas.so.13, say) that opens; where none can,
  // and where none is named, the backend's own. Then results are rounded more coarsely, and may
  // depend on how a prompt is cut (blas_products.h).
  std::vector<std::string> blas_files = {};
};

// Fails as Device::open().
Result<std::unique_ptr<Backend>> make_backend(const CudaOptions& options = {});

}  // namespace satchel::kernels::cuda
