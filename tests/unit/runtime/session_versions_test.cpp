// Versions of messages: going back to what was cut says what it would have said, and reads nothing
// again that was saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/contract/cache_key.h"
#include "support/failing_journal.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using testing::ElementsAre;

class Versions : public ChatTest {
 protected:
  using Ids = std::vector<std::int32_t>;
  static Ids ids(const Session& session) {
    return {session.tokens().begin(), session.tokens().end()};
  }
  static std::string question(std::size_t i) { return held_out_questions().at(i); }

  // Notes and a question, saved; then another question in its place, saved too.
  std::unique_ptr<Session> with_two(std::string_view recipe) {
    auto session = open(recipe);
    noted_ = value_of(session->add_document("notes", held_out_notes())).front().answer;
    value_of(session->read({}, {}));
    say(*session, 0);
    first_ = ids(*session);
    first_question_ = session->messages()[session->messages().size() - 2].id;
    cut_and_say(*session, 1);
    second_ = ids(*session);
    second_question_ = session->messages()[session->messages().size() - 2].id;
    return session;
  }
  void say(Session& session, std::size_t i) {
    ask(session, question(i));
    idle(session);
    value_of(session.save());
  }
  void cut_and_say(Session& session, std::size_t i) {
    const Result<void> cut = session.truncate(noted_);
    ASSERT_TRUE(cut.ok()) << cut.error().message;
    say(session, i);
  }
  void expect_at(const Session& session, const Ids& text, std::size_t n_unread = 0) {
    EXPECT_EQ(ids(session), text);
    EXPECT_EQ(session.n_read() + n_unread, text.size());
    expect_journal_holds(session);
  }

  MessageId noted_, first_question_, second_question_;
  Ids first_, second_;
};

class VersionsOfEachPreset : public Versions, public testing::WithParamInterface<const char*> {};

TEST_P(VersionsOfEachPreset, come_back_without_reading_and_go_on_as_if_nothing_had_been) {
  Ids on_first, on_second;
  {
    const auto plain = with_two(GetParam());
    say(*plain, 2);
    on_second = ids(*plain);
    journal_ = {};
    records_ = {};
    const auto other = open(GetParam());
    value_of(other->add_document("notes", held_out_notes()));
    value_of(other->read({}, {}));
    say(*other, 0);
    say(*other, 2);
    on_first = ids(*other);
    journal_ = {};
    records_ = {};
  }
  const auto session = with_two(GetParam());
  const std::vector<MessageVersions> both = value_of(session->versions());
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].message, second_question_);
  EXPECT_THAT(both[0].versions, ElementsAre(first_question_, second_question_));
  ASSERT_TRUE(session->switch_to(first_question_).ok());
  expect_at(*session, first_);
  EXPECT_EQ(value_of(session->versions()).at(0).message, first_question_);
  say(*session, 2);
  EXPECT_EQ(ids(*session), on_first);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(session->switch_to(second_question_).ok());
    expect_at(*session, second_);
    value_of(session->save());
    ASSERT_TRUE(session->switch_to(first_question_).ok());
    expect_at(*session, on_first);  // where it ended last
    value_of(session->save());
  }
  ASSERT_TRUE(session->switch_to(second_question_).ok());
  say(*session, 2);
  EXPECT_EQ(ids(*session), on_second);
}

TEST_P(VersionsOfEachPreset, are_there_in_another_process_too) {
  with_two(GetParam());
  const auto session = open(GetParam());
  EXPECT_EQ(resume(*session).n_reread, 0u);
  ASSERT_TRUE(session->switch_to(first_question_).ok());
  expect_at(*session, first_);
  // Without a save: what is open next finds the words as they are now, and what the cache held.
  const auto again = open(GetParam());
  EXPECT_EQ(resume(*again).n_reread, 0u);
  expect_at(*again, first_);
}

