// What every operation of the CPU backend is given: its threads, the kernels it may use, and what
// activations become where they meet quantised weights.
#pragma once

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/thread_pool.h"

namespace satchel::kernels::cpu {

struct CpuContext {
  ThreadPool& pool;
  const KernelTable& kernels;
  std::size_t ahead_bytes;   // weights_asked_ahead() of this machine
  int activation_bits = 16;  // or 8
};

}  // namespace satchel::kernels::cpu
