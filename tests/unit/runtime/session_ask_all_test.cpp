// A question about all of a chat that is longer than the model's context.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/limits/presets.h"
#include "runtime/session/part_notes.h"
#include "support/failing_journal.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kQuestion = "Which pet does Matteo Thorsen keep?";

class SessionAskAll : public ChatTest {
 protected:
  std::unique_ptr<Session> open_beyond(std::string_view recipe, Journal* journal = nullptr,
                                       std::size_t budget_bytes = shared_budget()) {
    SessionOptions options(value_of(resolve_recipe(recipe)));
    options.budget_bytes = budget_bytes;
    options.beyond = BeyondContext::episodes;
    options.chat = chat_;
    options.journal = journal != nullptr ? journal : &journal_;
    options.records = &records_;
    return value_of(shared_engine().new_session(options));
  }
  // Longer than the context.
  static void add_notes(Session& session) {
    for (std::size_t i = 0; i < 3; ++i)
      value_of(session.add_document("notes " + std::to_string(i), held_out_notes(i)));
    value_of(session.read({}, {}));
    EXPECT_GT(session.tokens().size(), session.n_context());
  }
  static GenerateReport answer(Session& session) {
    return value_of(session.generate(Sampling::plain_greedy(48), {}, {}, {}));
  }
};

class AskAllOf : public SessionAskAll, public testing::WithParamInterface<const char*> {};

TEST_P(AskAllOf, each_part_is_asked_and_what_it_said_stands_in_the_journal_before_the_question) {
  const auto session = open_beyond(GetParam());
  add_notes(*session);
  std::vector<std::size_t> told;
  const AllAsked asked = value_of(session->ask_all(kQuestion, {}, [&](const Progress& now) {
    if (now.phase != Phase::ask_parts) return;
    told.push_back(now.done);
    EXPECT_EQ(now.total, 3u);
  }));
  EXPECT_THAT(told, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(asked.n_parts, 3u);
  EXPECT_THAT(asked.notes, HasSubstr("Part 1 of 2: "));
  EXPECT_THAT(asked.notes, HasSubstr("rabbit"));
  const auto rows = stored();
  ASSERT_EQ(rows.size(), 9u);
  EXPECT_EQ(rows[6].id, asked.document.document);
  EXPECT_EQ(rows[6].kind, MessageKind::document);
  EXPECT_EQ(rows[6].title, kPartNotesTitle);
  EXPECT_EQ(rows[6].text, asked.notes);
  EXPECT_EQ(rows[7].id, asked.document.answer);
  EXPECT_EQ(rows[7].text, kNoted);
  EXPECT_EQ(rows[8].id, asked.question);
  EXPECT_EQ(rows[8].text, kQuestion);
  EXPECT_THAT(answer(*session).text, HasSubstr("rabbit"));
  expect_journal_holds(*session);
}

INSTANTIATE_TEST_SUITE_P(Recipes, AskAllOf, testing::Values("full", "satchel", "compact"),
                         [](const auto& row) { return std::string(row.param); });

TEST_P(AskAllOf, under_a_low_limit_each_part_comes_is_asked_and_rests_again) {
  const kvcache::Recipe recipe = value_of(resolve_recipe(GetParam()));
  const std::size_t least = value_of(least_budget(shared_engine().config(), recipe));
  const auto session = open_beyond(GetParam(), nullptr, recipe.keep() < 1 ? least : 3 * least);
  for (std::size_t i = 0; i < 8; ++i) {
    value_of(session->add_document("notes " + std::to_string(i), held_out_notes(i)));
    value_of(session->read({}, {}));
  }
  ASSERT_GT(session->episodes().size(), 4u);
  for (int time = 0; time < 2; ++time) {
    const AllAsked asked = value_of(session->ask_all(kQuestion, {}, {}));
    EXPECT_EQ(asked.n_parts, 8u);
    EXPECT_THAT(asked.notes, HasSubstr("Part 1 of "));
    EXPECT_THAT(answer(*session).text, HasSubstr("rabbit"));
  }
  expect_journal_holds(*session);
}

TEST_F(SessionAskAll, the_notes_of_one_question_are_no_part_for_the_next) {
  const auto session = open_beyond("full");
  add_notes(*session);
  value_of(session->ask_all(kQuestion, {}, {}));
  answer(*session);
  value_of(session->add_document("notes 3", held_out_notes(3)));
  value_of(session->read({}, {}));
  const AllAsked asked = value_of(session->ask_all(kQuestion, {}, {}));
  EXPECT_EQ(asked.n_parts, 5u) << "three notes, the turn before, the notes since";
}

TEST_F(SessionAskAll, where_no_part_fits_beside_the_newest_text_nothing_is_sent) {
  const kvcache::Recipe full = value_of(resolve_recipe("full"));
  const std::size_t least = value_of(least_budget(shared_engine().config(), full));
  const auto session = open_beyond("full", nullptr, 2 * least);
  add_notes(*session);
  const auto asked = session->ask_all(kQuestion, {}, {});
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().code, "CACHE_FULL");
  EXPECT_EQ(stored().size(), 6u);
  EXPECT_TRUE(value_of(session->change_memory({.limit_bytes = shared_budget()}, {}, {})).fits);
  EXPECT_THAT(value_of(session->ask_all(kQuestion, {}, {})).notes, HasSubstr("rabbit"));
}

