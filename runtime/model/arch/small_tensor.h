// Numbers that a file holds as a small tensor and a config as numbers: sink logits, a layer's
// scale.
//   errors   corrupt MODEL_METADATA naming the tensor
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "kernels/reference/dequant.h"
#include "runtime/gguf/reader.h"

namespace satchel::runtime {

// Tensor "blk.<layer>.<name>" of n finite values, stored as F32.
inline Result<std::vector<float>> small_tensor(const GgufFile& file, std::size_t layer,
                                               const char* name, std::size_t n) {
  const std::string full = "blk." + std::to_string(layer) + "." + name;
  const auto unfit = [&](const std::string& what) {
    return Error{ErrorKind::corrupt, "MODEL_METADATA", "Tensor \"" + full + "\" " + what};
  };
  SATCHEL_TRY_ASSIGN(const GgufTensor* tensor, file.require_tensor(full));
  if (tensor->n_values != n || tensor->type != kernels::WeightType::f32)
    return unfit("must have " + std::to_string(n) + " values of type F32.");
  std::vector<float> values(n);
  kernels::dequantise_row(kernels::WeightType::f32, tensor->bytes.data(), n, values.data());
  for (const float value : values)
    if (!std::isfinite(value)) return unfit("has a value that is not finite.");
  return values;
}

inline bool has_tensor(const GgufFile& file, std::size_t layer, const char* name) {
  return file.find_tensor("blk." + std::to_string(layer) + "." + name) != nullptr;
}

}  // namespace satchel::runtime
