// On which machine, and on what of it, a benchmark program runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "app/eval/measure/machine_limits.h"

namespace satchel::bench {

using eval::MachineLimits;
using eval::measure_machine;
// What a benchmark of kernels runs with: the CPU level of argv[1], or the highest of this machine;
// the threads of argv[2], or one. Nothing where no level runs here.
struct ChosenCpu {
  std::string level;
  std::size_t n_threads = 1;
};
std::optional<ChosenCpu> chosen_cpu(int argc, char** argv);
std::string processor_name();
std::string today();  // yyyy-mm-dd

}  // namespace satchel::bench
