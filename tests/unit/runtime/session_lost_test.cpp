// A chat whose memory was given back for another limit or recipe and cannot be had again: it says
// so, whatever it is asked, and goes on when there is memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/limits/presets.h"
#include "unit/runtime/failing_engine.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;

class SessionLost : public ChatTest {
 protected:
  void SetUp() override {
    ChatTest::SetUp();
    session_ = open("compact", 0, *with_.engine);
    document_ = value_of(session_->add_document("", held_out_notes())).front().document;
    value_of(session_->read({}, {}));
    value_of(session_->save());
    n_tokens_ = session_->tokens().size();
    limit_ = session_->stats().arena_bytes;
  }

  template <class T>
  static void expect_lost(const Result<T>& answer, const char* of) {
    ASSERT_FALSE(answer.ok()) << of;
    EXPECT_EQ(answer.error().code, "CACHE_LOST") << of << ": " << answer.error().message;
    EXPECT_THAT(answer.error().message, HasSubstr("The chat is kept.")) << of;
    EXPECT_THAT(answer.error().message, HasSubstr("open the chat again")) << of;
  }
  void expect_every_call_says_so() {
    Session& s = *session_;
    const auto full = value_of(resolve_recipe("full"));
    const std::size_t n_messages = stored().size();
    expect_lost(s.add_user("Where is the brass bell?"), "add_user");
    expect_lost(s.add_document("", "A note."), "add_document");
    expect_lost(s.read({}, {}), "read");
    expect_lost(s.generate({.n_tokens_max = 4}, {}, {}, {}), "generate");
    expect_lost(s.idle({}, {}), "idle");
    expect_lost(s.truncate({}), "truncate");
    expect_lost(s.fork(runtime::ChatId{8}), "fork");
    expect_lost(s.pin(document_), "pin");
    expect_lost(s.forget(document_), "forget");
    expect_lost(s.set_recipe(full, {}, {}), "set_recipe");
    expect_lost(s.preview_memory({.recipe = full}, {}), "preview_memory");
    expect_lost(s.change_memory({.limit_bytes = limit_ / 2}, {}, {}), "change_memory");
    expect_lost(s.save(), "save");
    EXPECT_EQ(s.resume({}, {}).error().code, "PARAM") << "its messages are there";
    EXPECT_FALSE(s.has_idle_work());
    EXPECT_EQ(s.n_read(), 0u);
    EXPECT_EQ(s.stats().bytes, 0u);
    EXPECT_EQ(s.tokens().size(), n_tokens_);
    EXPECT_GT(s.n_context_left(), 0u);
    EXPECT_EQ(stored().size(), n_messages) << "nothing is taken in that cannot be answered";
    expect_journal_holds(s);
  }
  void expect_it_goes_on() {
    EXPECT_EQ(ask(*session_, held_out_questions().at(0)).finish, Finish::end_of_turn);
    EXPECT_EQ(session_->n_read(), session_->tokens().size());
    EXPECT_EQ(session_->recipe().hash(), value_of(resolve_recipe("compact")).hash());
    expect_journal_holds(*session_);
    value_of(session_->save());
  }

  const FailingEngine with_;
  std::unique_ptr<Session> session_;
  runtime::MessageId document_;
  std::size_t n_tokens_ = 0, limit_ = 0;
};

TEST_F(SessionLost, without_its_old_arena_every_call_says_so_until_there_is_memory) {
  with_.failing->fail_allocations(true);
  expect_lost(session_->change_memory({.limit_bytes = 2 * limit_}, {}, {}), "change_memory");
  EXPECT_EQ(session_->stats().arena_bytes, limit_);
  expect_every_call_says_so();
  with_.failing->fail_allocations(false);
  value_of(session_->add_user(held_out_questions().at(1)));
  EXPECT_GE(session_->n_read(), n_tokens_) << "restored, not read again";
  EXPECT_EQ(session_->stats().arena_bytes, limit_);
  expect_it_goes_on();
}

TEST_F(SessionLost, what_was_not_saved_is_read_again_and_said_so) {
  with_.failing->fail_allocations(true);
  expect_lost(session_->change_memory({.limit_bytes = 2 * limit_}, {}, {}), "change_memory");
  with_.failing->fail_allocations(false);
  records_.caches.clear();
  EXPECT_EQ(ask(*session_, held_out_questions().at(0)).read.reread,
            std::vector<kvcache::Reread>({{kvcache::RereadReason::memory_lost, n_tokens_}}));
}

TEST_F(SessionLost, without_room_for_two_caches_and_a_backend_that_fails_every_call_says_so) {
  kvcache::Arena& arena = *with_.engine->state().arena;
  const kvcache::ExtentId others = value_of(arena.take(arena.free_bytes()));
  with_.failing->fail_tables(true);
  const auto full = value_of(resolve_recipe("full"));
  expect_lost(session_->set_recipe(full, {}, {}), "set_recipe");
  EXPECT_EQ(session_->stats().arena_bytes, limit_);
  expect_every_call_says_so();
  with_.failing->fail_tables(false);
  arena.give(others);
  expect_it_goes_on();
}

TEST_F(SessionLost, a_smaller_limit_brings_it_back_where_there_is_no_more) {
  with_.failing->fail_allocations(true);
  expect_lost(session_->change_memory({.limit_bytes = 2 * limit_}, {}, {}), "change_memory");
  with_.failing->fail_allocations(false);
  value_of(session_->change_memory({.limit_bytes = limit_ / 2}, {}, {}));
  EXPECT_EQ(session_->stats().arena_bytes, kvcache::Arena::rounded_down(limit_ / 2));
  EXPECT_EQ(session_->n_read(), n_tokens_) << "restored, not read again";
  expect_it_goes_on();
}

TEST_F(SessionLost, a_chat_that_is_lost_can_be_closed_and_opened_again) {
  with_.failing->fail_allocations(true);
  expect_lost(session_->change_memory({.limit_bytes = 2 * limit_}, {}, {}), "change_memory");
  session_.reset();
  with_.failing->fail_allocations(false);
  session_ = open("compact", 0, *with_.engine);
  EXPECT_EQ(resume(*session_).n_reread, 0u);
  expect_it_goes_on();
}

}  // namespace
}  // namespace satchel::runtime
