#include "simt/findings.h"

#include <utility>

#include "simt/block.h"
#include "simt/code_lines.h"

namespace simt {

const void* place_of_access = nullptr;

namespace {

std::vector<Finding>& findings() {
  static std::vector<Finding> all;
  return all;
}

std::string name(const Dim3& at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) +
         ")";
}

}  // namespace

std::vector<Finding> take_findings() {
  return std::exchange(findings(), {});
}

void report(Finding::Kind kind, const std::string& text) {
  if (findings().size() == kFindingsMax) return;
  std::string where = name_of_kernel(running_launch().kernel) + ", block " + name(running_block());
  if (current() != nullptr) where += ", thread " + std::to_string(current()->index);
  std::string line;
  if (place_of_access != nullptr) line = lines_of_calls({place_of_access})[0];
  findings().push_back({kind, where + ": " + text + (line.empty() ? "" : ", " + line)});
}

}  // namespace simt
