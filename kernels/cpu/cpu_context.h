// What every operation of the CPU backend is given: its threads, and the instructions it may use.
#pragma once

#include "kernels/cpu/cpu_level.h"
#include "kernels/cpu/thread_pool.h"

namespace satchel::kernels::cpu {

struct CpuContext {
  ThreadPool& pool;
  CpuLevel level;
};

}  // namespace satchel::kernels::cpu
