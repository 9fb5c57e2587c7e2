#include <vector>

#include "kernels/base/assert.h"
#include "kernels/reference/dequant.h"
#include "kernels/reference/model_ops.h"

namespace satchel::kernels::reference {

void check_source(const WeightSource& source) {
  const auto row = row_bytes(source.type, source.n_in);
  SATCHEL_ASSERT(row.has_value());
  SATCHEL_ASSERT(source.bytes.size() == *row * source.n_out);
}

Result<void> embed(const WeightSource& table, std::span<const std::int32_t> ids, float* out) {
  const std::size_t row = *row_bytes(table.type, table.n_in);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    SATCHEL_ASSERT(ids[i] >= 0 && id < table.n_out);
    dequantise_row(table.type, table.bytes.data() + id * row, table.n_in, out + i * table.n_in);
  }
  return {};
}

Result<void> matmul(const WeightSource& weight, const float* x, std::size_t n_tokens, float* out) {
  const std::size_t row = *row_bytes(weight.type, weight.n_in);
  std::vector<float> values(weight.n_in);
  for (std::size_t r = 0; r < weight.n_out; ++r) {
    dequantise_row(weight.type, weight.bytes.data() + r * row, weight.n_in, values.data());
    for (std::size_t t = 0; t < n_tokens; ++t) {
      double sum = 0;
      for (std::size_t i = 0; i < weight.n_in; ++i)
        sum += static_cast<double>(values[i]) * static_cast<double>(x[t * weight.n_in + i]);
      out[t * weight.n_out + r] = static_cast<float>(sum);
    }
  }
  return {};
}

}  // namespace satchel::kernels::reference
