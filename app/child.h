// Programs that run as processes of their own: this one once more, or another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::app {

struct ChildOutput {
  std::string text;   // its standard output, whole; its standard error is ours
  int exit_code = 0;  // 128 + signal where a signal ended it
};
// What it says beyond bytes_max ends it: DOC_LIMIT.
Result<ChildOutput> run_self(const std::vector<std::string>& arguments,
                             std::size_t bytes_max = SIZE_MAX);

// A program of the PATH, or of a file. Its error output goes nowhere; what it says beyond bytes_max
// ends it. DOC_LIMIT: it said more; not_found, PROCESS: there is no such program.
Result<ChildOutput> run_program(const std::string& program,
                                const std::vector<std::string>& arguments, std::size_t bytes_max);

}  // namespace satchel::app
