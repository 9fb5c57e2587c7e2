// The default number of threads: one per physical core that this process may use. Two hyperthreads
// share the multipliers and caches of a core, so a second one only interferes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace satchel::kernels::cpu {

// The number of distinct cores of these logical processors, from Linux's files under `processors`
// (cpuN/topology/thread_siblings_list). A processor without an entry counts as one core.
std::size_t count_cores(std::span<const int> cpus, const std::filesystem::path& processors);

// At least 1.
std::size_t usable_cores();

}  // namespace satchel::kernels::cpu
