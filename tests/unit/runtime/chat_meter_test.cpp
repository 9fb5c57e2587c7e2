// ChatMeter: what becomes a step of the ledger, and what stays with the chat.
#include "runtime/session/chat_meter.h"

#include <gtest/gtest.h>

#include "unit/runtime/chat_parts_fixture.h"

namespace satchel::runtime {
namespace {

class ChatMeterOf : public ChatPartsTest {};

TEST_F(ChatMeterOf, what_made_nothing_smaller_is_no_step) {
  const auto chat = parts_with_text("full");
  chat->meter.note(LedgerCause::idle, {}, 1000);
  chat->meter.note_since(LedgerCause::read, chat->meter.contents());
  EXPECT_TRUE(chat->meter.ledger().entries().empty());
}

TEST_F(ChatMeterOf, a_step_says_what_went_and_what_the_cache_takes_now) {
  const auto chat = parts_with_text("full");
  chat->meter.note(LedgerCause::limit, {.n_evicted = 3, .n_lowered = 5}, 1'000'000'000);
  ASSERT_EQ(chat->meter.ledger().entries().size(), 1u);
  const LedgerEntry& step = chat->meter.ledger().entries().front();
  EXPECT_EQ(step.cause, LedgerCause::limit);
  EXPECT_EQ(step.n_evicted, 3u);
  EXPECT_EQ(step.n_lowered, 5u);
  EXPECT_EQ(step.n_tokens, chat->cache.n_tokens());
  EXPECT_EQ(step.bytes_after, chat->cache.stats().bytes);
}

TEST_F(ChatMeterOf, it_comes_back_with_the_chat) {
  const auto first = parts_with_text("full");
  first->meter.note(LedgerCause::asked, {.n_evicted = 7}, 1'000'000'000);
  first->meter.save();
  const auto second = parts(options("full"));
  ASSERT_TRUE(second->meter.load().ok());
  ASSERT_EQ(second->meter.ledger().entries().size(), 1u);
  EXPECT_EQ(second->meter.ledger().entries().front().n_evicted, 7u);
}

TEST_F(ChatMeterOf, a_note_that_cannot_be_read_is_none) {
  ASSERT_TRUE(journal_.set_note(chat_, kMeterNote, "not a meter").ok());
  const auto chat = parts(options("full"));
  EXPECT_TRUE(chat->meter.load().ok());
  EXPECT_TRUE(chat->meter.ledger().entries().empty());
}

TEST_F(ChatMeterOf, another_cache_has_the_steps_but_not_what_was_measured) {
  const auto chat = parts_with_text("full");
  chat->meter.note(LedgerCause::asked, {.n_evicted = 7}, 1'000'000'000);
  chat->meter.set_recall({.n_asked = 4, .n_said = 3});
  chat->meter.forget_measured();
  EXPECT_EQ(chat->meter.recall().n_asked, 0u);
  EXPECT_EQ(chat->meter.ledger().entries().size(), 1u);
}

TEST_F(ChatMeterOf, without_rows_nothing_can_be_measured) {
  const auto chat = parts_with_text("full");
  EXPECT_FALSE(chat->meter.can_measure()) << "the message is too short to keep any";
  EXPECT_EQ(chat->meter.rows_bytes(), 0u);
}

}  // namespace
}  // namespace satchel::runtime
