// Thinning: a page is made coarser where it lies, so that its codes take about half as many bits
// once they are coded (planes.h). Its layout stays, so a cache holds it as any other.
//   keys    mixed-bit in a basis (KeyBases), where the error that queries see is the same in every
//           coordinate: all coordinates get one step, kThinKeyStep, on a grid through zero, unless
//           theirs is wider. The middle code is the channel's mean, so that codes of all pages look
//           alike
//   values  symmetric, 4 bits: the upper two bits of each code, as the four middle codes of a scale
//           four times as wide, which is rounded to 3 bits of mantissa
//   exact   fp16 is rounded to kThinMantissa bits of mantissa
//   others  stay as they are: what a codec holds at fewer bits has nothing to give
//   twice   does nothing more: a thinned page is left as it is
//   source  ours; arXiv:2511.01815 (KVTC: a transform, bits by reverse water-filling, an entropy
//           coder). With a transform that makes errors alike, one step for all is water-filling
//   differs KVTC codes principal components over all layers, which costs a matrix of thousands of
//           columns for each token decoded; here the lane's own coordinates, in which the codes lie
#pragma once

#include <cstddef>
#include <span>

#include "kernels/contract/page_layout.h"

namespace satchel::kvcache {

// Chosen on SmolLM2-135M by KL for its bytes (docs/benchmarks/2026-11-disk.md, Thinned). The
// largest coordinate of a lane has a standard deviation of 8. Multiples of it are exact in fp16.
inline constexpr float kThinKeyStep = 0.75f;
inline constexpr unsigned kThinMantissa = 2;

// Whether there is anything to thin in such pages.
bool can_thin(const kernels::PageLayout& layout);
//   page  of layout.bytes, with n_tokens slots filled; any bytes
void thin_page(const kernels::PageLayout& layout, std::size_t n_tokens, std::span<std::byte> page);
// fp16 numbers; an odd byte at the end stays.
void thin_exact(std::span<std::byte> halves);

}  // namespace satchel::kvcache
