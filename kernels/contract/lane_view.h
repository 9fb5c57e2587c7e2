// LaneView: what one attention call may read of one lane (one layer and KV head): runs of exact
// tokens and packed pages. Nothing here owns; a view does not outlive the call. All data pointers
// are addresses in the backend's memory, all spans are in main memory.
//   invariants  positions rise inside a run and inside a page; the same position never stands twice
//               in a lane
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/half.h"
#include "kernels/contract/page_layout.h"

namespace satchel::kernels {

// Exact tokens side by side: sinks, the tail, or the prompt being read.
struct ExactRun {
  const Half* k = nullptr;                  // [n_tokens, head_dim], after RoPE
  const Half* v = nullptr;                  // [n_tokens, head_dim]
  const std::int32_t* positions = nullptr;  // [n_tokens]
  std::size_t n_tokens = 0;
};

struct PageView {
  const std::byte* bytes = nullptr;  // layout->bytes of them
  const PageLayout* layout = nullptr;
  std::int32_t first_position = 0,
               last_position = 0;  // as in its plane of positions: lets a kernel skip the mask
};

struct LaneView {
  std::span<const ExactRun> runs;
  std::span<const PageView> pages;
};

}  // namespace satchel::kernels
