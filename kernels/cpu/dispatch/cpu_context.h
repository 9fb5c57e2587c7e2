// The context of every operation of the CPU backend: threads, kernels, and the width of activations
// for products with quantised weights.
#pragma once

#include "kernels/cpu/dispatch/kernel_table.h"
#include "kernels/cpu/threads/thread_pool.h"

namespace satchel::kernels::cpu {

struct CpuContext {
  ThreadPool& pool;
  const KernelTable& kernels;
  std::size_t ahead_bytes;   // weights_asked_ahead() of this machine
  int activation_bits = 16;  // or 8
};

}  // namespace satchel::kernels::cpu
