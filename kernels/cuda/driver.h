// Whether driver and card are new enough for this build, said before anything is done with them.
//   errors  device_lost: GPU_DRIVER (none, or too old, with both versions), GPU_NONE (no card),
//           GPU_OLD (a card older than the oldest that kernels are built for)
#pragma once

#include "kernels/base/result.h"

namespace satchel::kernels::cuda {

Result<void> check_driver();

}  // namespace satchel::kernels::cuda
