// Blas: NVIDIA's cuBLAS where it is installed, opened while the program runs and never linked with
// it (it is hundreds of megabytes). One function of it: products of fp16 with fp32 sums.
//   errors   unsupported GPU_BLAS (no such library, or one that lacks what we call); out_of_memory
//            GPU_MEMORY; device_lost GPU_CALL (a call of it failed), GPU_LOST (and the card with it)
//   threads  one call at a time, as the Device
//   source   NVIDIA, cuBLAS library, sections 2.4 (helper functions) and 2.8.13 (cublasGemmEx)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/cuda/device.h"

namespace satchel::kernels::cuda {

class Blas {
 public:
  // By the first of these files that can be used; else what was wrong with the last.
  static Result<std::unique_ptr<Blas>> open(Device& device, std::span<const std::string> files);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // out [n_tokens, n_rows] = x [n_tokens, n_in] · weightᵀ, weight [n_rows, n_in]; queued.
  struct Halves {
    const std::uint16_t *weight = nullptr, *x = nullptr;
    float* out = nullptr;
    std::size_t n_rows = 0, n_in = 0, n_tokens = 0;
  };
  Result<void> multiply(const Halves& args) const;

 private:
  struct Functions;
  explicit Blas(Device& device);
  Result<void> begin(const std::string& file);
  Result<void> said(int status, const char* call) const;

  Device* device_;
  void* library_ = nullptr;
  std::unique_ptr<Functions> call_;
  void* handle_ = nullptr;
  Buffer room_;  // for its own use: it allocates nothing while it works
};

}  // namespace satchel::kernels::cuda
