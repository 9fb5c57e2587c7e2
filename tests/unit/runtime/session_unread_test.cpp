// A long document can be asked before all of it is read: its parts are left, and read later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;
using testing::Contains;
using testing::HasSubstr;

constexpr std::size_t kNotes = 5;  // more than three times the context
constexpr const char* kFirst = "Which pet does Matteo Thorsen keep?";  // in the first notes
constexpr const char* kThird = "Which instrument is played by Estelle Oliveira?";

std::string document() {
  std::string text;
  for (std::size_t i = 0; i < kNotes; ++i) text += held_out_notes(i) + "\n\n";
  return text;
}

class SessionUnread : public ChatTest {
 protected:
  std::unique_ptr<Session> open_beyond(std::string_view recipe = "full", std::size_t limit = 0) {
    SessionOptions options(value_of(resolve_recipe(recipe)));
    options.budget_bytes = limit > 0 ? limit : shared_budget();
    options.beyond = BeyondContext::episodes;
    options.chat = chat_;
    options.journal = &journal_;
    options.records = &records_;
    return value_of(shared_engine().new_session(options));
  }
  // As a person would stop it, when the first part has been read.
  static void read_first_part(Session& session) {
    value_of(session.add_document("notes.txt", document()));
    std::stop_source stop;
    const auto watch = [&](const Progress&) {
      if (session.n_read() >= session.messages()[1].end) stop.request_stop();
    };
    EXPECT_EQ(session.read(stop.get_token(), watch).error().code, "STOPPED");
    EXPECT_GE(session.parts_read()[0].n_read, 1u);
    EXPECT_LT(session.parts_read()[0].n_read, session.parts_read()[0].n_all);
  }
  static std::size_t idle_to_the_end(Session& session) {
    std::size_t n = 1;
    while (!idle(session).finished) ++n;
    EXPECT_FALSE(session.has_idle_work());
    EXPECT_EQ(session.stats().n_unread, 0u);
    EXPECT_EQ(session.parts_read()[0].n_read, session.parts_read()[0].n_all);
    return n;
  }
  static std::vector<std::int32_t> go_on(Session& session) {
    for (const char* question : {kThird, kFirst}) ask(session, question);
    return {session.tokens().begin(), session.tokens().end()};
  }
};

TEST_F(SessionUnread, a_question_is_answered_from_what_is_read_and_idle_reads_the_rest) {
  const auto session = open_beyond();
  read_first_part(*session);
  const GenerateReport report = ask(*session, kFirst);
  EXPECT_THAT(report.text, HasSubstr("rabbit"));
  EXPECT_GT(report.episodes.n_unread, 0u);
  EXPECT_LT(report.read.n_tokens, session->n_context()) << "waits for no part but those it needs";
  EXPECT_EQ(session->n_read(), session->tokens().size());
  const kvcache::CacheStats left = session->stats();
  EXPECT_GT(left.n_unread, 0u);
  EXPECT_EQ(left.n_evicted, 0u);
  EXPECT_EQ(left.n_resting, 0u);
  EXPECT_TRUE(session->has_idle_work());
  EXPECT_GT(idle_to_the_end(*session), 1u);
  EXPECT_EQ(session->stats().n_evicted, 0u);
  EXPECT_THAT(ask(*session, kThird).text, HasSubstr("guitar"));
  expect_journal_holds(*session);
}

// What is read later is held as what was read in order: it has seen the system prompt only.
TEST_F(SessionUnread, an_exact_chat_answers_as_if_all_had_been_read_first) {
  const auto left = open_beyond();
  read_first_part(*left);
  ask(*left, kFirst);
  idle_to_the_end(*left);
  const std::vector<std::int32_t> later = go_on(*left);
  journal_ = {};
  const auto whole = open_beyond();
  value_of(whole->add_document("notes.txt", document()));
  value_of(whole->read({}, {}));
  EXPECT_EQ(whole->stats().n_unread, 0u);
  ask(*whole, kFirst);
  EXPECT_EQ(go_on(*whole), later);
}

TEST_F(SessionUnread, the_part_that_a_question_needs_is_read_for_it) {
  const auto session = open_beyond();
  read_first_part(*session);
  const GenerateReport report = ask(*session, kThird);
  EXPECT_THAT(report.text, HasSubstr("guitar"));
  EXPECT_GT(report.episodes.n_unread, 0u);
  const std::size_t last = report.episodes.n_all - 1;
  ASSERT_TRUE(session->name_episodes({last}).ok());
  EXPECT_THAT(ask(*session, "What is said there?").episodes.seen, Contains(last));
}

