#include "support/backends.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "kernels/registry/registry.h"
#include "support/open_named.h"
#include "support/sanitized.h"
#include "support/staged_backend.h"

namespace satchel::test {

const CudaExecutor* cuda_executor = nullptr;

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

// What opening the cuda backend says; "": it opens. Asked once: a driver takes its time.
const std::string& why_no_cuda() {
  static const std::string why = [] {
    const auto opened = open_named("cuda");
    return opened.ok() ? std::string() : "cuda: " + opened.error().message;
  }();
  return why;
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
  rows.push_back({.name = "cuda", .backend = "cuda"});
  rows.push_back({.name = "cuda_executor",
                  .backend = "cuda_executor",
                  .missing = cuda_executor == nullptr ? "cuda: no executor in this program" : ""});
  return rows;
}

std::unique_ptr<kernels::Backend> open_row(const BackendRow& row, std::size_t n_threads) {
  if (row.backend == "cuda_executor") return make_staged(cuda_executor->open());
  kernels::BackendOptions options = options_here(n_threads);
  options.cpu_level = row.cpu_level;
  auto backend = open(row.backend, options);
  return row.backend == "cuda" ? make_staged(std::move(backend)) : std::move(backend);
}

void OnEveryBackend::SetUp() {
  const BackendRow& row = GetParam();
  const std::string& missing = row.backend == "cuda" ? why_no_cuda() : row.missing;
  if (!missing.empty()) GTEST_SKIP() << missing;
  backend_ = open_row(row);
  reference_ = open_reference();
}

void OnEveryBackend::TearDown() {
  if (backend_ == nullptr || GetParam().backend != "cuda_executor") return;
  for (const std::string& finding : cuda_executor->take_findings()) ADD_FAILURE() << finding;
}

bool OnEveryBackend::takes(std::size_t i, std::size_t every) const {
  const bool is_executor = GetParam().backend == "cuda_executor";
  if (!is_executor && !kSanitized) return true;
  return i % (is_executor ? every : std::min<std::size_t>(every, 5)) == 0 ||
         std::getenv("SATCHEL_TEST_ALL_CASES") != nullptr;
}

std::unique_ptr<kernels::Backend> open_reference() {
  return open("reference", {});
}

}  // namespace satchel::test
