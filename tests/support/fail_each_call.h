// A change over a backend of which each call fails once: what is left of it then.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/failing_backend.h"

namespace satchel::test {

//   begin   makes what is changed, anew each time: a pointer
//   change  changes it, while a call fails
//   check   sees it, and what `change` gave, on a backend that works again
template <class Begin, class Change, class Check>
void fail_each_call(FailingBackend& failing, const Begin& begin, const Change& change,
                    const Check& check) {
  int n_failed = 0;
  bool has_failed = true;
  for (std::size_t n = 0; has_failed; n += 1 + n / 2) {  // few calls are unlike those before
    SCOPED_TRACE("call " + std::to_string(n));
    const auto changed = begin();
    failing.fail_at(n);
    const auto given = change(*changed);
    has_failed = failing.has_failed();
    n_failed += has_failed ? 1 : 0;
    failing.fail_at({});
    check(*changed, given);
    if (testing::Test::HasFatalFailure()) return;
  }
  testing::Test::RecordProperty("faults", n_failed);
  EXPECT_GT(n_failed, 1);
}

}  // namespace satchel::test
