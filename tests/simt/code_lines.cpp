#include "simt/code_lines.h"

#define BOOST_STACKTRACE_USE_ADDR2LINE
#include <array>
#include <boost/stacktrace/frame.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>

namespace simt {
namespace {

std::string output_of(const std::string& command) {
  std::string out;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"),
                                                             ::pclose);
  std::array<char, 4096> part;
  while (pipe != nullptr) {
    const std::size_t n = std::fread(part.data(), 1, part.size(), pipe.get());
    if (n == 0) break;
    out.append(part.data(), n);
  }
  return out;
}

// "…/kernels/cuda/rows/rows.cu:57 (discriminator 2)" as "rows.cu:57".
std::string short_line(const std::string& line) {
  return std::filesystem::path(line.substr(0, line.find(' '))).filename().string();
}

bool is_of_kernel(const std::string& line) {
  return line.find(".cu:") != std::string::npos ||
         (line.find("/kernels/cuda/") != std::string::npos &&
          line.find("/primitives/") == std::string::npos);
}

// Of a call, then what it was inlined into, from the inside: the first that is a kernel's own.
std::string own_line(const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    if (is_of_kernel(line)) return short_line(line);
  return lines.empty() || lines[0].starts_with("??") ? "" : short_line(lines[0]);
}

}  // namespace

std::string name_of_kernel(const void* kernel) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string name = boost::stacktrace::frame(kernel).name();
  for (std::size_t at; (at = name.find(kAnonymous)) != std::string::npos;)
    name.erase(at, kAnonymous.size());
  return name.substr(0, name.find('('));
}

std::string short_name_of_kernel(const void* kernel) {
  std::string name = name_of_kernel(kernel);
  name = name.substr(0, name.find('<'));
  return name.substr(name.find_last_of(": ") + 1);
}

// One call of addr2line for all: each would read the program again.
std::vector<std::string> lines_of_calls(const std::vector<const void*>& codes) {
  std::ostringstream command;
  command << "addr2line -a -i -e " << std::filesystem::read_symlink("/proc/self/exe") << std::hex;
  for (const void* code : codes)  // a return address: the call stands before it
    command << " 0x" << reinterpret_cast<std::uintptr_t>(code) - 1;
  std::istringstream answer(output_of(command.str() + " 2>/dev/null"));
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(answer, line);) {
    if (line.starts_with("0x"))
      lines.emplace_back();
    else if (!lines.empty())
      lines.back().push_back(line);
  }
  lines.resize(codes.size());
  std::vector<std::string> out;
  for (const std::vector<std::string>& each : lines) out.push_back(own_line(each));
  return out;
}

}  // namespace simt
