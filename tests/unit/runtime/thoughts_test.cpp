// Thoughts told from an answer's ids, and asked of a template that knows none.
#include "runtime/session/thoughts.h"

#include <gtest/gtest.h>

#include "support/value_of.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

TEST(ThoughtsIn, an_answer_without_any_are_empty) {
  const Tokenizer& tokenizer = shared_engine().tokenizer();
  const ChatTemplate& chat_template = shared_engine().chat_template();
  const auto answer =
      value_of(chat_template.assistant_turn(tokenizer, "In the tower.", Thinking::automatic));
  const Thoughts none = value_of(thoughts_in(answer, tokenizer, chat_template));
  EXPECT_TRUE(none.text.empty());
  EXPECT_EQ(none.n_tokens, 0u);
}

TEST(CheckThinking, a_template_without_a_switch_takes_automatic_only) {
  const ChatTemplate plain = value_of(ChatTemplate::named("chatml"));
  ASSERT_FALSE(plain.has_thinking_switch());
  EXPECT_TRUE(check_thinking(plain, Thinking::automatic).ok());
  const auto refused = check_thinking(plain, Thinking::off);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "THINKING");
}

}  // namespace
}  // namespace satchel::runtime
