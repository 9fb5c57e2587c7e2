#include "kernels/base/main_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace satchel {
namespace {
namespace fs = std::filesystem;

// The first number of a file; nothing: there is none ("max", or no such file).
std::optional<std::size_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::size_t number = 0;
  if (in >> number) return number;
  return std::nullopt;
}

// The number behind a key, in a file of lines "key number".
std::size_t number_of(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  std::string name, rest;
  std::size_t number = 0;
  while (in >> name >> number) {
    if (name == key) return number;
    std::getline(in, rest);
  }
  return 0;
}

// Where control groups of one version tell what they allow and what is used.
struct GroupFiles {
  const char *limit, *used, *reclaimable;
};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file"};

// What a group and those above it leave: pages of files that were not used lately can go.
std::size_t left_by_groups(const fs::path& hierarchy, const fs::path& group,
                           const GroupFiles& files) {
  std::size_t left = SIZE_MAX;
  for (fs::path at = group.relative_path();; at = at.parent_path()) {
    const fs::path folder = hierarchy / at;
    const auto limit = number_in(folder / files.limit), used = number_in(folder / files.used);
    if (limit && used) {
      const std::size_t kept =
          *used - std::min(*used, number_of(folder / "memory.stat", files.reclaimable));
      left = std::min(left, *limit - std::min(*limit, kept));
    }
    if (at.empty()) return left;
  }
}

// Lines are "number:controllers:group"; version 2 has one with number 0 and no controllers.
std::size_t left_by_control_groups(const fs::path& root) {
  const fs::path mounted = root / "sys/fs/cgroup";
  std::ifstream in(root / "proc/self/cgroup");
  std::size_t left = SIZE_MAX;
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") left = std::min(left, left_by_groups(mounted, group, kVersion2));
    if (controllers.find(",memory,") != controllers.npos)
      left = std::min(left, left_by_groups(mounted / "memory", group, kVersion1));
  }
  return left;
}

std::size_t left_by_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  const std::size_t pages = number_in("/proc/self/statm").value_or(0);
  const std::size_t taken = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<std::size_t>(limit.rlim_cur, taken);
}

}  // namespace

std::size_t free_memory_of(const std::filesystem::path& root) {
  const std::size_t available = number_of(root / "proc/meminfo", "MemAvailable:") * 1024;
  return std::min(available, left_by_control_groups(root));
}

std::size_t free_main_memory() {
  return std::min(free_memory_of("/"), left_by_address_space());
}

}  // namespace satchel
