// Turn: one answer, step by step, and the ways it ends before it began.
#include "runtime/session/turn.h"

#include <gtest/gtest.h>

#include "unit/runtime/chat_parts_fixture.h"

namespace satchel::runtime {
namespace {

class TurnOf : public ChatPartsTest {
 protected:
  static Result<GenerateReport> run(Session::State& chat, const TurnRequest& request) {
    Turn turn(chat.parts, chat.prefill, request);
    turn.begin();
    while (const auto token = turn.choose()) turn.decoded(turn.decode(*token));
    return turn.measure(turn.close());
  }
};

TEST_F(TurnOf, a_chat_draws_as_many_tokens_as_are_asked_for_and_leaves_nothing_unread) {
  const auto chat = parts_with_text("full");
  const GenerateReport report = value_of(run(*chat, {.sampling = Sampling::plain_greedy(3)}));
  EXPECT_EQ(report.n_tokens, 3u);
  EXPECT_EQ(report.finish, Finish::n_tokens_max);
  EXPECT_EQ(chat->prefill.n_unread(), 0u);
  EXPECT_EQ(stored().back().state, runtime::MessageState::complete);
}

TEST_F(TurnOf, a_listener_that_had_enough_leaves_the_answer_open) {
  const auto chat = parts_with_text("full");
  const GenerateReport report =
      value_of(run(*chat, {.sampling = Sampling::plain_greedy(9),
                           .delta = [](std::string_view) { return false; }}));
  EXPECT_EQ(report.finish, Finish::stopped);
  EXPECT_EQ(stored().back().state, runtime::MessageState::interrupted);
}

TEST_F(TurnOf, an_empty_chat_is_an_error_and_draws_nothing) {
  const auto chat = parts(options("full"));
  const TurnRequest request;
  Turn turn(chat->parts, chat->prefill, request);
  turn.begin();
  EXPECT_FALSE(turn.choose().has_value());
  EXPECT_EQ(turn.close().error().code, "PARAM");
  EXPECT_TRUE(stored().empty());
}

}  // namespace
}  // namespace satchel::runtime
