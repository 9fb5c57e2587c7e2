#include "kernels/cuda/device/driver.h"

#include <cuda_runtime.h>

#include <string>

namespace satchel::kernels::cuda {
namespace {

// 12040 is 12.4.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Error lost(const char* code, std::string message) {
  return {ErrorKind::device_lost, code, std::move(message)};
}

Error failed(cudaError_t error) {
  cudaGetLastError();
  return lost("GPU_DRIVER",
              "The NVIDIA driver does not respond (" + std::string(cudaGetErrorName(error)) + ": " +
                  cudaGetErrorString(error) + "). Reinstall it, or use the cpu backend.");
}

// A driver runs what was built with a runtime of its own version, or an older one.
Result<void> check_versions() {
  int driver = 0, runtime = 0;
  cudaError_t error = cudaDriverGetVersion(&driver);
  if (error == cudaSuccess) error = cudaRuntimeGetVersion(&runtime);
  if (error != cudaSuccess) return failed(error);
  if (driver == 0)
    return lost("GPU_DRIVER", "No NVIDIA driver is installed. Install one for CUDA " +
                                  version_text(runtime) + " or newer, or use the cpu backend.");
  if (driver / 1000 < runtime / 1000)
    return lost("GPU_DRIVER", "The NVIDIA driver supports CUDA " + version_text(driver) +
                                  ", but this build needs " + version_text(runtime) +
                                  ". Install a newer driver, or use the cpu backend.");
  return {};
}

}  // namespace

Result<void> check_driver() {
  SATCHEL_TRY(check_versions());
  int n = 0;
  const cudaError_t counted = cudaGetDeviceCount(&n);
  if (counted == cudaErrorNoDevice || (counted == cudaSuccess && n == 0)) {
    cudaGetLastError();
    return lost("GPU_NONE", "No NVIDIA GPU was found. Use the cpu backend, which needs none.");
  }
  return counted == cudaSuccess ? Result<void>() : failed(counted);
}

}  // namespace satchel::kernels::cuda
