// libsatchel-cuda.so as the programs see it (contract/backend_library.h): the one function that the
// library exports.
#include "kernels/contract/backend_library.h"
#include "kernels/cuda/backend/backend_cuda.h"
#include "kernels/cuda/device/driver.h"
#include "kernels/registry/registry.h"

namespace satchel::kernels::cuda {
namespace {

// Operations without a kernel. Unless this is empty, `auto` chooses the cpu backend.
constexpr const char* kLacks = "";

Result<std::unique_ptr<Backend>> make(const BackendOptions&) {
  SATCHEL_TRY(check_driver());
  return make_backend();
}

}  // namespace
}  // namespace satchel::kernels::cuda

extern "C" __attribute__((visibility("default"))) const satchel::kernels::BackendLibrary*
satchel_backend() {
  using namespace satchel::kernels;
  static const BackendLibrary library{.abi = kBackendLibraryAbi,
                                      .build = build_identity().data(),
                                      .lacks = cuda::kLacks,
                                      .make = cuda::make};
  return &library;
}
