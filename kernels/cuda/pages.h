// Pages packed and read back, bit for bit as the reference (kernels/reference/page_codec.h), where K and
// V are exact or affine, turned by nothing or by the Hadamard transform. Pointers in device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/contract/backend.h"

namespace satchel::kernels::cuda {

// K or V of a layout without its lists: byte offsets into the page.
struct PageOperand {
  bool is_exact = true, is_turned = false, is_symmetric = false, clips = false;
  unsigned bits = 16, low_bits = 0;  // of a code; of those the lowest, in a plane of their own
  unsigned group = 0;
  std::uint32_t values_at = 0, low_at = 0, scale_at = 0, zero_at = 0;  // values: halves or codes
  friend bool operator==(const PageOperand&, const PageOperand&) = default;
};
struct PagePlan {
  unsigned head_dim = 0, capacity = 0;
  std::uint32_t bytes = 0, positions_at = 0, log_counts_at = 0;
  PageOperand k, v;
  friend bool operator==(const PagePlan&, const PagePlan&) = default;
};
// Nothing: there are no kernels for it.
std::optional<PagePlan> page_plan(const PageLayout& layout);

struct EncodeItem {
  PagePlan plan;
  ExactRun exact;
  const float* log_counts = nullptr;
  std::byte* page = nullptr;
};
struct DecodeItem {
  PagePlan plan;
  const std::byte* page = nullptr;
  unsigned n_tokens = 0;
  float *k = nullptr, *v = nullptr;
};
struct PageCounts {
  unsigned long long n_nan, n_infinite;
};

// work: [n_items][2][kPageTokens · kHeadDimMax] fp32. What was mended is added to `counts`.
cudaError_t encode_pages(cudaStream_t stream, const EncodeItem* items, std::size_t n_items,
                         float* work, PageCounts* counts);
cudaError_t decode_pages(cudaStream_t stream, const DecodeItem* items, std::size_t n_items);

}  // namespace satchel::kernels::cuda
