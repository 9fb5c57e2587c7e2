// StagedBackend: lets a test hand main memory to a backend whose memory is its own. Every array
// goes there for the call and comes back after it, in buffers of just its size, so that a backend
// that goes past an end is found out.
//   limits  the arrays' lengths come from the arguments, so strides and gaps are kept
#pragma once

#include <memory>

#include "kernels/contract/backend.h"

namespace satchel::test {

std::unique_ptr<kernels::Backend> make_staged(std::unique_ptr<kernels::Backend> inner);

// What the table of a staged backend, or of one in main memory, shows of a lane.
const kernels::LaneView& shown_lane(const kernels::LaneTable& table, std::size_t lane);

}  // namespace satchel::test
