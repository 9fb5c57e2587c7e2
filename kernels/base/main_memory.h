// Available main memory in bytes: what this process can still be given without swapping, including
// file mappings that can be dropped. 0 if the system does not tell.
//   source  the least of MemAvailable (/proc/meminfo), what the process's control groups leave
//           (cgroup v2: memory.max; v1: memory.limit_in_bytes; each with all groups above it), and
//           what RLIMIT_AS leaves. A container or a systemd unit may allow less than a machine has
#pragma once

#include <cstddef>
#include <filesystem>

namespace satchel {

std::size_t free_main_memory();

// The same without RLIMIT_AS, of other folders than / (for tests).
//   root  has proc/meminfo, proc/self/cgroup and sys/fs/cgroup
std::size_t free_memory_of(const std::filesystem::path& root);

}  // namespace satchel
