// Checks that driver and card are new enough for this build, before first use.
//   errors  device_lost: GPU_DRIVER (missing, or too old, with both versions), GPU_NONE (no card),
//           GPU_OLD (the card is older than any that kernels are built for)
#pragma once

#include "kernels/base/result.h"

namespace satchel::kernels::cuda {

Result<void> check_driver();

}  // namespace satchel::kernels::cuda
