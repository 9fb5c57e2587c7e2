// What this machine can do at best, measured now: the denominators of benchmarks.
#pragma once

#include <cstddef>

namespace satchel::eval {

struct MachineLimits {
  double read_bytes_per_s = 0;  // all threads sum their share of 64 MiB, cold
  double fma_flops_per_s = 0;   // all threads run independent fp32 multiply-adds in registers
};

// Zeros where there is no measure: on processors other than x86-64, or without 512 MiB to read.
//   n_threads  at least 1
//   avx512     whether to count on it; AVX2 with FMA must be there
MachineLimits measure_machine(std::size_t n_threads, bool avx512);

}  // namespace satchel::eval
