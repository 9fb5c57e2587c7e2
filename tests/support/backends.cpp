#include "support/backends.h"

#include <cstdlib>
#include <iostream>

#include "kernels/contract/registry.h"

namespace satchel::test {
namespace {

std::unique_ptr<kernels::Backend> open(std::string_view name,
                                       const kernels::BackendOptions& options) {
  auto opened = kernels::open_backend(name, options);
  if (!opened.ok()) {
    std::cerr << "open_backend: " << opened.error().message << "\n";
    std::abort();
  }
  return std::move(opened).value();
}

}  // namespace

std::vector<BackendRow> backend_rows() {
  std::vector<BackendRow> rows{{.name = "reference", .backend = "reference"}};
  const auto levels = kernels::cpu_level_names();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string level(levels[i]);
    const bool present = i < kernels::cpu_levels_present();
    rows.push_back({.name = "cpu_" + level,
                    .backend = "cpu",
                    .cpu_level = level,
                    .missing = present ? "" : "cpu: this machine has no " + level});
  }
  if (levels.empty())
    rows.push_back({.name = "cpu", .backend = "cpu", .missing = "cpu: not for this architecture"});
  rows.push_back(
      {.name = "cuda", .backend = "cuda", .missing = "cuda: no such backend in this build"});
  return rows;
}

std::unique_ptr<kernels::Backend> open_row(const BackendRow& row, std::size_t n_threads) {
  return open(row.backend, {.n_threads = n_threads, .cpu_level = row.cpu_level});
}

std::unique_ptr<kernels::Backend> open_reference() {
  return open("reference", {});
}

}  // namespace satchel::test
