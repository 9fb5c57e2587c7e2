// Runs this program once more, as a process of its own.
#pragma once

#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::app {

struct ChildOutput {
  std::string text;   // its standard output, whole; its standard error is ours
  int exit_code = 0;  // 128 + signal where a signal ended it
};
Result<ChildOutput> run_self(const std::vector<std::string>& arguments);

}  // namespace satchel::app
