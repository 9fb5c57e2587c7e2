// How many threads a pool has where nobody says: one per physical core this process may run on. Two
// hyperthreads share the multipliers and caches of one core, so a second one only gets in the way.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace satchel::kernels::cpu {

// Cores that these logical processors lie on, each counted once, as Linux lists them under
// `processors` (cpuN/topology/thread_siblings_list). A processor whose entry is missing counts as a
// core of its own.
std::size_t count_cores(std::span<const int> cpus, const std::filesystem::path& processors);

// At least 1.
std::size_t usable_cores();

}  // namespace satchel::kernels::cpu
