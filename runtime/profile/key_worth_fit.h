// KeyWorthFit: learns what keys are worth (kvcache::KeyWorth) from the scores that a second reading
// gave them: per lane, a ridge regression of the score's logarithm on the key's values and their
// squares. Only sums are kept, so that texts may be added one by one.
//   why squares  over queries that are normally distributed ln E[exp(q·k)] = mean·k + k'·C·k / 2;
//                their diagonal is most of it (docs/recipes.md)
//   memory       8 · (2 + 2 · head_dim)² bytes a lane, in main memory
//   cost         (2 + 2 · head_dim)² / 2 multiply-adds a key
//   threads      none of its own
//   source       ours; arXiv:2601.07891 (KVzap: regression on ln of KVzip's scores),
//                arXiv:2510.00636 (Expected Attention: the quadratic form)
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace satchel::runtime {

class KeyWorthFit {
 public:
  explicit KeyWorthFit(std::span<const std::size_t> head_dims);  // of each lane
  ~KeyWorthFit();
  KeyWorthFit(KeyWorthFit&&) noexcept;
  KeyWorthFit& operator=(KeyWorthFit&&) noexcept;

  static std::size_t bytes(std::span<const std::size_t> head_dims);

  // keys [n, head_dim] before RoPE; scores [n], KVzip's. What is no number is left out.
  void add(std::size_t lane, std::span<const float> keys, std::span<const float> scores);
  // Weights of a lane, as kernels::KeyWorthArgs wants them; all zero where nothing was added.
  std::vector<float> solve(std::size_t lane) const;

 private:
  struct Sums;
  std::vector<Sums> lanes_;
};

// What keys [n, head_dim] are worth by such weights, as a logarithm: [n].
std::vector<float> log_worth(std::span<const float> weights, std::span<const float> keys);

}  // namespace satchel::runtime
