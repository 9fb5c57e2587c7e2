// The error of moe() where a router's product is NaN.
#pragma once

#include "kernels/base/result.h"

namespace satchel::kernels {

Error nan_of_router();

}  // namespace satchel::kernels
