// The check before a card is trusted: every right backend passes it. Wrong ones:
// simt/self_check_test.cpp.
#include "kernels/registry/self_check.h"

#include <gtest/gtest.h>

#include "support/backends.h"

namespace satchel::kernels {
namespace {

class EverySelfCheck : public test::OnEveryBackend {};

TEST_P(EverySelfCheck, is_passed) {
  const Result<void> checked = self_check(backend());
  EXPECT_TRUE(checked.ok()) << checked.error().message;
}

INSTANTIATE_TEST_SUITE_P(Backends, EverySelfCheck, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
