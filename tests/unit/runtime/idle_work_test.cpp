// IdleWork: whether there is any, and that it ends.
#include "runtime/session/idle_work.h"

#include <gtest/gtest.h>

#include "unit/runtime/chat_parts_fixture.h"

namespace satchel::runtime {
namespace {

class IdleWorkOf : public ChatPartsTest {};

TEST_F(IdleWorkOf, an_exact_chat_is_finished_at_once) {
  const auto chat = parts_with_text("full");
  EXPECT_FALSE(chat->idle_work.is_due());
  const IdleReport report = value_of(chat->idle_work.run({}, {}));
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.n_evicted + report.n_lowered, 0u);
  EXPECT_EQ(report.recall.n_asked, 0u);
}

TEST_F(IdleWorkOf, a_chat_that_is_stopped_is_not_finished) {
  const auto chat = parts_with_text("full");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(value_of(chat->idle_work.run(stop.get_token(), {})).finished);
}

}  // namespace
}  // namespace satchel::runtime
