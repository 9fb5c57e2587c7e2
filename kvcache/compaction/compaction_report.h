// What a compaction did.
#pragma once

#include <cstddef>

namespace satchel::kvcache {

struct CompactionReport {
  std::size_t n_segments = 0;  // of text that were decided
  std::size_t n_evicted = 0;   // lane-tokens that went
  std::size_t n_lowered = 0;   // lane-tokens that went to a coarser tier

  CompactionReport& operator+=(const CompactionReport& other) {
    n_segments += other.n_segments;
    n_evicted += other.n_evicted;
    n_lowered += other.n_lowered;
    return *this;
  }
};

}  // namespace satchel::kvcache
