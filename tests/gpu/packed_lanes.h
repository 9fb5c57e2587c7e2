// Lanes full of packed pages in a backend's memory, for benchmarks of attention.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/measure.h"
#include "kernels/contract/backend.h"

namespace satchel::bench {

// Llama-3.1-8B's.
inline constexpr std::size_t kKvHeads = 8, kGroup = 4, kHeads = kKvHeads * kGroup, kHeadDim = 128;

struct Tier {
  std::string name;
  kernels::PageShape page;
};
// fp16, 8, 4, 3 and 2 bits: keys' scales by channel over the page, values' by token over all
// channels (2 bits: over 64); then the ladder's 4 and 2 bits.
std::vector<Tier> tiers();

// Random tokens that pages are made of: a few hundred pages long, read again and again. What is
// packed from it lies at as many places as there are pages.
struct Tokens {
  static constexpr std::size_t kCount = 4096;
  Tokens(kernels::Backend& backend, std::size_t n_positions);
  Arrays arrays;
  Half *k, *v;              // [kCount, kHeadDim]
  std::int32_t* positions;  // [n_positions] 0, 1 …
};

// n_layers layers of n_sequences sequences, kKvHeads lanes each, all of n_tokens tokens. Layers lie
// one after the other: reading them in turn finds none in the cache, if all are larger than it.
class PackedLanes {
 public:
  struct Size {
    std::size_t n_tokens, n_sequences, n_layers;
  };
  PackedLanes(kernels::Backend& backend, const Tier& tier, const Tokens& tokens, Size size);
  PackedLanes(const PackedLanes&) = delete;

  // What one token of each sequence gets of the i-th layer, from the first again after the last.
  void attend(std::size_t i);
  std::vector<float> out();
  // What must be read: codes, scales and zeros, not the positions.
  std::size_t bytes_of_layer() const;
  double bits_per_value() const;

 private:
  std::size_t n_pages() const { return size_.n_tokens / layout_->capacity; }
  void pack(std::size_t lane, const Tokens& tokens);

  kernels::Backend& backend_;
  Size size_;
  std::unique_ptr<kernels::PageLayout> layout_;
  kernels::Buffer pages_;
  std::unique_ptr<kernels::LaneTable> table_;
  std::vector<std::vector<kernels::PageView>> views_;  // [lanes]
  std::vector<kernels::Sequence> sequences_;
  Arrays arrays_;
  float *q_, *out_;
  std::int32_t* position_;
};

}  // namespace satchel::bench
