// The workspace of attention, reused between calls and grown by doubling, so that a repeated step
// does not allocate.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/base/aligned_buffer.h"
#include "kernels/cpu/dispatch/attend_plan.h"

namespace satchel::kernels::cpu {

class AttendScratch {
 public:
  // n floats, 64-byte aligned, with old contents. Valid until the next call.
  Result<float*> take(std::size_t n) {
    const std::size_t bytes = n * sizeof(float);
    if (buffer_.size() < bytes) {
      buffer_ = {};
      SATCHEL_TRY_ASSIGN(buffer_, AlignedBuffer::make(std::max(bytes, 2 * last_bytes_)));
      last_bytes_ = buffer_.size();
    }
    return reinterpret_cast<float*>(buffer_.data());
  }

  std::size_t bytes() const { return buffer_.size(); }

  // The last plan, remade in place by each attention call.
  AttendPlan& plan() { return plan_; }

 private:
  AttendPlan plan_;
  AlignedBuffer buffer_;
  std::size_t last_bytes_ = 0;
};

}  // namespace satchel::kernels::cpu
