// AffineGrid: 2^bits equidistant values from a minimum, with fp16 minimum and step. For codecs with
// loops of their own; the backends implement those of the affine family.
//   bound   |x - value_of(code_of(x))| <= scale / 2 and the rounding of fp32, because the minimum
//           is rounded down and the step up before the codes are made
//   source  arXiv:2402.02750 (KIVI) section 3.1; the directions of the roundings are ours
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/base/half.h"
#include "kvcache/codecs/plane_values.h"

namespace satchel::kvcache {

struct AffineGrid {
  Half scale_half = 0, zero_half = 0;
  float scale = 0, zero = 0, top = 0;

  // low and high are finite. If they are equal, all codes are 0.
  static AffineGrid over(float low, float high, std::size_t bits) {
    AffineGrid grid;
    grid.top = static_cast<float>((1u << bits) - 1);
    grid.zero_half = float_to_half_down(low + 0.0f);  // -0 + 0 is +0
    grid.zero = half_to_float(grid.zero_half);
    const Half scale = float_to_half_up((high - grid.zero) / grid.top);
    if (half_to_float(scale) > 0) grid.scale_half = scale, grid.scale = half_to_float(scale);
    return grid;
  }
  unsigned code_of(float x) const {
    const float code = scale > 0 ? std::nearbyint((x - zero) / scale) : 0.0f;
    return static_cast<unsigned>(std::clamp(code, 0.0f, top));
  }
  float value_of(unsigned code) const { return static_cast<float>(code) * scale + zero; }
};

// Values of an array and of the planes alike: first, first + step …
struct CellRow {
  std::size_t first = 0, n = 0, step = 1;
  std::size_t at(std::size_t i) const { return first + i * step; }
};

// A page's operand as vectors: the channels of K, the tokens of V.
struct OperandVectors {
  bool is_k = true;
  std::size_t n_tokens = 0, head_dim = 0;

  std::size_t size() const { return is_k ? head_dim : n_tokens; }
  std::size_t n_entries() const { return is_k ? n_tokens : head_dim; }  // of each
  CellRow at(std::size_t vector) const {
    if (is_k) return {.first = vector, .n = n_tokens, .step = head_dim};
    return {.first = vector * head_dim, .n = head_dim};
  }
  std::size_t cell(std::size_t vector, std::size_t entry) const { return at(vector).at(entry); }
};

inline AffineGrid grid_of(const float* x, CellRow cells, std::size_t bits) {
  float low = x[cells.first], high = low;
  for (std::size_t i = 1; i < cells.n; ++i) {
    low = std::min(low, x[cells.at(i)]);
    high = std::max(high, x[cells.at(i)]);
  }
  return AffineGrid::over(low, high, bits);
}

// Codes of a stretch that share a scale and a zero.
struct AffinePlanes {
  const Plane &codes, &scale, &zero;

  explicit AffinePlanes(const OperandLayout& layout)
      : codes(layout.at(PlaneKind::codes)),
        scale(layout.at(PlaneKind::scale)),
        zero(layout.at(PlaneKind::zero)) {}

  void put_range(std::byte* page, std::size_t range, const AffineGrid& grid) const {
    put_half(page, scale, range, grid.scale_half);
    put_half(page, zero, range, grid.zero_half);
  }
  void encode(const float* x, CellRow cells, std::size_t range, std::byte* page) const {
    const AffineGrid grid = grid_of(x, cells, codes.bits);
    put_range(page, range, grid);
    for (std::size_t i = 0; i < cells.n; ++i)
      put_code(page, codes, cells.at(i), grid.code_of(x[cells.at(i)]));
  }
  void decode(const std::byte* page, CellRow cells, std::size_t range, float* x) const {
    const float step = float_at(page, scale, range), low = float_at(page, zero, range);
    for (std::size_t i = 0; i < cells.n; ++i)
      x[cells.at(i)] = static_cast<float>(code_at(page, codes, cells.at(i))) * step + low;
  }
};

}  // namespace satchel::kvcache
