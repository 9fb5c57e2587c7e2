// ScoreStore: one score per lane and position of pending text, or of all text for recipes that also
// score while decoding. It is indexed by position, so nothing moves when tokens are evicted.
//   layout  chunks of kChunk positions, each an extent: [n_lanes, kChunk] fp32
//   owns    its extents
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/contract/backend.h"
#include "kvcache/lanes/arena.h"

namespace satchel::kvcache {

class ScoreStore {
 public:
  static constexpr std::size_t kChunk = 256;  // positions; chosen, not measured
  static std::size_t bytes_for(std::size_t n_lanes, std::size_t n_positions);

  ScoreStore(kernels::Backend& backend, Arena& arena, std::size_t n_lanes);
  ~ScoreStore();
  ScoreStore(ScoreStore&&) = delete;

  // Allocates positions first … first + n - 1 and zeroes new ones. Fails with CACHE_FULL.
  Result<void> ensure(std::size_t first, std::size_t n);
  // The bytes that ensure() would allocate.
  std::size_t missing_bytes(std::size_t first, std::size_t n) const;
  bool has(std::size_t position) const;
  // After ensure() for text up to the model's context no later ensure() allocates on the heap.
  void reserve(std::size_t n_positions);

  // Gives 0 for positions that are not allocated.
  Result<void> read(std::size_t lane, std::size_t first, std::span<float> scores) const;
  Result<void> write(std::size_t lane, std::size_t first, std::span<const float> scores);

  // Zeroes positions from `first` to the end of its chunk.
  Result<void> zero_from(std::size_t first);

  // Frees chunks with no position in [first, end).
  void keep_only(std::size_t first, std::size_t end);
  // Frees chunks that are not in `firsts`, an earlier result of chunks().
  void keep_only(std::span<const std::size_t> firsts);
  void clear() { keep_only(0, 0); }

  std::size_t bytes() const;
  // The first positions of all allocated chunks, in order.
  std::vector<std::size_t> chunks() const;

 private:
  float* row(std::size_t lane, std::size_t position) const;

  kernels::Backend& backend_;
  Arena& arena_;
  std::size_t n_lanes_;
  struct Chunk {
    ExtentId extent = {};
    bool held = false;
  };
  std::vector<Chunk> chunks_;  // by position / kChunk
};

}  // namespace satchel::kvcache
