// Cholesky's factor of a symmetric positive matrix, and systems with it, in blocks that dense()
// multiplies.
#pragma once

#include <cstddef>

#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {

class Factor {
 public:
  static constexpr std::size_t kBlock = 32;

  //   matrix    [n, n], whose lower half is read and replaced by the factor
  //   inverses  [n rounded up to kBlock, kBlock] workspace, of the blocks on the diagonal
  Factor(const CpuContext& context, float* matrix, std::size_t n, float* inverses)
      : context_(context), matrix_(matrix), n_(n), inverses_(inverses) {}
  // False: the matrix is not positive, or not finite.
  bool make();
  // Solves for n_rows rows of n values, in place.
  void solve(float* rows, std::size_t n_rows) const;

 private:
  std::size_t block_size(std::size_t first) const {
    return n_ - first < kBlock ? n_ - first : kBlock;
  }
  float* at(std::size_t row, std::size_t column) const { return matrix_ + row * n_ + column; }
  bool make_diagonal(std::size_t first);
  void finish_rows(std::size_t first, std::size_t row, std::size_t n_rows) const;
  void times_inverse(std::size_t first, bool transposed, float* rows, std::size_t stride,
                     std::size_t n_rows) const;

  const CpuContext& context_;
  float* matrix_;
  std::size_t n_;
  float* inverses_;
};

}  // namespace satchel::kernels::cpu
