// CudaWeight: a weight matrix in the card's memory. Types with tiles use tile_layout.h; 16-bit and
// 32-bit floats are stored as they are. Quantised types without tiles (IQ1 to IQ3, TQ) are decoded
// to fp32 at loading.
#pragma once

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/products/matmul.h"

namespace satchel::kernels::cuda {

class CudaWeight final : public Weight {
 public:
  static Result<CudaWeight> make(Device& device, const WeightSource& source);
  static const CudaWeight& of(const Weight& weight) {
    return static_cast<const CudaWeight&>(weight);
  }
  std::size_t owned_bytes() const override { return memory_.size(); }
  const DeviceMatrix& matrix() const { return matrix_; }

 private:
  CudaWeight(const WeightSource& source, Buffer memory, const DeviceMatrix& matrix)
      : Weight(source.type, source.n_out, source.n_in),
        memory_(std::move(memory)),
        matrix_(matrix) {}
  Buffer memory_;
  DeviceMatrix matrix_;
};

}  // namespace satchel::kernels::cuda
