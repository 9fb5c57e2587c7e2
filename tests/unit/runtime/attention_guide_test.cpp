// Which episodes a question attends to, in a chat of held-out notes.
#include "runtime/session/attention_guide.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "unit/runtime/chat_parts_fixture.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kNotes = 4;
// Of the first notes and of the third.
constexpr const char* kOfFirst = "Which pet does Matteo Thorsen keep?";

class Guide : public ChatPartsTest {
 protected:
  void SetUp() override {
    ChatPartsTest::SetUp();
    SessionOptions own = options("full");
    own.beyond = BeyondContext::episodes;
    chat_parts_ = parts(own);
    for (std::size_t i = 0; i < kNotes; ++i) {
      value_of(chat_parts_->transcript.add_user(held_out_notes(i), BeyondContext::episodes));
      value_of(chat_parts_->prefill.prefill_unread({}, {}));
      value_of(chat_parts_->cache->compactor().end_turn());
    }
    // What is near is no episode: a long text behind them.
    value_of(chat_parts_->past.free_context(900, kvcache::SegmentKind::document, {}, {}));
    show_ = [this](kvcache::Cache& fork, const IndexRange* episode) -> Result<void> {
      const IndexRange none{.begin = fork.n_tokens(), .end = fork.n_tokens()};
      return chat_parts_->past.show_alone(fork, episode != nullptr ? *episode : none, 40);
    };
  }
  std::vector<double> weights(std::string_view question) {
    AttentionGuide guide(chat_parts_->parts);
    const auto& state = shared_engine().state();
    const auto ids = value_of(state.chat_template->user_turn(*state.tokenizer, question));
    return value_of(guide.weigh(ids, chat_parts_->past.episodes(), show_, {}));
  }
  std::unique_ptr<Session::State> chat_parts_;
  AttentionGuide::ShowFn show_;
};

TEST_F(Guide, a_question_attends_most_to_the_notes_that_answer_it) {
  const std::vector<double> of_first = weights(kOfFirst);
  ASSERT_GE(of_first.size(), 3u);
  EXPECT_EQ(std::ranges::max_element(of_first) - of_first.begin(), 0);
  for (const double weight : of_first) EXPECT_TRUE(weight > -1 && weight < 1) << weight;
}

TEST_F(Guide, the_chat_stays_as_it_was) {
  const std::size_t n_tokens = chat_parts_->cache.n_tokens();
  const std::size_t used = chat_parts_->cache->arena().used_bytes();
  const kvcache::Reach reach = chat_parts_->cache->reach();
  weights(kOfFirst);
  EXPECT_EQ(chat_parts_->cache.n_tokens(), n_tokens);
  EXPECT_EQ(chat_parts_->cache->arena().used_bytes(), used);
  EXPECT_EQ(chat_parts_->cache->reach(), reach);
}

TEST_F(Guide, a_stop_ends_it) {
  AttentionGuide guide(chat_parts_->parts);
  std::stop_source stop;
  stop.request_stop();
  const auto& state = shared_engine().state();
  const auto ids = value_of(state.chat_template->user_turn(*state.tokenizer, kOfFirst));
  const auto stopped = guide.weigh(ids, chat_parts_->past.episodes(), show_, stop.get_token());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
}

}  // namespace
}  // namespace satchel::runtime
