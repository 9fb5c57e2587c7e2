// The refit in float64, in main memory, for the reference and for backends without their own.
#pragma once

#include "kernels/contract/refit.h"

namespace satchel::kernels::reference {

// As Backend::refit; all pointers are main memory, `work` is not used.
bool refit_lane(const RefitArgs& args);

}  // namespace satchel::kernels::reference
