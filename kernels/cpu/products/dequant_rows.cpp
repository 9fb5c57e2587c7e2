#include "kernels/cpu/products/dequant_rows.h"

#include "kernels/reference/dequant.h"

namespace satchel::kernels::cpu {

void read_plain_row(WeightType type, const std::byte* row, std::size_t n_values,
                    std::size_t ahead_bytes, float* out) {
  const PlainBlock read = plain_block_avx2(type);
  const WeightTypeTraits& traits = weight_type_traits(type);
  for (std::size_t done = 0; done < n_values;
       done += traits.block_values, row += traits.block_bytes) {
    for (std::size_t line = 0; line < traits.block_bytes; line += 64)
      __builtin_prefetch(row + ahead_bytes + line);
    if (read != nullptr)
      read(row, out + done);
    else
      dequantise_row(type, row, traits.block_values, out + done);
  }
}

}  // namespace satchel::kernels::cpu
