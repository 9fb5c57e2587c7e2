// How an affine operand that clips (OperandLayout::clips) finds the range of a group: of 1 and these
// shares of the half range about its middle (symmetric: of the largest magnitude about 0) the one
// whose codes leave the least sum of squared errors, the wider one of equals.
//   halves  at 1 rounded outward, as without clipping; below 1 scale and zero to the nearest. A
//           share whose scale becomes 0 is none of the choices
//   sum     fp32 from the group's first value to its last, every step one rounding, codes and
//           halves as they are stored: so the same bytes on every machine
//   source  arXiv:2306.00978 (AWQ) searches the clipping of weights likewise; which shares is ours
#pragma once

namespace satchel::kernels {

constexpr float kClipShares[] = {0.9f, 0.8f, 0.7f, 0.6f, 0.5f, 0.4f};  // below 1

}  // namespace satchel::kernels
