// The range search of an affine operand with OperandLayout::clips. Each group tries its full range
// and these shares of it, and takes the one with the least sum of squared errors. Of equal sums the
// wider range wins.
//   range   shares scale the half range about the group's middle; symmetric: the largest magnitude
//   fp16    at share 1 scale and zero are rounded outward, as without clipping; below 1 to nearest.
//           A share whose scale becomes 0 is skipped.
//   sum     fp32 from the group's first value to its last, with one rounding per step, over stored
//           codes and fp16 metadata. So all machines write the same bytes.
//   source  arXiv:2306.00978 (AWQ) searches the clipping of weights this way; the shares are ours
#pragma once

namespace satchel::kernels {

constexpr float kClipShares[] = {0.9f, 0.8f, 0.7f, 0.6f, 0.5f, 0.4f};  // below 1

}  // namespace satchel::kernels
