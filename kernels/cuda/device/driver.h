// Checks that the driver is new enough for this build and knows a card, before first use. Which
// card will do: cards.h.
//   errors  device_lost: GPU_DRIVER (missing, or too old, with both versions), GPU_NONE (no card)
#pragma once

#include "kernels/base/result.h"

namespace satchel::kernels::cuda {

Result<void> check_driver();

}  // namespace satchel::kernels::cuda
