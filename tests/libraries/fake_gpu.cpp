// A GPU for programs under test: the cpu backend with memory that only it may touch, which is lost
// for good at the n-th call that a cache makes after the self-check, where the variable
// SATCHEL_TEST_GPU_LOST_AT says n (then SATCHEL_TEST_GPU_DRIVER "crashes" or "hangs", or the call
// fails), has no room for a model where there is SATCHEL_TEST_GPU_FULL, and SATCHEL_TEST_GPU_BYTES
// of memory for the rest, of all that are open in the program together.
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/contract/backend_library.h"
#include "kernels/registry/registry.h"
#include "support/failing_backend.h"
#include "support/far_backend.h"

namespace {
using namespace satchel;
using namespace satchel::kernels;

// One card's, for as long as it is used.
std::shared_ptr<test::FarMemory> memory_of(std::size_t bytes) {
  static std::weak_ptr<test::FarMemory> card;
  std::shared_ptr<test::FarMemory> memory = card.lock();
  if (memory == nullptr) card = memory = std::make_shared<test::FarMemory>(bytes);
  return memory;
}

void drive_as(std::string_view driver) {
  if (driver == "crashes") std::abort();
  if (driver == "hangs")
    for (;;) pause();
}

Result<std::unique_ptr<Backend>> make(const BackendOptions& options) {
  SATCHEL_TRY_ASSIGN(std::unique_ptr<Backend> cpu,
                     open_backend("cpu", {.n_threads = options.n_threads}));
  const char* bytes = std::getenv("SATCHEL_TEST_GPU_BYTES");
  auto far = bytes == nullptr
                 ? std::make_unique<test::FarBackend>(std::move(cpu))
                 : std::make_unique<test::FarBackend>(std::move(cpu), memory_of(std::stoul(bytes)));
  auto fake = std::make_unique<test::FailingBackend>(std::move(far), "cuda");
  if (const char* n = std::getenv("SATCHEL_TEST_GPU_LOST_AT")) {
    fake->fail_from(std::stoul(n));
    fake->wait_for_check();
    if (const char* driver = std::getenv("SATCHEL_TEST_GPU_DRIVER"))
      fake->on_failure([driver = std::string(driver)] { drive_as(driver); });
  }
  fake->fail_weights(std::getenv("SATCHEL_TEST_GPU_FULL") != nullptr);
  return std::unique_ptr<Backend>(std::move(fake));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const BackendLibrary* satchel_backend() {
  static const BackendLibrary library{.abi = kBackendLibraryAbi,
                                      .build = build_identity().data(),
                                      .lacks = FAKE_LACKS,
                                      .make = make};
  return &library;
}
