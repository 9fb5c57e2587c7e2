// ScoreStore: one number for each lane and position of text whose fate is not decided yet, or, for
// recipes that go on scoring while decoding, of all text. By position, so that nothing moves when
// tokens move or go.
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

  // Room for positions first … first + n - 1, zero where they are new. Fails with CACHE_FULL.
  Result<void> ensure(std::size_t first, std::size_t n);
  // What that takes.
  std::size_t missing_bytes(std::size_t first, std::size_t n) const;
  bool has(std::size_t position) const;
  // After ensure() for text up to the model's context no later ensure() allocates on the heap.
  void reserve(std::size_t n_positions);

  // Zero where there is no room yet.
  Result<void> read(std::size_t lane, std::size_t first, std::span<float> scores) const;
  Result<void> write(std::size_t lane, std::size_t first, std::span<const float> scores);

  // Zeroes what is held from `first` to the end of its chunk.
  Result<void> zero_from(std::size_t first);

  // Gives chunks with no position in [first, end).
  void keep_only(std::size_t first, std::size_t end);
  // Gives chunks that are not among those: what chunks() said before.
  void keep_only(std::span<const std::size_t> firsts);
  void clear() { keep_only(0, 0); }

  std::size_t bytes() const;
  // Of those held, in order: the index of the first position of each chunk.
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
