#include "support/backends.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "kernels/contract/registry.h"
#include "support/staged_backend.h"

namespace satchel::test {

const CudaExecutor* cuda_executor = nullptr;

namespace {

// What the cuda backend can't do yet, by the end of a suite's or the beginning of a test's name. The
// list shrinks.
constexpr auto kNoCudaKernel = std::to_array<std::string_view>(
    {"Attend", "DecodeStep", "Lane", "LogSum", "Score", "attention_is_the_references"});

// The library beside these tests, as the programs find it.
kernels::BackendOptions with_cuda(kernels::BackendOptions options = {}) {
  options.library_folders = {
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib/satchel"};
  return options;
}

// Asked once: it opens the card.
const std::string& why_no_card() {
  static const std::string why = [] {
    const auto opened = kernels::open_backend("cuda", with_cuda());
    return opened.ok() ? "" : "cuda: " + opened.error().message;
  }();
  return why;
}

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
  rows.push_back({.name = "cuda", .backend = "cuda", .missing = why_no_card()});
  rows.push_back({.name = "cuda_executor",
                  .backend = "cuda_executor",
                  .missing = cuda_executor == nullptr ? "cuda: no executor in this program" : ""});
  return rows;
}

std::unique_ptr<kernels::Backend> open_row(const BackendRow& row, std::size_t n_threads) {
  if (row.backend == "cuda_executor") return make_staged(cuda_executor->open());
  if (row.backend == "cuda") return make_staged(open("cuda", with_cuda()));
  return open(row.backend, {.n_threads = n_threads, .cpu_level = row.cpu_level});
}

void OnEveryBackend::SetUp() {
  const BackendRow& row = GetParam();
  if (!row.missing.empty()) GTEST_SKIP() << row.missing;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string_view suite = test.test_suite_name(), name = test.name();
  if (row.backend.starts_with("cuda"))
    for (const std::string_view operation : kNoCudaKernel)
      if (suite.ends_with(operation) || name.starts_with(operation))
        GTEST_SKIP() << "cuda: no kernels yet for " << operation;
  backend_ = open_row(row);
  reference_ = open_reference();
}

void OnEveryBackend::TearDown() {
  if (backend_ == nullptr || GetParam().backend != "cuda_executor") return;
  for (const std::string& finding : cuda_executor->take_findings()) ADD_FAILURE() << finding;
}

std::unique_ptr<kernels::Backend> open_reference() {
  return open("reference", {});
}

}  // namespace satchel::test
