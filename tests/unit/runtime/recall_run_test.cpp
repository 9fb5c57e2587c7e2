// RecallRun: when a chat is probed. What a probe finds is session-wide: recall_test.cpp.
#include "runtime/session/recall_run.h"

#include <gtest/gtest.h>

#include "unit/runtime/chat_parts_fixture.h"

namespace satchel::runtime {
namespace {

class RecallRunOf : public ChatPartsTest {
 protected:
  // The notes, compressed by "streamingllm", which waits for nothing.
  std::unique_ptr<Session::State> compressed() {
    auto chat = parts(options("streamingllm"));
    const std::string notes = held_out_notes();
    const Transcript::Document document{.title = "", .text = notes};
    value_of(chat->transcript.add_documents({&document, 1}, BeyondContext::ends));
    value_of(chat->prefill.prefill_unread({}, {}));
    kvcache::CompactionReport done;
    while (value_of(chat->prefill.compress_step({}, done))) {
    }
    return chat;
  }
};

TEST_F(RecallRunOf, an_exact_chat_is_never_due) {
  const auto chat = parts_with_text("full");
  chat->meter.note(LedgerCause::asked, {.n_lowered = 1}, 1'000'000'000);
  RecallRun run(chat->parts);
  EXPECT_FALSE(run.is_due());
  EXPECT_TRUE(run.advance({}, {}));
  EXPECT_EQ(chat->meter.recall().n_steps, 0u);
}

TEST_F(RecallRunOf, a_text_that_became_smaller_is_due_until_it_was_asked) {
  const auto chat = compressed();
  RecallRun run(chat->parts);
  ASSERT_TRUE(run.is_due());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(run.advance(stop.get_token(), {})) << "stopped before the first passage";
  EXPECT_TRUE(run.is_due());
  EXPECT_TRUE(run.advance({}, {}));
  EXPECT_FALSE(run.is_due());
  EXPECT_EQ(chat->meter.recall().n_steps, chat->meter.ledger().n_steps());
}

}  // namespace
}  // namespace satchel::runtime
