// Transforms query rows to match a page. RoPE is relative: if a page was moved by `shift`, its keys
// stay and the query is rotated back by the shift, and by the frame of keys in a basis. Then the
// query gets the transform of the keys (Transform).
//   differs  phases in float64, rounded to fp32 once; tests/unit/kernels/attend_test.cpp
//            compares it with float64 throughout
#pragma once

#include "kernels/contract/backend.h"
#include "kernels/contract/transform.h"
#include "kernels/cpu/dispatch/attend_table.h"

namespace satchel::kernels::cpu {

struct QueryTransform {
  std::int32_t shift = 0;  // of page and frame
  Transform transform = Transform::none;
  Basis basis = {};
  bool is_none() const { return shift == 0 && transform == Transform::none; }
  friend bool operator==(const QueryTransform&, const QueryTransform&) = default;
};

inline QueryTransform transform_for(const PageView& page) {
  const OperandLayout& k = page.layout->k;
  return {.shift = page.shift + frame_of(*page.layout, page.bytes),
          .transform = k.transform,
          .basis = k.basis};
}

// rows [n_rows, head_dim] in place; head_dim <= kHeadDimMax.
void transform_query(const AttendTable& table, const QueryTransform& transform,
                     const RopeTable& rope, float* rows, std::size_t n_rows, std::size_t head_dim);

}  // namespace satchel::kernels::cpu
