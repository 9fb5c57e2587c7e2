// KeyImportanceFit: learns the importance of keys (kvcache::KeyImportance) from KVzip's scores.
// Each lane has a ridge regression of the score's logarithm on the key's values and their squares.
// It keeps sums only, so texts can be added one by one.
//   why squares  for normally distributed queries ln E[exp(q·k)] = mean·k + k'·C·k / 2, and the
//                diagonal of C is most of it (docs/recipes.md)
//   memory       8 · (2 + 2 · head_dim)² bytes per lane, in main memory
//   cost         (2 + 2 · head_dim)² / 2 multiply-adds per key
//   threads      none of its own
//   source       ours; arXiv:2601.07891 (KVzap: regression on ln of KVzip's scores),
//                arXiv:2510.00636 (Expected Attention: the quadratic form)
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace satchel::runtime {

class KeyImportanceFit {
 public:
  explicit KeyImportanceFit(std::span<const std::size_t> head_dims);  // of each lane
  ~KeyImportanceFit();
  KeyImportanceFit(KeyImportanceFit&&) noexcept;
  KeyImportanceFit& operator=(KeyImportanceFit&&) noexcept;

  static std::size_t bytes(std::span<const std::size_t> head_dims);

  // keys [n, head_dim] before RoPE; scores [n], KVzip's. NaN and infinity are ignored.
  void add(std::size_t lane, std::span<const float> keys, std::span<const float> scores);
  // The weights of a lane for kernels::KeyImportanceArgs; all zero if nothing was added.
  std::vector<float> solve(std::size_t lane) const;

 private:
  struct Sums;
  std::vector<Sums> lanes_;
};

// The logarithm [n] of the importance of keys [n, head_dim] by these weights.
std::vector<float> log_importance(std::span<const float> weights, std::span<const float> keys);

}  // namespace satchel::runtime
