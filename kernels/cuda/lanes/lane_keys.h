// The runs and pages of KV lanes in the form that kernels read, divided into tiles for a CUDA
// block. LaneSources (lane_sources.h) makes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"
#include "kernels/cuda/pages/pages.h"

namespace satchel::kernels::cuda {

enum class RowForm : unsigned {
  halves,  // rows of fp16 as they are
  page,    // an operand of a page (PagePlan): codes, or rows that want transforming
  floats,  // rows of fp32, of a page whose codec these kernels do not know
};

// A run or a page. Pointers in device memory.
struct TokenSource {
  const std::byte *k = nullptr, *v = nullptr;  // page: its first byte; else the first row
  const std::int32_t* positions = nullptr;     // shift not included
  const float* log_counts = nullptr;           // null: all 0
  std::uint64_t live[2] = {};                  // of a page's slots
  unsigned n_tokens = 0;
  std::int32_t shift = 0;
  unsigned plan = 0;      // of a page: which of the PagePlans
  unsigned rotation = 0;  // of a page with a shift: 1 + the first of its pairs of cosine and sine
  RowForm k_form = RowForm::halves, v_form = RowForm::halves;
  bool is_page = false;
};

// Tokens first … of a source, at most as many as a tile has.
struct KeyTile {
  unsigned item = 0, source = 0, first = 0;
  unsigned slot = 0;  // of the first among the lane's, as scores count them
};

// What a kernel over tiles reads. Pointers in device memory.
template <class Item>
struct TileCall {
  const Item* items = nullptr;
  const KeyTile* tiles = nullptr;
  const TokenSource* sources = nullptr;
  const PagePlan* plans = nullptr;
  const float* rotations = nullptr;  // cosine, sine
  friend bool operator==(const TileCall&, const TileCall&) = default;
};
// The call with its items from the first-th on.
template <class Call>
Call from_item(Call call, std::size_t first) {
  call.items += first;
  return call;
}

}  // namespace satchel::kernels::cuda
