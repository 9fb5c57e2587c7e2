// LaneView: what attention may read of one lane (one layer and KV head): runs of exact tokens and
// quantised pages. LaneTable: the views of many lanes, held by the backend. Nothing here owns
// tokens. All data pointers are addresses in the backend's memory; all spans are in main memory.
//   latent      a lane whose tokens have one row, which is key and value (MLA, arXiv:2405.04434):
//               runs have v = k, pages no planes of V. Attention gives a weighted sum of keys; of
//               its coordinates those that RoPE rotates mean nothing
//   invariants  positions rise within a run and within a page; a position occurs at most once among
//               the visible tokens of a lane
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/half.h"
#include "kernels/base/result.h"
#include "kernels/contract/page_layout.h"

namespace satchel::kernels {

// Contiguous exact tokens: sinks, the tail, or the prompt during prefill.
struct ExactRun {
  const Half* k = nullptr;                  // [n_tokens, head_dim], after RoPE
  const Half* v = nullptr;                  // [n_tokens, head_dim]; of a latent lane k
  const std::int32_t* positions = nullptr;  // [n_tokens]
  std::size_t n_tokens = 0;
};

// One bit per slot: bit s % 64 of word s / 64. Attention skips slots whose bit is 0.
struct LiveMask {
  std::array<std::uint64_t, kPageTokens / 64> words = {};

  static LiveMask first(std::size_t n_tokens) {
    LiveMask mask;
    for (std::size_t s = 0; s < n_tokens; ++s) mask.set(s);
    return mask;
  }
  bool has(std::size_t slot) const { return ((words[slot / 64] >> (slot % 64)) & 1) != 0; }
  void set(std::size_t slot) { words[slot / 64] |= std::uint64_t{1} << (slot % 64); }
  void clear(std::size_t slot) { words[slot / 64] &= ~(std::uint64_t{1} << (slot % 64)); }
  std::size_t count() const {
    std::size_t n = 0;
    for (const std::uint64_t word : words)
      n += static_cast<std::size_t>(__builtin_popcountll(word));
    return n;
  }
  friend bool operator==(const LiveMask&, const LiveMask&) = default;
};

struct PageView {
  const std::byte* bytes = nullptr;  // [layout->bytes]
  const PageLayout* layout = nullptr;
  std::uint32_t n_tokens = 0;  // slots filled, at most layout->capacity
  LiveMask live;               // set for filled slots only
  // Added to every position of the page. RoPE is relative, so keys stay as encoded and the query is
  // rotated back by the shift (AttendArgs::rope).
  std::int32_t shift = 0;
  // Range of the live tokens' positions, shift included. Lets a kernel skip the mask.
  std::int32_t first_position = 0, last_position = 0;
};

struct LaneView {
  std::span<const ExactRun> runs;
  std::span<const PageView> pages;
};

// The views of n_lanes lanes. The backend keeps them between steps, so a step that changes one tail
// sends one tail.
//   lifetime  the caller keeps the spans of a view valid until it sets that part of the lane again;
//             the table may copy them instead
//   threads   as the Backend
class LaneTable {
 public:
  virtual ~LaneTable() = default;
  virtual std::size_t n_lanes() const = 0;
  virtual Result<void> set_runs(std::size_t lane, std::span<const ExactRun> runs) = 0;
  virtual Result<void> set_pages(std::size_t lane, std::span<const PageView> pages) = 0;
};

}  // namespace satchel::kernels
