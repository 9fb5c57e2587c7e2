// What this machine can do at best, measured now: the denominators of every benchmark.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace satchel::bench {

struct MachineLimits {
  double read_bytes_per_s = 0;  // all threads sum their share of 64 MiB, cold
  double fma_flops_per_s = 0;   // all threads run independent fp32 multiply-adds in registers
};

MachineLimits measure_machine(std::size_t n_threads, bool avx512);
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
