// Arrays on the executor's card and launches of kernels without a backend, for tests of the
// executor itself.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "simt/findings.h"
#include "simt/runtime_api.h"

namespace simt::test {

template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t n) : n_(n) {
    void* at = nullptr;
    EXPECT_EQ(cudaMalloc(&at, n * sizeof(T)), cudaSuccess);
    data_ = static_cast<T*>(at);
  }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    EXPECT_EQ(
        cudaMemcpyAsync(data_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice, nullptr),
        cudaSuccess);
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> out(n_);
    EXPECT_EQ(cudaMemcpyAsync(out.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost, nullptr),
              cudaSuccess);
    return out;
  }

 private:
  std::size_t n_;
  T* data_ = nullptr;
};

class SmallLaunches : public testing::Test {
 protected:
  void TearDown() override {
    set_order(0);
    forget_sticky_error();
    fail_no_call();
    machine() = {};
    for (const Finding& finding : take_findings()) ADD_FAILURE() << finding.text;
  }
  template <class... Parameters, class... Arguments>
  static cudaError_t launch(void (*kernel)(Parameters...), Dim3 grid, Dim3 block,
                            std::size_t shared, Arguments... arguments) {
    const cudaLaunchConfig_t config{.gridDim = grid, .blockDim = block, .dynamicSmemBytes = shared};
    const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
    return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
  }
};

}  // namespace simt::test
