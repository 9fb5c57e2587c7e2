// Transcript by itself: what fits the context, and what is found in it.
#include "runtime/session/transcript.h"

#include <gtest/gtest.h>

#include "tokenizer_cases.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

class TranscriptOf : public ChatTest {
 protected:
  static Transcript transcript(std::size_t n_context, const ChatId& chat, Journal* journal) {
    return Transcript({.tokenizer = shared_engine().tokenizer(),
                       .chat_template = shared_engine().chat_template(),
                       .n_vocabulary = shared_engine().config().n_vocabulary,
                       .n_context = n_context,
                       .model_fingerprint = {},
                       .system = {},
                       .journal = journal,
                       .chat = chat});
  }
  Transcript transcript(std::size_t n_context) { return transcript(n_context, chat_, &journal_); }
  // Tokens of a chat that says hello and can be answered.
  static std::size_t n_needed() {
    Transcript unkept = transcript(1000, {}, nullptr);
    value_of(unkept.add_user("Hello."));
    return unkept.tokens().size() + kLeastAnswerTokens;
  }
};

TEST_F(TranscriptOf, a_short_context_takes_a_message_that_leaves_room_for_an_answer) {
  Transcript fits = transcript(n_needed());
  EXPECT_TRUE(fits.add_user("Hello.").ok());
  EXPECT_EQ(fits.n_context_left(), kLeastAnswerTokens);
}

TEST_F(TranscriptOf, a_context_one_token_shorter_refuses_it_and_commits_nothing) {
  Transcript full = transcript(n_needed() - 1);
  const auto refused = full.add_user("Hello.");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "CONTEXT_FULL");
  EXPECT_TRUE(full.empty());
  EXPECT_TRUE(stored().empty());
}

TEST_F(TranscriptOf, a_chat_finds_its_messages_by_their_ids_and_says_which_it_has_not) {
  Transcript chat = transcript(1000);
  const MessageId id = value_of(chat.add_user("Hello."));
  EXPECT_EQ(value_of(chat.find(id)).role, runtime::Role::user);
  const auto unknown = chat.find({999});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, "MESSAGE_NOT_FOUND");
  EXPECT_NE(unknown.error().message.find("999"), std::string::npos);
}

TEST(Transcript, a_user_who_speaks_behind_a_call_ends_the_models_turn) {
  const auto tokenizer = tokenizer_tests::make_tokenizer(tokenizer_tests::byte_vocabulary(
      {"<|turn>", "<turn|>", "<|channel>", "<channel|>", "<tool_call|>", "<tool_response|>"}));
  const ChatTemplate gemma = value_of(ChatTemplate::named("gemma-4"));
  MarkedText call, result;
  call.add("f").mark("<tool_call|>");
  result.add("r").mark("<tool_response|>");
  result.marks.is_turn = true;
  const auto empty_chat = [&] {
    return Transcript({.tokenizer = *tokenizer,
                       .chat_template = gemma,
                       .n_vocabulary = tokenizer->size(),
                       .n_context = 1000,
                       .model_fingerprint = {},
                       .system = "",
                       .journal = nullptr,
                       .chat = {}});
  };
  const auto said = [&](const std::vector<MessageText>& messages) {
    Transcript chat = empty_chat(), one_by_one = empty_chat();
    value_of(chat.add_messages(messages, BeyondContext::ends));
    for (const MessageText& one : messages)
      value_of(one_by_one.add_messages({&one, 1}, BeyondContext::ends));
    EXPECT_TRUE(std::ranges::equal(chat.tokens(), one_by_one.tokens()));
    std::string text;
    for (const TokenId token : chat.tokens()) {
      if (token >= 256) text += tokenizer->spelling(token);
      tokenizer->append_piece(token, text);
    }
    return text;
  };
  const MessageText ask{.role = Role::user, .text = "A"},
      called{.role = Role::assistant, .text = call.text, .marks = &call.marks},
      came{.role = Role::user, .text = result.text, .marks = &result.marks};
  const std::string begin = "<|turn>user\nA<turn|>\n<|turn>model\nf<tool_call|>",
                    end = "<turn|>\n<|turn>user\nA<turn|>\n";
  EXPECT_EQ(said({ask, called, ask}), begin + end);
  EXPECT_EQ(said({ask, called, came, ask}), begin + "r<tool_response|>" + end);
}

}  // namespace
}  // namespace satchel::runtime