TEST_F(SessionAskAll, a_chat_within_the_context_is_asked_as_one) {
  const auto session = open_beyond("full");
  value_of(session->add_document("notes", held_out_notes(0)));
  const AllAsked asked = value_of(session->ask_all(kQuestion, {}, {}));
  EXPECT_EQ(asked.n_parts, 0u);
  EXPECT_EQ(asked.document.document.value, 0);
  EXPECT_EQ(stored().size(), 3u);
  EXPECT_THAT(answer(*session).text, HasSubstr("rabbit"));
}

TEST_F(SessionAskAll, cut_before_the_notes_the_chat_is_as_it_was) {
  const auto session = open_beyond("full");
  add_notes(*session);
  const std::vector<std::int32_t> before(session->tokens().begin(), session->tokens().end());
  const MessageId last = session->messages().back().id;
  value_of(session->ask_all(kQuestion, {}, {}));
  answer(*session);
  ASSERT_TRUE(session->truncate(last).ok());
  EXPECT_TRUE(std::ranges::equal(session->tokens(), before));
  EXPECT_THAT(ask(*session, kQuestion).text, HasSubstr("rabbit"));
  expect_journal_holds(*session);
}

TEST_F(SessionAskAll, stopped_at_any_part_nothing_is_written_and_the_chat_goes_on) {
  const auto session = open_beyond("full");
  add_notes(*session);
  for (std::size_t part = 0; part < 3; ++part) {
    std::stop_source stop;
    const auto asked = session->ask_all(kQuestion, stop.get_token(), [&](const Progress& now) {
      if (now.phase == Phase::ask_parts && now.done == part) stop.request_stop();
    });
    ASSERT_FALSE(asked.ok());
    EXPECT_EQ(asked.error().kind, ErrorKind::cancelled);
    EXPECT_EQ(stored().size(), 6u);
    EXPECT_EQ(session->messages().size(), 6u);
  }
  EXPECT_THAT(ask(*session, kQuestion).text, HasSubstr("rabbit"));
  expect_journal_holds(*session);
}

TEST_F(SessionAskAll, where_the_journal_fails_neither_notes_nor_question_are_there) {
  test::FailingJournal failing(journal_, 3);  // behind the three documents
  const auto session = open_beyond("full", &failing);
  add_notes(*session);
  ASSERT_FALSE(session->ask_all(kQuestion, {}, {}).ok());
  EXPECT_EQ(stored().size(), 6u);
  EXPECT_EQ(value_of(session->ask_all(kQuestion, {}, {})).n_parts, 3u);
  EXPECT_EQ(stored().size(), 9u);
}

TEST_F(SessionAskAll, a_question_too_long_for_the_parts_is_refused) {
  const auto session = open_beyond("full");
  add_notes(*session);
  const auto asked = session->ask_all(held_out_notes(0), {}, {});
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().code, "CONTEXT_FULL");
  EXPECT_EQ(stored().size(), 6u);
}

TEST_F(SessionAskAll, killed_before_its_answer_it_is_answered_after_the_resume) {
  {
    const auto session = open_beyond("satchel");
    add_notes(*session);
    value_of(session->save());
    value_of(session->ask_all(kQuestion, {}, {}));
  }
  const auto session = open_beyond("satchel");
  const ResumeReport resumed = resume(*session);
  EXPECT_GT(resumed.n_reused, 0u);
  EXPECT_EQ(resumed.n_chat_tokens, session->tokens().size());
  EXPECT_EQ(session->messages().size(), 9u);
  EXPECT_THAT(answer(*session).text, HasSubstr("rabbit"));
  expect_journal_holds(*session);
}

TEST_F(SessionAskAll, an_answer_says_in_which_part_its_words_stand) {
  const auto session = open_beyond("full");
  add_notes(*session);
  const GenerateReport report = ask(*session, kQuestion);
  ASSERT_THAT(report.text, HasSubstr("rabbit"));
  EXPECT_TRUE(report.episodes.by_words);
  EXPECT_THAT(report.episodes.quoted, ElementsAre(0u));
  const GenerateReport next = ask(*session, "Which instrument is played by Bastian Brunner?");
  ASSERT_THAT(next.text, HasSubstr("clarinet"));
  EXPECT_FALSE(next.episodes.seen.empty());
  EXPECT_TRUE(next.episodes.quoted.empty()) << "it stands in the newest text";
  EXPECT_THAT(ask(*session, kQuestion).episodes.quoted, ElementsAre(0u))
      << "also where a later answer has the word";
}

TEST_F(SessionAskAll, a_question_without_a_word_of_the_parts_says_so) {
  const auto session = open_beyond("full");
  add_notes(*session);
  const GenerateReport report = ask(*session, "What is this all about?");
  EXPECT_FALSE(report.episodes.seen.empty());
  EXPECT_FALSE(report.episodes.by_words);
}

}  // namespace
}  // namespace satchel::runtime
