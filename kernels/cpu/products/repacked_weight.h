// RepackedWeight: a quantised matrix, repacked at loading so that a vector register holds the same
// place of 16 rows and no horizontal sums are needed.
//   group    16 rows: unit by unit (quant_format.h) the codes of its blocks, then its scales; the
//            rows past the last are 0. One token reads a matrix as a single rising stream
//   codes    of a block of 32 values; a word is 16 bits, word 2r + e of a vector of 32 belongs to
//            row r and to value 2p + e of pair p = 0 … 15. Of each four pairs a word holds the
//            first two in its lower byte, the last two in its upper, from the low bits up: so both
//            bytes, masked alike, are the same values of all rows, in quadruples for 8-bit
//            activations
//              2 bits  2 vectors; vector v holds pairs 8v … 8v + 7
//              3 bits  the same, then a vector that holds the third bits of all pairs
//              4 bits  4 vectors; vector v holds pairs 4v … 4v + 3
//              5 bits  the same, then a vector that holds the fifth bits of all pairs
//              6 bits  the same, then two vectors; vector v holds bits 4 and 5 of pairs 8v … 8v + 7
//              8 bits  16 half vectors of 32 signed bytes, one for each pair, of each four pairs
//                      the first and third, then the second and fourth
//   scales   fp16     scales[16], minima[16]
//            exponent a byte for each of 16 rows
//            codes    bytes [n][16], byte i of all rows together; then scales[16], minima[16]. Of a
//                     row's codes c[0 … n), scales before minima, the bytes are, with h = n / 2
//                       8 bits  c[i]
//                       4 bits  c[i], c[h + i] above it
//                       6 bits  i < h: c[i], bits 4 and 5 of c[h + i] above it; then, from i = 0
//                               on, bits 0 to 3 of c[h + i], those of c[h + h/2 + i] above them
//   cost     as many bytes as the file's where rows are a multiple of 16, else those of the rows
//            that fill the last group; made once by plain loops
//   differs  8-bit quadruples are not interleaved for vpdpbusd: one order serves them
//            and the pairs that 16-bit activations meet (matmul.h says why there are both)
#pragma once

#include <cstddef>

#include "kernels/base/aligned_buffer.h"
#include "kernels/contract/backend.h"
#include "kernels/cpu/threads/thread_pool.h"
#include "kernels/weights/quant_format.h"

namespace satchel::kernels::cpu {

class RepackedWeight {
 public:
  // `source` is of a type with code_bits != 0. Fails with out_of_memory.
  static Result<RepackedWeight> make(ThreadPool& pool, const WeightSource& source);

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
