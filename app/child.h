// Programs that run as processes of their own: this one once more, or another.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::app {

// What ends a child before its own end.
//   group  a child with time_max or stop leads a process group of its own, which is killed as a
//          whole: no process of it outlives the call. Any other child is in our group, where Ctrl-C
//          reaches it
struct ChildLimits {
  std::size_t bytes_max = SIZE_MAX;                        // of its output; else PROCESS_LIMIT
  std::optional<std::chrono::milliseconds> time_max = {};  // from its start; else PROCESS_TIME
  std::stop_token stop = {};                               // STOPPED

  bool has_group() const { return time_max.has_value() || stop.stop_possible(); }
};

struct ChildOutput {
  std::string text;   // its standard output, whole
  int exit_code = 0;  // 128 + signal where a signal ended it
};

// Its error output is ours.
Result<ChildOutput> run_self(const std::vector<std::string>& arguments,
                             const ChildLimits& limits = {});

// A program of the PATH, or of a file. Its error output goes nowhere. PROCESS: not_found, there is
// no such program; internal, no process can be started.
Result<ChildOutput> run_program(const std::string& program,
                                const std::vector<std::string>& arguments,
                                const ChildLimits& limits = {});

}  // namespace satchel::app
