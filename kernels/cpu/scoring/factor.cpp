#include "kernels/cpu/scoring/factor.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kRowTile = 96;  // of whole tiles on every level; each packs what it meets

}  // namespace

bool Factor::make() {
  for (std::size_t first = 0; first < n_; first += kBlock) {
    const std::size_t end = first + block_size(first);
    finish_rows(first, first, end - first);
    if (!make_diagonal(first)) return false;
    context_.pool.parallel_for(
        n_ - end, kRowTile, [&](std::size_t begin, std::size_t stop, std::size_t) {
          finish_rows(first, end + begin, stop - begin);
          times_inverse(first, true, at(end + begin, first), n_, stop - begin);
        });
  }
  return true;
}

// What earlier columns take from the rows' part in the block of columns at `first`.
void Factor::finish_rows(std::size_t first, std::size_t row, std::size_t n_rows) const {
  context_.kernels.dense({.a = at(row, 0),
                          .a_stride = n_,
                          .b = at(first, 0),
                          .b_stride = n_,
                          .b_transposed = true,
                          .c = at(row, first),
                          .c_stride = n_,
                          .m = n_rows,
                          .n = block_size(first),
                          .k = first,
                          .factor = -1});
}

bool Factor::make_diagonal(std::size_t first) {
  const std::size_t n = block_size(first);
  float* const inverse = inverses_ + first * kBlock;
  std::fill_n(inverse, n * kBlock, 0.0f);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      float sum = *at(first + i, first + j);
      for (std::size_t m = 0; m < j; ++m)
        sum -= *at(first + i, first + m) * *at(first + j, first + m);
      if (i == j && !(sum > 0 && std::isfinite(sum))) return false;
      *at(first + i, first + j) = i == j ? std::sqrt(sum) : sum / *at(first + j, first + j);
    }
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      float sum = i == j ? 1.0f : 0.0f;
      for (std::size_t m = j; m < i; ++m)
        sum -= *at(first + i, first + m) * inverse[m * kBlock + j];
      inverse[i * kBlock + j] = sum / *at(first + i, first + i);
    }
  return true;
}

// The rows' part in a block times the inverse of its diagonal block, or of its transpose.
void Factor::times_inverse(std::size_t first, bool transposed, float* rows, std::size_t stride,
                           std::size_t n_rows) const {
  const std::size_t n = block_size(first);
  std::array<float, kRowTile * kBlock> part;
  for (std::size_t r = 0; r < n_rows; ++r) {
    std::copy_n(rows + r * stride, n, part.data() + r * kBlock);
    std::fill_n(rows + r * stride, n, 0.0f);
  }
  context_.kernels.dense({.a = part.data(),
                          .a_stride = kBlock,
                          .b = inverses_ + first * kBlock,
                          .b_stride = kBlock,
                          .b_transposed = transposed,
                          .c = rows,
                          .c_stride = stride,
                          .m = n_rows,
                          .n = n,
                          .k = n});
}

void Factor::solve(float* rows, std::size_t n_rows) const {
  constexpr std::size_t kSome = 12;
  context_.pool.parallel_for(n_rows, kSome, [&](std::size_t begin, std::size_t end, std::size_t) {
    float* const mine = rows + begin * n_;
    const std::size_t m = end - begin;
    for (std::size_t first = 0; first < n_; first += kBlock) {
      context_.kernels.dense({.a = mine,
                              .a_stride = n_,
                              .b = at(first, 0),
                              .b_stride = n_,
                              .b_transposed = true,
                              .c = mine + first,
                              .c_stride = n_,
                              .m = m,
                              .n = block_size(first),
                              .k = first,
                              .factor = -1});
      times_inverse(first, true, mine + first, n_, m);
    }
    for (std::size_t end_of = n_; end_of > 0;) {
      const std::size_t first = (end_of - 1) / kBlock * kBlock;
      context_.kernels.dense({.a = mine + end_of,
                              .a_stride = n_,
                              .b = at(end_of, first),
                              .b_stride = n_,
                              .c = mine + first,
                              .c_stride = n_,
                              .m = m,
                              .n = end_of - first,
                              .k = n_ - end_of,
                              .factor = -1});
      times_inverse(first, false, mine + first, n_, m);
      end_of = first;
    }
  });
}

}  // namespace satchel::kernels::cpu
