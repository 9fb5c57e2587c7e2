// dim3, as CUDA has it.
#pragma once

namespace simt {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr Dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr unsigned long long count() const { return 1ull * x * y * z; }
};

}  // namespace simt
