#include "kernels/base/main_memory.h"

#include <fstream>
#include <string>

namespace satchel {

std::size_t free_main_memory() {
  std::ifstream table("/proc/meminfo");
  std::string key, unit;
  std::size_t kib = 0;
  while (table >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(table, unit);
  }
  return 0;
}

}  // namespace satchel