TEST_F(SessionUnread, a_recipe_that_evicts_compresses_what_is_read_later) {
  const auto session = open_beyond("compact");
  read_first_part(*session);
  ask(*session, kFirst);
  const std::size_t n_evicted = session->stats().n_evicted;
  idle_to_the_end(*session);
  EXPECT_GT(session->stats().n_evicted, n_evicted);
  std::size_t n_noted = 0;
  for (const LedgerEntry& entry : session->ledger())
    if (entry.cause == LedgerCause::idle) n_noted += entry.n_evicted;
  EXPECT_GE(n_noted, session->stats().n_evicted - n_evicted);
}

// A second cache beside the chat's leaves no memory for a part in one piece, but in two.
TEST_F(SessionUnread, a_low_limit_is_enough_for_what_is_read_later) {
  const auto session = open_beyond("compact", std::size_t{6} << 20);
  read_first_part(*session);
  EXPECT_THAT(ask(*session, kThird).text, HasSubstr("guitar"));
  idle_to_the_end(*session);
}

TEST_F(SessionUnread, another_process_goes_on_with_the_parts_that_are_left) {
  auto first = open_beyond();
  read_first_part(*first);
  ask(*first, kFirst);
  EXPECT_FALSE(idle(*first).finished);
  value_of(first->save());
  const std::size_t n_unread = first->stats().n_unread;
  ASSERT_GT(n_unread, 0u);
  const auto journal = journal_;
  const auto records = records_.caches;
  idle_to_the_end(*first);
  const std::vector<std::int32_t> uninterrupted = go_on(*first);
  first.reset();
  journal_ = journal;
  records_.caches = records;
  const auto second = open_beyond();
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.reason, RereadReason::none);
  EXPECT_EQ(report.n_reread, 0u);
  EXPECT_EQ(second->stats().n_unread, n_unread);
  idle_to_the_end(*second);
  EXPECT_EQ(go_on(*second), uninterrupted);
}

TEST_F(SessionUnread, a_chat_that_was_killed_while_it_read_is_soon_open_again) {
  auto first = open_beyond();
  read_first_part(*first);
  first.reset();  // nothing was saved but the words
  const auto second = open_beyond();
  EXPECT_LT(resume(*second).n_reread, second->n_context());
  EXPECT_GT(second->stats().n_unread, 0u);
  idle_to_the_end(*second);
  EXPECT_THAT(ask(*second, kThird).text, HasSubstr("guitar"));
}

TEST_F(SessionUnread, a_stop_while_idle_leaves_the_part_unread) {
  const auto session = open_beyond();
  read_first_part(*session);
  ask(*session, kFirst);
  const std::size_t n_unread = session->stats().n_unread;
  std::stop_source stop;
  const auto at_once = [&](const Progress& now) {
    if (now.phase == Phase::read_prompt) stop.request_stop();
  };
  EXPECT_FALSE(value_of(session->idle(stop.get_token(), at_once)).finished);
  EXPECT_EQ(session->stats().n_unread, n_unread);
  idle_to_the_end(*session);
}

TEST_F(SessionUnread, a_chat_may_be_cut_in_what_is_unread) {
  const auto session = open_beyond();
  read_first_part(*session);
  ask(*session, kFirst);
  const auto rows = stored();
  ASSERT_TRUE(session->truncate(rows[6].id).ok());  // the fourth part, without its answer
  EXPECT_GT(session->stats().n_unread, 0u);
  EXPECT_THAT(ask(*session, kThird).text, HasSubstr("guitar"));
  idle_to_the_end(*session);
  expect_journal_holds(*session);
}

TEST_F(SessionUnread, a_fork_reads_what_was_left_by_itself) {
  const auto session = open_beyond();
  read_first_part(*session);
  ask(*session, kFirst);
  const std::size_t n_unread = session->stats().n_unread;
  const auto fork = value_of(session->fork(ChatId{8}));
  EXPECT_EQ(fork->stats().n_unread, n_unread);
  idle_to_the_end(*fork);
  EXPECT_EQ(session->stats().n_unread, n_unread);
  EXPECT_THAT(ask(*fork, kThird).text, HasSubstr("guitar"));
}

}  // namespace
}  // namespace satchel::runtime
