#include <algorithm>
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/reference/backend_reference.h"

namespace satchel::kernels::reference {

Result<void> ReferenceBackend::store(std::span<const StoreArgs> items) {
  for (const StoreArgs& args : items) {
    constexpr float kHalfMax = 65504;
    SATCHEL_ASSERT(args.n_rows <= 1 || args.from_stride >= args.n_values);
    for (std::size_t r = 0; r < args.n_rows; ++r) {
      const float* from = args.from + r * args.from_stride;
      Half* to = args.to + r * args.n_values;
      for (std::size_t i = 0; i < args.n_values; ++i)
        to[i] =
            std::isnan(from[i]) ? Half{0} : float_to_half(std::clamp(from[i], -kHalfMax, kHalfMax));
      if (args.positions != nullptr)
        args.positions[r] = args.first_position + static_cast<std::int32_t>(r);
    }
  }
  return {};
}

}  // namespace satchel::kernels::reference
