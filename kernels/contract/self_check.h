// A backend beside the reference on a few small pieces of work, before a program trusts a card that
// nobody tried these kernels on: a norm, a product with packed weights, a page packed and attended to
// by few queries and by many, a choice.
//   errors  device_lost, GPU_CHECK: which of them differs, by how much, and what would be rounding;
//           what the backend itself says where a call of it fails
//   cost    reckoned, not measured: some ms on a card, most of it the reference's; where a driver
//           compiles PTX first, as long as that takes, once. 1 MB of a card's memory, given back, and
//           what the backend keeps to work in
#pragma once

#include "kernels/contract/backend.h"

namespace satchel::kernels {

Result<void> self_check(Backend& backend);

}  // namespace satchel::kernels
