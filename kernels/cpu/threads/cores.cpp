#include "kernels/cpu/threads/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace satchel::kernels::cpu {

std::size_t count_cores(std::span<const int> cpus, const std::filesystem::path& processors) {
  std::set<std::string> cores;
  for (const int cpu : cpus) {
    const std::string name = "cpu" + std::to_string(cpu);
    std::ifstream file(processors / name / "topology" / "thread_siblings_list");
    std::string siblings;
    cores.insert(std::getline(file, siblings) && !siblings.empty() ? siblings : name);
  }
  return cores.size();
}

std::size_t usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return std::max(1u, std::thread::hardware_concurrency());
  std::vector<int> cpus;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(static_cast<int>(cpu));
  return std::max<std::size_t>(1, count_cores(cpus, "/sys/devices/system/cpu"));
}

}  // namespace satchel::kernels::cpu
