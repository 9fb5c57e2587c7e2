// OnExecutor: a test of code that calls CUDA. When it ends the executor has found nothing, the code
// has left nothing behind, and for the next test no call fails and the card is as it was.
#pragma once

#include <gmock/gmock.h>

#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/runtime_api.h"

namespace satchel::kernels::cuda {

class OnExecutor : public testing::Test {
 protected:
  void TearDown() override {
    simt::machine() = {};
    simt::fail_no_call();
    simt::forget_sticky_error();
    EXPECT_THAT(simt::take_findings(), testing::IsEmpty());
    EXPECT_EQ(simt::device_bytes_held(), 0u) << "left behind";
    EXPECT_EQ(simt::device_bytes_used(), 0u) << "left behind";
  }
};

}  // namespace satchel::kernels::cuda
