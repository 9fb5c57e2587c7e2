// CpuBackend: SIMD kernels for x86-64, chosen at run time by level (cpu_level.h), on a pool of
// threads. Same input, same bytes, for any number of threads.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/contract/backend.h"
#include "kernels/cpu/levels/cpu_level.h"

namespace satchel::kernels::cpu {

// n_threads 0: one per physical core this process may run on. `level` must be present;
// activation_bits: 16 or 8.
Result<std::unique_ptr<Backend>> make_backend(std::size_t n_threads, CpuLevel level,
                                              int activation_bits);

}  // namespace satchel::kernels::cpu
