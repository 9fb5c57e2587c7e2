// PassBytes: what a model's pass over n tokens takes of the arena beside the cache's own prefill,
// as numbers, so that the cache can plan with it and knows no model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kvcache/lanes/arena.h"

namespace satchel::kvcache {

struct PassBytes {
  // Arrays that have a row for every token.
  std::vector<std::size_t> row_bytes = {};
  // [n] of a chunk of n tokens; the last entry stands for all longer passes, as their chunks are no
  // longer. Empty: nothing.
  std::vector<std::size_t> chunk_bytes = {};
  // Likewise what is retained until the prefill has been measured. Empty: it is not.
  std::vector<std::size_t> measured_bytes = {};

  // While the tokens go through the model.
  std::size_t pass(std::size_t n_tokens) const {
    std::size_t bytes = at(chunk_bytes, n_tokens);
    for (const std::size_t row : row_bytes) bytes += Arena::rounded_up(n_tokens * row);
    return bytes;
  }
  // That, and what a measurement takes later.
  std::size_t all(std::size_t n_tokens) const {
    return pass(n_tokens) + at(measured_bytes, n_tokens);
  }

 private:
  static std::size_t at(const std::vector<std::size_t>& bytes, std::size_t n_tokens) {
    return bytes.empty() ? 0 : bytes[std::min(n_tokens, bytes.size() - 1)];
  }
};

}  // namespace satchel::kvcache
