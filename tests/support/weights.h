// Random weight matrices as they would lie in a file, of any type, and random activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::test {

class WeightFile {
 public:
  WeightFile(kernels::WeightType type, std::size_t n_out, std::size_t n_in);
  std::vector<std::byte>& bytes() { return bytes_; }
  kernels::WeightSource source() const {
    return {.type = type_, .n_out = n_out_, .n_in = n_in_, .bytes = bytes_};
  }

 private:
  kernels::WeightType type_;
  std::size_t n_out_, n_in_;
  std::vector<std::byte> bytes_;
};

// Codes are random bits; scales and minima are such that values lie in about [-0.2, 0.2].
WeightFile random_weight(kernels::WeightType type, std::size_t n_out, std::size_t n_in,
                         std::uint64_t seed);
// Roughly normal, mean 0, standard deviation 1, every fiftieth ten times as large.
std::vector<float> random_values(std::size_t n, std::uint64_t seed);

}  // namespace satchel::test
