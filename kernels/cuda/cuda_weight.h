// CudaWeight: a matrix in a card's memory: tiles (tile_layout.h) where its type has them, rows of
// floats of 16 bits or 32 as they are; the exact types without tiles (IQ1 to IQ3, TQ) are read back
// to fp32 when they are loaded.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/matmul.h"

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
