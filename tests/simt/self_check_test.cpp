// The check before a card is trusted, over a card that leaves work out.
#include "kernels/registry/self_check.h"

#include <gmock/gmock.h>

#include "kernels/cuda/backend/backend_cuda.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/runtime_api.h"
#include "support/value_of.h"

namespace satchel::kernels::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SelfCheck : public testing::Test {
 protected:
  void TearDown() override {
    simt::fail_no_call();
    simt::forget_sticky_error();
    EXPECT_EQ(simt::device_bytes_held(), 0u) << "left behind";
  }
  static Result<void> check() {
    const auto backend = value_of(make_backend());
    return self_check(*backend);
  }
};

TEST_F(SelfCheck, is_passed_by_a_card_that_does_its_work) {
  const Result<void> checked = check();
  EXPECT_TRUE(checked.ok()) << checked.error().message;
  EXPECT_THAT(simt::take_findings(), testing::IsEmpty());
}

TEST_F(SelfCheck, finds_any_launch_that_was_left_out) {
  std::size_t n = 0, n_wrong = 0;
  for (;; ++n) {
    simt::forget_sticky_error();
    simt::skip_launch(n);
    const Result<void> checked = check();
    (void)simt::take_findings();  // of kernels that read addresses which never came
    if (!simt::has_skipped_launch()) break;
    EXPECT_FALSE(checked.ok()) << "launch " << n;
    if (!checked.ok() && checked.error().code == "GPU_CHECK") ++n_wrong;
  }
  EXPECT_GT(n, 15u);
  EXPECT_GT(n_wrong, n / 2) << "the others do not end, or give no number";
}

TEST_F(SelfCheck, says_what_differs_how_much_and_what_to_do) {
  simt::skip_launch(0);
  const Result<void> checked = check();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().kind, ErrorKind::device_lost);
  EXPECT_THAT(checked.error().message,
              AllOf(HasSubstr("executor gives wrong results"), HasSubstr("a norm differs by "),
                    HasSubstr("cpu backend")));
}

TEST_F(SelfCheck, passes_on_what_the_card_itself_says) {
  const auto backend = value_of(make_backend());
  simt::fail_call(20, cudaErrorLaunchFailure);
  EXPECT_EQ(self_check(*backend).error().code, "GPU_LOST");
}

}  // namespace
}  // namespace satchel::kernels::cuda
