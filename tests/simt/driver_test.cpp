// Drivers that the cuda backend refuses, each with what to do.
#include "kernels/cuda/device/driver.h"

#include <gmock/gmock.h>

#include "simt/runtime_api.h"

namespace satchel::kernels::cuda {
namespace {

using testing::HasSubstr;

class Driver : public testing::Test {
 protected:
  void TearDown() override {
    simt::machine() = {};
    simt::fail_no_call();
    simt::forget_sticky_error();
  }
  static Error refusal() {
    const Result<void> checked = check_driver();
    EXPECT_FALSE(checked.ok());
    return checked.ok() ? Error{} : checked.error();
  }
};

TEST_F(Driver, of_the_builds_own_version_or_newer_will_do) {
  for (const int version : {13000, 13020, 14000}) {
    simt::machine().driver = version;
    EXPECT_TRUE(check_driver().ok()) << version;
  }
}

TEST_F(Driver, that_is_missing_or_too_old_is_told_apart) {
  simt::machine().driver = 0;
  EXPECT_EQ(refusal().code, "GPU_DRIVER");
  EXPECT_THAT(refusal().message, HasSubstr("No NVIDIA driver"));
  simt::machine().driver = 12040;
  EXPECT_EQ(refusal().code, "GPU_DRIVER");
  EXPECT_THAT(refusal().message, HasSubstr("supports CUDA 12.4, but this build needs 13.0"));
}

TEST_F(Driver, without_a_card_says_so) {
  simt::machine().cards.clear();
  EXPECT_EQ(refusal().code, "GPU_NONE");
}

TEST_F(Driver, that_fails_at_any_question_is_an_error_value) {
  std::size_t n = 0;
  for (;; ++n) {
    simt::fail_call(n, cudaErrorInsufficientDriver);
    const Result<void> checked = check_driver();
    if (checked.ok()) break;
    EXPECT_EQ(checked.error().code, "GPU_DRIVER") << "call " << n;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "call " << n;
  }
  EXPECT_EQ(n, 3u);
}

}  // namespace
}  // namespace satchel::kernels::cuda
