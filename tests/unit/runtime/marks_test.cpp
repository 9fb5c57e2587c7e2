// Pinned and forgotten messages stay so where the chat is read again.
#include "runtime/session/marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using Mark = Marks::Mark;
using testing::HasSubstr;
using testing::Not;

TEST(MarksText, comes_back_and_what_is_none_is_left_out) {
  Marks marks;
  marks.set({7}, Mark::pinned);
  marks.set({12}, Mark::forgotten);
  marks.set({9}, Mark::pinned);
  marks.set({9}, Mark::forgotten);
  marks.set({12}, Mark::pinned);  // it is gone
  EXPECT_EQ(marks.text(), "pinned 7\nforgotten 9\nforgotten 12\n");
  EXPECT_EQ(Marks::of(marks.text()).text(), marks.text());
  EXPECT_EQ(Marks::of("pinned 3\n\nlost 4\npinned x\npinned 5 6\nforgotten 8").text(),
            "pinned 3\nforgotten 8\n");
  EXPECT_TRUE(Marks::of("").empty());
}

TEST(MarksText, go_to_the_same_messages_under_other_ids) {
  Marks marks;
  marks.set({7}, Mark::pinned);
  marks.set({99}, Mark::forgotten);
  const std::vector<MessageId> its = {{5}, {7}, {8}}, ours = {{1}, {2}, {3}};
  EXPECT_EQ(marks.copied(its, ours).text(), "pinned 2\n");
}

constexpr const char* kSecret = "Matteo Thorsen keeps a rabbit. We had tea.";
constexpr const char* kOther = "Estelle Ibarra keeps a parrot. The lamp flickered twice.";
constexpr const char* kAsk = "Which pet does Matteo Thorsen keep?";

class MarkedChat : public ChatTest {
 protected:
  // Three messages; the first is forgotten, the second pinned.
  std::unique_ptr<Session> marked(std::string_view recipe = "compact") {
    auto session = open(recipe);
    for (const char* said : {kSecret, kOther, "Good."}) ask(*session, said, 4);
    EXPECT_TRUE(session->forget(session->messages()[0].id).ok());
    EXPECT_TRUE(session->pin(session->messages()[2].id).ok());
    return session;
  }
  static bool is_pinned(const Session& session, std::size_t message) {
    return session.messages()[message].is_pinned;
  }
  // What the model knows of it, without leaving a trace in the chat.
  std::string knows(Session& session) {
    const auto fork = value_of(session.fork(ChatId{99}));
    return ask(*fork, kAsk, 12).text;
  }
};

TEST_F(MarkedChat, reread_without_a_cache_has_them_all_the_same) {
  const auto first = marked();
  ASSERT_THAT(knows(*first), Not(HasSubstr("rabbit")));
  const auto plain = open("compact");  // the same chat in a store that lost its caches
  const ResumeReport report = resume(*plain);
  EXPECT_EQ(report.n_reused, 0u);
  EXPECT_TRUE(is_pinned(*plain, 2));
  EXPECT_TRUE(plain->messages()[0].is_forgotten);
  EXPECT_THAT(knows(*plain), Not(HasSubstr("rabbit")));
}

TEST_F(MarkedChat, without_marks_the_words_are_known) {
  auto session = open("compact");
  for (const char* said : {kSecret, kOther, "Good."}) ask(*session, said, 4);
  EXPECT_THAT(knows(*session), HasSubstr("rabbit")) << "or the tests here show nothing";
}

TEST_F(MarkedChat, under_another_recipe_has_them_all_the_same) {
  const auto session = marked();
  value_of(session->set_recipe(value_of(resolve_recipe("full")), {}, {}));
  EXPECT_THAT(knows(*session), Not(HasSubstr("rabbit")));
  EXPECT_TRUE(is_pinned(*session, 2));
}

TEST_F(MarkedChat, what_is_unpinned_has_no_mark_and_what_is_forgotten_keeps_it) {
  const auto session = marked();
  const MessageId pinned = session->messages()[2].id, forgotten = session->messages()[0].id;
  ASSERT_TRUE(session->unpin(pinned).ok());
  ASSERT_TRUE(session->unpin(forgotten).ok());
  EXPECT_EQ(session->unpin({999}).error().code, "MESSAGE_NOT_FOUND");
  EXPECT_FALSE(is_pinned(*session, 2));
  EXPECT_TRUE(session->messages()[0].is_forgotten);
  EXPECT_EQ(value_of(journal_.note(chat_, kMarksNote)).value_or(""),
            "forgotten " + std::to_string(forgotten.value) + "\n");
  const auto again = open("compact");
  (void)resume(*again);
  EXPECT_FALSE(is_pinned(*again, 2));
}

TEST_F(MarkedChat, a_fork_and_a_copy_have_them) {
  const auto session = marked();
  const auto fork = value_of(session->fork(ChatId{8}));
  EXPECT_TRUE(is_pinned(*fork, 2));
  EXPECT_THAT(value_of(journal_.note({8}, kMarksNote)).value(), HasSubstr("pinned"));
  test::MemoryRecordStore records;
  ChatCopy copy = value_of(session->copy_to(records));
  for (StoredMessage& message : copy.messages) message.id = {};  // as bytes have them
  SessionOptions options(session->recipe());
  options.chat = {9};
  options.journal = &journal_;
  const auto made = value_of(shared_engine().new_session(options));
  value_of(made->resume_copy(copy, records, {}, {}));
  EXPECT_TRUE(is_pinned(*made, 2));
  EXPECT_TRUE(made->messages()[0].is_forgotten);
}

TEST_F(MarkedChat, saved_before_they_were_marked_come_back_marked) {
  const auto first = open("compact");
  for (const char* said : {kSecret, kOther, "Good."}) ask(*first, said, 4);
  value_of(first->save());
  ASSERT_TRUE(first->forget(first->messages()[0].id).ok());  // and not saved
  const auto second = open("compact");
  EXPECT_EQ(resume(*second).n_reread, 0u);
  EXPECT_THAT(knows(*second), Not(HasSubstr("rabbit")));
}

TEST_F(MarkedChat, gathered_with_the_turns_around_it_a_message_stays_forgotten) {
  const auto session = open("compact");
  ask(*session, kSecret, 4);
  for (int i = 0; i < 40; ++i)
    ask(*session, "The brass bell of tower " + std::to_string(i) + " is rung at noon.", 12);
  ASSERT_TRUE(session->forget(session->messages()[0].id).ok());
  ASSERT_TRUE(session->has_idle_work());
  EXPECT_GT(idle(*session).n_evicted, 0u) << "nothing was gathered";
  EXPECT_THAT(knows(*session), Not(HasSubstr("rabbit")));
}

TEST_F(MarkedChat, what_was_forgotten_later_is_gone_from_an_earlier_version_too) {
  const auto session = open("compact");
  ask(*session, kSecret, 4);
  const MessageId noted = ask(*session, kOther, 4).answer;
  const MessageId first = ask(*session, "Good.", 4).answer;
  value_of(session->save());
  ASSERT_TRUE(session->truncate(noted).ok());
  ask(*session, "Well.", 4);
  value_of(session->save());
  ASSERT_TRUE(session->forget(session->messages()[0].id).ok());
  value_of(session->save());
  ASSERT_TRUE(session->switch_to(first).ok());
  EXPECT_EQ(session->n_read(), session->tokens().size());
  EXPECT_THAT(knows(*session), Not(HasSubstr("rabbit")));
}

}  // namespace
}  // namespace satchel::runtime
