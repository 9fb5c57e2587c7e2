#include "bench/machine_limits.h"

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "kernels/registry/registry.h"

namespace satchel::bench {

std::optional<ChosenCpu> chosen_cpu(int argc, char** argv) {
  const std::size_t n_present = kernels::cpu_levels_present();
  if (n_present == 0) return std::nullopt;
  return ChosenCpu{
      .level = argc > 1 ? argv[1] : std::string(kernels::cpu_level_names()[n_present - 1]),
      .n_threads = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1};
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

}  // namespace satchel::bench
