// Compares a backend with the reference on a few small operations, before a program trusts a card
// on which these kernels were never tested. It checks a norm, a product with quantised weights, a
// page encoded and attended to by decode and prefill attention, and argmax.
//   errors  device_lost, GPU_CHECK: what differs, by how much, and what rounding would explain; or
//           the backend's own error if one of its calls fails
//   cost    estimated, not measured: a few ms on a card, most of it for the reference. A driver
//           that compiles PTX first takes that time once. 1 MB of GPU memory, which is released,
//           and the backend's workspace.
#pragma once

#include "kernels/contract/backend.h"

namespace satchel::kernels {

Result<void> self_check(Backend& backend);

}  // namespace satchel::kernels
