// Every backend a test should run on, as rows for INSTANTIATE_TEST_SUITE_P: reference, cpu at each
// level that is built, cuda on a card and in the executor. What this machine or build lacks is a
// row too: it is skipped by name.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::test {

struct BackendRow {
  std::string name = {};       // "cpu_avx2"
  std::string backend = {};    // what open_backend is given
  std::string cpu_level = {};  // "" for the others
  std::string missing = {};  // why it cannot run here; empty: it can (cuda: asked at set-up, since
                             // a card takes its time and rows are listed in every process)
};

// The cuda backend as it runs without a card (tests/simt), where the program has it.
struct CudaExecutor {
  std::unique_ptr<kernels::Backend> (*open)();
  std::vector<std::string> (*take_findings)();  // what kernels did wrong, whatever came of it
};
extern const CudaExecutor* cuda_executor;  // null: not in this program

std::vector<BackendRow> backend_rows();
// A limit near fp32's own rounding. A card's matrix units cut the sums of fp16 products where other
// backends round them, and the executor does as they do: an H200 reached 2.7 times 2e-6
// (docs/gpu.md).
inline float limit_on(const BackendRow& row, float limit) {
  return row.name.starts_with("cuda") ? 4 * limit : limit;
}
// Whether the cuda backend takes so many tokens of a product, or rows of queries over rows of fp16,
// as a prompt's: with fp16 operands and fp32 sums, 2^-12 of each value at most. (docs/gpu.md)
inline bool is_prompt_of_card(const BackendRow& row, std::size_t n) {
  return row.backend.starts_with("cuda") && n > 16;
}
std::unique_ptr<kernels::Backend> open_row(const BackendRow& row, std::size_t n_threads = 2);
std::unique_ptr<kernels::Backend> open_reference();

// Fixture: `class EveryBackend : public OnEveryBackend {}`, then backend() and reference().
class OnEveryBackend : public testing::TestWithParam<BackendRow> {
 protected:
  void SetUp() override;
  void TearDown() override;
  kernels::Backend& backend() { return *backend_; }
  kernels::Backend& reference() { return *reference_; }
  // Of cases that differ in numbers alone the executor, which is slow, takes every n-th, and a
  // program with AddressSanitizer every fifth at least; all of them where SATCHEL_TEST_ALL_CASES
  // is set.
  bool takes(std::size_t i, std::size_t every) const;

 private:
  std::unique_ptr<kernels::Backend> backend_, reference_;
};

inline void PrintTo(const BackendRow& row, std::ostream* out) {
  *out << row.name;
}
inline std::string row_name(const testing::TestParamInfo<BackendRow>& row) {
  return row.param.name;
}

}  // namespace satchel::test
