// CacheState: what a Cache is made of, for the files of this folder that work on it (steps, prompt
// reading, snapshot).
//   states      idle -> begin_step -> step_open -> end_step -> idle
//               idle -> begin_prompt -> reading -> commit or dropped -> idle
//   invariants  1 views[i] is lane i as it now is
//               2 while idle no tail holds kTailCapacity tokens, but after a failed flush, which
//                 the next call tries again
//               3 each lane has reserved room for all pages that decoding can give it
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "kvcache/cache.h"
#include "kvcache/lane.h"
#include "kvcache/pool.h"
#include "kvcache/stages/pipeline.h"

namespace satchel::kvcache {

struct CacheState {
  kernels::Backend& backend;
  CacheShape shape;
  Recipe recipe;
  kernels::PageLayout layout;
  Pool pool;
  std::deque<Lane> lanes = {};  // [n_layers * n_kv_heads], layer-major; a deque never moves them
  std::vector<kernels::LaneView> views = {};
  std::size_t n_tokens = 0;
  std::uint64_t n_clears = 0;  // a snapshot taken before the last clear() is no beginning of this
  bool step_open = false, reading = false;
  std::vector<std::uint8_t> appended = {};  // [n_layers], of the open step

  void refresh(std::size_t lane) {
    views[lane] = lanes[lane].view(recipe.pipeline().reader().pages(lanes[lane].page_views()));
  }
  // Room for n_pages[lane] pages now and for what decoding may add until the pool is full.
  void reserve_pages(std::span<const std::size_t> n_pages);
  void undo_open_step();
  Result<void> flush_full_tails();
  Result<void> flush(std::size_t lane);
  void clear();
};

struct Cache::State final : CacheState {
  explicit State(CacheState&& state) : CacheState(std::move(state)) {}
};

}  // namespace satchel::kvcache
