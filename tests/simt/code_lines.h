// Names of kernels and lines of their sources, from the program's own debug information.
#pragma once

#include <string>
#include <vector>

namespace simt {

// With namespaces and template arguments, or nothing.
std::string name_of_kernel(const void* kernel);
std::string short_name_of_kernel(const void* kernel);  // "attend_splits"
// Of calls, by their return addresses: "rows.cu:57", or nothing. Of a primitive that was inlined it
// is the line that uses it.
std::vector<std::string> lines_of_calls(const std::vector<const void*>& codes);

}  // namespace simt
