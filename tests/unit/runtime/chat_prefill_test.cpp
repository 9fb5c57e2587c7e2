// ChatPrefill: the cache comes up to the transcript.
#include "runtime/session/chat_prefill.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/runtime/chat_parts_fixture.h"

namespace satchel::runtime {
namespace {

class ChatPrefillOf : public ChatPartsTest {};

TEST_F(ChatPrefillOf, each_message_is_compressed_as_what_it_is) {
  const auto kind = [](runtime::Role role, runtime::MessageKind what) {
    return segment_kind({.id = {}, .role = role, .kind = what, .title = {}});
  };
  using kvcache::SegmentKind;
  using runtime::MessageKind;
  using runtime::Role;
  EXPECT_EQ(kind(Role::system, MessageKind::text), SegmentKind::pinned);
  EXPECT_EQ(kind(Role::assistant, MessageKind::text), SegmentKind::answer);
  EXPECT_EQ(kind(Role::user, MessageKind::document), SegmentKind::document);
  EXPECT_EQ(kind(Role::user, MessageKind::text), SegmentKind::message);
}

TEST_F(ChatPrefillOf, nothing_is_unread_afterwards_and_a_second_time_nothing_is_read) {
  const auto chat = parts(options("full"));
  add_text(*chat, "Where is the brass bell?");
  const std::size_t n = chat->transcript.tokens().size();
  EXPECT_EQ(chat->prefill.n_unread(), n);
  EXPECT_EQ(value_of(chat->prefill.prefill_unread({}, {})).n_tokens, n);
  EXPECT_EQ(chat->prefill.n_unread(), 0u);
  EXPECT_EQ(value_of(chat->prefill.prefill_unread({}, {})).n_tokens, 0u);
}

TEST_F(ChatPrefillOf, the_last_logits_can_be_had_again) {
  const auto chat = parts(options("full"));
  add_text(*chat, "Where is the brass bell?");
  const std::span<float> logits = chat->prefill.logits();
  value_of(
      chat->prefill.prefill({.end = chat->transcript.tokens().size(), .logits = logits}, {}, {}));
  const auto likeliest = std::ranges::max_element(logits) - logits.begin();
  std::ranges::fill(logits, 0.0f);
  ASSERT_TRUE(chat->prefill.recompute_last_logits({}).ok());
  EXPECT_EQ(std::ranges::max_element(logits) - logits.begin(), likeliest);
}

TEST_F(ChatPrefillOf, an_empty_chat_has_no_last_logits) {
  const auto chat = parts(options("full"));
  const auto none = chat->prefill.recompute_last_logits({});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, "PARAM");
}

TEST_F(ChatPrefillOf, a_full_arena_is_explained_in_tokens_and_other_problems_stay_as_they_are) {
  const auto chat = parts_with_text("full");
  const Error full = chat->prefill.explain({ErrorKind::out_of_memory, "CACHE_FULL", "bytes"});
  EXPECT_NE(full.message.find("tokens have been read"), std::string::npos);
  EXPECT_NE(full.message.find("The chat is kept."), std::string::npos);
  const Error other = chat->prefill.explain({ErrorKind::internal, "LOGITS_NAN", "no number"});
  EXPECT_EQ(other.message, "no number");
}

}  // namespace
}  // namespace satchel::runtime