INSTANTIATE_TEST_SUITE_P(Presets, VersionsOfEachPreset,
                         testing::Values("full", "balanced", "compact", "extreme"),
                         [](const auto& row) { return std::string(row.param); });

TEST_F(Versions, that_were_not_saved_are_read_from_where_they_part) {
  const auto session = with_two("full");
  records_ = {};
  const auto fresh = open("full");
  resume(*fresh);
  const std::size_t n_common =
      static_cast<std::size_t>(std::ranges::mismatch(first_, second_).in1 - first_.begin());
  ASSERT_TRUE(fresh->switch_to(first_question_).ok());
  expect_at(*fresh, first_, first_.size() - n_common);
  const ReadReport read = value_of(fresh->read({}, {}));
  EXPECT_EQ(read.n_tokens, first_.size() - n_common);
  EXPECT_EQ(
      read.reread,
      (std::vector<kvcache::Reread>{{kvcache::RereadReason::not_saved, first_.size() - n_common}}));
}

TEST_F(Versions, of_a_damaged_record_cost_what_was_in_it) {
  with_two("full");
  auto& records = records_.caches.at(cache_key(chat_)).records;
  for (auto& [id, bytes] : records) bytes[bytes.size() / 2] ^= std::byte{1};
  const auto session = open("full");
  resume(*session);
  ASSERT_TRUE(session->switch_to(first_question_).ok());
  EXPECT_EQ(ids(*session), first_);
  value_of(session->read({}, {}));
  expect_at(*session, first_);
}

TEST_F(Versions, an_answer_and_its_question_may_both_have_some) {
  const auto session = with_two("full");
  ASSERT_TRUE(session->truncate(second_question_).ok());
  value_of(session->generate({.n_tokens_max = 3}, {}, {}, {}));
  const std::vector<MessageVersions> all = value_of(session->versions());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].message, second_question_);
  EXPECT_EQ(all[1].message, session->messages().back().id);
  EXPECT_EQ(all[1].versions.size(), 2u);
  ASSERT_TRUE(session->switch_to(all[1].versions[0]).ok());
  EXPECT_EQ(ids(*session), second_);
}

TEST_F(Versions, what_cannot_be_switched_to_changes_nothing) {
  const auto session = with_two("balanced");
  EXPECT_EQ(session->switch_to({99'999}).error().code, "MESSAGE_NOT_FOUND");
  expect_at(*session, second_);
  SessionOptions unkept(session->recipe());
  const auto alone = value_of(shared_engine().new_session(unkept));
  EXPECT_EQ(alone->switch_to({1}).error().code, "PARAM");
  EXPECT_TRUE(value_of(alone->versions()).empty());
}

// The messages cannot be read: as it was before.
class BlindJournal final : public test::PassingJournal {
 public:
  using PassingJournal::PassingJournal;
  Result<std::vector<StoredMessage>> messages(ChatId chat) override {
    if (fails) return full();
    return PassingJournal::messages(chat);
  }
  bool fails = false;
};

TEST_F(Versions, a_journal_that_fails_leaves_the_chat_as_it_was) {
  with_two("full");
  for (const bool reads_fail : {false, true}) {
    BlindJournal blind(journal_);
    test::FailingJournal failing(journal_, 0);
    SessionOptions options(open("full")->recipe());
    options.chat = chat_;
    options.records = &records_;
    options.journal = reads_fail ? static_cast<Journal*>(&blind) : &failing;
    const auto session = value_of(shared_engine().new_session(options));
    resume(*session);
    blind.fails = reads_fail;
    EXPECT_EQ(session->switch_to(first_question_).error().code, "DISK_FULL");
    blind.fails = false;
    expect_at(*session, second_);
    ASSERT_TRUE(session->switch_to(first_question_).ok());
    expect_at(*session, first_);
    ASSERT_TRUE(session->switch_to(second_question_).ok());
    value_of(session->save());
  }
}

}  // namespace
}  // namespace satchel::runtime
