// KeptReferences: queries of a span's own reading, put aside in scratch while its chunks come, for
// a merger that wants some (ReferenceQueries). Which ones depends on the lane and on how many
// tokens the span has, not on its chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcache/prefill/prefill_scratch.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

class KeptReferences {
 public:
  explicit KeptReferences(PrefillScratch& scratch) : scratch_(scratch) {}
  KeptReferences(KeptReferences&&) = delete;

  // Those among the layer's tokens first … first + n_tokens - 1 of the span.
  //   q    [n_tokens, n_heads, head_dim], after RoPE
  //   lse  [n_tokens, n_heads]
  Result<void> take(const float* q, const float* lse, std::size_t first, std::size_t n_tokens);
  // Of the layer in work, once all its chunks were taken; empty: the merger wants none.
  ReferenceQueries of(std::size_t head) const;

 private:
  struct Drawn {
    std::size_t token = 0, head = 0;  // of the span; of the lane's heads
  };
  void draw();
  float* q_of(std::size_t head) const;
  float* lse_of(std::size_t head) const;

  PrefillScratch& scratch_;
  std::vector<std::vector<Drawn>> drawn_ = {};  // [n_kv_heads] of the layer in work, rising
  std::vector<std::vector<std::int32_t>> positions_ = {};
};

}  // namespace satchel::kvcache
