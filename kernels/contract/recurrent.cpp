#include "kernels/contract/recurrent.h"

#include "kernels/base/assert.h"

namespace satchel::kernels {
namespace {

void check_order(std::span<const StateSequence> sequences) {
  std::size_t n = 0;
  for (const StateSequence& sequence : sequences) {
    SATCHEL_ASSERT(sequence.first_token == n && sequence.n_tokens > 0);
    SATCHEL_ASSERT(sequence.behind != nullptr);
    n += sequence.n_tokens;
  }
}

void check_taps(std::size_t n_taps) {
  SATCHEL_ASSERT(n_taps >= 2 && n_taps <= kTapsMax);
}

void check_dim(std::size_t dim) {
  SATCHEL_ASSERT(dim > 0 && dim <= kStateDimMax);
}

}  // namespace

void ShortConvArgs::check() const {
  SATCHEL_ASSERT(n_taps >= 2);
  check_order(sequences);
}

void GatedDeltaArgs::check() const {
  check_taps(n_taps);
  SATCHEL_ASSERT(n_key_heads > 0 && n_value_heads % n_key_heads == 0);
  check_dim(key_dim);
  check_dim(value_dim);
  check_order(sequences);
}

void Mamba2Args::check() const {
  check_taps(n_taps);
  SATCHEL_ASSERT(n_groups > 0 && n_heads > 0 && n_heads % n_groups == 0);
  check_dim(head_dim);
  check_dim(state_dim);
  check_order(sequences);
}

}  // namespace satchel::kernels
