// PackedWeight: a quantised matrix laid out anew when it is loaded, so that one vector register
// holds the same place of 16 rows and no sum runs across a register.
//   group    16 rows: block by block its codes, then its scales; the rows past the last are 0. One
//            token reads a matrix as a single rising stream
//   codes    of a block of 32 values; a word is 16 bits, word 2r + e belongs to row r and to value
//            2p + e of pair p = 0 … 15
//              4 bits  4 vectors of 32 words; vector v holds pairs 4v … 4v + 3 from its low bits up
//              5 bits  the same, then a vector whose bit p is the fifth bit of pair p
//              6 bits  the same, then two vectors; vector v holds bits 4 and 5 of pairs 8v … 8v + 7
//              8 bits  16 half vectors of 32 signed bytes, one for each pair
//   scales   of a block: scales[16], where a block has two (one for 16 values) both, minima[16]
//   cost     as many bytes as the file's (Q4_K 1.33, Q6_K 1.22 times), made once by plain loops
//   differs  kernels.md 8.2 interleaves 8-bit quadruples for vpdpbusd; activations are 16-bit here
//            (matmul.h says why), so codes meet them in pairs
#pragma once

#include <cstddef>

#include "kernels/base/aligned_buffer.h"
#include "kernels/contract/backend.h"
#include "kernels/cpu/packed_shape.h"
#include "kernels/cpu/thread_pool.h"

namespace satchel::kernels::cpu {

class PackedWeight {
 public:
  // `source` is of a type with code_bits != 0. Fails with out_of_memory.
  static Result<PackedWeight> make(ThreadPool& pool, const WeightSource& source);

  std::size_t n_groups() const { return n_groups_; }
  std::size_t n_blocks() const { return n_blocks_; }  // of a row
  std::size_t group_bytes() const { return group_bytes_; }
  std::size_t bytes() const { return memory_.size(); }
  const std::byte* group(std::size_t index) const { return memory_.data() + index * group_bytes_; }

 private:
  AlignedBuffer memory_;
  std::size_t n_groups_ = 0, n_blocks_ = 0, group_bytes_ = 0;
};

}  // namespace satchel::kernels::cpu
