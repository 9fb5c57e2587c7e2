// ExpertTables: where the matrices of a layer's experts lie, in the card's memory, so that a kernel
// finds those of an expert that was chosen there. A table is made when a layer is first run.
//   valid  as long as the layer's experts are the same by value. An address can only become another
//          weight's when one is loaded: then all tables are forgotten.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/products/matmul.h"

namespace satchel::kernels::cuda {

// A row of a table: what experts differ in. bias, factors: as Product and DeviceMatrix have them.
struct ExpertMatrix {
  const std::byte* bytes = nullptr;
  const float *bias = nullptr, *factors = nullptr;
};

// Arrays are [n_experts], in the card's memory.
struct ExpertTable {
  DeviceMatrix up, down;  // of expert 0: type and shape of all; gates' are up's
  const ExpertMatrix *gates = nullptr, *ups = nullptr, *downs = nullptr;  // gates null: none
  const float *factors = nullptr, *choice_biases = nullptr;               // null: none
};

class ExpertTables {
 public:
  explicit ExpertTables(Device& device) : device_(&device) {}
  // Null: the experts are not alike. Valid until the next call.
  Result<const ExpertTable*> of(const Backend::MixtureOfExperts& args);
  void forget() { kept_.clear(); }
  std::size_t bytes() const;

 private:
  struct Kept {
    std::vector<Backend::Expert> experts;
    std::vector<float> factors, choice_biases;
    bool are_alike = false;
    Buffer memory = {};
    ExpertTable table = {};
    bool is_of(const Backend::MixtureOfExperts& args) const;
  };
  Result<Kept> make(const Backend::MixtureOfExperts& args) const;

  Device* device_;
  std::map<const Backend::Expert*, Kept> kept_;
};

}  // namespace satchel::kernels::cuda
