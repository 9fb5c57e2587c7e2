// Encodes and decodes pages, bit for bit like the reference (kernels/reference/page_codec.h),
// except operands with an OperandCode, whose loops run in main memory (page_ops.h). Pointers are
// device memory; K and V, exact or decoded, are aligned to 16 bytes.
//   blocks  a CUDA block encodes a slice of an operand, whole groups of tokens or channels, so that
//           no other block needs its values (PageOperand). It decodes kUnpackTokens tokens.
//   work    a slice is held in shared memory. If the card has too little (PackShape), the caller
//           lends memory; also for keys in a basis, which a separate kernel transforms before.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/primitives/head_dim.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kUnpackTokens = 32;

// What packing mixed-bit keys wants of shared memory (MixedBitPacker): middle, half width, and what
// each ratio misses.
inline constexpr unsigned kMixedBitWordsOfChannel = 10;

enum class PageForm : std::uint8_t {
  exact,
  affine,
  mixed_bit,
  coded /* by loops in main memory */
};

// K or V of a layout without its lists: byte offsets into the page.
struct PageOperand {
  PageForm form = PageForm::exact;
  Transform transform = Transform::none;
  bool is_symmetric = false, clips = false;  // affine
  unsigned bits = 16, low_bits = 0;  // affine: of a code; of those the lowest, in a plane apart
  unsigned group = 0;
  std::uint32_t values_at = 0, low_at = 0, scale_at = 0, zero_at = 0;  // values: halves or codes
  std::uint32_t quad_bits[kCudaQuadsMax / 8] = {};  // mixed-bit: four bits a quad, the first lowest

  bool slices_tokens = true;  // else channels, of all tokens
  unsigned slice = 0, n_slices = 0;
  friend bool operator==(const PageOperand&, const PageOperand&) = default;
};

// Whether prefill and scoring know its rows: others are decoded before.
constexpr bool has_row_kernel(const PageOperand& operand) {
  return (operand.form == PageForm::exact || operand.form == PageForm::affine) &&
         operand.transform != Transform::basis;
}

// Whether decode attention reads it as it lies. A query is taken into the coordinates of keys.
constexpr bool has_decode_kernel(const PageOperand& operand) {
  return has_row_kernel(operand) || operand.form == PageForm::mixed_bit;
}

// A layout's Basis there. All are row-major.
struct PageBasis {
  const float* to = nullptr;
  const float* from = nullptr;
  // A power of two that brings the largest of `from` to 2^8 … 2^9: products take it as halves.
  float from_factor = 1;
  const float* back = nullptr;  // the transposed of Basis::from: k = k' · back
  const double* frequencies = nullptr;
  unsigned n_pairs = 0;
  bool has_halves = false;  // RopePairs
  friend bool operator==(const PageBasis&, const PageBasis&) = default;
};

struct PagePlan {
  unsigned head_dim = 0, capacity = 0;
  std::uint32_t bytes = 0, positions_at = 0, log_counts_at = 0;
  float transform_norm = 1;  // of Transform::hadamard
  PageOperand k, v;
  PageBasis basis;  // of K, where it has one
  friend bool operator==(const PagePlan&, const PagePlan&) = default;
};
PagePlan page_plan(const PageLayout& layout, const PageBasis& basis);

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

// What the items of a call need at most.
struct PackShape {
  unsigned n_slices = 0, slice_floats = 0, range_words = 0;
  unsigned basis_floats =
      0;                  // the rows of a page's keys that a basis transforms; 0: there are none
  bool is_shared = true;  // slices fit into shared memory

  explicit PackShape(std::size_t shared_bytes_max) : shared_bytes_max_(shared_bytes_max) {}
  void add(const PagePlan& plan);
  constexpr std::size_t work_floats() const {  // of an item
    const std::size_t slices = is_shared ? 0 : std::size_t{2} * n_slices * slice_floats;
    return (basis_floats + slices + 3) / 4 * 4;  // rows begin at multiples of 16 bytes
  }
  friend bool operator==(const PackShape&, const PackShape&) = default;

 private:
  std::size_t shared_bytes_max_;
};

// work: [n_items, shape.work_floats()]. What was mended is added to `counts`.
cudaError_t encode_pages(Queue& queue, const EncodeItem* items, std::size_t n_items,
                         const PackShape& shape, float* work, PageCounts* counts);
// head_dim_max: of the items.
cudaError_t decode_pages(Queue& queue, const DecodeItem* items, std::size_t n_items,
                         unsigned head_dim_max);

}  // namespace satchel::kernels::cuda
