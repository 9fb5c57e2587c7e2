#include "simt/findings.h"

#define BOOST_STACKTRACE_USE_ADDR2LINE
#include <boost/stacktrace/frame.hpp>
#include <filesystem>
#include <utility>

#include "simt/block.h"

namespace simt {

const void* place_of_access = nullptr;

namespace {

std::vector<Finding>& findings() {
  static std::vector<Finding> all;
  return all;
}

// "rows.cu:57", or nothing.
std::string line_of(const void* code) {
  if (code == nullptr) return "";
  const boost::stacktrace::frame frame(static_cast<const std::byte*>(code) - 1);  // of the call
  if (frame.source_line() == 0) return "";
  return std::filesystem::path(frame.source_file()).filename().string() + ":" +
         std::to_string(frame.source_line());
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
  const std::string kernel = boost::stacktrace::frame(running_launch().kernel).name();
  std::string where = kernel.substr(0, kernel.find('(')) + ", block " + name(running_block());
  if (current() != nullptr) where += ", thread " + std::to_string(current()->index);
  const std::string line = line_of(place_of_access);
  findings().push_back({kind, where + ": " + text + (line.empty() ? "" : ", " + line)});
}

}  // namespace simt
