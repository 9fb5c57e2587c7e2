// Access to a plane of fp16 numbers in a page. Units for one instruction level use their own loads.
#pragma once

#include <cstddef>

#include "kernels/base/half.h"
#include "kernels/contract/page_layout.h"

namespace satchel::kernels {

inline Half* halves(std::byte* page, const Plane& plane) {
  return reinterpret_cast<Half*>(page + plane.at);
}
inline const Half* halves(const std::byte* page, const Plane& plane) {
  return reinterpret_cast<const Half*>(page + plane.at);
}

}  // namespace satchel::kernels
