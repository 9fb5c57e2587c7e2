// Gives the tests of kernels the cuda backend in the executor (support/backends.h).
#include <cstdlib>
#include <iostream>

#include "kernels/cuda/backend/backend_cuda.h"
#include "simt/findings.h"
#include "simt/runtime_api.h"
#include "support/backends.h"

namespace satchel::test {
namespace {

std::unique_ptr<kernels::Backend> open() {
  simt::forget_sticky_error();
  auto opened = kernels::cuda::make_backend();
  if (!opened.ok()) {
    std::cerr << "cuda in the executor: " << opened.error().message << "\n";
    std::abort();
  }
  return std::move(opened).value();
}

std::vector<std::string> take_findings() {
  std::vector<std::string> texts;
  for (const simt::Finding& finding : simt::take_findings()) texts.push_back(finding.text);
  return texts;
}

constexpr CudaExecutor kExecutor{open, take_findings};
[[maybe_unused]] const bool kIsThere = [] {
  cuda_executor = &kExecutor;
  return true;
}();

}  // namespace
}  // namespace satchel::test
